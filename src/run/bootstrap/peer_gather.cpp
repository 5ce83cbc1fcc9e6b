// SPDX-License-Identifier: BSD-3-Clause
#include "run/bootstrap/peer_gather.h"

#include <sched.h>

#include <cstdio>
#include <cstring>
#include <new>

namespace tutti::bootstrap {
namespace {

// A look for notes costs more than a look at the messages.
constexpr uint32_t kTurnsPerLook = 64;

}  // namespace

PeerGather::PeerGather(transport::Transport& transport, notes::Notes& notes,
                       std::span<const uint32_t> members, uint32_t index, size_t bytes_max)
    : transport_(transport),
      notes_(notes),
      members_(members),
      index_(index),
      bytes_max_(bytes_max),
      out_(bytes_max),
      in_(members.size() * bytes_max),
      tickets_(2 * (members.size() - 1)) {}

void PeerGather::post(size_t bytes) {
    size_t ticket = 0;
    for (uint32_t i = 0; i < members_.size(); ++i) {
        if (i == index_) continue;
        transport_.recv(members_[i], {}, in_.data() + i * bytes, bytes, tickets_[ticket++]);
    }
    for (uint32_t i = 0; i < members_.size(); ++i) {
        if (i == index_) continue;
        transport_.send(members_[i], {}, out_.data(), bytes, tickets_[ticket++]);
    }
}

// A message of the own ones has failed.
void PeerGather::tell() {
    failure_.kind = notes::Note::Kind::kGaveUp;
    const unsigned own = members_[index_];
    try {
        std::snprintf(failure_.text.data(), failure_.text.size(), "rank %u: %s", own,
                      transport_.error().c_str());
    } catch (const std::bad_alloc&) {
        std::snprintf(failure_.text.data(), failure_.text.size(), "rank %u: a message failed", own);
    }
    tell_others();
}

void PeerGather::tell_others() {
    for (uint32_t i = 0; i < members_.size(); ++i) {
        if (i != index_) notes_.send(members_[i], failure_);
    }
}

// Another member has seen one fail. Notes of other kinds come only when there is a team; what they
// ask for is asked again.
bool PeerGather::is_told() {
    notes::Note note;
    while (notes_.receive(note)) {
        if (note.kind != notes::Note::Kind::kGaveUp) continue;
        failure_ = note;
        return true;
    }
    return false;
}

// False where a message failed, here or elsewhere.
bool PeerGather::complete() {
    size_t pending = tickets_.size();
    for (uint32_t turns = 1; pending > 0; ++turns) {
        const size_t before = pending;
        pending = 0;
        transport_.poll();
        for (transport::Ticket& ticket : tickets_) {
            const transport::State state = transport_.test(ticket);
            if (state == transport::State::kFailed) {
                tell();
                return false;
            }
            pending += state == transport::State::kPending ? 1 : 0;
        }
        if (pending == 0) break;
        if (turns % kTurnsPerLook == 0 && is_told()) return false;
        if (pending == before) sched_yield();
    }
    return true;
}

bool PeerGather::exchange(size_t bytes) {
    if (has_failed() || bytes > bytes_max_) return false;
    post(bytes);
    return complete();
}

int PeerGather::gather(const void* in, void* out, size_t bytes) {
    if (bytes > bytes_max_) return 1;
    std::memcpy(out_.data(), in, bytes);
    if (!exchange(bytes)) return 1;
    std::memcpy(in_.data() + index_ * bytes, in, bytes);
    std::memcpy(out, in_.data(), members_.size() * bytes);
    return 0;
}

int PeerGather::allgather(void* self, const void* in, void* out, size_t bytes) {
    return static_cast<PeerGather*>(self)->gather(in, out, bytes);
}

}  // namespace tutti::bootstrap
