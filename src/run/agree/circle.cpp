// SPDX-License-Identifier: BSD-3-Clause
#include "run/agree/circle.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/assert.h"

namespace tutti::agree {
namespace {

// Room for the usual rounds in one go; in large circles less is said.
constexpr size_t kBufferBytesAMember = 512;
constexpr size_t kBufferBytesAMemberOfMany = 64;
constexpr uint32_t kManyMembers = 1024;
// Votes of so many members fit onto the stack.
constexpr uint32_t kVotesOnStack = 4096;
// So short that a string of it takes no memory.
constexpr char kNoMemoryText[] = "out of memory";

ErrorCode code_of(Obstacle obstacle) {
    switch (obstacle) {
        case Obstacle::kMemory:
        case Obstacle::kFull:
            return ErrorCode::kMemory;
        case Obstacle::kSystem:
            return ErrorCode::kSystem;
        case Obstacle::kNetwork:
            return ErrorCode::kNetwork;
        case Obstacle::kNone:
        case Obstacle::kCannotOpen:
        case Obstacle::kForeignMemory:
            break;
    }
    return ErrorCode::kNode;
}

}  // namespace

Report report_of(Obstacle obstacle, const std::string& detail) {
    Report report;
    report.obstacle = obstacle;
    std::strncpy(report.detail, detail.c_str(), sizeof(report.detail) - 1);
    return report;
}

Report report_of(const Error& error) {
    switch (error.code) {
        case ErrorCode::kMemory:
            return report_of(Obstacle::kMemory, error.message);
        case ErrorCode::kNode:
            return report_of(Obstacle::kForeignMemory, error.message);
        case ErrorCode::kNetwork:
        case ErrorCode::kBootstrap:
            return report_of(Obstacle::kNetwork, error.message);
        default:
            return report_of(Obstacle::kSystem, error.message);
    }
}

Report report_of_no_memory() noexcept {
    Report report;
    report.obstacle = Obstacle::kMemory;
    std::memcpy(report.detail, kNoMemoryText, sizeof(kNoMemoryText));
    return report;
}

// Whether all say yes. A byte each: in a circle beyond the stack's bound, a process without that
// much could not take part in the embedder's own allgather either.
Result<bool> Circle::vote(bool mine) const {
    std::array<uint8_t, kVotesOnStack> few;
    std::unique_ptr<uint8_t[]> many;
    if (size > kVotesOnStack) many = std::make_unique<uint8_t[]>(size);
    uint8_t* all = many ? many.get() : few.data();
    const uint8_t own = mine ? 1 : 0;
    if (allgather(user, &own, all, 1) != 0) {
        return Error{ErrorCode::kBootstrap, "the allgather callback failed"};
    }
    return std::find(all, all + size, 0) == all + size;
}

Result<Done> Circle::reserve(size_t bytes) {
    TUTTI_ASSERT(rank < size, "a member of its circle");
    TUTTI_ASSERT(names.empty() || names.size() == size, "a name for each member");
    TUTTI_ASSERT(buffer_ || buffer_bytes_ == kOwnBytes, "memory that is there");
    if (bytes <= buffer_bytes_) return Done{};
    const size_t usual = size > kManyMembers ? kBufferBytesAMemberOfMany : kBufferBytesAMember;
    const size_t wanted = std::max(bytes, size * usual);
    buffer_.reset();
    buffer_bytes_ = kOwnBytes;
    buffer_.reset(new (std::nothrow) std::byte[wanted]);
    const auto all_have = vote(buffer_ != nullptr);
    if (!all_have) return all_have.error();
    if (!all_have.value()) return Error{ErrorCode::kMemory, kNoMemoryText};
    TUTTI_ASSERT(buffer_ != nullptr, "what all say is true here");
    buffer_bytes_ = wanted;
    return Done{};
}

// What all leave for, they leave alike: who has no memory to say more says less.
Error Circle::error_of(uint32_t member, const Report& report) const {
    const ErrorCode code = code_of(report.obstacle);
    try {
        return Error{code, (report.is_named ? "" : name_of(member) + ": ") + report.detail};
    } catch (const std::bad_alloc&) {
        return Error{code, kNoMemoryText};
    }
}

Result<Done> Circle::agree(const Report& mine) {
    auto reports = exchange(mine);
    if (!reports) return reports.error();
    for (uint32_t member = 0; member < size; ++member) {
        const Report& report = reports.value()[member];
        if (report.obstacle != Obstacle::kNone) return error_of(member, report);
    }
    return Done{};
}

Result<Done> Circle::agree_briefly(const Report& mine) {
    const auto obstacles = exchange(mine.obstacle);
    if (!obstacles) return obstacles.error();
    const auto all = obstacles.value();
    const bool good =
        std::all_of(all.begin(), all.end(), [](Obstacle one) { return one == Obstacle::kNone; });
    return good ? Result<Done>(Done{}) : agree(mine);
}

}  // namespace tutti::agree
