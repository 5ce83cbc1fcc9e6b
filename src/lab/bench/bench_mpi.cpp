// SPDX-License-Identifier: BSD-3-Clause
#include "lab/bench/bench_mpi.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <climits>
#include <string_view>
#include <vector>

#include "base/collectives.h"
#include "mpi/abi/abi.h"
#include "mpi/abi/bench_force.h"
#include "run/arena/process.h"

namespace tutti::bench {
namespace {

using mpi::abi::Abi;
using mpi::abi::Handles;
using mpi::abi::Host;

double mpi_seconds() {
    using namespace std::chrono;
    return duration<double>(steady_clock::now().time_since_epoch()).count();
}

// True where the program's own MPI_Barrier would be Tutti's.
bool tutti_is_preloaded() {
    void* symbol = dlsym(RTLD_DEFAULT, "MPI_Barrier");
    Dl_info info{};
    if (!symbol || dladdr(symbol, &info) == 0 || !info.dli_fname) return false;
    const std::string_view path(info.dli_fname);
    return path.substr(path.rfind('/') + 1).starts_with("libtutti-");
}

// What the vector forms take.
struct Lengths {
    // Empty where the collective has none.
    Lengths(const Batch& batch, const RankOfSize& place, mpi::abi::Datatype type,
            bool handles_are_ints) {
        if (!has_lengths(batch.collective)) return;
        for (uint32_t rank = 0; rank < place.size; ++rank) {
            sent.push_back(static_cast<int>(block_elements(batch, place.rank, rank)));
            received.push_back(static_cast<int>(block_elements(batch, rank, place.rank)));
            offsets.push_back(static_cast<int>(rank * batch.elements));
            byte_offsets.push_back(static_cast<int>(rank * batch.elements * sizeof(double)));
        }
        own = sent[place.rank];
        handles.assign(place.size, type.bits);
        short_handles.assign(place.size, static_cast<int>(type.bits));
        types = handles_are_ints ? static_cast<const void*>(short_handles.data()) : handles.data();
    }
    Lengths(const Lengths&) = delete;
    Lengths& operator=(const Lengths&) = delete;

    std::vector<int> sent, received;  // elements of each block
    std::vector<int> offsets, byte_offsets;
    int own = 0;                     // where a side has one block
    std::vector<uintptr_t> handles;  // of the datatype, as the MPI has them
    std::vector<int> short_handles;
    const void* types = nullptr;
};

// What the loops below need, as plain values.
struct Calls {
    const Host& functions;
    const Host& host;
    mpi::abi::Comm comm;
    mpi::abi::Datatype type;
    mpi::abi::Op sum;
    int count;
    const Lengths& lengths;
    const Batch& batch;
    const BatchBuffers& buffers;
    RankOfSize place;
    double& start;  // of the calls that are timed
};

struct Turn {
    uint64_t call;
    uint32_t root;
    double* send;
    double* recv;
};

// Where buffers are used again within the batch, `put_stamps` tells each call from the former.
template <class Stamps, class Body>
int for_each_call(const Calls& calls, const Stamps& put_stamps, const Body& body) {
    const bool stamped = uses_each_once(calls.batch, calls.buffers);
    const size_t buffers = calls.buffers.count();
    int status = 0;
    uint64_t call = calls.batch.first_call;
    size_t k = call % buffers;
    const uint32_t roots = std::min(calls.batch.roots, calls.place.size);
    uint32_t root = root_of(calls.batch, call, calls.place.size);
    for (uint64_t i = 0; i < calls.batch.calls; ++i, ++call) {
        if (i == calls.batch.untimed) calls.start = mpi_seconds();
        const Turn turn{call, root, calls.buffers.send[k], calls.buffers.recv[k]};
        if (!stamped) put_stamps(turn);
        status |= body(turn);
        if (calls.batch.has_barriers) status |= calls.host.barrier(calls.comm);
        if (++root == roots) root = 0;
        if (++k == buffers) k = 0;
    }
    return status;
}

// Every rank sends one block.
template <class Body>
int for_each_block(const Calls& c, const Body& body) {
    return for_each_call(
        c, [&c](const Turn& t) { t.send[0] = stamp(t.call, c.place.rank); }, body);
}

void stamp_all_blocks(const Calls& c, const Turn& t) {
    for (uint32_t r = 0; r < c.place.size; ++r) {
        const uint64_t number = number_of(c.batch.collective, c.place.rank, r, c.place.size);
        t.send[input_offset(c.batch, r)] = stamp(t.call, number);
    }
}

int run_barrier(const Calls& c) {
    return for_each_call(
        c, [](const Turn&) {}, [&c](const Turn&) { return c.functions.barrier(c.comm); });
}

int run_bcast(const Calls& c) {
    const auto put_stamp = [&c](const Turn& t) {
        if (t.root == c.place.rank) t.recv[0] = stamp(t.call, t.root);
    };
    return for_each_call(c, put_stamp, [&c](const Turn& t) {
        return c.functions.bcast(t.recv, c.count, c.type, static_cast<int>(t.root), c.comm);
    });
}

int run_reduce(const Calls& c) {
    return for_each_block(c, [&c](const Turn& t) {
        return c.functions.reduce(t.send, t.recv, c.count, c.type, c.sum, static_cast<int>(t.root),
                                  c.comm);
    });
}

int run_allreduce(const Calls& c) {
    return for_each_block(c, [&c](const Turn& t) {
        return c.functions.allreduce(t.send, t.recv, c.count, c.type, c.sum, c.comm);
    });
}

int run_gather(const Calls& c) {
    return for_each_block(c, [&c](const Turn& t) {
        return c.functions.gather(t.send, c.count, c.type, t.recv, c.count, c.type,
                                  static_cast<int>(t.root), c.comm);
    });
}

int run_scatter(const Calls& c) {
    const auto put_stamps = [&c](const Turn& t) {
        if (t.root == c.place.rank) stamp_all_blocks(c, t);
    };
    return for_each_call(c, put_stamps, [&c](const Turn& t) {
        return c.functions.scatter(t.send, c.count, c.type, t.recv, c.count, c.type,
                                   static_cast<int>(t.root), c.comm);
    });
}

int run_allgather(const Calls& c) {
    return for_each_block(c, [&c](const Turn& t) {
        return c.functions.allgather(t.send, c.count, c.type, t.recv, c.count, c.type, c.comm);
    });
}

int run_reduce_scatter_block(const Calls& c) {
    const auto put_stamps = [&c](const Turn& t) { stamp_all_blocks(c, t); };
    return for_each_call(c, put_stamps, [&c](const Turn& t) {
        return c.functions.reduce_scatter_block(t.send, t.recv, c.count, c.type, c.sum, c.comm);
    });
}

int run_alltoall(const Calls& c) {
    const auto put_stamps = [&c](const Turn& t) { stamp_all_blocks(c, t); };
    return for_each_call(c, put_stamps, [&c](const Turn& t) {
        return c.functions.alltoall(t.send, c.count, c.type, t.recv, c.count, c.type, c.comm);
    });
}

int run_scan(const Calls& c) {
    return for_each_block(c, [&c](const Turn& t) {
        return c.functions.scan(t.send, t.recv, c.count, c.type, c.sum, c.comm);
    });
}

int run_exscan(const Calls& c) {
    return for_each_block(c, [&c](const Turn& t) {
        return c.functions.exscan(t.send, t.recv, c.count, c.type, c.sum, c.comm);
    });
}

// ---- vector forms -------------------------------------------------------------------------------

int run_gatherv(const Calls& c) {
    const Lengths& l = c.lengths;
    return for_each_block(c, [&](const Turn& t) {
        return c.functions.gatherv(t.send, l.own, c.type, t.recv, l.received.data(),
                                   l.offsets.data(), c.type, static_cast<int>(t.root), c.comm);
    });
}

int run_scatterv(const Calls& c) {
    const Lengths& l = c.lengths;
    const auto put_stamps = [&c](const Turn& t) {
        if (t.root == c.place.rank) stamp_all_blocks(c, t);
    };
    return for_each_call(c, put_stamps, [&](const Turn& t) {
        return c.functions.scatterv(t.send, l.sent.data(), l.offsets.data(), c.type, t.recv, l.own,
                                    c.type, static_cast<int>(t.root), c.comm);
    });
}

int run_allgatherv(const Calls& c) {
    const Lengths& l = c.lengths;
    return for_each_block(c, [&](const Turn& t) {
        return c.functions.allgatherv(t.send, l.own, c.type, t.recv, l.received.data(),
                                      l.offsets.data(), c.type, c.comm);
    });
}

int run_alltoallv(const Calls& c) {
    const Lengths& l = c.lengths;
    const auto put_stamps = [&c](const Turn& t) { stamp_all_blocks(c, t); };
    return for_each_call(c, put_stamps, [&](const Turn& t) {
        return c.functions.alltoallv(t.send, l.sent.data(), l.offsets.data(), c.type, t.recv,
                                     l.received.data(), l.offsets.data(), c.type, c.comm);
    });
}

int run_alltoallw(const Calls& c) {
    const Lengths& l = c.lengths;
    const auto put_stamps = [&c](const Turn& t) { stamp_all_blocks(c, t); };
    return for_each_call(c, put_stamps, [&](const Turn& t) {
        return c.functions.alltoallw(t.send, l.sent.data(), l.byte_offsets.data(), l.types, t.recv,
                                     l.received.data(), l.byte_offsets.data(), l.types, c.comm);
    });
}

int run_reduce_scatter(const Calls& c) {
    const auto put_stamps = [&c](const Turn& t) { stamp_all_blocks(c, t); };
    return for_each_call(c, put_stamps, [&c](const Turn& t) {
        return c.functions.reduce_scatter(t.send, t.recv, c.lengths.sent.data(), c.type, c.sum,
                                          c.comm);
    });
}

int run_calls(const Calls& c) {
    switch (c.batch.collective) {
        case TUTTI_BARRIER:
            return run_barrier(c);
        case TUTTI_BCAST:
            return run_bcast(c);
        case TUTTI_REDUCE:
            return run_reduce(c);
        case TUTTI_ALLREDUCE:
            return run_allreduce(c);
        case TUTTI_GATHER:
            return run_gather(c);
        case TUTTI_SCATTER:
            return run_scatter(c);
        case TUTTI_ALLGATHER:
            return run_allgather(c);
        case TUTTI_REDUCE_SCATTER_BLOCK:
            return run_reduce_scatter_block(c);
        case TUTTI_ALLTOALL:
            return run_alltoall(c);
        case TUTTI_SCAN:
            return run_scan(c);
        case TUTTI_EXSCAN:
            return run_exscan(c);
        case TUTTI_GATHERV:
            return run_gatherv(c);
        case TUTTI_SCATTERV:
            return run_scatterv(c);
        case TUTTI_ALLGATHERV:
            return run_allgatherv(c);
        case TUTTI_ALLTOALLV:
            return run_alltoallv(c);
        case TUTTI_ALLTOALLW:
            return run_alltoallw(c);
        case TUTTI_REDUCE_SCATTER:
            return run_reduce_scatter(c);
        default:
            return -1;
    }
}

class Measured final : public BenchMpi {
  public:
    Measured(const Abi& abi, const Host& host, const Host& program, const Handles& handles,
             bool has_tutti)
        : abi_(abi), host_(host), program_(program), handles_(handles), has_tutti_(has_tutti) {
        int rank = 0;
        int size = 1;
        must(host_.comm_rank(handles_.comm_world, &rank));
        must(host_.comm_size(handles_.comm_world, &size));
        place_ = {static_cast<uint32_t>(rank), static_cast<uint32_t>(size)};
    }

    RankOfSize place() const override { return place_; }
    bool has_tutti() const override { return has_tutti_; }

    std::string library_version() override {
        std::string text(mpi::abi::kLibraryVersionMax, '\0');
        int length = 0;
        must(host_.get_library_version(text.data(), &length));
        text.resize(static_cast<size_t>(length));
        return text;
    }

    std::string host_name() override {
        std::array<char, 256> name{};
        if (const auto ask = found<decltype(&tutti_bench_host)>("tutti_bench_host")) {
            ask(name.data(), name.size());
        }
        return name[0] != '\0' ? std::string(name.data()) : arena::host_name();
    }

    double run(Side side, bool is_apart, const Batch& batch, const BatchBuffers& buffers) override {
        const auto type = handles_.type[mpi::abi::kTypeDouble];
        const Lengths lengths(batch, place_, type, abi_.handles_are_ints);
        double start = mpi_seconds();
        const Calls calls{side == Side::kHost ? host_ : program_,
                          host_,
                          is_apart ? apart_ : handles_.comm_world,
                          type,
                          handles_.op[mpi::abi::kOpSum],
                          static_cast<int>(batch.elements),
                          lengths,
                          batch,
                          buffers,
                          place_,
                          start};
        const int status = run_calls(calls);
        const double seconds = mpi_seconds() - start;
        must(status);
        return seconds;
    }

    // What cannot run where ranks share hosts is not tried where they are apart.
    std::string force(tutti_collective collective, uint64_t bytes,
                      const std::string& algorithm) override {
        if (!algorithm.ends_with(kApart)) {
            return force_on(handles_.comm_world, collective, bytes, algorithm);
        }
        const std::string name = algorithm.substr(0, algorithm.size() - kApart.size());
        std::string refused = force_on(handles_.comm_world, collective, bytes, name);
        if (!refused.empty()) return refused;
        const auto set_apart = found<decltype(&tutti_bench_apart)>("tutti_bench_apart");
        if (!set_apart) return kCannotBeTold;
        if (!has_apart_) {
            must(program_.comm_dup(handles_.comm_world, &apart_));
            has_apart_ = true;
            set_apart(apart_.bits);
        }
        return force_on(apart_, collective, bytes, name);
    }

    void barrier() override { must(host_.barrier(handles_.comm_world)); }

    void bcast(void* data, size_t bytes, uint32_t root) override {
        TUTTI_ASSERT(bytes <= INT_MAX, "control messages are small");
        must(host_.bcast(data, static_cast<int>(bytes), handles_.type[mpi::abi::kTypeByte],
                         static_cast<int>(root), handles_.comm_world));
    }

    void max_in_place(double* values, size_t count) override {
        TUTTI_ASSERT(count <= INT_MAX, "control messages are small");
        must(host_.allreduce(reinterpret_cast<void*>(abi_.in_place), values,
                             static_cast<int>(count), handles_.type[mpi::abi::kTypeDouble],
                             handles_.op[mpi::abi::kOpMax], handles_.comm_world));
    }

    void gather_all(const void* own, size_t bytes, void* all) override {
        TUTTI_ASSERT(bytes <= INT_MAX, "control messages are small");
        const auto type = handles_.type[mpi::abi::kTypeByte];
        const int count = static_cast<int>(bytes);
        must(host_.allgather(own, count, type, all, count, type, handles_.comm_world));
    }

    void start_send(uint32_t number, const void* data, size_t bytes, uint32_t to) override {
        TUTTI_ASSERT(number < kMessagesMax && bytes <= INT_MAX, "a message that fits");
        must(host_.isend(data, static_cast<int>(bytes), handles_.type[mpi::abi::kTypeByte],
                         static_cast<int>(to), kTag, handles_.comm_world, &requests_[number]));
    }

    void start_recv(uint32_t number, void* data, size_t bytes, uint32_t from) override {
        TUTTI_ASSERT(number < kMessagesMax && bytes <= INT_MAX, "a message that fits");
        must(host_.irecv(data, static_cast<int>(bytes), handles_.type[mpi::abi::kTypeByte],
                         static_cast<int>(from), kTag, handles_.comm_world, &requests_[number]));
    }

    bool is_done(uint32_t number) override {
        int done = 0;
        mpi::abi::Status status{};
        must(host_.test(&requests_[number], &done, &status));
        return done != 0;
    }

    void finalize() override {
        if (has_apart_) must(program_.comm_free(&apart_));
        must(program_.finalize());
    }

  private:
    // MPI_COMM_WORLD's error handler ends the job before a call returns an error.
    static void must(int status) {
        TUTTI_ASSERT(status == mpi::abi::kSuccess, "an MPI call returned an error");
    }

    static constexpr const char* kCannotBeTold =
        "this library of Tutti takes no orders from tutti bench";

    template <class Function>
    static Function found(const char* name) {
        return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
    }

    static std::string force_on(mpi::abi::Comm comm, tutti_collective collective, uint64_t bytes,
                                const std::string& algorithm) {
        const auto function = found<decltype(&tutti_bench_force)>("tutti_bench_force");
        if (!function) return kCannotBeTold;
        std::array<char, 512> message{};
        const char* name = algorithm.empty() ? nullptr : algorithm.c_str();
        const int status =
            function(comm.bits, collective, bytes, name, message.data(), message.size());
        return status == 0 ? std::string() : std::string(message.data());
    }

    const Abi& abi_;
    const Host host_;
    const Host program_;  // what a program linked to MPI would call: Tutti's where it is preloaded
    const Handles handles_;
    const bool has_tutti_;
    RankOfSize place_{};
    mpi::abi::Comm apart_{};  // of algorithms that are kApart, from the first of them on
    bool has_apart_ = false;
    static constexpr int kTag = 1;
    std::array<mpi::abi::Request, kMessagesMax> requests_{};
};

}  // namespace

Result<std::unique_ptr<BenchMpi>> start_bench_mpi(void* library, int* argc, char*** argv) {
    char version[mpi::abi::kLibraryVersionMax + 1];
    mpi::abi::read_version(library, version);
    const Abi* abi = mpi::abi::find_abi(library, version);
    if (!abi) return Error{ErrorCode::kSystem, "Tutti does not know your MPI"};
    Host host{};
    if (const std::string missing =
            mpi::abi::load_host(library, "PMPI_", abi->handles_are_ints, host);
        !missing.empty()) {
        return Error{ErrorCode::kSystem, "your MPI lacks " + missing};
    }
    Handles handles{};
    if (!abi->load_handles(library, handles)) {
        return Error{ErrorCode::kSystem,
                     fmt::format("your MPI lacks {}'s predefined handles", abi->name)};
    }
    const bool preloaded = tutti_is_preloaded();
    Host program = host;
    if (preloaded) {
        // Names that Tutti leaves alone lead to the host's, which is in the global scope too.
        const std::string missing =
            mpi::abi::load_host(RTLD_DEFAULT, "MPI_", abi->handles_are_ints, program);
        if (!missing.empty()) return Error{ErrorCode::kSystem, "your MPI lacks " + missing};
    }
    if (program.init(argc, argv) != mpi::abi::kSuccess) {
        return Error{ErrorCode::kSystem, "MPI_Init failed"};
    }
    return std::unique_ptr<BenchMpi>(new Measured(*abi, host, program, handles, preloaded));
}

}  // namespace tutti::bench
