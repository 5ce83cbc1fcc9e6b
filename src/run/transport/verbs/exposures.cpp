// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/verbs/exposures.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "base/assert.h"

namespace tutti::transport::verbs {
namespace {

constexpr size_t kPageBytes = 4096;
constexpr size_t kTriedBytes = size_t{256} << 10;
constexpr int kTries = 3;

}  // namespace

// By what registering and copying take here. All of it grows with the length, and there is a part
// of registering that does not: from where copying takes longer. Each the least of some tries.
uint64_t Exposures::pays_from(Clock& clock) const {
    const std::unique_ptr<std::byte[]> memory(new (std::nothrow) std::byte[2 * kTriedBytes]);
    if (!memory) return UINT64_MAX;
    std::fill_n(memory.get(), 2 * kTriedBytes, std::byte{1});
    std::byte* const from = memory.get();
    std::byte* const to = from + kTriedBytes;
    uint64_t page_ns = UINT64_MAX;
    uint64_t all_ns = UINT64_MAX;
    uint64_t copy_ns = UINT64_MAX;
    for (int i = 0; i < kTries; ++i) {
        for (const size_t bytes : {kPageBytes, kTriedBytes}) {
            const uint64_t begin_ns = clock.now_ns();
            const Region region = endpoint_.expose(to, bytes, true);
            if (!region.handle) return UINT64_MAX;
            endpoint_.conceal(region);
            uint64_t& least_ns = bytes == kPageBytes ? page_ns : all_ns;
            least_ns = std::min(least_ns, clock.now_ns() - begin_ns);
        }
        const uint64_t begin_ns = clock.now_ns();
        std::memcpy(i % 2 == 0 ? to : from, i % 2 == 0 ? from : to, kTriedBytes);
        copy_ns = std::min(copy_ns, clock.now_ns() - begin_ns);
    }
    return pays_from(page_ns, all_ns, copy_ns);
}

// kTriedBytes take copy_ns to copy, and all_ns to register, of which page_ns are there for a page.
uint64_t Exposures::pays_from(uint64_t page_ns, uint64_t all_ns, uint64_t copy_ns) {
    const uint64_t growth_ns = all_ns - std::min(page_ns, all_ns);
    if (page_ns == 0 && growth_ns <= copy_ns) return 0;
    if (growth_ns >= copy_ns) return UINT64_MAX;
    return page_ns * kTriedBytes / (copy_ns - growth_ns);
}

void Exposures::use(size_t message_bytes, uint64_t memory_bytes) {
    message_bytes_ = message_bytes;
    memory_bytes_ = std::max<uint64_t>(memory_bytes, message_bytes);
}

// What is too short, or one too many, is as if it were not exposed.
void Exposures::expose(std::span<std::byte> memory, Memory kind) {
    const uint64_t least = kind == Memory::kScratch ? message_bytes_ : memory_bytes_;
    if (direct_bytes_ == 0 || memory.size() < least) return;
    const auto free =
        std::ranges::find_if(exposed_, &std::span<std::byte>::empty, &Exposed::memory);
    if (free == exposed_.end()) return;
    *free = Exposed{.memory = memory, .kind = kind};
    // Peers that had none of theirs exposed may have now.
    ++count_;
}

void Exposures::conceal(std::span<std::byte> memory) {
    for (Exposed& one : exposed_) {
        if (one.memory.data() != memory.data() || one.memory.size() != memory.size()) continue;
        if (one.is_over) continue;
        if (one.target.handle) endpoint_.conceal(std::exchange(one.target, {}));
        one.is_over = true;
        return forget_unread(one);
    }
}

void Exposures::conceal_all() {
    for (Exposed& one : exposed_) {
        TUTTI_ASSERT(one.reading == 0, "no send reads there any more");
        if (one.source.handle) endpoint_.conceal(one.source);
        if (one.target.handle) endpoint_.conceal(one.target);
        one = {};
    }
}

void Exposures::forget_unread(Exposed& one) {
    if (!one.is_over || one.reading > 0) return;
    if (one.source.handle) endpoint_.conceal(one.source);
    one = {};
}

// nullptr: it was not exposed.
Exposures::Exposed* Exposures::find(const std::byte* memory, size_t bytes, bool is_target) {
    const auto begin = reinterpret_cast<uintptr_t>(memory);
    for (Exposed& one : exposed_) {
        const uintptr_t offset = begin - reinterpret_cast<uintptr_t>(one.memory.data());
        const bool is_within =
            offset < one.memory.size() && one.memory.size() - offset >= bytes && !one.is_over;
        if (is_within && (!is_target || one.kind != Memory::kInput)) return &one;
    }
    return nullptr;
}

// Of an input often one part alone is sent: the first that is has itself registered.
Exposures::Lease Exposures::lease_source(const std::byte* data, size_t bytes) {
    Exposed* exposed = find(data, bytes, false);
    const bool is_whole = exposed && (exposed->kind != Memory::kInput || exposed->is_read);
    if (exposed) exposed->is_read = true;
    if (is_whole && !exposed->source.handle && !exposed->is_source_refused) {
        exposed->source = endpoint_.expose(exposed->memory.data(), exposed->memory.size(), false);
        exposed->is_source_refused = !exposed->source.handle;
    }
    if (!is_whole || !exposed->source.handle) return {endpoint_.expose(data, bytes, false)};
    ++exposed->reading;
    return {exposed->source, true, exposed};
}

Exposures::Lease Exposures::lease_target(std::byte* data, size_t bytes) {
    Exposed* exposed = find(data, bytes, true);
    if (exposed && !exposed->target.handle && !exposed->is_target_refused) {
        exposed->target = endpoint_.expose(exposed->memory.data(), exposed->memory.size(), true);
        exposed->is_target_refused = !exposed->target.handle;
    }
    if (exposed && exposed->target.handle) return {exposed->target, true, nullptr};
    if (!is_long(bytes)) return {};
    return {endpoint_.expose(data, bytes, true)};
}

void Exposures::give_back(Lease& lease) {
    if (lease.region.handle && !lease.is_lent) endpoint_.conceal(lease.region);
    Exposed* exposed = lease.reads;
    lease = {};
    if (!exposed) return;
    TUTTI_ASSERT(exposed->reading > 0, "a lease is given back once");
    --exposed->reading;
    forget_unread(*exposed);
}

}  // namespace tutti::transport::verbs
