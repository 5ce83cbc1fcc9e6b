// SPDX-License-Identifier: BSD-3-Clause
#include "run/arena/home.h"

#include <unistd.h>

#include <algorithm>
#include <new>
#include <utility>

#include "base/assert.h"
#include "base/text.h"

namespace tutti::arena {
namespace {

node::EntryState& state_of(std::byte* entry) {
    return *reinterpret_cast<node::EntryState*>(entry + node::kLeanStateOffset);
}

}  // namespace

size_t HomeShape::header_bytes() const {
    const size_t groups = size_t{HomeHeader::kLevelsMax} * ranks * sizeof(uint32_t);
    return node::kPageBytes + node::whole_pages(sizeof(HomeHeader) + groups);
}

size_t HomeShape::pool_bytes() const { return node::whole_pages(places * chunk_bytes); }

size_t HomeShape::rank_bytes() const {
    return pool_bytes() + node::whole_pages(size_t{entries} * node::kEntryBytes);
}

size_t HomeShape::bytes() const { return header_bytes() + ranks * rank_bytes(); }

Home::Home(uint64_t id, const HomeShape& shape, uint32_t rank, uint64_t set_hash,
           size_t memory_bytes_max, std::shared_ptr<Arena> arena, std::shared_ptr<Mapping> mapping,
           off_t offset)
    : id_(id),
      shape_(shape),
      rank_(rank),
      set_hash_(set_hash),
      memory_bytes_max_(memory_bytes_max),
      arena_(std::move(arena)),
      mapping_(std::move(mapping)),
      offset_(offset),
      pool_(std::make_shared<node::ChunkPool>(shape.places)),
      owner_(getpid()) {
    taken_.reserve(shape.entries);
    free_.reserve(shape.entries);
}

Home::~Home() {
    if (getpid() != owner_) return;
    leave_slice(*reinterpret_cast<node::SliceHeader*>(mapping_->base()));
}

bool Home::is_usable() const { return getpid() == owner_ && arena_->is_intact(); }

HomeHeader& Home::header() const {
    return *reinterpret_cast<HomeHeader*>(mapping_->base() + node::kPageBytes);
}

size_t Home::area_offset(uint32_t rank) const {
    return shape_.header_bytes() + rank * shape_.rank_bytes();
}

std::byte* Home::pool_memory(uint32_t rank) const { return mapping_->base() + area_offset(rank); }

std::byte* Home::entry(uint32_t rank, uint32_t index) const {
    return pool_memory(rank) + shape_.pool_bytes() + index * node::kEntryBytes;
}

// Memory of the own area up to `end`.
Result<Done> Home::reserve_own(size_t end) {
    if (end <= reserved_) return Done{};
    if (!is_usable()) return Error{ErrorCode::kSystem, "the segment's descriptor was closed"};
    const size_t bytes = end - reserved_;
    HomeHeader& account = header();
    const size_t before = account.bytes_used.fetch_add(bytes, std::memory_order_relaxed);
    Result<Done> reserved = Done{};
    if (before + bytes > memory_bytes_max_) {
        reserved = Error{ErrorCode::kMemory, format_bytes(before) +
                                                 " of shared memory in use on this node, "
                                                 "TUTTI_MEMORY allows " +
                                                 format_bytes(memory_bytes_max_)};
    } else {
        const auto from = offset_ + static_cast<off_t>(area_offset(rank_) + reserved_);
        reserved = reserve(arena_->fd(), from, bytes, bytes);
    }
    if (reserved) {
        reserved_ = end;
    } else {
        account.bytes_used.fetch_sub(bytes, std::memory_order_relaxed);
    }
    return reserved;
}

Result<uint32_t> Home::take_entry() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) {
        // Those of teams that all have left.
        const auto left = std::partition(taken_.begin(), taken_.end(), [this](uint32_t index) {
            return state_of(entry(rank_, index)).is_left.load(std::memory_order_acquire) == 0;
        });
        free_.assign(left, taken_.end());
        for (const uint32_t index : free_) pool_->end(entry(rank_, index));
        taken_.erase(left, taken_.end());
    }
    if (free_.empty()) {
        if (entries_made_ == shape_.entries) {
            return Error{ErrorCode::kMemory, "a process takes part in " +
                                                 std::to_string(shape_.entries) +
                                                 " communicators of its node at most"};
        }
        const size_t end = shape_.pool_bytes() +
                           node::whole_pages((entries_made_ + size_t{1}) * node::kEntryBytes);
        if (auto reserved = reserve_own(end); !reserved) return reserved.error();
        free_.push_back(entries_made_++);
    }
    const uint32_t index = free_.back();
    free_.pop_back();
    taken_.push_back(index);
    new (&state_of(entry(rank_, index))) node::EntryState{};
    return index;
}

void Home::give_back(uint32_t index) {
    const std::lock_guard lock(mutex_);
    std::erase(taken_, index);
    free_.push_back(index);
}

bool Home::admit_slice(size_t bytes, size_t slices_max) {
    HomeHeader& account = header();
    const size_t slices = account.slices_bytes.fetch_add(bytes, std::memory_order_relaxed);
    const size_t used = account.bytes_used.fetch_add(bytes, std::memory_order_relaxed);
    if (slices + bytes <= slices_max && used + bytes <= memory_bytes_max_) return true;
    discharge_slice(bytes);
    return false;
}

void Home::discharge_slice(size_t bytes) {
    header().slices_bytes.fetch_sub(bytes, std::memory_order_relaxed);
    header().bytes_used.fetch_sub(bytes, std::memory_order_relaxed);
}

size_t Home::bytes_used() const { return header().bytes_used.load(std::memory_order_relaxed); }

size_t Home::slices_bytes() const { return header().slices_bytes.load(std::memory_order_relaxed); }

void Home::write_groups(const topo::Groups& groups) {
    HomeHeader& place = header();
    place.levels =
        static_cast<uint32_t>(std::min<size_t>(groups.level.size(), HomeHeader::kLevelsMax));
    for (uint32_t level = 0; level < place.levels; ++level) {
        std::copy(groups.level[level].begin(), groups.level[level].end(),
                  place.groups() + level * shape_.ranks);
    }
}

topo::Groups Home::groups_of(std::span<const uint32_t> ranks) const {
    HomeHeader& place = header();
    topo::Groups groups;
    for (uint32_t level = 0; level < place.levels; ++level) {
        const uint32_t* all = place.groups() + level * shape_.ranks;
        // Dense from 0, in the order in which they are met.
        std::vector<uint32_t> met;
        std::vector<uint32_t>& mine = groups.level.emplace_back();
        for (const uint32_t rank : ranks) {
            auto found = std::find(met.begin(), met.end(), all[rank]);
            if (found == met.end()) found = met.insert(met.end(), all[rank]);
            mine.push_back(static_cast<uint32_t>(found - met.begin()));
        }
    }
    return groups;
}

TeamMemory& TeamMemory::operator=(TeamMemory&& other) noexcept {
    leave();
    mapping = std::move(other.mapping);
    home = std::move(other.home);
    header = std::exchange(other.header, nullptr);
    members = other.members;
    counted_bytes = other.counted_bytes;
    part = std::exchange(other.part, nullptr);
    return *this;
}

void TeamMemory::leave() {
    if (!mapping) return;
    if (part) home->pool()->leave(*part);
    // Who is last has heard of all others' last deeds, and tells them with what it writes.
    const bool is_last = header->detached.fetch_add(1, std::memory_order_acq_rel) + 1 == members;
    if (is_last && home) {
        if (counted_bytes > 0) home->discharge_slice(counted_bytes);
        for (uint32_t member = 0; part && member < members; ++member) {
            state_of(part->slice.area(member)).is_left.store(1, std::memory_order_release);
        }
        if (part) state_of(part->slice.base()).is_left.store(1, std::memory_order_release);
    }
    part = nullptr;
    home.reset();
    mapping.reset();
}

}  // namespace tutti::arena
