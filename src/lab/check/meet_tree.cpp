// SPDX-License-Identifier: BSD-3-Clause
#include "lab/check/meet_tree.h"

#include <algorithm>

#include "plan/sched/operation_kinds.h"
#include "plan/sched/program_text.h"

namespace tutti::check {
namespace {

constexpr uint32_t kNobody = UINT32_MAX;

bool goes_up(const LiveOperation& with) { return with.op.incoming == sched::Incoming::kLeft; }

}  // namespace

MeetTree::MeetTree(std::span<const Meeter> all) : parent_(all.size(), kNobody) {
    for (uint32_t i = 0; i < all.size(); ++i) {
        const Rank rank = all[i].meet->rank;
        if (index_of_.size() <= rank) index_of_.resize(rank + size_t{1}, kNobody);
        index_of_[rank] = i;
    }
    look(all);
}

void MeetTree::look(std::span<const Meeter> all) {
    uint32_t top = kNobody;
    for (uint32_t i = 0; i < all.size() && fault_.empty(); ++i) {
        for (const LiveOperation* with : all[i].with) look_at_edge(all, i, *with);
        if (parent_[i] != kNobody) continue;
        if (top != kNobody) return fault(*all[i].meet, "the ranks that meet are in several trees");
        top = i;
        parent_[i] = i;
    }
    if (!fault_.empty() || all.empty()) return;
    if (top == kNobody) return fault(*all[0].meet, "the ranks that meet are joined in a ring");
    downwards_.push_back(top);
    for (size_t next = 0; next < downwards_.size() && downwards_.size() <= all.size(); ++next) {
        for (const LiveOperation* with : all[downwards_[next]].with) {
            if (!goes_up(*with)) downwards_.push_back(index_of_[with->op.peer]);
        }
    }
    if (downwards_.size() != all.size()) {
        fault(*all[0].meet, "the ranks that meet are joined in a ring");
    }
}

void MeetTree::look_at_edge(std::span<const Meeter> all, uint32_t index,
                            const LiveOperation& with) {
    const Rank peer = with.op.peer;
    const Rank rank = all[index].meet->rank;
    const uint32_t other = peer < index_of_.size() ? index_of_[peer] : kNobody;
    if (other == kNobody) return fault(with, "that rank does not meet anybody");
    const auto& its = all[other].with;
    const auto back =
        std::ranges::find_if(its, [&](const LiveOperation* one) { return one->op.peer == rank; });
    if (back == its.end()) return fault(with, "that rank does not know of it");
    if (goes_up(**back) == goes_up(with)) return fault(with, "both take the other for the same");
    if ((*back)->op.to.bytes != with.op.to.bytes || (*back)->op.message != with.op.message ||
        is_near((*back)->op) != is_near(with.op) || (*back)->position.lane != with.position.lane) {
        return fault(with, "that rank has " + print((*back)->op));
    }
    if (!goes_up(with)) return;
    if (parent_[index] != kNobody) return fault(with, "it has two parents");
    parent_[index] = other;
}

void MeetTree::fault(const LiveOperation& live, const std::string& what) {
    if (!fault_.empty()) return;
    fault_ = what;
    faulty_ = &live;
}

namespace {

// One who is fed otherwise than the middle feeds.
const LiveOperation* otherwise_fed(std::span<const Meeter> all, const MeetTree& tree) {
    const sched::Operation& first = all[tree.top()].meet->op;
    for (uint32_t i = 0; i < all.size(); ++i) {
        const sched::Operation& op = all[i].meet->op;
        const bool is_middle = i == tree.top();
        const sched::Block& own = is_middle ? op.left : op.to;
        const sched::Block& other = is_middle ? op.to : op.left;
        const bool is_alike = op.kind == first.kind && op.message == first.message &&
                              op.right.bytes == first.right.bytes && own.bytes == first.left.bytes;
        if (!is_alike || other.bytes != 0 || tree.parent(i) != tree.top()) return all[i].meet;
    }
    return fed_at_once(all, tree).empty() ? all[tree.top()].meet : nullptr;
}

}  // namespace

// Each takes the next ones in turn, with all that is below them.
std::vector<Fed> fed_at_once(std::span<const Meeter> all, const MeetTree& tree) {
    std::vector<uint32_t> order{tree.top()};
    for (const LiveOperation* with : all[tree.top()].with) {
        order.push_back(tree.index_of(with->op.peer));
    }
    std::vector<Fed> fed;
    std::vector<uint64_t> left;     // of each on the way down: how many are still to come
    std::vector<uint32_t> feeders;  // the same, who
    for (const uint32_t index : order) {
        while (!left.empty() && left.back() == 0) {
            left.pop_back();
            feeders.pop_back();
        }
        if (!fed.empty() && left.empty()) return {};
        if (!fed.empty()) --left.back();
        fed.push_back({index, fed.empty() ? index : feeders.back()});
        left.push_back(all[index].meet->op.order);
        feeders.push_back(index);
    }
    const bool is_whole = std::ranges::all_of(left, [](uint64_t some) { return some == 0; });
    return is_whole ? fed : std::vector<Fed>();
}

const LiveOperation* otherwise_told(std::span<const Meeter> all, const MeetTree& tree,
                                    size_t ranks) {
    if (is_feed(all[tree.top()].meet->op)) return otherwise_fed(all, tree);
    const sched::Operation& first = all[0].meet->op;
    for (const Meeter& one : all) {
        const sched::Operation& op = one.meet->op;
        const bool is_alike =
            op.kind == first.kind && op.order == first.order && op.is_counted == first.is_counted;
        if (!is_alike) return one.meet;
    }
    const bool is_partial = is_meet_multicast(first) && all.size() != ranks;
    return is_partial ? all[0].meet : nullptr;
}

}  // namespace tutti::check
