// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/staging.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <new>

#include "mpi/run_call.h"

namespace tutti::mpi {

namespace {

using device::MemoryKind;
using device::Owner;
using device::Runtime;
using device::Span;

Span span_of(const TypedBuffer& side, uint64_t first_block, uint64_t blocks) {
    const TypeInfo& info = *side.info;
    return device::span_of(info.extent, info.true_lb, info.true_extent, first_block * side.count,
                           blocks * side.count);
}

const void* address_at(intptr_t address, ptrdiff_t offset) {
    return reinterpret_cast<const void*>(address + offset);
}

// A datatype with gaps may name several allocations by their addresses. One copy of all that lies
// between cannot be made of them.
bool is_one_owner(const TypedBuffer& side, Span span, Runtime* runtime, Owner& owner) {
    if (span.bytes == 0 || side.contiguous(1)) return true;
    Owner other;
    const void* last = address_at(side.address, span.low + static_cast<ptrdiff_t>(span.bytes) - 1);
    const Runtime* last_runtime = front.devices.find(last, other);
    if (last_runtime == runtime) return runtime == nullptr || other.kind == owner.kind;
    // The processor reads both: as if there were no device.
    const bool is_readable = owner.kind != MemoryKind::kDevice && other.kind != MemoryKind::kDevice;
    if (is_readable) owner = {};
    return is_readable;
}

constexpr const char* kNoMemory = "no memory for a copy of device memory";

}  // namespace

Staging::Staging(CommState& state, Kind kind, std::initializer_list<Part> parts)
    : state_(state), kind_(kind), many_(state.scratch), mask_(state.scratch) {
    for (const Part& part : parts) add(part);
}

Staging::Staging(CommState& state, Kind kind, size_t parts)
    : state_(state), kind_(kind), many_(state.scratch), mask_(state.scratch) {
    if (parts <= kFew || !front.devices.may_meet()) return;
    taken_ = reinterpret_cast<Taken*>(many_.get(parts * sizeof(Taken)));
    room_ = taken_ != nullptr ? parts : 0;
}

void Staging::look(const Part& part) {
    const TypedBuffer& side = *part.side;
    const Span whole = span_of(side, 0, part.blocks);
    Owner owner;
    Runtime* runtime = front.devices.find(address_at(side.address, whole.low), owner);
    const bool is_split = !is_one_owner(side, whole, runtime, owner);
    if (owner.kind == MemoryKind::kHost && !is_split) return;
    lacks_memory_ = count_ == room_;
    if (lacks_memory_) return;
    new (&taken_[count_++]) Taken{part, runtime, owner, is_split, side.address, whole.low, {}};
}

bool Staging::takes(const TypedBuffer& side) const {
    return std::any_of(taken_, taken_ + count_,
                       [&](const Taken& taken) { return taken.part.side == &side; });
}

void Staging::say(const char* why) const {
    char line[320];
    snprintf(line, sizeof line, "%s on rank %u of %u: %s", kind_function(kind_), state_.rank,
             state_.size, why);
    print_line(line);
}

Unready Staging::unready(int error, const char* why) const {
    say(why);
    return {error, why};
}

Unready Staging::before() {
    if (lacks_memory_) return unready(front.host.abi.err_no_mem, kNoMemory);
    for (size_t i = 0; i < count_; ++i) {
        const Unready unready = take(taken_[i]);
        if (unready.status != abi::kSuccess) return unready;
    }
    if (count_ > 0) front.counts.staged.calls.fetch_add(1, std::memory_order_relaxed);
    return {};
}

Unready Staging::take(Taken& taken) {
    if (taken.is_split) {
        return unready(front.host.abi.err_other,
                       "a datatype spans device memory and other memory: such a call has to go to "
                       "your MPI (TUTTI=off)");
    }
    TypedBuffer& side = *taken.part.side;
    // A predefined operator works on C structs with the padding behind the last.
    const ptrdiff_t padding = side.info->extent - side.info->true_extent;
    const size_t room =
        span_of(side, 0, taken.part.blocks).bytes + static_cast<size_t>(padding > 0 ? padding : 0);
    {
        const std::lock_guard lock(taken.runtime->mutex);
        taken.block = taken.runtime->blocks.take(room);
    }
    if (taken.copy() == nullptr) return unready(front.host.abi.err_no_mem, kNoMemory);
    if (taken.part.read_blocks > 0 && !copy_in(taken)) {
        return unready(front.host.abi.err_other, problem_);
    }
    front.counts.staged.bytes.fetch_add(side.bytes * taken.part.blocks, std::memory_order_relaxed);
    front.counts.staged.runtime.store(taken.runtime->name(), std::memory_order_relaxed);
    side.address = reinterpret_cast<intptr_t>(taken.copy()) - taken.low;
    return {};
}

bool Staging::begin(Taken& taken) {
    if (!taken.runtime->begin(taken.owner)) return false;
    taken.runtime->pin(taken.block);
    return true;
}

// Under the lock of the runtime, whose problem may be another one after it.
bool Staging::ended(Runtime& runtime, bool is_well) {
    is_well = runtime.end() && is_well;
    if (!is_well) snprintf(problem_, sizeof problem_, "%s", runtime.problem());
    return is_well;
}

// Gaps come along: reading them does no harm, and it is one copy.
bool Staging::copy_in(Taken& taken) {
    const Span span = span_of(*taken.part.side, taken.part.read_first, taken.part.read_blocks);
    Runtime& runtime = *taken.runtime;
    const std::lock_guard lock(runtime.mutex);
    const bool copied =
        begin(taken) && runtime.copy(taken.copy() + (span.low - taken.low),
                                     address_at(taken.address, span.low), span.bytes);
    return ended(runtime, copied);
}

// The others have their results, and will have no further call with this rank.
int Staging::failed(int error, const char* why) const {
    say(why);
    tutti_team_give_up(state_.team, why);
    return error;
}

// Of one element: 0xFF where data is, found by unpacking an element of nothing else.
int Staging::make_mask(const TypedBuffer& side, const unsigned char*& made) {
    const TypeInfo& info = *side.info;
    const auto bytes = static_cast<size_t>(info.true_extent);
    std::byte* mask = mask_.get(bytes + info.size);
    if (mask == nullptr) return failed(front.host.abi.err_no_mem, kNoMemory);
    memset(mask, 0, bytes);
    memset(mask + bytes, device::kData, info.size);
    const int status = unpack(
        mask + bytes, reinterpret_cast<std::byte*>(reinterpret_cast<intptr_t>(mask) - info.true_lb),
        1, side.type, info);
    if (status != abi::kSuccess) return failed(status, "your MPI cannot unpack its data");
    made = reinterpret_cast<const unsigned char*>(mask);
    return abi::kSuccess;
}

// What stands in the gaps may be changing on the device at this moment, so only data is written.
bool Staging::copy_data(const Taken& taken, const unsigned char* mask) {
    const TypedBuffer& side = *taken.part.side;
    const TypeInfo& info = *side.info;
    const uint64_t elements = side.count * taken.part.blocks;
    const auto copy = [&](ptrdiff_t at, size_t pitch, size_t width, size_t rows) {
        return taken.runtime->copy_rows(reinterpret_cast<void*>(taken.address + at),
                                        taken.copy() + (at - taken.low), pitch, width, rows);
    };
    // Each run of all elements at once, or all rows of each element, whichever is fewer copies.
    const auto copy_rows = [&](const device::Rows& rows) {
        const ptrdiff_t first = info.true_lb + static_cast<ptrdiff_t>(rows.offset);
        const auto width = static_cast<ptrdiff_t>(rows.width);
        const bool across = info.extent >= width && elements >= rows.count;
        bool copied = true;
        for (size_t i = 0; across && copied && i < rows.count; ++i) {
            copied = copy(first + static_cast<ptrdiff_t>(i * rows.pitch),
                          static_cast<size_t>(info.extent), rows.width, elements);
        }
        for (uint64_t i = 0; !across && copied && i < elements; ++i) {
            copied = copy(first + static_cast<ptrdiff_t>(i) * info.extent, rows.pitch, rows.width,
                          rows.count);
        }
        return copied;
    };
    return device::for_each_rows(mask, static_cast<size_t>(info.true_extent), copy_rows);
}

int Staging::copy_out(Taken& taken) {
    const TypedBuffer& side = *taken.part.side;
    const bool is_whole = side.contiguous(taken.part.blocks);
    const unsigned char* mask = nullptr;
    const int masked = is_whole ? abi::kSuccess : make_mask(side, mask);
    if (masked != abi::kSuccess) return masked;
    if (write_back(taken, mask)) return abi::kSuccess;
    return failed(front.host.abi.err_other, problem_);
}

// Whole where there is no mask.
bool Staging::write_back(Taken& taken, const unsigned char* mask) {
    Runtime& runtime = *taken.runtime;
    const std::lock_guard lock(runtime.mutex);
    bool copied = begin(taken);
    if (copied && mask == nullptr) {
        copied = runtime.copy(reinterpret_cast<void*>(taken.address + taken.low), taken.copy(),
                              taken.part.side->bytes * taken.part.blocks);
    } else if (copied) {
        copied = copy_data(taken, mask);
    }
    return ended(runtime, copied);
}

void Staging::give_back(Taken& taken) {
    Runtime& runtime = *taken.runtime;
    const std::lock_guard lock(runtime.mutex);
    runtime.blocks.give_back(taken.block);
    taken.block = {};
    runtime.drop_excess(taken.owner);
}

// After a failure a message may still be on its way from or into the copies: nobody gets these.
int Staging::after(int status) {
    const bool is_lost = status != abi::kSuccess;
    for (size_t i = 0; i < count_; ++i) {
        if (taken_[i].copy() == nullptr) continue;
        if (status == abi::kSuccess && taken_[i].part.is_written) status = copy_out(taken_[i]);
        if (!is_lost) give_back(taken_[i]);
    }
    return status;
}

}  // namespace tutti::mpi
