// SPDX-License-Identifier: BSD-3-Clause
// Making the node's part of a team: all of its members get it or none does. Every round is one
// allgather in which each member also says whether it can go on; the first member that cannot is
// named by all alike.
//
//   1  who each member is, unless that is known from a round of the team; the smallest process
//      leads
//   2  the leader's segment, geometry, and a slice for each track of the team, in one piece
//   3  each has mapped them, reserved and cleared its own parts, and left its token there
//      (3b: those to whom /proc did not lead get the descriptor over a socket)
//   4  each has read all others' tokens in the first slice: proof that it is one memory; left out
//      where all have that segment from an earlier team, which proved it
// In round 2 the leader may say that the team is a lean one (run/node/slice.h): then its memory is
// in the homes that all have from an earlier team, each tells where in round 3, and 4 is the last.
//   5  these processes are together for the first time: they have found out how data moves between
//      them (node_facts.h), and each has cleared its part again
#include "run/bootstrap/make_node.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "run/bootstrap/node_maker.h"
#include "run/bootstrap/node_shape.h"

namespace tutti::bootstrap {
namespace {

struct Attached {
    Report report;
    uint32_t is_proved = 0;  // the segment, by an earlier team
    uint32_t entry = 0;      // of a lean team
    uint32_t header_at = 0;  // the header's, where this member has that
    uint32_t has_home = 0;   // of new ones
};

}  // namespace

Result<Done> NodeMaker::meet() {
    auto members = introduced_;
    if (members.empty()) {
        NodeMember mine;
        attempt(mine_, [&] {
            mine = introduce(context_);
            return Report{};
        });
        const auto all = circle_.exchange(mine);
        if (!all) return all.error();
        members = all.value();
    }
    const auto smallest = std::min_element(
        members.begin(), members.end(),
        [](const NodeMember& a, const NodeMember& b) { return a.process < b.process; });
    leader_ = static_cast<uint32_t>(smallest - members.begin());
    attempt(mine_, [&] {
        members_.assign(members.begin(), members.end());
        part_.nodes.resize(tracks_);
        home_.meet(members_);
        return Report{};
    });
    return Done{};
}

Result<Done> NodeMaker::take_offer() {
    NodeOffer mine;
    attempt(mine_, [&] {
        if (is_leader()) mine = make_offer();
        return mine.report;
    });
    mine.report = mine_;
    const auto offers = circle_.exchange(mine);
    if (!offers) return offers.error();
    offer_ = offers.value()[leader_];
    for (uint32_t member = 0; member < circle_.size; ++member) {
        const Report& report = offers.value()[member].report;
        if (report.obstacle == Obstacle::kNone) continue;
        return Error{ErrorCode::kMemory, circle_.name_of(member) + ": " + report.detail};
    }
    geometry_ = offer_.is_lean
                    ? node::Geometry::make_lean(circle_.size, offer_.chunk_bytes)
                    : node::Geometry::make(circle_.size, offer_.chunk_bytes, offer_.chunk_count);
    return Done{};
}

// Whether nothing is left to be looked at in the slice before it is used. A tree is: it stands
// where data will.
uint32_t NodeMaker::is_proved() const {
    const bool is_plain = offer_.is_lean == 0 && offer_.is_tree == 0 && !learns(offer_);
    return is_plain && arena_ && arena_->is_proved() ? 1 : 0;
}

Result<Done> NodeMaker::attach_all() {
    Attached mine;
    std::vector<uint64_t> receivers;  // the tokens of those to whom /proc did not lead
    mine.report = guarded([&] {
        receivers.reserve(circle_.size);
        Report attached = attach();
        if (attached.obstacle != Obstacle::kNone) return attached;
        if (is_leader()) write_places();
        if (entries_.own) mine.entry = *entries_.own;
        if (entries_.own_header) mine.header_at = *entries_.own_header;
        mine.has_home = home_.attach(offer_.homes, arena_, circle_.rank, shares_process()) ? 1 : 0;
        mine.is_proved = is_proved();
        // Nothing may fail after the last round, which may be this one.
        if (mine.is_proved) prepare();
        return attached;
    });
    const auto all = circle_.exchange(mine);
    if (!all) return all.error();
    bool is_other = false;
    skips_proof_ = true;
    bool has_home = true;
    for (uint32_t member = 0; member < circle_.size; ++member) {
        const Attached& one = all.value()[member];
        skips_proof_ &= one.is_proved != 0;
        has_home &= one.has_home != 0;
        if (!entries_.of_members.empty()) entries_.of_members[member] = one.entry;
        if (member == offer_.header_member) entries_.header_at = one.header_at;
        if (one.report.obstacle == Obstacle::kCannotOpen) {
            // Without room for it, this member has another obstacle than that, and nobody goes on.
            if (receivers.size() < receivers.capacity())
                receivers.push_back(members_[member].token);
        } else if (one.report.obstacle != Obstacle::kNone) {
            is_other = true;
        }
    }
    all_have_homes_ = has_home;
    if (is_other) return circle_.agree(mine.report);
    if (receivers.empty()) return Done{};
    const bool i_need_it = mine.report.obstacle == Obstacle::kCannotOpen;
    return circle_.agree(
        guarded([&] { return attach_by_socket(i_need_it, std::move(receivers)); }));
}

void NodeMaker::read_layout() {
    if (!offer_.is_tree) return;
    std::vector<uint32_t> words(kTreeWords * circle_.size);
    if (offer_.is_lean) {
        words = encode_tree(home_.home()->groups_of(home_.ranks()), circle_.size);
    } else {
        std::memcpy(words.data(), tree_space(), words.size() * sizeof(uint32_t));
    }
    for (node::Team& node : part_.nodes) node.layout = tree_layout(words);
}

Result<Done> NodeMaker::verify() {
    if (skips_proof_) {
        home_.settle(all_have_homes_);
        return Done{};
    }
    // Before the last round: after it a quick member may already use the chunks, and nobody may
    // fail any more.
    attempt(mine_, [&] {
        read_layout();
        prepare();
        if (learns(offer_)) {
            finder_.emplace(context_, part_.nodes.front(), members_, offer_.is_crowded != 0);
        }
        return Report{};
    });
    const node::Slice& slice = part_.nodes.front().slice;
    attempt(mine_, [&] {
        for (uint32_t rank = 0; rank < circle_.size; ++rank) {
            const uint64_t token = slice.done(rank).token.load(std::memory_order_acquire);
            if (token == members_[rank].token) continue;
            return report_of(Obstacle::kForeignMemory,
                             "does not share memory with " + circle_.name_of(rank));
        }
        return Report{};
    });
    auto proved = circle_.agree(mine_);
    if (proved) home_.settle(all_have_homes_);
    return proved;
}

// The first team of these processes: they find out how data moves between them, by calls on this
// memory, which is then as if nobody had used it.
Result<Done> NodeMaker::learn() {
    if (!learns(offer_)) return Done{};
    const engine::NodeFacts facts = finder_->run();
    attempt(mine_, [&] {
        for (node::Team& node : part_.nodes) {
            apply(facts, context_, members_, node);
            node::choose_small(node);
        }
        context_.findings().keep_facts(set_hash(members_), facts);
        return Report{};
    });
    part_.source.has_measured = facts.is_tried;
    finder_.reset();
    // Nobody reads what another one clears, or writes what it then does.
    if (auto ended = circle_.agree(mine_); !ended) return ended;
    clear_area(part_.nodes.front().slice);
    for (node::Team& node : part_.nodes) recut(node);
    return circle_.agree({});
}

void NodeMaker::prepare() {
    for (uint32_t track = 0; track < tracks_; ++track) prepare(part_.nodes[track], track);
    part_.is_crowded = offer_.is_crowded != 0;
    const uint64_t group = members_.empty() ? 0 : members_[0].scheduling_group;
    part_.has_many_sessions =
        std::any_of(members_.begin(), members_.end(),
                    [&](const NodeMember& member) { return member.scheduling_group != group; });
    if (arena_) context_.segments().keep_arena(arena_);
}

void NodeMaker::prepare(node::Team& node, uint32_t track) {
    node.rank = circle_.rank;
    node.size = circle_.size;
    node.slice = slice(track);
    apply(offer_.facts, context_, members_, node);
    if (!learns(offer_)) recut(node);
    if (geometry_.is_lean) {
        node.lean.pool = home_.home()->pool();
        // Its slots end sooner, but what is measured or wanted of single copy is of more than that.
        constexpr uint64_t kLeast = node::kInlineBytesMax + 1;
        node::Tuning& tuning = node.tuning;
        for (uint64_t* from : {&tuning.single_one_way, &tuning.single_all_ways,
                               &tuning.single_scatter, &tuning.single_once}) {
            *from = std::max<uint64_t>(*from, kLeast);
        }
    }
    node.rank_order = context_.settings().results.reproducible;
    node::prepare(node);
}

// From here on its end leaves the memory. Allocates nothing that prepare() has not.
void NodeMaker::hold_memory() {
    arena::TeamMemory& memory = part_.memory;
    memory.mapping = mapping_;
    memory.home = home_.home();
    memory.header = &part_.nodes.front().slice.header();
    memory.members = circle_.size;
    memory.counted_bytes = offer_.counted_bytes;
    memory.part = part_.nodes.front().lean.part;
    entries_.own.reset();
    entries_.own_header.reset();
    counted_bytes_ = 0;
}

// The part is whole.
NodePart NodeMaker::finish() {
    if (arena_) {
        arena_->set_proved();
        if (is_leader() && !geometry_.is_lean) arena_->confirm(offset_, hash_of(members_));
        context_.segments().hold_arena(arena_);
    }
    part_.source.processes = set_hash(members_);
    part_.source.is_crowded = part_.is_crowded;
    part_.arena = arena_;
    part_.leader = leader_;
    hold_memory();
    return std::move(part_);
}

Result<NodePart> NodeMaker::make() {
    if (circle_.size == 1) {
        geometry_ = node::Geometry::make(1, node::kLineBytes);
        part_.nodes.resize(tracks_);
        auto mapping = arena::Mapping::anonymous(slices_bytes());
        if (!mapping) return mapping.error();
        mapping_ = mapping.value();
        prepare();
        return finish();
    }
    using Round = Result<Done> (NodeMaker::*)();
    for (const Round round : {&NodeMaker::meet, &NodeMaker::take_offer, &NodeMaker::attach_all,
                              &NodeMaker::verify, &NodeMaker::learn}) {
        auto done = (this->*round)();
        if (!done) return done.error();
    }
    own_mapping_.reset();
    return finish();
}

// A leader whose members do not all come to use its slice takes it back.
NodeMaker::~NodeMaker() {
    if (arena_ && own_mapping_ && is_leader()) arena_->give_back(offset_);
    if (counted_bytes_ > 0 && home_.home()) home_.home()->discharge_slice(counted_bytes_);
    if (entries_.own && !part_.nodes.empty() && part_.nodes.front().lean.part) {
        node::Team& node = part_.nodes.front();
        node.lean.pool->leave(*node.lean.part);
    }
    for (const auto& entry : {entries_.own, entries_.own_header}) {
        if (entry) home_.home()->give_back(*entry);
    }
}

NodeMember introduce(engine::Context& context) {
    const uint64_t segment = context.machine().xpmem ? context.machine().xpmem->own_segment() : 0;
    return {context.process(), arena::random_token(), context.machine().scheduling_group,
            segment,           home_card(context),    context.machine().cpus};
}

Result<NodePart> make_node(engine::Context& context, Circle& circle,
                           std::span<const NodeMember> members, uint32_t tracks, bool may_be_lean) {
    return NodeMaker(context, circle, members, tracks, may_be_lean && tracks == 1).make();
}

// Where messages fail, a member may still look at what another one offers that has failed already.
// So nothing is taken apart before all have come to the round of the team.
Result<NodePart> make_nodes(engine::Context& context, Circle& node, Circle& all,
                            std::span<const NodeMember> members, uint32_t tracks,
                            const std::function<Report(const Error&)>& explain) {
    NodeMaker maker(context, node, members, tracks, false);
    std::optional<NodePart> part;
    const Report report = guarded([&] {
        auto made = maker.make();
        if (!made) return explain(made.error());
        part.emplace(std::move(made.value()));
        return Report{};
    });
    if (auto agreed = all.agree_briefly(report); !agreed) return agreed.error();
    return std::move(*part);
}

}  // namespace tutti::bootstrap
