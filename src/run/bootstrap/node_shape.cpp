// SPDX-License-Identifier: BSD-3-Clause
#include "run/bootstrap/node_shape.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <optional>

namespace tutti::bootstrap {
namespace {

constexpr size_t kChunkBytesMin = 4096;

// A chunk's bytes before memory is short, where nothing was measured.
constexpr uint32_t kPieceBytesFew = 16 * 1024;
// Of a short ring.
constexpr uint64_t kShortChunksMax = 32;
// Of TUTTI_MEMORY, what rings longer than short ones may take.
constexpr size_t kLongRingsShare = 8;

// A second-level cache of this machine; 0: unknown.
size_t second_level_bytes() {
    return static_cast<size_t>(std::max(sysconf(_SC_LEVEL2_CACHE_SIZE), 0L));
}

}  // namespace

// As measured between cores of an AMD Zen 4 with a second-level cache of 1 MiB and a third-level
// one in common (docs/node.md): in rings of 1, 1.5, 2 and 8 MiB a broadcast of 64 KiB
// took 3.9, 2.3, 1.7 and 1.6 us.
size_t long_ring_bytes() {
    constexpr size_t kMost = size_t{4} << 20;
    return std::bit_floor(
        std::clamp<size_t>(2 * second_level_bytes(), node::kShortRingBytes, kMost));
}

// On 2 cores with 2 MiB each: broadcast of 4 MiB 640 -> 550 us, gather of 16 MiB 5.4 -> 4.3 ms; at
// 1 MiB it loses up to 15 %. With 1 MiB each and 32 MiB in common: gather of 1 MiB a rank 49 -> 80
// us, of 2 MiB 117 -> 170, of 3 MiB 259 and 289, allgather of 3 MiB 731 -> 640 (IMB-MPI1).
size_t past_caches_bytes_min() {
    constexpr size_t kUnknown = size_t{4} << 20;
    const size_t cache = second_level_bytes();
    return cache > 0 ? 6 * cache : kUnknown;
}

namespace {

// Whole ones, where these ranks want them and they are longer than short ones.
std::optional<node::Geometry> long_rings(uint32_t ranks, size_t chunk_bytes,
                                         const node::Tuning& tuning) {
    const size_t ring_bytes = std::min<size_t>(tuning.ring_bytes, long_ring_bytes());
    const uint64_t count =
        std::min<uint64_t>(std::bit_floor(ring_bytes / chunk_bytes), node::kChunkCountMax);
    const bool is_long = count * chunk_bytes > node::kShortRingBytes;
    if (!is_long || count < node::kChunkCountMin) return std::nullopt;
    return node::Geometry::make(ranks, chunk_bytes, count);
}

}  // namespace

node::Geometry choose_geometry(const Settings& settings, uint32_t ranks, const node::Tuning& tuning,
                               size_t used_bytes, uint32_t tracks) {
    const size_t left =
        settings.node.memory_bytes > used_bytes ? settings.node.memory_bytes - used_bytes : 0;
    // Every rank needs a line of the root's chunk in a scatter.
    const size_t least = std::max(kChunkBytesMin, node::kLineBytes * ranks);
    const bool is_set = settings.node.chunk_bytes > 0;
    size_t chunk = is_set ? settings.node.chunk_bytes : tuning.pieces.bytes_max;
    if (const auto geometry = long_rings(ranks, std::max(chunk, least), tuning)) {
        const size_t bytes = tracks * geometry->slice_bytes;
        const bool has_room =
            bytes <= left / 8 && used_bytes + bytes <= settings.node.memory_bytes / kLongRingsShare;
        if (has_room) return *geometry;
    }
    while (true) {
        chunk = std::max(chunk, is_set ? node::kLineBytes * ranks : least);
        uint64_t count = kShortChunksMax;
        while (count > node::kChunkCountMin && count * chunk > node::kShortRingBytes) count /= 2;
        for (; count >= node::kChunkCountMin; count /= 2) {
            const auto geometry = node::Geometry::make(ranks, chunk, count);
            const bool is_least = count == node::kChunkCountMin && (is_set || chunk <= least);
            if (tracks * geometry.slice_bytes <= left / 8 || is_least) return geometry;
        }
        chunk /= 2;
    }
}

arena::HomeShape choose_homes(const Settings& settings, uint32_t ranks) {
    constexpr size_t kPoolShare = 5;
    constexpr size_t kEntriesMax = 4096;
    const size_t left = settings.node.memory_bytes / ranks;
    const size_t pool = std::min<size_t>(node::kShortRingBytes, left / kPoolShare);
    const size_t line_each = node::kLineBytes * ranks;
    const bool is_set = settings.node.chunk_bytes > 0;
    size_t chunk = std::max<size_t>(is_set ? piece_bytes_max(settings) : kPieceBytesFew, line_each);
    // At least a chunk more than a single call may have out.
    while (!is_set && chunk / 2 >= std::max(kChunkBytesMin, line_each) &&
           pool / chunk <= node::kChunksOut) {
        chunk /= 2;
    }
    chunk = (chunk + node::kLineBytes - 1) / node::kLineBytes * node::kLineBytes;
    arena::HomeShape shape;
    if (pool / chunk < node::kChunksOut) return shape;
    shape.ranks = ranks;
    shape.chunk_bytes = chunk;
    shape.places = static_cast<uint32_t>(pool / chunk);
    shape.entries = static_cast<uint32_t>(std::min(kEntriesMax, (left - pool) / node::kEntryBytes));
    return shape;
}

uint32_t piece_bytes_max(const Settings& settings) {
    const size_t lines = (settings.node.chunk_bytes + node::kLineBytes - 1) / node::kLineBytes;
    return static_cast<uint32_t>(lines * node::kLineBytes);
}

node::Tuning default_tuning(const Settings& settings, uint32_t ranks) {
    node::Tuning tuning;
    tuning.pieces.bytes_max = ranks <= kFlatRanksMax ? kPieceBytesFew : kPieceBytesMany;
    if (settings.node.chunk_bytes > 0) tuning.pieces.bytes_max = piece_bytes_max(settings);
    return tuning;
}

node::Tuning largest_tuning(const Settings& settings, uint32_t ranks) {
    node::Tuning tuning = default_tuning(settings, ranks);
    tuning.ring_bytes = node::kWholeRing;
    return tuning;
}

bool is_crowded(std::span<const topo::CpuSet> rank_cpus, uint32_t usable, uint32_t ranks_on_node) {
    topo::CpuSet all;
    for (const topo::CpuSet& cpus : rank_cpus) all |= cpus;
    if (rank_cpus.size() > std::max(1u, std::min(all.count(), usable))) return true;
    if (ranks_on_node > usable) return true;
    // Ranks bound to one and the same processor crowd it, however many there are elsewhere.
    topo::CpuSet bound;
    for (const topo::CpuSet& cpus : rank_cpus) {
        if (cpus.count() != 1) continue;
        const uint32_t cpu = *cpus.first();
        if (bound.has(cpu)) return true;
        bound.add(cpu);
    }
    return false;
}

bool may_want_tree(const Settings& settings, uint32_t ranks) {
    if (settings.node.layout != LayoutChoice::kAuto)
        return settings.node.layout == LayoutChoice::kTree;
    return ranks > kFlatRanksMax;
}

bool wants_tree(const Settings& settings, uint32_t ranks, bool is_crowded) {
    if (settings.node.layout != LayoutChoice::kAuto)
        return settings.node.layout == LayoutChoice::kTree;
    return may_want_tree(settings, ranks) && (!settings.node.topology.empty() || !is_crowded);
}

topo::Groups rank_groups(const Settings& settings, std::span<const topo::CpuSet> cpus) {
    const auto ranks = static_cast<uint32_t>(cpus.size());
    std::vector<topo::CpuSet> places(cpus.begin(), cpus.end());
    topo::Groups groups;
    if (const auto topology = topo::read_node_topology(settings.node.topology)) {
        for (uint32_t rank = 0; rank < ranks && !settings.node.topology.empty(); ++rank) {
            places[rank] = topo::CpuSet{};
            places[rank].add(rank % std::max(1u, topology.value().cpu_count));
        }
        groups = topo::group_ranks(topology.value(), places);
    }
    return groups;
}

std::vector<uint32_t> encode_tree(const topo::Groups& groups, uint32_t ranks, uint32_t fan_in_max) {
    std::vector<uint32_t> words = topo::build_tree(groups, ranks, fan_in_max).parent;
    const bool is_one = groups.level.empty();
    for (uint32_t rank = 0; rank < ranks; ++rank) {
        words.push_back(is_one ? 0 : groups.level.back()[rank]);
    }
    for (uint32_t rank = 0; rank < ranks; ++rank) {
        const bool is_root = words[rank] == node::kNoRank;
        words.push_back(is_root ? 0 : topo::distance(groups, rank, words[rank]));
    }
    return words;
}

node::Layout tree_layout(std::span<const uint32_t> words) {
    const size_t ranks = words.size() / kTreeWords;
    node::Layout layout = node::make_tree(words.first(ranks), words.subspan(ranks, ranks));
    node::set_distances(layout, words.subspan(2 * ranks));
    return layout;
}

}  // namespace tutti::bootstrap
