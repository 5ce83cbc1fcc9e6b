// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/sim/match.h"

#include <bit>

#include "base/assert.h"

namespace tutti::transport::sim {

Payloads::Bytes Payloads::take(size_t bytes) {
    const auto size_class = static_cast<size_t>(std::bit_width(bytes));
    std::vector<Bytes>& free = free_[size_class];
    if (free.empty()) return Bytes(new std::byte[size_t{1} << size_class]);
    Bytes memory = std::move(free.back());
    free.pop_back();
    return memory;
}

void Payloads::give(Bytes memory, size_t bytes) {
    free_[static_cast<size_t>(std::bit_width(bytes))].push_back(std::move(memory));
}

size_t Messages::chain(const Key& key) const {
    uint64_t hash = uint64_t{key.from} << 32 | key.to;
    hash = (hash ^ (uint64_t{key.id.call} << 32 | key.id.lane)) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
    hash = (hash ^ (uint64_t{key.id.slot} << 32 | key.id.message)) * 0xbf58476d1ce4e5b9u;
    return (hash ^ (hash >> 32)) & (chains_.size() - 1);
}

uint32_t Messages::find_or_make(const Key& key) {
    for (uint32_t at = chains_[chain(key)]; at != kNone; at = pool_[at]->next) {
        if (pool_[at]->key == key) return at;
    }
    if (count_ == chains_.size()) grow();
    uint32_t message = free_;
    if (message == kNone) {
        message = static_cast<uint32_t>(pool_.size());
        pool_.push_back(std::make_unique<Message>());
    } else {
        free_ = pool_[message]->next;
        *pool_[message] = Message{};
    }
    uint32_t& first = chains_[chain(key)];
    pool_[message]->key = key;
    pool_[message]->next = first;
    first = message;
    ++count_;
    return message;
}

void Messages::release(uint32_t message) {
    uint32_t* at = &chains_[chain(pool_[message]->key)];
    while (*at != message) {
        TUTTI_ASSERT(*at != kNone, "the message is in the table");
        at = &pool_[*at]->next;
    }
    *at = pool_[message]->next;
    pool_[message]->next = free_;
    free_ = message;
    --count_;
}

void Messages::grow() {
    std::vector<uint32_t> all;
    for (uint32_t first : chains_) {
        for (uint32_t at = first; at != kNone; at = pool_[at]->next) all.push_back(at);
    }
    chains_.assign(2 * chains_.size(), kNone);
    for (const uint32_t message : all) {
        uint32_t& first = chains_[chain(pool_[message]->key)];
        pool_[message]->next = first;
        first = message;
    }
}

}  // namespace tutti::transport::sim
