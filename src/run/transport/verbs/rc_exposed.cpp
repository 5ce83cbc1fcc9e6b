// SPDX-License-Identifier: BSD-3-Clause
// Memory that was exposed: registered as a whole, by the first message that goes straight there or
// from there, and until conceal(). So shorter messages go straight than where each has to register
// its own part (rc_direct.cpp): those that then take fewer writes than by slots.
//
// To be written to and to be read, memory is registered apart: when a call has failed, nothing may
// write to its buffers any more, while what is being sent from there still goes its way.
#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "run/transport/verbs/rc.h"

namespace tutti::transport::verbs {
namespace {

constexpr size_t kPageBytes = 4096;
constexpr size_t kTriedBytes = size_t{256} << 10;
constexpr int kTries = 3;

}  // namespace

// By what registering and copying take here. All of it grows with the length, and there is a part
// of registering that does not: from where copying takes longer. Each the least of some tries.
uint64_t Rc::exposure_pays_from() {
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
            const uint64_t begin_ns = links_->clock().now_ns();
            const Region region = endpoint().expose(to, bytes, true);
            if (!region.handle) return UINT64_MAX;
            endpoint().conceal(region);
            uint64_t& least_ns = bytes == kPageBytes ? page_ns : all_ns;
            least_ns = std::min(least_ns, links_->clock().now_ns() - begin_ns);
        }
        const uint64_t begin_ns = links_->clock().now_ns();
        std::memcpy(i % 2 == 0 ? to : from, i % 2 == 0 ? from : to, kTriedBytes);
        copy_ns = std::min(copy_ns, links_->clock().now_ns() - begin_ns);
    }
    return pays_from(page_ns, all_ns, copy_ns);
}

// kTriedBytes take copy_ns to copy, and all_ns to register, of which page_ns are there for a page.
uint64_t Rc::pays_from(uint64_t page_ns, uint64_t all_ns, uint64_t copy_ns) {
    const uint64_t growth_ns = all_ns - std::min(page_ns, all_ns);
    if (page_ns == 0 && growth_ns <= copy_ns) return 0;
    if (growth_ns >= copy_ns) return UINT64_MAX;
    return page_ns * kTriedBytes / (copy_ns - growth_ns);
}

void Rc::use_exposed(size_t message_bytes, uint64_t memory_bytes) {
    exposed_message_bytes_ = message_bytes;
    exposed_memory_bytes_ = std::max<uint64_t>(memory_bytes, message_bytes);
}

// What is too short, or one too many, is as if it were not exposed.
void Rc::expose(std::span<std::byte> memory, Memory kind) {
    const uint64_t least =
        kind == Memory::kScratch ? exposed_message_bytes_ : exposed_memory_bytes_;
    if (direct_bytes_ == 0 || memory.size() < least) return;
    const auto free =
        std::ranges::find_if(exposed_, &std::span<std::byte>::empty, &Exposed::memory);
    if (free == exposed_.end()) return;
    *free = Exposed{.memory = memory, .kind = kind};
    // Peers that had none of theirs exposed may have now.
    ++exposures_;
}

void Rc::conceal(std::span<std::byte> memory) {
    for (Exposed& one : exposed_) {
        if (one.memory.data() != memory.data() || one.memory.size() != memory.size()) continue;
        if (one.is_over) continue;
        if (one.target.handle) endpoint().conceal(std::exchange(one.target, {}));
        one.is_over = true;
        return forget_unread(one);
    }
}

// What is concealed is forgotten once no send reads there any more.
void Rc::forget_unread(Exposed& one) {
    if (!one.is_over || one.reading > 0) return;
    if (one.source.handle) endpoint().conceal(one.source);
    one = {};
}

// nullptr: it was not exposed.
Rc::Exposed* Rc::exposed_with(const std::byte* memory, size_t bytes, bool is_target) {
    const auto begin = reinterpret_cast<uintptr_t>(memory);
    for (Exposed& one : exposed_) {
        const uintptr_t offset = begin - reinterpret_cast<uintptr_t>(one.memory.data());
        const bool is_within =
            offset < one.memory.size() && one.memory.size() - offset >= bytes && !one.is_over;
        if (is_within && (!is_target || one.kind != Memory::kInput)) return &one;
    }
    return nullptr;
}

// Where the peer had nothing registered for one that is too short to be registered by itself, the
// next ones would fare alike.
bool Rc::goes_straight(uint32_t pair, const std::byte* data, size_t bytes) {
    if (direct_bytes_ == 0) return false;
    if (bytes >= direct_bytes_) return true;
    if (bytes < exposed_message_bytes_ || pairs_[pair].declined == exposures_) return false;
    const Exposed* exposed = exposed_with(data, bytes, false);
    return exposed && !exposed->is_source_refused;
}

// Of an input often one part alone is sent: the first that is has itself registered.
void Rc::register_source(Operation& operation) {
    Exposed* exposed = exposed_with(operation.source, operation.bytes, false);
    const bool is_whole = exposed && (exposed->kind != Memory::kInput || exposed->is_read);
    if (exposed) exposed->is_read = true;
    if (is_whole && !exposed->source.handle && !exposed->is_source_refused) {
        exposed->source = endpoint().expose(exposed->memory.data(), exposed->memory.size(), false);
        exposed->is_source_refused = !exposed->source.handle;
    }
    if (is_whole && exposed->source.handle) {
        operation.region = exposed->source;
        operation.is_lent = true;
        operation.reads = exposed;
        ++exposed->reading;
    } else {
        operation.region = endpoint().expose(operation.source, operation.bytes, false);
    }
}

void Rc::register_target(Operation& operation) {
    Exposed* exposed = exposed_with(operation.target, operation.bytes, true);
    if (exposed && !exposed->target.handle && !exposed->is_target_refused) {
        exposed->target = endpoint().expose(exposed->memory.data(), exposed->memory.size(), true);
        exposed->is_target_refused = !exposed->target.handle;
    }
    if (exposed && exposed->target.handle) {
        operation.region = exposed->target;
        operation.is_lent = true;
    } else if (operation.bytes >= direct_bytes_) {
        operation.region = endpoint().expose(operation.target, operation.bytes, true);
    }
}

// What was lent stays registered.
void Rc::give_back(Operation& operation) {
    if (operation.region.handle && !operation.is_lent) endpoint().conceal(operation.region);
    operation.region = {};
    operation.is_lent = false;
    Exposed* exposed = std::exchange(operation.reads, nullptr);
    if (!exposed) return;
    --exposed->reading;
    forget_unread(*exposed);
}

void Rc::conceal_all() {
    for (Exposed& one : exposed_) {
        if (one.source.handle) endpoint().conceal(one.source);
        if (one.target.handle) endpoint().conceal(one.target);
        one = {};
    }
}

}  // namespace tutti::transport::verbs
