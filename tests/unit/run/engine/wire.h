// SPDX-License-Identifier: BSD-3-Clause
// Point-to-point callbacks between forked processes over memory that they share, without a system
// call or an allocation: what a call across hosts costs by itself can be counted.
#pragma once

#include <sys/mman.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

#include "tutti/tutti.h"

namespace tutti::test {

class Wire {
  public:
    static constexpr uint32_t kRanks = 2;
    static constexpr uint32_t kTags = 40;
    static constexpr uint64_t kCells = 4;
    static constexpr size_t kBytesMax = 256 * 1024;

    // One process's end, private to it.
    class End {
      public:
        End(Wire& wire, uint32_t rank) : wire_(wire), rank_(rank) {}
        tutti_p2p callbacks() {
            return {sizeof(tutti_p2p), this, kTags - 1, send, recv, test, nullptr, nullptr};
        }

      private:
        struct Request {
            bool is_used = false;
            bool is_send = false;
            const void* source = nullptr;
            void* target = nullptr;
            size_t bytes = 0;
            uint32_t peer = 0;
            uint32_t tag = 0;
            uint64_t number = 0;  // in its queue
        };
        int post(const Request& wanted, uint64_t& issued, void** request) {
            if (wanted.bytes > kBytesMax || wanted.peer >= kRanks || wanted.tag >= kTags) return 1;
            for (Request& one : requests_) {
                if (one.is_used) continue;
                one = wanted;
                one.is_used = true;
                one.number = issued++;
                *request = &one;
                return 0;
            }
            return 2;
        }
        static int send(void* user, const void* data, size_t bytes, uint32_t peer, uint32_t tag,
                        void** request) {
            auto& self = *static_cast<End*>(user);
            return self.post({false, true, data, nullptr, bytes, peer, tag, 0},
                             self.sends_[peer][tag], request);
        }
        static int recv(void* user, void* data, size_t bytes, uint32_t peer, uint32_t tag,
                        void** request) {
            auto& self = *static_cast<End*>(user);
            return self.post({false, false, nullptr, data, bytes, peer, tag, 0},
                             self.recvs_[peer][tag], request);
        }
        static int test(void* user, void** request, int* done) {
            auto& self = *static_cast<End*>(user);
            auto& one = *static_cast<Request*>(*request);
            *done = (one.is_send ? self.try_send(one) : self.try_recv(one)) ? 1 : 0;
            if (*done != 0) one.is_used = false;
            return 0;
        }
        bool try_send(const Request& one) {
            Queue& queue = wire_.queues_[rank_][one.peer][one.tag];
            if (queue.sent.load() != one.number) return false;
            if (one.number - queue.taken.load() >= kCells) return false;
            if (one.bytes > 0) {
                std::memcpy(queue.cells[one.number % kCells].data(), one.source, one.bytes);
            }
            queue.sent.store(one.number + 1);
            return true;
        }
        bool try_recv(const Request& one) {
            Queue& queue = wire_.queues_[one.peer][rank_][one.tag];
            if (queue.taken.load() != one.number || queue.sent.load() == one.number) return false;
            if (one.bytes > 0) {
                std::memcpy(one.target, queue.cells[one.number % kCells].data(), one.bytes);
            }
            queue.taken.store(one.number + 1);
            return true;
        }

        Wire& wire_;
        uint32_t rank_;
        std::array<Request, 256> requests_;
        uint64_t sends_[kRanks][kTags] = {};
        uint64_t recvs_[kRanks][kTags] = {};
    };

    static Wire* create() {
        void* memory = mmap(nullptr, sizeof(Wire), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) std::abort();
        return static_cast<Wire*>(memory);  // all zero, which is an empty wire
    }
    static void destroy(Wire* wire) { munmap(wire, sizeof(Wire)); }

  private:
    struct Queue {
        std::atomic<uint64_t> sent;
        std::atomic<uint64_t> taken;
        std::array<std::array<char, kBytesMax>, kCells> cells;
    };
    Queue queues_[kRanks][kRanks][kTags];
};

}  // namespace tutti::test
