// SPDX-License-Identifier: BSD-3-Clause
// The memory of a node's part of a team: what the leader offers, and how a member comes to it.
#include <algorithm>
#include <cstring>
#include <new>

#include "base/text.h"
#include "run/bootstrap/node_maker.h"
#include "run/bootstrap/node_shape.h"

namespace tutti::bootstrap {
namespace {

constexpr int kSocketTimeoutMs = 10'000;

}  // namespace

uint64_t hash_of(const std::vector<NodeMember>& members) {
    uint64_t hash = 0;
    for (const NodeMember& member : members) {
        hash = (hash ^ arena::hash_of(member.process)) * 0x9e3779b97f4a7c15u;
    }
    return hash | 1u;
}

std::vector<topo::CpuSet> NodeMaker::cpus() const {
    std::vector<topo::CpuSet> cpus;
    for (const NodeMember& member : members_) cpus.push_back(member.cpus);
    return cpus;
}

NodeOffer NodeMaker::make_offer() {
    NodeOffer offer;
    const Settings& settings = context_.settings();
    offer.is_crowded =
        is_crowded(cpus(), context_.machine().usable_cpus, context_.params().ranks_on_node) ? 1 : 0;
    offer.is_tree = wants_tree(settings, circle_.size, offer.is_crowded != 0) ? 1 : 0;
    offer.facts = context_.findings().facts_of(set_hash(members_));
    offer.report = offer_slice(offer);
    return offer;
}

// Whether the node has room for a slice. used: of the segment of these members.
bool NodeMaker::admits_slice(size_t bytes, size_t used, bool may_be_lean) const {
    const size_t most = context_.settings().node.memory_bytes;
    if (!home_.home()) return used + bytes <= most;
    arena::Home& home = *home_.home();
    const size_t left = most - std::min(most, home.bytes_max());
    return home.admit_slice(bytes, may_be_lean ? std::max(left, most / kSlicesShare) : most);
}

// The segment of these members, which a lean team does without.
Report NodeMaker::find_own_arena() {
    std::vector<arena::ProcessId> processes;
    for (const NodeMember& member : members_) processes.push_back(member.process);
    std::sort(processes.begin(), processes.end());
    auto arena = context_.segments().own_arena(processes);
    if (!arena) return report_of(Obstacle::kMemory, arena.error().message);
    arena_ = arena.value();
    return {};
}

Report NodeMaker::offer_slice(NodeOffer& offer) {
    const Settings& settings = context_.settings();
    const auto& home = home_.home();
    const bool may_be_lean = may_be_lean_ && home;
    if (!may_be_lean) {
        if (Report found = find_own_arena(); found.obstacle != Obstacle::kNone) return found;
        offer.homes = home_.offer(arena_, circle_.rank);
    }
    const size_t used = home ? home->slices_bytes() : arena_->used_bytes();
    const bool measures = learns(offer) && offer.is_crowded == 0;
    const node::Tuning tuning = measures ? largest_tuning(settings, circle_.size)
                                         : tuning_of(offer.facts, settings, circle_.size);
    const node::Geometry geometry = choose_geometry(settings, circle_.size, tuning, used, tracks_);
    offer.chunk_bytes = geometry.chunk_bytes;
    offer.chunk_count = geometry.chunk_count;
    const size_t bytes = tracks_ * geometry.slice_bytes;
    if (!admits_slice(bytes, used, may_be_lean)) {
        if (may_be_lean) {
            offer_entries(offer);
            return {};
        }
        return report_of(Obstacle::kFull, format_bytes(bytes) +
                                              " of shared memory for this communicator, " +
                                              format_bytes(home ? home->bytes_used() : used) +
                                              " in use, TUTTI_MEMORY allows " +
                                              format_bytes(settings.node.memory_bytes));
    }
    if (home) offer.counted_bytes = counted_bytes_ = bytes;
    if (!arena_) {
        if (Report found = find_own_arena(); found.obstacle != Obstacle::kNone) return found;
    }
    auto record = arena_->take(bytes, circle_.size, hash_of(members_));
    if (!record) return report_of(Obstacle::kMemory, record.error().message);
    own_mapping_ = record.value().mapping;
    offset_ = record.value().offset;
    const bool is_reserved = record.value().reserved_for != 0;
    if (Report made = make_headers(geometry, is_reserved); made.obstacle != Obstacle::kNone) {
        return made;
    }
    offer.arena = arena_->id();
    offer.fd = arena_->fd();
    offer.offset = record.value().offset;
    offer.is_reserved = is_reserved ? 1 : 0;
    offer.socket_name = arena::random_token();
    offer.mapping = reinterpret_cast<uint64_t>(&own_mapping_);
    return {};
}

// Of all slices but the first, whose header the arena has made.
Report NodeMaker::make_headers(const node::Geometry& geometry, bool is_reserved) {
    for (uint32_t track = 1; track < tracks_; ++track) {
        const size_t at = track * geometry.slice_bytes;
        if (!is_reserved) {
            const auto reserved =
                arena::reserve(arena_->fd(), offset_ + static_cast<off_t>(at), node::kPageBytes, 0);
            if (!reserved) return report_of(Obstacle::kMemory, reserved.error().message);
        }
        new (own_mapping_->base() + at) node::SliceHeader{};
    }
    return {};
}

// What a subset of the homes' processes has not found out is taken to be as it is for all.
void NodeMaker::offer_entries(NodeOffer& offer) {
    arena::Home& home = *home_.home();
    offer.is_lean = 1;
    offer.header_member = home.next_turn() % circle_.size;
    offer.chunk_bytes = home.chunk_bytes();
    if (!offer.facts.is_known) offer.facts = context_.findings().facts_of(home.set_hash());
}

// The parts of the slices that this member owns: reserved, cleared, marked with its token.
Report NodeMaker::claim(const std::shared_ptr<arena::Mapping>& mapping) {
    mapping_ = mapping;
    for (uint32_t track = 0; track < tracks_; ++track) {
        const node::Slice part = slice(track);
        const auto area = part.area(circle_.rank);
        const off_t area_offset = static_cast<off_t>(offer_.offset) + (area - mapping->base());
        if (offer_.is_reserved == 0) {
            // Of all at once; the leader has looked at its cgroup when it took the slices.
            const size_t all_bytes = is_leader() || track > 0 ? 0 : slices_bytes();
            const auto reserved =
                arena::reserve(arena_->fd(), area_offset, geometry_.rank_bytes, all_bytes);
            if (!reserved) return report_of(Obstacle::kMemory, reserved.error().message);
        }
        clear_area(part);
    }
    // The meter writes it all.
    if (learns(offer_) && offer_.is_crowded == 0) {
        arena::populate(slice(0).chunk(circle_.rank, 0), geometry_.ring_bytes);
    }
    return {};
}

// The own one, as of a rank that has made no call.
void NodeMaker::clear_area(const node::Slice& slice) const {
    std::byte* const area = slice.area(circle_.rank);
    const size_t bytes = geometry_.is_lean ? node::kEntryBytes : geometry_.chunks_offset;
    // Of an entry, a rank of the team before may still look here (run/node/chunk_pool.cpp).
    constexpr size_t kDoneAt = sizeof(node::ReadyWords);
    constexpr size_t kBehind = kDoneAt + sizeof(node::DoneWords);
    std::memset(area, 0, kDoneAt);
    std::memset(area + kBehind, 0, bytes - kBehind);
    new (area) node::ReadyWords{};
    node::DoneWords& done = slice.done(circle_.rank);
    for (auto* word : {&done.calls_done, &done.chunks_consumed, &done.calls_entered}) {
        word->store(0, std::memory_order_relaxed);
    }
    new (&slice.offer(circle_.rank)) node::OfferWords{};
    slice.done(circle_.rank).token.store(members_[circle_.rank].token, std::memory_order_release);
}

// Of a lean team, once all entries are known.
node::Slice NodeMaker::slice(uint32_t track) const {
    if (!geometry_.is_lean) return {mapping_->base() + track * geometry_.slice_bytes, geometry_};
    const arena::Home& home = *home_.home();
    const auto ranks = home_.ranks();
    std::vector<std::byte*> entries;
    std::vector<std::byte*> pools;
    for (uint32_t member = 0; member < circle_.size; ++member) {
        entries.push_back(home.entry(ranks[member], entries_.of_members[member]));
        pools.push_back(home.pool_memory(ranks[member]));
    }
    std::byte* const header = home.entry(ranks[offer_.header_member], entries_.header_at);
    return {header, geometry_, std::move(entries), std::move(pools)};
}

Report NodeMaker::attach_lean() {
    if (!home_.home()) return report_of(Obstacle::kSystem, "its home is gone");
    arena_ = home_.home()->arena();
    mapping_ = home_.home()->mapping();
    auto entry = home_.home()->take_entry();
    if (!entry) return report_of(Obstacle::kFull, entry.error().message);
    entries_.own = entry.value();
    if (circle_.rank == offer_.header_member) {
        auto header = home_.home()->take_entry();
        if (!header) return report_of(Obstacle::kFull, header.error().message);
        entries_.own_header = header.value();
        auto& made = *reinterpret_cast<node::SliceHeader*>(
            home_.home()->entry(home_.home()->rank(), *entries_.own_header));
        for (auto* word : {&made.detached, &made.bell.rung, &made.bell.sleepers, &made.gave_up}) {
            word->store(0, std::memory_order_relaxed);
        }
    }
    entries_.of_members.assign(circle_.size, *entries_.own);
    clear_area(slice(0));
    return {};
}

Report NodeMaker::attach() {
    if (offer_.is_lean) return attach_lean();
    if (shares_process()) {
        if (!is_leader()) {
            arena_ = context_.segments().find_arena(offer_.arena);
            own_mapping_ = *reinterpret_cast<std::shared_ptr<arena::Mapping>*>(offer_.mapping);
        }
        if (!arena_) {
            // Another context of this process leads: its descriptor is ours as well.
            auto fd = arena::open_through_proc(context_.process(), static_cast<int>(offer_.fd));
            if (!fd) return report_of(Obstacle::kSystem, fd.error().message);
            arena_ = std::make_shared<arena::Arena>(offer_.arena, std::move(fd.value()));
        }
        return claim(own_mapping_);
    }
    arena_ = context_.segments().find_arena(offer_.arena);
    if (!arena_) {
        auto fd = arena::open_through_proc(members_[leader_].process, static_cast<int>(offer_.fd));
        if (!fd) return report_of(Obstacle::kCannotOpen, fd.error().message);
        arena_ = std::make_shared<arena::Arena>(offer_.arena, std::move(fd.value()));
    }
    auto mapping = arena_->map(offer_.offset, slices_bytes());
    if (!mapping) return report_of(Obstacle::kMemory, mapping.error().message);
    return claim(mapping.value());
}

// The leader's socket must listen before anybody connects, and all must have connected before
// anybody waits.
Report NodeMaker::attach_by_socket(bool i_need_it, std::vector<uint64_t> receivers) {
    std::optional<arena::FdOffer> offered;
    Report state = guarded([&] {
        if (!is_leader()) return Report{};
        auto listening = arena::FdOffer::listen(offer_.socket_name);
        if (!listening) return report_of(Obstacle::kSystem, listening.error().message);
        offered.emplace(std::move(listening.value()));
        return Report{};
    });
    if (auto ready = circle_.agree(state); !ready) {
        return report_of(Obstacle::kSystem, "no way to hand over the segment");
    }
    std::optional<arena::FdRequest> request;
    state = guarded([&] {
        if (!i_need_it) return Report{};
        auto begun = arena::FdRequest::begin(offer_.socket_name, members_[circle_.rank].token);
        if (!begun) return report_of(Obstacle::kForeignMemory, begun.error().message);
        request.emplace(std::move(begun.value()));
        return Report{};
    });
    if (auto connected = circle_.agree(state); !connected) {
        return report_of(Obstacle::kForeignMemory,
                         "no way to hand over the segment: " + connected.error().message);
    }
    if (is_leader()) {
        auto served =
            offered->serve(context_.clock(), arena_->fd(), std::move(receivers), kSocketTimeoutMs);
        return served ? Report{} : report_of(Obstacle::kForeignMemory, served.error().message);
    }
    if (!i_need_it) return {};
    auto fd = request->receive(context_.clock(), kSocketTimeoutMs);
    if (!fd) return report_of(Obstacle::kForeignMemory, fd.error().message);
    arena_ = std::make_shared<arena::Arena>(offer_.arena, std::move(fd.value()));
    auto mapping = arena_->map(offer_.offset, slices_bytes());
    if (!mapping) return report_of(Obstacle::kMemory, mapping.error().message);
    return claim(mapping.value());
}

// Reading the machine takes long, so the leader does it for all. The tree goes through the leader's
// chunks, which nobody uses yet; the places of new homes stay.
void NodeMaker::write_places() {
    const bool has_tree = offer_.is_tree != 0 && offer_.is_lean == 0;
    const bool has_homes =
        offer_.homes.home != 0 && may_want_tree(context_.settings(), circle_.size);
    if (!has_tree && !has_homes) return;
    const topo::Groups groups = rank_groups(context_.settings(), cpus());
    if (has_homes) home_.write_groups(groups);
    if (!has_tree) return;
    const auto words = encode_tree(groups, circle_.size);
    std::memcpy(tree_space(), words.data(), words.size() * sizeof(uint32_t));
}

std::byte* NodeMaker::tree_space() const {
    // choose_geometry gives a line a rank.
    static_assert(node::kLineBytes >= kTreeWords * sizeof(uint32_t));
    return node::Slice{mapping_->base(), geometry_}.chunk(leader_, 0);
}

}  // namespace tutti::bootstrap
