// SPDX-License-Identifier: BSD-3-Clause
#include "check/meet_tree.h"

#include <algorithm>

#include "sched/text.h"

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
        if (top != kNobody) return fault(*all[i].meet, "those who meet are in several trees");
        top = i;
        parent_[i] = i;
    }
    if (!fault_.empty() || all.empty()) return;
    if (top == kNobody) return fault(*all[0].meet, "those who meet are joined in a ring");
    downwards_.push_back(top);
    for (size_t next = 0; next < downwards_.size() && downwards_.size() <= all.size(); ++next) {
        for (const LiveOperation* with : all[downwards_[next]].with) {
            if (!goes_up(*with)) downwards_.push_back(index_of_[with->op.peer]);
        }
    }
    if (downwards_.size() != all.size()) {
        fault(*all[0].meet, "those who meet are joined in a ring");
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
        (*back)->position.lane != with.position.lane) {
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

const LiveOperation* otherwise_told(std::span<const Meeter> all, size_t ranks) {
    const sched::Operation& first = all[0].meet->op;
    for (const Meeter& one : all) {
        const sched::Operation& op = one.meet->op;
        if (op.kind != first.kind || op.order != first.order) return one.meet;
    }
    const bool is_partial =
        first.kind == sched::OperationKind::kMeetMulticast && all.size() != ranks;
    return is_partial ? all[0].meet : nullptr;
}

}  // namespace tutti::check
