// SPDX-License-Identifier: BSD-3-Clause
// MPI_Initialized and MPI_Finalized. Tutti has nothing to do there, but a program that asks by weak
// symbols whether it has MPI sees Tutti's MPI_Init, and then asks one of these: they are there too,
// and say no in a process without MPI. Neither is a process's first call of MPI, so no host is
// picked yet: an interpreter may load its MPI later.
#include <link.h>

#include <atomic>

#include "mpi/front.h"

namespace tutti::mpi {

namespace {

using Question = int(int*);

int count_loads(dl_phdr_info* info, size_t, void* loads) {
    *static_cast<unsigned long long*>(loads) = info->dlpi_adds;
    return 1;  // it is the same for every object
}

// Who answers, once there is somebody.
class Answerer {
  public:
    explicit constexpr Answerer(const char* name) : name_(name) {}

    int ask(int* flag) {
        Question* found = found_.load(std::memory_order_acquire);
        if (found == nullptr) found = look();
        if (found != nullptr) return found(flag);
        *flag = 0;
        return abi::kSuccess;
    }

  private:
    // Goes through the loaded objects only where there is a new one.
    Question* look() {
        unsigned long long loads = 0;
        dl_iterate_phdr(count_loads, &loads);
        if (looked_at_.load(std::memory_order_relaxed) == loads) return nullptr;
        auto* found = reinterpret_cast<Question*>(function_behind(name_));
        found_.store(found, std::memory_order_release);
        looked_at_.store(loads, std::memory_order_relaxed);
        return found;
    }

    const char* name_;
    std::atomic<Question*> found_{nullptr};
    std::atomic<unsigned long long> looked_at_{0};
};

constinit Answerer mpi_initialized("MPI_Initialized");
constinit Answerer pmpi_initialized("PMPI_Initialized");
constinit Answerer mpi_finalized("MPI_Finalized");
constinit Answerer pmpi_finalized("PMPI_Finalized");

}  // namespace

#define TUTTI_MPI_NAME extern "C" __attribute__((visibility("default"), used)) int

TUTTI_MPI_NAME MPI_Initialized(int* flag) { return mpi_initialized.ask(flag); }
TUTTI_MPI_NAME PMPI_Initialized(int* flag) { return pmpi_initialized.ask(flag); }
TUTTI_MPI_NAME MPI_Finalized(int* flag) { return mpi_finalized.ask(flag); }
TUTTI_MPI_NAME PMPI_Finalized(int* flag) { return pmpi_finalized.ask(flag); }

}  // namespace tutti::mpi
