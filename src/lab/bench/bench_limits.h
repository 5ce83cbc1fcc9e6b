// SPDX-License-Identifier: BSD-3-Clause
// Lower bounds of any collective here and now: how fast a flag crosses from one rank to another,
// how fast memory is copied, and what a barrier of bare yields costs where ranks outnumber cores.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "lab/bench/bench_mpi.h"

namespace tutti::bench {

// A small piece of memory that all ranks of a node see; Tutti and MPI know nothing of it.
class SharedPage {
  public:
    // Collective. Ranks that cannot reach rank 0's memory (another host) go without.
    explicit SharedPage(BenchMpi& mpi);
    ~SharedPage();
    SharedPage(const SharedPage&) = delete;
    SharedPage& operator=(const SharedPage&) = delete;

    [[nodiscard]] bool all_attached() const { return all_attached_; }
    [[nodiscard]] bool crowded() const { return crowded_; }

    // Collective; microseconds on rank 0, where another rank shares its node. One way between rank
    // 0 and the first of those, the fastest of 15 rallies, so that a rank which waits for its core
    // changes nothing; the others sleep meanwhile. Where ranks outnumber cores, the two are kept
    // on different ones as long.
    std::optional<double> flag_us(BenchMpi& mpi);
    // Collective; a counter barrier that waits by sched_yield and nothing else, median.
    std::optional<double> yield_barrier_us(BenchMpi& mpi);

    // A barrier of its own before each timed batch, so that no batch is charged with the time that
    // the host's barrier takes to let everybody go. The host's where some rank is not attached.
    void meet(BenchMpi& mpi);

    // For checking barriers: each rank writes where it has arrived, and looks at the others.
    void arrive(uint32_t rank, uint64_t number);
    [[nodiscard]] std::optional<uint32_t> rank_behind(uint64_t number) const;

  private:
    struct Page;
    // True for the one who comes last, and so has released the others.
    bool arrive_last();
    void sleep_for_all();
    bool attach(long process, int descriptor, uint64_t token, size_t bytes);

    Page* page_ = nullptr;
    size_t bytes_ = 0;
    uint32_t rank_ = 0;
    uint32_t size_ = 0;
    uint32_t partner_ = 0;  // of rank 0 in the ping-pong; 0: none
    bool all_attached_ = false;
    uint64_t epoch_ = 0;  // of the sleepers' word
    uint64_t turn_ = 0;   // of the ping-pong, kept over measurements
    uint64_t meetings_ = 0;
    bool crowded_ = false;  // more ranks than cores
};

// Local: microseconds for one memcpy of so many bytes, median, between changing buffers.
double copy_us(size_t bytes);

}  // namespace tutti::bench
