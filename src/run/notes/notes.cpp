// SPDX-License-Identifier: BSD-3-Clause
#include "run/notes/notes.h"

#include <sched.h>

#include <algorithm>

#include "base/assert.h"

namespace tutti::notes {

Notes::Notes(const tutti_p2p& p2p, uint32_t tag, std::span<const uint32_t> peers, uint32_t ranks,
             uint32_t rank, uint64_t team)
    : p2p_(p2p), tag_(tag), peers_(peers), ranks_(ranks), rank_(rank), team_(team) {
    TUTTI_ASSERT(rank < ranks && (peers.empty() || peers.size() == ranks), "a team's peers");
}

void Notes::drain() {
    Note note;
    while (receive(note)) {
    }
}

void Notes::look_at(Sending& sending) {
    if (!sending.is_under_way) return;
    int is_done = 0;
    // One that fails is over too.
    const bool is_over = p2p_.test(p2p_.user, &sending.request, &is_done) != 0 || is_done != 0;
    sending.is_under_way = !is_over;
}

bool Notes::send(uint32_t to, const Note& note) {
    if (!is_on()) return false;
    TUTTI_ASSERT(to != rank_, "a note to oneself is read by nobody");
    TUTTI_ASSERT(to < ranks_, "a note to a rank of the team");
    const std::lock_guard lock(sendings_mutex_);
    for (Sending& sending : sendings_) {
        look_at(sending);
        if (sending.is_under_way) continue;
        sending.note = note;
        sending.note.team = team_;
        sending.note.from = rank_;
        sending.is_under_way =
            p2p_.send(p2p_.user, &sending.note, sizeof(Note), peers_.empty() ? to : peers_[to],
                      tag_, &sending.request) == 0;
        look_at(sending);
        return true;
    }
    return false;
}

// A message that the probe has seen is there, so this does not wait for anybody.
bool Notes::take(uint32_t peer, Note& note) {
    void* request = nullptr;
    if (p2p_.recv(p2p_.user, &note, sizeof(Note), peer, tag_, &request) != 0) return false;
    for (int is_done = 0; is_done == 0;) {
        if (p2p_.test(p2p_.user, &request, &is_done) != 0) return false;
        if (is_done == 0) sched_yield();
    }
    return true;
}

// Notes go to the ranks that a note names, so these are of the team.
bool Notes::names_ranks(const Note& note) const {
    if (note.from == rank_) return false;
    const uint32_t count = note.kind == Note::Kind::kAnswer ? note.count : 0;
    const auto named = std::span(note.waits_for).first(count);
    const auto is_rank = [&](uint32_t rank) { return rank < ranks_; };
    return is_rank(note.from) && std::ranges::all_of(named, is_rank);
}

bool Notes::receive(Note& note) {
    while (is_on()) {
        uint32_t peer = 0;
        int is_there = 0;
        if (p2p_.probe(p2p_.user, tag_, &peer, &is_there) != 0 || is_there == 0) return false;
        if (!take(peer, note)) return false;
        if (note.kind == Note::Kind::kAnswer) note.count = std::min(note.count, Note::kNamesMax);
        if (note.team != team_ || !names_ranks(note)) continue;
        note.text.back() = '\0';
        return true;
    }
    return false;
}

bool Notes::is_busy() {
    const std::lock_guard lock(sendings_mutex_);
    for (Sending& sending : sendings_) look_at(sending);
    return std::any_of(sendings_.begin(), sendings_.end(),
                       [](const Sending& sending) { return sending.is_under_way; });
}

}  // namespace tutti::notes
