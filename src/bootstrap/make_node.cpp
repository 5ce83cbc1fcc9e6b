// SPDX-License-Identifier: BSD-3-Clause
// Making the node's part of a team: all of its members get it or none does. Every round is one
// allgather in which each member also says whether it can go on; the first member that cannot is
// named by all alike.
//
//   1  who each member is, unless that is known from a round of the team; the smallest process
//      leads
//   2  the leader's segment, slice and geometry
//   3  each has mapped the slice, reserved and cleared its own part, and left its token there
//      (3b: those to whom /proc did not lead get the descriptor over a socket)
//   4  each has read all others' tokens in the slice: proof that it is one memory; left out where
//      all have that segment from an earlier team, which proved it
//   5  these processes are together for the first time: they have found out how data moves between
//      them (node_facts.h), and each has cleared its part again
#include "bootstrap/make_node.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/text.h"
#include "bootstrap/node_facts.h"
#include "bootstrap/node_shape.h"

namespace tutti::bootstrap {
namespace {

struct NodeOffer {
    Report report;
    uint64_t arena = 0;
    int64_t fd = -1;
    int64_t offset = 0;
    uint64_t chunk_bytes = 0;
    uint64_t chunk_count = 0;
    engine::NodeFacts facts;  // known from an earlier team of the same processes
    uint64_t socket_name = 0;
    uint64_t mapping = 0;  // address of the leader's shared_ptr, for threads of its process
    uint32_t is_tree = 0;
    uint32_t is_crowded = 0;
    uint32_t is_reserved = 0;  // by these members, for an earlier team
};

struct Attached {
    Report report;
    uint32_t is_proved = 0;  // the segment, by an earlier team
};

// Not zero. Tells apart who has which place among them. Allocates nothing.
uint64_t hash_of(const std::vector<NodeMember>& members) {
    uint64_t hash = 0;
    for (const NodeMember& member : members) {
        hash = (hash ^ arena::hash_of(member.process)) * 0x9e3779b97f4a7c15u;
    }
    return hash | 1u;
}

constexpr int kSocketTimeoutMs = 10'000;

}  // namespace

class NodeMaker {
  public:
    NodeMaker(engine::Context& context, Circle& circle, std::span<const NodeMember> members)
        : context_(context), circle_(circle), introduced_(members) {}
    ~NodeMaker();
    NodeMaker(const NodeMaker&) = delete;
    NodeMaker& operator=(const NodeMaker&) = delete;

    Result<NodePart> make();

  private:
    // Between two rounds: nothing more once this member cannot go on.
    template <class Step>
    void attempt(Step step) {
        if (mine_.obstacle == Obstacle::kNone) mine_ = guarded(step);
    }
    Result<Done> meet();
    NodeOffer make_offer();
    std::vector<topo::CpuSet> cpus() const;
    void write_tree();
    Result<Done> take_offer();
    Report attach();
    Report attach_by_socket(bool i_need_it, std::vector<uint64_t> receivers);
    Report claim(const std::shared_ptr<arena::Mapping>& mapping);
    Result<Done> attach_all();
    [[nodiscard]] uint32_t is_proved() const;
    Result<Done> verify();
    Result<Done> learn();
    // Whether the members of a team with this offer are to find out facts.
    [[nodiscard]] bool learns(const NodeOffer& offer) const {
        return !offer.facts.is_known && wants_facts(context_.settings(), offer.is_crowded != 0);
    }
    void clear_area() const;
    [[nodiscard]] std::byte* tree_space() const;
    void read_layout();
    void prepare();
    NodePart finish();
    bool is_leader() const { return circle_.rank == leader_; }
    bool shares_process() const { return members_[leader_].process == context_.process(); }
    size_t slice_bytes() const { return geometry_.slice_bytes; }

    engine::Context& context_;
    Circle& circle_;
    Report mine_;  // the first that kept this member from going on
    NodePart part_;
    std::span<const NodeMember> introduced_;
    std::vector<NodeMember> members_;
    uint32_t leader_ = 0;
    NodeOffer offer_;
    std::shared_ptr<arena::Arena> arena_;
    std::shared_ptr<arena::Mapping> own_mapping_;  // the leader's, whose address it offers
    off_t offset_ = 0;                             // of the slice that the leader took
    std::shared_ptr<arena::Mapping> mapping_;
    node::Geometry geometry_;
    bool skips_proof_ = false;
    std::optional<FactFinder> finder_;
};

Result<Done> NodeMaker::meet() {
    auto members = introduced_;
    if (members.empty()) {
        NodeMember mine;
        attempt([&] {
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
    attempt([&] {
        members_.assign(members.begin(), members.end());
        return Report{};
    });
    return Done{};
}

std::vector<topo::CpuSet> NodeMaker::cpus() const {
    std::vector<topo::CpuSet> cpus;
    for (const NodeMember& member : members_) cpus.push_back(member.cpus);
    return cpus;
}

NodeOffer NodeMaker::make_offer() {
    NodeOffer offer;
    std::vector<arena::ProcessId> processes;
    for (const NodeMember& member : members_) processes.push_back(member.process);
    std::sort(processes.begin(), processes.end());
    auto arena = context_.own_arena(processes);
    if (!arena) {
        offer.report = report_of(Obstacle::kMemory, arena.error().message);
        return offer;
    }
    arena_ = arena.value();
    const size_t used = arena_->used_bytes();
    const Settings& settings = context_.settings();
    offer.is_crowded =
        is_crowded(cpus(), context_.usable_cpus(), context_.params().ranks_on_node) ? 1 : 0;
    offer.facts = context_.facts_of(set_hash(members_));
    const bool may_want_long = learns(offer);
    const size_t wanted = may_want_long
                              ? kPieceBytesMany
                              : tuning_of(offer.facts, settings, circle_.size).pieces.bytes_max;
    const node::Geometry geometry = choose_geometry(settings, circle_.size, wanted, used);
    offer.chunk_bytes = geometry.chunk_bytes;
    offer.chunk_count = geometry.chunk_count;
    const size_t bytes = geometry.slice_bytes;
    if (used + bytes > context_.settings().memory_bytes) {
        offer.report = report_of(Obstacle::kFull,
                                 format_bytes(bytes) + " of shared memory for this communicator, " +
                                     format_bytes(used) + " in use, TUTTI_MEMORY allows " +
                                     format_bytes(context_.settings().memory_bytes));
        return offer;
    }
    auto record = arena_->take(bytes, circle_.size, hash_of(members_));
    if (!record) {
        offer.report = report_of(Obstacle::kMemory, record.error().message);
        return offer;
    }
    own_mapping_ = record.value().mapping;
    offset_ = record.value().offset;
    offer.arena = arena_->id();
    offer.fd = arena_->fd();
    offer.offset = record.value().offset;
    offer.is_reserved = record.value().reserved_for != 0 ? 1 : 0;
    offer.socket_name = arena::random_token();
    offer.mapping = reinterpret_cast<uint64_t>(&own_mapping_);
    offer.is_tree = wants_tree(context_.settings(), circle_.size, offer.is_crowded != 0) ? 1 : 0;
    return offer;
}

Result<Done> NodeMaker::take_offer() {
    NodeOffer mine;
    attempt([&] {
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
    geometry_ = node::Geometry::make(circle_.size, offer_.chunk_bytes, offer_.chunk_count);
    return Done{};
}

// The parts of the slice that this member owns: reserved, cleared, marked with its token.
Report NodeMaker::claim(const std::shared_ptr<arena::Mapping>& mapping) {
    const node::Slice slice{mapping->base(), geometry_};
    const auto area = slice.area(circle_.rank);
    const off_t area_offset = static_cast<off_t>(offer_.offset) + (area - mapping->base());
    if (offer_.is_reserved == 0) {
        // The leader has looked at its cgroup when it took the slice.
        const size_t all_bytes = is_leader() ? 0 : slice_bytes();
        const auto reserved =
            arena::reserve(arena_->fd(), area_offset, geometry_.rank_bytes, all_bytes);
        if (!reserved) return report_of(Obstacle::kMemory, reserved.error().message);
    }
    mapping_ = mapping;
    clear_area();
    return {};
}

// The own one, as of a rank that has made no call.
void NodeMaker::clear_area() const {
    const node::Slice slice{mapping_->base(), geometry_};
    const auto area = slice.area(circle_.rank);
    std::memset(static_cast<void*>(area), 0, node::Slice::kChunksOffset);
    new (area) node::ReadyWords{};
    new (&slice.done(circle_.rank)) node::DoneWords{};
    new (&slice.offer(circle_.rank)) node::OfferWords{};
    slice.done(circle_.rank).token.store(members_[circle_.rank].token, std::memory_order_release);
}

Report NodeMaker::attach() {
    if (shares_process()) {
        if (!is_leader()) {
            arena_ = context_.find_arena(offer_.arena);
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
    arena_ = context_.find_arena(offer_.arena);
    if (!arena_) {
        auto fd = arena::open_through_proc(members_[leader_].process, static_cast<int>(offer_.fd));
        if (!fd) return report_of(Obstacle::kCannotOpen, fd.error().message);
        arena_ = std::make_shared<arena::Arena>(offer_.arena, std::move(fd.value()));
    }
    auto mapping = arena_->map(offer_.offset, slice_bytes());
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
    auto mapping = arena_->map(offer_.offset, slice_bytes());
    if (!mapping) return report_of(Obstacle::kMemory, mapping.error().message);
    return claim(mapping.value());
}

// Whether nothing is left to be looked at in the slice before it is used. A tree is: it stands
// where data will.
uint32_t NodeMaker::is_proved() const {
    return arena_ && arena_->is_proved() && offer_.is_tree == 0 && !learns(offer_) ? 1 : 0;
}

Result<Done> NodeMaker::attach_all() {
    Attached mine;
    std::vector<uint64_t> receivers;  // the tokens of those to whom /proc did not lead
    mine.report = guarded([&] {
        receivers.reserve(circle_.size);
        Report attached = attach();
        if (attached.obstacle != Obstacle::kNone) return attached;
        if (is_leader() && offer_.is_tree) write_tree();
        mine.is_proved = is_proved();
        // Nothing may fail after the last round, which may be this one.
        if (mine.is_proved) prepare();
        return attached;
    });
    const auto all = circle_.exchange(mine);
    if (!all) return all.error();
    bool is_other = false;
    skips_proof_ = true;
    for (uint32_t member = 0; member < circle_.size; ++member) {
        const Attached& one = all.value()[member];
        skips_proof_ &= one.is_proved != 0;
        if (one.report.obstacle == Obstacle::kCannotOpen) {
            // Without room for it, this member has another obstacle than that, and nobody goes on.
            if (receivers.size() < receivers.capacity())
                receivers.push_back(members_[member].token);
        } else if (one.report.obstacle != Obstacle::kNone) {
            is_other = true;
        }
    }
    if (is_other) return circle_.agree(mine.report);
    if (receivers.empty()) return Done{};
    const bool i_need_it = mine.report.obstacle == Obstacle::kCannotOpen;
    return circle_.agree(
        guarded([&] { return attach_by_socket(i_need_it, std::move(receivers)); }));
}

// Reading the machine takes long, so the leader does it for all. The tree goes through the leader's
// chunks, which nobody uses yet.
void NodeMaker::write_tree() {
    const auto parents = tree_parents(context_.settings(), cpus());
    std::memcpy(tree_space(), parents.data(), circle_.size * sizeof(uint32_t));
}

std::byte* NodeMaker::tree_space() const {
    static_assert(node::kLineBytes >= sizeof(uint32_t));  // choose_geometry gives a line a rank
    return node::Slice{mapping_->base(), geometry_}.chunk(leader_, 0);
}

void NodeMaker::read_layout() {
    if (!offer_.is_tree) return;
    std::vector<uint32_t> parents(circle_.size);
    std::memcpy(parents.data(), tree_space(), circle_.size * sizeof(uint32_t));
    part_.node.layout = tree_layout(parents);
}

Result<Done> NodeMaker::verify() {
    if (skips_proof_) return Done{};
    // Before the last round: after it a quick member may already use the chunks, and nobody may
    // fail any more.
    attempt([&] {
        read_layout();
        prepare();
        if (learns(offer_)) {
            finder_.emplace(context_, part_.node, members_, offer_.is_crowded != 0);
        }
        return Report{};
    });
    const node::Slice slice{mapping_->base(), geometry_};
    attempt([&] {
        for (uint32_t rank = 0; rank < circle_.size; ++rank) {
            const uint64_t token = slice.done(rank).token.load(std::memory_order_acquire);
            if (token == members_[rank].token) continue;
            return report_of(Obstacle::kForeignMemory,
                             "does not share memory with " + circle_.name_of(rank));
        }
        return Report{};
    });
    return circle_.agree(mine_);
}

// The first team of these processes: they find out how data moves between them, by calls on this
// memory, which is then as if nobody had used it.
Result<Done> NodeMaker::learn() {
    if (!learns(offer_)) return Done{};
    const engine::NodeFacts facts = finder_->run();
    attempt([&] {
        apply(facts, context_, members_, part_.node);
        if (is_leader()) context_.keep_facts(set_hash(members_), facts);
        return Report{};
    });
    part_.source.has_measured = true;
    finder_.reset();
    // Nobody reads what another one clears, or writes what it then does.
    if (auto ended = circle_.agree(mine_); !ended) return ended;
    clear_area();
    part_.node.slice.geometry = geometry_.recut(part_.node.tuning.pieces.bytes_max);
    return circle_.agree({});
}

void NodeMaker::prepare() {
    node::Team& node = part_.node;
    node.rank = circle_.rank;
    node.size = circle_.size;
    node.slice = node::Slice{mapping_->base(), geometry_};
    apply(offer_.facts, context_, members_, node);
    node.rank_order = context_.settings().reproducible;
    node::prepare(node);
    part_.is_crowded = offer_.is_crowded != 0;
    const uint64_t group = members_.empty() ? 0 : members_[0].scheduling_group;
    part_.has_many_sessions =
        std::any_of(members_.begin(), members_.end(),
                    [&](const NodeMember& member) { return member.scheduling_group != group; });
    if (arena_) context_.keep_arena(arena_);
}

// The part is whole; from here on its end leaves the slice.
NodePart NodeMaker::finish() {
    if (arena_) {
        arena_->set_proved();
        if (is_leader()) arena_->confirm(offset_, hash_of(members_));
        context_.hold_arena(arena_);
    }
    part_.source.processes = set_hash(members_);
    part_.source.is_crowded = part_.is_crowded;
    part_.arena = arena_;
    part_.leader = leader_;
    part_.mapping = mapping_;
    return std::move(part_);
}

Result<NodePart> NodeMaker::make() {
    if (circle_.size == 1) {
        geometry_ = node::Geometry::make(1, node::kLineBytes);
        auto mapping = arena::Mapping::anonymous(slice_bytes());
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
}

NodeMember introduce(const engine::Context& context) {
    const uint64_t segment = context.xpmem() ? context.xpmem()->own_segment() : 0;
    return {context.process(), arena::random_token(), context.scheduling_group(), segment,
            context.cpus()};
}

NodePart::~NodePart() {
    if (mapping) arena::leave_slice(node.slice.header());
}

Result<NodePart> make_node(engine::Context& context, Circle& circle,
                           std::span<const NodeMember> members) {
    return NodeMaker(context, circle, members).make();
}

// Where messages fail, a member may still look at what another one offers that has failed already.
// So nothing is taken apart before all have come to the round of the team.
Result<NodePart> make_nodes(engine::Context& context, Circle& node, Circle& all,
                            std::span<const NodeMember> members,
                            const std::function<Report(const Error&)>& explain) {
    NodeMaker maker(context, node, members);
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
