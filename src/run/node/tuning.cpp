// SPDX-License-Identifier: BSD-3-Clause
#include "run/node/tuning.h"

#include <algorithm>
#include <bit>

namespace tutti::node {
namespace {

// The quickest, of equals the first; `fallback` where none was measured.
CopyWay best_way(const std::array<uint32_t, kCopyWays>& way_ns, CopyWay fallback) {
    CopyWay best = fallback;
    uint32_t least = UINT32_MAX;
    for (size_t i = 0; i < kCopyWays; ++i) {
        const uint32_t ns = way_ns[i];
        if (ns == 0 || ns >= least) continue;
        least = ns;
        best = static_cast<CopyWay>(i);
    }
    return best;
}

// By enough to be no accident.
bool wins(uint32_t ns, uint32_t other_ns) { return uint64_t{ns} * 20 < uint64_t{other_ns} * 19; }

// The quickest that keeps lines in the caches.
CopyWay best_cached_way(std::array<uint32_t, kCopyWays> way_ns, CopyWay fallback) {
    way_ns[static_cast<size_t>(CopyWay::kStream)] = 0;
    return best_way(way_ns, fallback);
}

// By which way, in which rings 64 KiB went quickest.
struct BestRing {
    CopyWay way = CopyWay::kPrefetch;
    bool is_short = false;
    uint32_t ns = 0;  // 0: nothing was measured
};
// Where there are but short ones, figures of long ones say how streams do, which find no ring too
// long, and how the others do in short ones.
BestRing best_ring(const Figures& figures, CopyWay fallback, bool has_long_rings = true) {
    const CopyWay way = best_way(figures.way_ns, fallback);
    const BestRing whole{way, false, figures.way_ns[static_cast<size_t>(way)]};
    const uint32_t short_ns = figures.short_ring_ns;
    if (short_ns == 0) return {way, !has_long_rings, whole.ns};
    const uint32_t stream_ns = figures.way_ns[static_cast<size_t>(CopyWay::kStream)];
    const BestRing stream{CopyWay::kStream, true, stream_ns};
    const BestRing rival = has_long_rings ? whole : stream;
    if (rival.ns != 0 && !wins(short_ns, rival.ns)) return rival;
    return {best_cached_way(figures.way_ns, fallback), true, short_ns};
}

// In a long ring a call that leaves parts of its chunks alone leaves them in the caches too, and
// the ring is a shorter one: whole chunks. Streams find no ring too long, so what counts is the
// copy that the pieces hide; where all send and all receive they hide none, and each is a round,
// and a wait for the stores before.
PieceRule pieces_of(const BestRing& best, uint32_t bytes_max) {
    constexpr uint32_t kWholeBytes = 16 * 1024;
    constexpr uint32_t kStreamBytes = 8192;
    constexpr uint32_t kStreamBytesMost = 64 * 1024;
    if (best.way == CopyWay::kStream) {
        return {8, kStreamBytes, std::max(bytes_max, kStreamBytesMost)};
    }
    if (!best.is_short) return {8, std::min(kWholeBytes, bytes_max), bytes_max};
    return {8, 2048, bytes_max};
}

bool is_measured(const Times& times, size_t size) {
    return times.ring[size] != 0 && times.single[size] != 0;
}
bool single_wins(const Times& times, size_t size) {
    return wins(times.single[size], times.ring[size]);
}

// Of one giver, at a time.
uint32_t best_readers(const Figures& figures) {
    uint32_t least_ns = figures.one_way.single[kMeasuredMiddle];
    uint32_t best = kAllReaders;
    for (size_t i = kReaderLimits; i-- > 0;) {
        const uint32_t ns = figures.readers_ns[i];
        if (ns == 0 || !wins(ns, least_ns)) continue;
        least_ns = ns;
        best = uint32_t{1} << i;
    }
    return best;
}
bool is_of_limit(const Trial& trial) {
    return trial.pattern == Pattern::kOneWay && trial.size == kMeasuredMiddle && trial.is_single &&
           trial.readers != kAllReaders;
}

// From the middle down as long as single copy wins there, else up.
std::optional<Trial> next_of(const Times& times, Pattern pattern, const BestRing& best,
                             size_t bytes_max) {
    size_t size = kMeasuredMiddle;
    while (size > 0 && kMeasuredBytes[size] > bytes_max) --size;
    const bool may_rise = size == kMeasuredMiddle;
    const auto lacks = [&](size_t at) -> std::optional<Trial> {
        const auto index = static_cast<uint8_t>(at);
        if (times.ring[at] == 0) return Trial{pattern, best.way, index, false, best.is_short};
        if (times.single[at] == 0) return Trial{pattern, best.way, index, true, best.is_short};
        return std::nullopt;
    };
    if (kMeasuredBytes[size] > bytes_max) return std::nullopt;
    if (auto trial = lacks(size)) return trial;
    if (single_wins(times, size)) {
        while (size > 0 && single_wins(times, size)) {
            if (auto trial = lacks(--size)) return trial;
        }
        return std::nullopt;
    }
    // What is so much longer there does not win with more.
    const bool is_hopeless = uint64_t{times.single[size]} * 10 > uint64_t{times.ring[size]} * 13;
    if (is_hopeless) return std::nullopt;
    while (may_rise && size + 1 < kMeasuredBytes.size() && kMeasuredBytes[size + 1] <= bytes_max) {
        if (auto trial = lacks(++size)) return trial;
        if (single_wins(times, size)) break;
    }
    return std::nullopt;
}

// With fewer readers at a time, by halves, until one takes a third more than the best: where
// readers do not hinder each other at all the first one tells, which takes twice as long. Less than
// a third says little, since turns may not be full: 7 readers take two turns of 4. Only where
// single copy is near: what a limit saves is seldom more than half.
std::optional<Trial> next_limit(const Figures& figures, const BestRing& best, uint32_t readers) {
    constexpr uint64_t kNear = 2;
    const uint32_t all_ns = figures.one_way.single[kMeasuredMiddle];
    if (all_ns > kNear * best.ns) return std::nullopt;
    uint32_t least_ns = all_ns;
    const size_t limits = readers < 2 ? 0 : static_cast<size_t>(std::bit_width(readers - 1));
    for (size_t i = std::min(limits, kReaderLimits); i-- > 0;) {
        const uint32_t ns = figures.readers_ns[i];
        if (ns == 0) {
            return Trial{.pattern = Pattern::kOneWay,
                         .way = best.way,
                         .size = kMeasuredMiddle,
                         .is_single = true,
                         .is_short = best.is_short,
                         .readers = uint32_t{1} << i};
        }
        if (uint64_t{least_ns} * 4 < uint64_t{ns} * 3) return std::nullopt;
        least_ns = std::min(least_ns, ns);
    }
    return std::nullopt;
}

// Of what a single copy may win, with the readers at a time that are best.
std::optional<Trial> next_single(const Figures& figures, const Measurable& measurable) {
    const BestRing best = best_ring(figures, CopyWay::kPrefetch);
    if (figures.one_way.single[kMeasuredMiddle] != 0) {
        if (auto trial = next_limit(figures, best, measurable.readers)) return trial;
    }
    auto trial = next_of(tuned_one_way(figures), Pattern::kOneWay, best, kMeasuredBytes.back());
    if (!trial) {
        trial = next_of(figures.all_ways, Pattern::kAllWays, best, measurable.all_ways_bytes_max);
    }
    if (trial && trial->is_single) trial->readers = best_readers(figures);
    return trial;
}

// Of what prices want to know and a choice does not. All ways, by rings: what of one way is
// writing, and what is reading.
std::optional<Trial> next_of_prices(const Figures& figures, size_t all_ways_bytes_max) {
    const BestRing best = best_ring(figures, CopyWay::kPrefetch);
    const Trial trial{
        .way = best.way, .size = kMeasuredMiddle, .is_single = false, .is_short = best.is_short};
    const auto of = [&](Pattern pattern) {
        Trial next = trial;
        next.pattern = pattern;
        return next;
    };
    if (figures.short_ns == 0) return of(Pattern::kShort);
    if (figures.fold_ns == 0) return of(Pattern::kFold);
    const bool has_room = kMeasuredBytes[kMeasuredMiddle] <= all_ways_bytes_max;
    const bool is_known = figures.all_ways.ring[kMeasuredMiddle] != 0;
    return has_room && !is_known ? std::optional(of(Pattern::kAllWays)) : std::nullopt;
}

// Where all pairs are alike, one of them says nothing that the team has not said.
bool are_apart(uint32_t distances) { return std::popcount(distances) > 1; }

std::optional<Trial> next_flag(const Figures& figures, uint32_t distances) {
    for (uint8_t i = 0; are_apart(distances) && i < kDistancesMax; ++i) {
        if ((distances >> i & 1) == 0 || figures.pairs[i].flag_ns != 0) continue;
        return Trial{.pattern = Pattern::kFlag, .size = kMeasuredMiddle, .distance = i};
    }
    return std::nullopt;
}

// In pieces as the team will have them: a rank chooses its way, but all cut alike.
std::optional<Trial> next_pair(const Figures& figures, uint32_t distances) {
    const BestRing best = best_ring(figures, CopyWay::kPrefetch);
    for (uint8_t i = 0; are_apart(distances) && i < kDistancesMax; ++i) {
        if ((distances >> i & 1) == 0) continue;
        for (size_t way = 0; way < kCopyWays; ++way) {
            if (figures.pairs[i].way_ns[way] != 0) continue;
            return Trial{.pattern = Pattern::kPair,
                         .way = static_cast<CopyWay>(way),
                         .size = kMeasuredMiddle,
                         .is_short = best.is_short,
                         .distance = i,
                         .pieces_by = best.way};
        }
    }
    return std::nullopt;
}

// The smallest from which on single copy won at everything that was measured.
uint64_t threshold(const Times& times) {
    uint64_t from = kNever;
    for (size_t size = kMeasuredBytes.size(); size-- > 0;) {
        if (!is_measured(times, size)) continue;
        if (!single_wins(times, size)) break;
        from = kMeasuredBytes[size];
    }
    return from;
}

// Of a scatter's block. Into rings its root writes one for each of the others, each in what a
// broadcast of it takes from end to end: nearly all of that is writing, or half along a tree.
// Readers read theirs side by side, as many as of a broadcast, but none the pages of another: what
// a broadcast takes is the most. Among 3 to 16 cores of an Intel Xeon single copies won from 256
// KiB on where that was up to twice what rings take of 64 KiB, by a factor of 2 to 5 at 1 MiB.
uint64_t scatter_threshold(const Figures& figures, const TuningLimits& limits) {
    Times times = tuned_one_way(figures);
    const uint64_t blocks = limits.is_flat ? limits.ranks - 1 : std::max(limits.ranks - 1, 2u) / 2;
    for (uint32_t& ns : times.ring) {
        ns = static_cast<uint32_t>(std::min<uint64_t>(ns * blocks, UINT32_MAX));
    }
    const uint64_t from = threshold(times);
    const uint64_t near_ns = uint64_t{2} * times.ring[kMeasuredMiddle];
    const bool is_near =
        is_measured(times, kMeasuredMiddle) && times.single[kMeasuredMiddle] < near_ns;
    const bool has_many = limits.ranks > 2;  // of two the other one reads what a broadcast reads
    return has_many && is_near ? std::min<uint64_t>(from, kMeasuredBytes.back()) : from;
}

// A ring also takes turns of the processors, which no rank can measure by itself. And reading the
// own memory took a fifth to a third longer than reading another's (Intel Xeon, virtual). There
// alltoallvs of 16 KiB to 1 MiB took a third less in place, where the two figures were alike.
uint64_t once_threshold(Times once) {
    for (uint32_t& ns : once.ring) ns += ns / 3;
    return threshold(once);
}

}  // namespace

const char* name_of(CopyWay way) {
    constexpr const char* kNames[kCopyWays] = {"plain", "prefetch", "string", "stream"};
    return kNames[static_cast<size_t>(way)];
}

std::optional<Trial> next_trial(const Figures& figures, const Measurable& measurable) {
    if (figures.barrier_ns == 0) return Trial{};
    for (size_t i = 0; i < kCopyWays; ++i) {
        if (figures.way_ns[i] != 0) continue;
        return Trial{Pattern::kOneWay, static_cast<CopyWay>(i), kMeasuredMiddle, false};
    }
    if (measurable.has_long_rings && figures.short_ring_ns == 0) {
        const CopyWay way = best_cached_way(figures.way_ns, CopyWay::kPrefetch);
        return Trial{
            .pattern = Pattern::kOneWay, .way = way, .size = kMeasuredMiddle, .is_short = true};
    }
    if (auto trial = next_flag(figures, measurable.distances)) return trial;
    if (measurable.can_read) {
        if (auto trial = next_single(figures, measurable)) return trial;
    }
    if (auto trial = next_pair(figures, measurable.distances)) return trial;
    if (!measurable.for_prices) return std::nullopt;
    return next_of_prices(figures, measurable.all_ways_bytes_max);
}

void forget_unfinished(Figures& figures, const Trial& next) {
    const bool is_way = next.pattern == Pattern::kOneWay && next.size == kMeasuredMiddle;
    if (next.pattern == Pattern::kShort || next.pattern == Pattern::kFold) return;
    if (next.pattern == Pattern::kBarrier) {
        figures = Figures{};
    } else if (next.pattern == Pattern::kFlag) {
        for (PairFigures& pair : figures.pairs) pair.flag_ns = 0;
    } else if (next.pattern == Pattern::kPair) {
        figures.pairs[next.distance].way_ns = {};
    } else if (next.pattern == Pattern::kAllWays) {
        figures.all_ways = Times{};
    } else if (is_way && !next.is_single && next.is_short) {
        figures.short_ring_ns = 0;
    } else if (is_way && !next.is_single) {
        figures.way_ns = {};
    } else {
        figures.one_way = Times{};
        figures.readers_ns = {};
    }
}

Times tuned_one_way(const Figures& figures) {
    Times times = figures.one_way;
    times.ring[kMeasuredMiddle] = best_ring(figures, CopyWay::kPrefetch).ns;
    const uint32_t readers = best_readers(figures);
    if (readers != kAllReaders) {
        times.single[kMeasuredMiddle] =
            figures.readers_ns[static_cast<size_t>(std::countr_zero(readers))];
    }
    return times;
}

uint32_t& time_of(Figures& figures, const Trial& trial) {
    if (trial.pattern == Pattern::kBarrier) return figures.barrier_ns;
    if (trial.pattern == Pattern::kShort) return figures.short_ns;
    if (trial.pattern == Pattern::kFold) return figures.fold_ns;
    PairFigures& pair = figures.pairs[trial.distance];
    if (trial.pattern == Pattern::kFlag) return pair.flag_ns;
    if (trial.pattern == Pattern::kPair) return pair.way_ns[static_cast<size_t>(trial.way)];
    const bool is_way = trial.pattern == Pattern::kOneWay && trial.size == kMeasuredMiddle;
    if (is_way && !trial.is_single && trial.is_short) return figures.short_ring_ns;
    if (is_way && !trial.is_single) return figures.way_ns[static_cast<size_t>(trial.way)];
    if (is_of_limit(trial)) {
        return figures.readers_ns[static_cast<size_t>(std::countr_zero(trial.readers))];
    }
    Times& times = trial.pattern == Pattern::kOneWay ? figures.one_way : figures.all_ways;
    return trial.is_single ? times.single[trial.size] : times.ring[trial.size];
}

uint32_t rival_ns(const Figures& figures, const Trial& trial) {
    const bool is_pair = trial.pattern == Pattern::kPair;
    const bool is_compared =
        trial.pattern == Pattern::kOneWay || trial.pattern == Pattern::kAllWays || is_pair;
    if (!is_compared) return 0;
    const auto& way_ns = is_pair ? figures.pairs[trial.distance].way_ns : figures.way_ns;
    if (is_pair) return way_ns[static_cast<size_t>(best_way(way_ns, trial.way))];
    if (is_of_limit(trial)) return tuned_one_way(figures).single[kMeasuredMiddle];
    if (trial.pattern == Pattern::kOneWay && trial.size == kMeasuredMiddle) {
        return best_ring(figures, trial.way).ns;
    }
    if (!trial.is_single) return 0;
    const Times& times = trial.pattern == Pattern::kOneWay ? figures.one_way : figures.all_ways;
    return times.ring[trial.size];
}

Tuning tune(const Figures& figures, const Tuning& untried, const TuningLimits& limits) {
    Tuning tuning = untried;
    const BestRing best = best_ring(figures, untried.way, limits.has_long_rings);
    tuning.way = best.way;
    for (size_t i = 0; i < kDistancesMax; ++i) {
        tuning.way_to[i] = best_way(figures.pairs[i].way_ns, tuning.way);
    }
    if (best.ns != 0) {
        tuning.pieces = pieces_of(best, untried.pieces.bytes_max);
        tuning.ring_bytes = best.is_short ? kShortRingBytes : kWholeRing;
    }
    if (limits.piece_bytes_max > 0) tuning.pieces.bytes_max = limits.piece_bytes_max;
    tuning.has_cores = best.ns != 0;
    tuning.set_single(kNever);
    if (!limits.has_single) return tuning;
    tuning.readers_max = best_readers(figures);
    if (limits.is_always_single) {
        tuning.set_single(0);
        return tuning;
    }
    if (!tuning.has_cores) tuning.single_once = once_threshold(figures.once);
    tuning.single_one_way = threshold(tuned_one_way(figures));
    tuning.single_all_ways = threshold(figures.all_ways);
    tuning.single_scatter = scatter_threshold(figures, limits);
    return tuning;
}

Tuning tuning_for(const Trial& trial, const Tuning& untried, const TuningLimits& limits) {
    Tuning tuning = untried;
    tuning.way = trial.way;
    tuning.way_to = Tuning::all_by(trial.way);
    const bool is_short = trial.is_short || !limits.has_long_rings;
    const BestRing cut{trial.pieces_by.value_or(trial.way), is_short, 0};
    tuning.pieces = pieces_of(cut, untried.pieces.bytes_max);
    if (limits.piece_bytes_max > 0) tuning.pieces.bytes_max = limits.piece_bytes_max;
    tuning.ring_bytes = is_short ? kShortRingBytes : kWholeRing;
    tuning.set_single(trial.is_single ? 0 : kNever);
    tuning.readers_max = trial.readers;
    return tuning;
}

}  // namespace tutti::node
