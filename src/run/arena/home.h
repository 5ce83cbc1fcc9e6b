// SPDX-License-Identifier: BSD-3-Clause
// Homes: what each process of a set has for its parts of lean teams (node::Geometry::is_lean), of
// this set and of all its subsets. A home is a pool of chunks and entries of some hundred bytes;
// each process hands out its own, and reserves their memory as it goes, so that no two of them have
// to agree on anything but what a team tells its members.
//
// All homes of a set are one slice of its segment. There is also the account of a node's memory
// that all teams of these processes share, and where the processes stand.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/topo/node_topology.h"
#include "run/arena/arena.h"
#include "run/node/chunk_pool.h"
#include "run/node/slice.h"

namespace tutti::arena {

// Where things lie; every process of the set computes the same. Plain data.
struct HomeShape {
    uint32_t ranks = 0;
    uint32_t places = 0;   // chunks of a pool
    uint32_t entries = 0;  // of a process
    uint64_t chunk_bytes = 0;

    [[nodiscard]] size_t header_bytes() const;
    [[nodiscard]] size_t pool_bytes() const;
    [[nodiscard]] size_t rank_bytes() const;  // a process's home
    [[nodiscard]] size_t bytes() const;
};

// Behind the slice's own header. The counters are added to before memory is reserved, and
// subtracted from where that was too much, or when it is given back; relaxed, since nothing else
// hangs on them. The groups are the maker's, written before others are told of the homes.
struct HomeHeader {
    static constexpr uint32_t kLevelsMax = 8;
    std::atomic<uint64_t> bytes_used{0};    // of homes and of slices
    std::atomic<uint64_t> slices_bytes{0};  // of teams with a slice of their own
    uint32_t levels = 0;
    // group[level * ranks + rank], as in topo::Groups; behind this struct.
    [[nodiscard]] uint32_t* groups() { return reinterpret_cast<uint32_t*>(this + 1); }
};

class Home {
  public:
    // mapping: of all homes; rank: whose this one is, in the set.
    Home(uint64_t id, const HomeShape& shape, uint32_t rank, uint64_t set_hash,
         size_t memory_bytes_max, std::shared_ptr<Arena> arena, std::shared_ptr<Mapping> mapping,
         off_t offset);
    Home(const Home&) = delete;
    Home& operator=(const Home&) = delete;
    ~Home();

    [[nodiscard]] uint64_t id() const { return id_; }
    // False in a child of the process whose home it is, which must leave it alone, and where the
    // program has closed or replaced the segment's descriptor.
    [[nodiscard]] bool is_usable() const;
    [[nodiscard]] uint32_t ranks() const { return shape_.ranks; }
    [[nodiscard]] uint32_t rank() const { return rank_; }
    [[nodiscard]] uint64_t set_hash() const { return set_hash_; }
    [[nodiscard]] size_t chunk_bytes() const { return shape_.chunk_bytes; }
    [[nodiscard]] const std::shared_ptr<Arena>& arena() const { return arena_; }
    [[nodiscard]] const std::shared_ptr<Mapping>& mapping() const { return mapping_; }
    [[nodiscard]] const std::shared_ptr<node::ChunkPool>& pool() const { return pool_; }

    [[nodiscard]] std::byte* entry(uint32_t rank, uint32_t index) const;
    [[nodiscard]] std::byte* pool_memory(uint32_t rank) const;

    // An entry of this process; with its memory, and that of the pool, reserved.
    Result<uint32_t> take_entry();
    // That nobody else has used.
    void give_back(uint32_t entry);

    // Counts from 0: whose turn it is, among members, to do something for all.
    uint32_t next_turn() { return turn_.fetch_add(1, std::memory_order_relaxed); }

    // Whether so many bytes more fit: below slices_max with all other slices, and below what the
    // node may use with everything. Then they are counted.
    bool admit_slice(size_t bytes, size_t slices_max);
    void discharge_slice(size_t bytes);
    [[nodiscard]] size_t bytes_used() const;
    // That all homes of the set may come to take.
    [[nodiscard]] size_t bytes_max() const { return shape_.bytes(); }
    [[nodiscard]] size_t slices_bytes() const;

    // Where the processes stand, for trees; once, by the maker of the homes.
    void write_groups(const topo::Groups& groups);
    // Of some of them, in this order.
    [[nodiscard]] topo::Groups groups_of(std::span<const uint32_t> ranks) const;

  private:
    [[nodiscard]] HomeHeader& header() const;
    [[nodiscard]] size_t area_offset(uint32_t rank) const;
    Result<Done> reserve_own(size_t end);

    uint64_t id_;
    HomeShape shape_;
    uint32_t rank_;
    uint64_t set_hash_;
    size_t memory_bytes_max_;
    std::shared_ptr<Arena> arena_;
    std::shared_ptr<Mapping> mapping_;
    off_t offset_;
    std::shared_ptr<node::ChunkPool> pool_;
    pid_t owner_;

    std::atomic<uint32_t> turn_{0};
    std::mutex mutex_;
    size_t reserved_ = 0;          // bytes of the own area, from its beginning
    uint32_t entries_made_ = 0;    // that were ever handed out
    std::vector<uint32_t> taken_;  // room for all
    std::vector<uint32_t> free_;
};

// What a member holds of its team's memory: its end leaves it. The member that leaves last hands it
// back for all.
struct TeamMemory {
    std::shared_ptr<Mapping> mapping;  // nullptr: nothing is held
    std::shared_ptr<Home> home;        // that counts a slice, or has the entries; nullptr: none
    node::SliceHeader* header = nullptr;
    uint32_t members = 0;
    size_t counted_bytes = 0;               // of a slice
    node::ChunkPool::Part* part = nullptr;  // of a lean team, in the pool of the home

    TeamMemory() = default;
    TeamMemory(TeamMemory&& other) noexcept { *this = std::move(other); }
    TeamMemory& operator=(TeamMemory&& other) noexcept;
    ~TeamMemory() { leave(); }
    void leave();
};

}  // namespace tutti::arena
