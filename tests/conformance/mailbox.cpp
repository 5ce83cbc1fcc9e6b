// SPDX-License-Identifier: BSD-3-Clause
#include "conformance/mailbox.h"

#include <algorithm>
#include <cstring>

namespace tutti::test {

Mailbox::Mailbox(uint32_t ranks, size_t eager_bytes_max, uint32_t tag_max)
    : eager_bytes_max_(eager_bytes_max), tag_max_(tag_max) {
    for (uint32_t rank = 0; rank < ranks; ++rank) users_.push_back({this, rank});
}

tutti_p2p Mailbox::callbacks(uint32_t rank) {
    return {sizeof(tutti_p2p), &users_[rank], tag_max_, send, recv, test, probe, cancel};
}

int Mailbox::send(void* user, const void* data, size_t bytes, uint32_t peer, uint32_t tag,
                  void** request) {
    const auto* self = static_cast<User*>(user);
    return self->mailbox->post({self->rank, peer, tag, true, data, nullptr, bytes}, request);
}

int Mailbox::recv(void* user, void* data, size_t bytes, uint32_t peer, uint32_t tag,
                  void** request) {
    const auto* self = static_cast<User*>(user);
    return self->mailbox->post({peer, self->rank, tag, false, nullptr, data, bytes}, request);
}

// As MPI: a message that is too long is cut.
void Mailbox::match(Request& send, Request& recv) {
    recv.received = send.bytes > recv.bytes ? SIZE_MAX : send.bytes;
    if (send.bytes > 0 && send.bytes <= recv.bytes) {
        std::memcpy(recv.target, send.source, send.bytes);
    }
    send.is_done = recv.is_done = true;
}

int Mailbox::post(const Request& request, void** handle) {
    const std::lock_guard lock(mutex_);
    if (request.tag > tag_max_ || std::max(request.from, request.to) >= users_.size()) return 1;
    Request* posted = take(request);
    *handle = posted;
    const auto other = std::find_if(waiting_.begin(), waiting_.end(), [&](const Request* first) {
        return first->is_send != request.is_send && first->from == request.from &&
               first->to == request.to && first->tag == request.tag;
    });
    if (other == waiting_.end()) {
        waiting_.push_back(posted);
        if (posted->is_send && posted->bytes > 0 && posted->bytes <= eager_bytes_max_)
            keep(*posted);
        return 0;
    }
    match(request.is_send ? *posted : **other, request.is_send ? **other : *posted);
    if (!(*other)->is_owned) release(**other);
    waiting_.erase(other);
    return 0;
}

Mailbox::Request* Mailbox::take(const Request& request) {
    if (free_.empty()) free_.push_back(&requests_.emplace_back());
    Request* taken = free_.back();
    free_.pop_back();
    *taken = request;
    return taken;
}

// What waits from now on is a copy that nobody owns; its sender is done.
void Mailbox::keep(Request& posted) {
    Request* copy = take(posted);
    const auto* data = static_cast<const std::byte*>(posted.source);
    copy->kept.assign(data, data + posted.bytes);
    copy->source = copy->kept.data();
    copy->is_owned = false;
    waiting_.back() = copy;
    posted.is_done = true;
}

void Mailbox::release(Request& request) { free_.push_back(&request); }

int Mailbox::test(void* user, void** request, int* done) {
    Mailbox& self = *static_cast<User*>(user)->mailbox;
    const std::lock_guard lock(self.mutex_);
    auto* posted = static_cast<Request*>(*request);
    *done = posted->is_done ? 2 : 0;
    if (!posted->is_done) return 0;
    *request = reinterpret_cast<void*>(posted->received);
    self.release(*posted);
    return 0;
}

int Mailbox::cancel(void* user, void** request, int* done) {
    Mailbox& self = *static_cast<User*>(user)->mailbox;
    const std::lock_guard lock(self.mutex_);
    auto* posted = static_cast<Request*>(*request);
    std::erase(self.waiting_, posted);
    self.release(*posted);
    *done = posted->is_done ? 2 : 1;
    if (posted->is_done) *request = reinterpret_cast<void*>(posted->received);
    return 0;
}

int Mailbox::probe(void* user, uint32_t tag, uint32_t* peer, int* there) {
    const User& me = *static_cast<User*>(user);
    const std::lock_guard lock(me.mailbox->mutex_);
    const auto& waiting = me.mailbox->waiting_;
    const auto found = std::find_if(waiting.begin(), waiting.end(), [&](const Request* one) {
        return one->is_send && one->to == me.rank && one->tag == tag;
    });
    *there = found != waiting.end() ? 1 : 0;
    if (*there != 0) *peer = (*found)->from;
    return 0;
}

}  // namespace tutti::test
