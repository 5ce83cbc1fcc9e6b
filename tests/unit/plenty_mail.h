// SPDX-License-Identifier: BSD-3-Clause
// A mailbox that has memory when the rank that uses it has none: what is tested is the rank.
#pragma once

#include <cstddef>
#include <cstdint>

#include "conformance/mailbox.h"
#include "tutti/tutti.h"
#include "unit/failing_memory.h"

namespace tutti::test {

// At one rank. Its callbacks call this, so it stays where it is.
struct PlentyMail {
    Mailbox* mailbox;
    uint32_t rank;
    tutti_p2p inner{};
    tutti_p2p p2p() {
        inner = mailbox->callbacks(rank);
        tutti_p2p outer = inner;
        outer.user = this;
        outer.send = [](void* self, const void* data, size_t bytes, uint32_t peer, uint32_t tag,
                        void** request) {
            const Plenty plenty;
            const tutti_p2p& p = static_cast<PlentyMail*>(self)->inner;
            return p.send(p.user, data, bytes, peer, tag, request);
        };
        outer.recv = [](void* self, void* data, size_t bytes, uint32_t peer, uint32_t tag,
                        void** request) {
            const Plenty plenty;
            const tutti_p2p& p = static_cast<PlentyMail*>(self)->inner;
            return p.recv(p.user, data, bytes, peer, tag, request);
        };
        outer.test = [](void* self, void** request, int* done) {
            const Plenty plenty;
            const tutti_p2p& p = static_cast<PlentyMail*>(self)->inner;
            return p.test(p.user, request, done);
        };
        outer.probe = [](void* self, uint32_t tag, uint32_t* peer, int* there) {
            const Plenty plenty;
            const tutti_p2p& p = static_cast<PlentyMail*>(self)->inner;
            return p.probe(p.user, tag, peer, there);
        };
        outer.cancel = [](void* self, void** request, int* done) {
            const Plenty plenty;
            const tutti_p2p& p = static_cast<PlentyMail*>(self)->inner;
            return p.cancel(p.user, request, done);
        };
        return outer;
    }
};

}  // namespace tutti::test
