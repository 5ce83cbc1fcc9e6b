// SPDX-License-Identifier: BSD-3-Clause
// The MPI that `tutti bench` measures, behind one interface.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "lab/bench/bench_pattern.h"

namespace tutti::bench {

enum class Side { kHost, kTutti };

// Behind the name of an algorithm: on a communicator on which each rank counts as a host of its
// own. So multicast to every process is compared with multicast to one a node.
inline constexpr std::string_view kApart = "@process";

class BenchMpi {
  public:
    virtual ~BenchMpi() = default;
    [[nodiscard]] virtual RankOfSize place() const = 0;
    // Whether MPI_Barrier is Tutti's here; otherwise only Side::kHost may be run.
    [[nodiscard]] virtual bool has_tutti() const = 0;
    virtual std::string library_version() = 0;
    // Of this process, as Tutti has it.
    virtual std::string host_name() = 0;

    // Makes the calls of the batch; seconds on this rank, of those that are timed. The stamps are
    // written as it goes. After force() of an algorithm that is_apart, on the communicator of
    // those.
    virtual double run(Side side, bool is_apart, const Batch& batch,
                       const BatchBuffers& buffers) = 0;

    // Tutti's calls of this collective run by this algorithm from now on; empty: by the rules.
    // Collective. Returns why blocks of so many bytes cannot run so, or an empty text.
    virtual std::string force(tutti_collective collective, uint64_t bytes,
                              const std::string& algorithm) = 0;

    // The host's own calls on all ranks, for the benchmark's own use.
    virtual void barrier() = 0;
    virtual void bcast(void* data, size_t bytes, uint32_t root) = 0;
    virtual void max_in_place(double* values, size_t count) = 0;
    // all: place().size times as many bytes, by rank.
    virtual void gather_all(const void* own, size_t bytes, void* all) = 0;
    // Messages of the host's, for what is measured between pairs: each has a number below
    // kMessagesMax, which is free again when it is done. Between two ranks they come in order.
    static constexpr uint32_t kMessagesMax = 256;
    virtual void start_send(uint32_t number, const void* data, size_t bytes, uint32_t to) = 0;
    virtual void start_recv(uint32_t number, void* data, size_t bytes, uint32_t from) = 0;
    virtual bool is_done(uint32_t number) = 0;
    virtual void finalize() = 0;
};

// Calls MPI_Init. `host` is the handle of the host's libmpi.
Result<std::unique_ptr<BenchMpi>> start_bench_mpi(void* host, int* argc, char*** argv);

}  // namespace tutti::bench
