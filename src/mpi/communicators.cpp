// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/communicators.h"

#include <new>
#include <utility>
#include <variant>

#include "mpi/comm_state.h"
#include "mpi/fact_log.h"
#include "mpi/front.h"

namespace tutti::mpi {

namespace {

// What a team says, in the job's terms.
void note_row(FactLog& log, const CommState& state, const tutti_fact_row& told) {
    FactRow row = row_of(told);
    for (Fact& fact : row.facts) {
        const uint64_t* const member = std::get_if<uint64_t>(&fact.value);
        if (fact.unit != TUTTI_UNIT_RANK || member == nullptr) continue;
        if (*member >= state.in_world.size()) continue;
        fact.value = static_cast<uint64_t>(state.in_world[*member]);
    }
    const bool has_all = state.comm == front.host.handles.comm_world;
    if (row.by_rank && !has_all) {
        std::erase_if(row.facts,
                      [](const Fact& fact) { return fact.merge == TUTTI_MERGE_SPEAKER; });
    }
    if (!row.facts.empty()) log.add(std::move(row));
}

// Visitors are called from C.
struct Noting {
    FactLog& log;
    const CommState& state;
};

void note_facts(FactLog& log, const CommState& state) {
    if (state.team == nullptr) return;
    const auto note = [](void* to, const tutti_fact_row* row) {
        const auto& noting = *static_cast<const Noting*>(to);
        note_row(noting.log, noting.state, *row);
    };
    Noting noting{log, state};
    if (tutti_team_facts(state.team, 0, note, &noting) != TUTTI_OK) log.lose();
}

}  // namespace

void Communicators::add(CommState& state) {
    const std::lock_guard lock(mutex_);
    state.next = first_;
    state.link = &first_;
    if (state.next != nullptr) state.next->link = &state.next;
    first_ = &state;
    unattached_ += state.is_attached ? 0 : 1;
}

void Communicators::set_attached(CommState& state) {
    const std::lock_guard lock(mutex_);
    state.is_attached = true;
    --unattached_;
}

CommState* Communicators::find_unattached(abi::Comm comm) {
    if (unattached_.load(std::memory_order_relaxed) == 0) return nullptr;
    const std::lock_guard lock(mutex_);
    CommState* state = first_;
    while (state != nullptr && (state->is_attached || !(state->comm == comm))) state = state->next;
    return state;
}

CommState* Communicators::find(abi::Comm comm) {
    const std::lock_guard lock(mutex_);
    CommState* state = first_;
    while (state != nullptr && !(state->comm == comm)) state = state->next;
    return state;
}

// Under the mutex.
void Communicators::unlink(CommState& state) {
    *state.link = state.next;
    if (state.next != nullptr) state.next->link = state.link;
    unattached_ -= state.is_attached ? 0 : 1;
}

void Communicators::defer_destruction(CommState& state) {
    const std::lock_guard lock(mutex_);
    unlink(state);
    state.next = freed_.load(std::memory_order_relaxed);
    freed_.store(&state, std::memory_order_relaxed);
}

CommState* Communicators::take_unused() {
    const std::lock_guard lock(mutex_);
    CommState* before = nullptr;
    CommState* state = freed_.load(std::memory_order_relaxed);
    while (state != nullptr && state->uses.load(std::memory_order_relaxed) != 0) {
        before = state;
        state = state->next;
    }
    if (state == nullptr) return nullptr;
    if (before != nullptr) {
        before->next = state->next;
    } else {
        freed_.store(state->next, std::memory_order_relaxed);
    }
    return state;
}

CommState* Communicators::take_leftover() {
    const std::lock_guard lock(mutex_);
    CommState* const state = first_;
    if (state != nullptr) unlink(*state);
    return state;
}

void Communicators::keep_facts(const CommState& state) {
    const std::lock_guard lock(mutex_);
    if (facts_ == nullptr) facts_ = new (std::nothrow) FactLog;
    if (facts_ != nullptr) note_facts(*facts_, state);
}

FactLog Communicators::facts() {
    const std::lock_guard lock(mutex_);
    FactLog log = facts_ != nullptr ? *facts_ : FactLog{};
    for (const CommState* state = first_; state != nullptr; state = state->next) {
        note_facts(log, *state);
    }
    return log;
}

}  // namespace tutti::mpi
