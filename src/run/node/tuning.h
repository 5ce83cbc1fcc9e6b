// SPDX-License-Identifier: BSD-3-Clause
// How the ranks of a team move data among them, and how that follows from what was measured between
// them. The same on all ranks, since the shapes of calls follow from it. It never changes an
// operand order.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "run/node/layout.h"

namespace tutti::node {

// How lines are best written that another core has read before.
enum class CopyWay : uint8_t {
    kPlain,     // a loop of vectors; the lines are asked for as they are written
    kPrefetch,  // asks for the lines of the next block while it copies this one
    kString,    // one string instruction: may claim whole lines without reading them first
    kStream     // past the caches
};
inline constexpr size_t kCopyWays = 4;
// "prefetch"
const char* name_of(CopyWay way);

// How a call is cut for a pipeline: so many pieces hide most of the second copy, and below a
// certain size a round costs more than the copy that it hides.
struct PieceRule {
    uint32_t count = 8;
    uint32_t bytes_min = 2048;
    uint32_t bytes_max = 16 * 1024;  // and at most a chunk
    bool operator==(const PieceRule&) const = default;
};

// Of a rank's ring, how much is used. A short one stays in a second-level cache of 1 MiB, and so do
// its readers' copies of its lines, which must be taken away before these are written again. In a
// ring of twice such a cache they have gone by then, but every line goes by way of the next level.
inline constexpr uint32_t kShortRingBytes = 512 * 1024;
inline constexpr uint32_t kWholeRing = UINT32_MAX;

// Bytes of a call from which on a single copy wins.
inline constexpr uint64_t kNever = UINT64_MAX;
// Of readers of one rank's memory at a time: no limit.
inline constexpr uint32_t kAllReaders = UINT32_MAX;

// As it stands: for ranks that have measured nothing.
struct Tuning {
    CopyWay way = CopyWay::kPrefetch;
    // By distance: of a broadcast along a tree, to children none of whom is farther.
    std::array<CopyWay, kDistancesMax> way_to = all_by(CopyWay::kPrefetch);
    PieceRule pieces;
    uint32_t ring_bytes = kShortRingBytes;
    uint64_t single_one_way = kNever;   // where data goes from or to one rank
    uint64_t single_all_ways = kNever;  // where all send and all receive
    uint64_t single_scatter = kNever;   // of a scatter's block
    // Of an alltoall where ranks share processors: each block has one reader.
    uint64_t single_once = kNever;
    uint32_t readers_max = kAllReaders;  // of one giver, at a time
    bool has_cores = false;              // copying was measured: nobody waits for a processor
    bool operator==(const Tuning&) const = default;

    void set_single(uint64_t from) {
        single_one_way = single_all_ways = single_scatter = from;
        single_once = kNever;
    }
    static constexpr std::array<CopyWay, kDistancesMax> all_by(CopyWay way) {
        std::array<CopyWay, kDistancesMax> ways{};
        ways.fill(way);
        return ways;
    }
};

// ---- what is measured ---------------------------------------------------------------------------

// A trip is timed by rank 0, from one meeting of all to its own end of the last call.
enum class Pattern : uint8_t {
    kBarrier,
    kOneWay,   // a broadcast from rank 0 and one back, of which half is counted
    kAllWays,  // an allgather
    // For prices alone, as one way: what is in slots, and what is folded where it is read.
    kShort,
    kFold,  // a reduction to the last rank, and one to rank 0
    // Of rank 0 and one other, to it and back, of which half is counted; all others do nothing.
    kFlag,  // no bytes
    kPair
};

// Bytes of a broadcast, or of a rank's block.
inline constexpr std::array<uint32_t, 6> kMeasuredBytes = {8u << 10,  16u << 10,  32u << 10,
                                                           64u << 10, 128u << 10, 256u << 10};
inline constexpr size_t kMeasuredMiddle = 3;  // 64 KiB, which is measured first
// One way through slots.
inline constexpr uint32_t kShortBytes = 1024;
// Readers of one giver at a time, as they are tried: 1, 2, 4 and so on.
inline constexpr size_t kReaderLimits = 8;

// Nanoseconds; 0: not measured.
struct Times {
    std::array<uint32_t, kMeasuredBytes.size()> ring{};
    std::array<uint32_t, kMeasuredBytes.size()> single{};
    bool operator==(const Times&) const = default;
};
// Of two ranks.
struct PairFigures {
    uint32_t flag_ns = 0;                      // until the other one sees what was written
    std::array<uint32_t, kCopyWays> way_ns{};  // 64 KiB one way through rings
    bool operator==(const PairFigures&) const = default;
};
struct Figures {
    uint32_t barrier_ns = 0;
    std::array<uint32_t, kCopyWays> way_ns{};  // 64 KiB one way through rings
    // The same through short rings, by the quickest way that keeps lines in the caches; where the
    // rings are long.
    uint32_t short_ring_ns = 0;
    Times one_way;
    Times all_ways;
    uint32_t short_ns = 0;  // 1 KiB one way
    uint32_t fold_ns = 0;   // 64 KiB one way, and folded
    // 64 KiB one way by single copy, where 2^i at most read one giver at a time. Of any number at a
    // time: one_way.
    std::array<uint32_t, kReaderLimits> readers_ns{};
    std::array<PairFigures, kDistancesMax> pairs;  // by distance, where there is more than one
    Times once;  // of ranks that share processors, see read_once.h
    bool operator==(const Figures&) const = default;
};

struct Trial {
    Pattern pattern = Pattern::kBarrier;
    CopyWay way = CopyWay::kPrefetch;
    uint8_t size = 0;  // into kMeasuredBytes
    bool is_single = false;
    bool is_short = false;  // through short rings, where there are long ones
    uint8_t distance = 0;   // of a pair
    std::optional<CopyWay> pieces_by = std::nullopt;  // cut as for this way, where for another one
    uint32_t readers = kAllReaders;                   // of a single copy: of one giver, at a time
    bool operator==(const Trial&) const = default;
};

// What there is to measure.
struct Measurable {
    bool can_read = false;          // there is a single copy
    bool has_long_rings = false;    // longer than short ones
    size_t all_ways_bytes_max = 0;  // of a block, as far as there is memory for all
    uint32_t distances = 0;         // of which there are pairs, a bit each
    uint32_t readers = 1;           // of one giver in a broadcast, at most
    bool for_prices = false;        // too
};
// What to measure next, after these; nothing: it is enough.
std::optional<Trial> next_trial(const Figures& figures, const Measurable& measurable);
// What was cut off before this trial says nothing: it holds by chance.
void forget_unfinished(Figures& figures, const Trial& next);
// Where a trial's time belongs.
uint32_t& time_of(Figures& figures, const Trial& trial);
// Known already, of what the trial is compared with; 0: of nothing.
uint32_t rival_ns(const Figures& figures, const Trial& trial);

// One way, as a tuned team moves: rings by the quickest way, single copy by as many readers at a
// time as are best.
Times tuned_one_way(const Figures& figures);

// ---- what follows -------------------------------------------------------------------------------

// What settings say of it.
struct TuningLimits {
    uint32_t piece_bytes_max = 0;   // 0: as the way wants it
    bool has_single = true;         // wherever it may and wins,
    bool is_always_single = false;  // or wherever it may
    bool has_long_rings = true;     // of the team, whatever others of its processes have
    uint32_t ranks = 2;             // of the team,
    bool is_flat = true;            // which meet all with all
};

// `untried`: what holds where nothing was measured.
Tuning tune(const Figures& figures, const Tuning& untried, const TuningLimits& limits);
// For a call by which `trial` is made.
Tuning tuning_for(const Trial& trial, const Tuning& untried, const TuningLimits& limits);

// So much longer, or shorter, and the ranks are on other processors than they were. On a virtual
// AMD EPYC a flag needs 0.04 to 0.07 us within a die and 0.21 to 0.28 between two: a factor of 3 at
// least from one place to another, and of 1.3 within a minute in one place.
inline constexpr double kMovedFactor = 1.6;
inline bool has_moved(double then, double now) {
    return now > kMovedFactor * then || then > kMovedFactor * now;
}

}  // namespace tutti::node
