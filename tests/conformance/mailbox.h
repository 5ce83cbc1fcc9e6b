// SPDX-License-Identifier: BSD-3-Clause
// Point-to-point callbacks between ranks of one process, as an embedder would bring them: messages
// match in order per pair and tag, and a send is complete when its receive is, or at once if
// it has no more bytes than are eager. Thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

#include "tutti/tutti.h"

namespace tutti::test {

class Mailbox {
  public:
    explicit Mailbox(uint32_t ranks, size_t eager_bytes_max = 0, uint32_t tag_max = (1 << 20) - 1);
    // For the process that is `rank`.
    tutti_p2p callbacks(uint32_t rank);
    [[nodiscard]] size_t under_way() const { return waiting_.size(); }
    // Of these, receives: memory that may still be written to.
    [[nodiscard]] size_t receives_under_way() const {
        return static_cast<size_t>(std::count_if(waiting_.begin(), waiting_.end(),
                                                 [](const Request* one) { return !one->is_send; }));
    }

  private:
    struct Request {
        uint32_t from = 0;
        uint32_t to = 0;
        uint32_t tag = 0;
        bool is_send = false;
        const void* source = nullptr;
        void* target = nullptr;
        size_t bytes = 0;
        bool is_done = false;
        bool is_owned = true;  // by who posted it
        size_t received = 0;   // SIZE_MAX: more than there was room for
        std::vector<std::byte> kept{};
    };
    struct User {
        Mailbox* mailbox;
        uint32_t rank;
    };
    static int send(void* user, const void* data, size_t bytes, uint32_t peer, uint32_t tag,
                    void** request);
    static int recv(void* user, void* data, size_t bytes, uint32_t peer, uint32_t tag,
                    void** request);
    static int test(void* user, void** request, int* done);
    static int probe(void* user, uint32_t tag, uint32_t* peer, int* there);
    static int cancel(void* user, void** request, int* done);
    int post(const Request& request, void** handle);
    Request* take(const Request& request);
    void keep(Request& posted);
    void release(Request& request);
    static void match(Request& send, Request& recv);

    size_t eager_bytes_max_;
    uint32_t tag_max_;
    std::mutex mutex_;
    std::vector<User> users_;
    std::deque<Request> requests_;
    std::vector<Request*> free_;
    std::vector<Request*> waiting_;  // in the order of posting
};

}  // namespace tutti::test
