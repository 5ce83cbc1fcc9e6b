// SPDX-License-Identifier: BSD-3-Clause
// The members that make something together, and their communication. All members of a circle call
// the same rounds in the same order; each round is one allgather.
//
// No member may skip a round, not even one whose memory has run out: the others would wait for it.
// So work between two rounds is guarded(), and its outcome is sent in the next round. Members agree
// on the memory of a round before they use it (reserve()).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <type_traits>

#include "base/result.h"

namespace tutti::agree {

enum class Obstacle : uint32_t {
    kNone,
    kCannotOpen,
    kMemory,
    kSystem,
    kForeignMemory,
    kFull,
    kNetwork
};

// Whether a member can go on, and why not.
struct Report {
    Obstacle obstacle = Obstacle::kNone;
    uint32_t is_named = 0;  // detail already says which member it is
    char detail[112] = {};
};

Report report_of(Obstacle obstacle, const std::string& detail);
Report report_of(const Error& error);
// Allocates nothing.
Report report_of_no_memory() noexcept;

// Runs a step between two rounds, which returns a Report. What it throws becomes one too.
template <class Step>
Report guarded(Step step) noexcept {
    try {
        return step();
    } catch (const std::bad_alloc&) {
        return report_of_no_memory();
    }
}

// A member's next step, unless an earlier one has kept it from going on: `mine` says what did.
template <class Step>
void attempt(Report& mine, Step step) noexcept {
    if (mine.obstacle == Obstacle::kNone) mine = guarded(step);
}

struct Circle {
    // As in tutti_team_params.
    using Allgather = int (*)(void* user, const void* in, void* out, size_t bytes);

    Circle(uint32_t own_rank, uint32_t members, Allgather callback, void* callback_user)
        : rank(own_rank), size(members), allgather(callback), user(callback_user) {}

    uint32_t rank;
    uint32_t size;
    Allgather allgather;
    void* user;
    // What messages call the members; empty: their ranks in the circle.
    std::span<const uint32_t> names;

    [[nodiscard]] std::string name_of(uint32_t member) const {
        return "rank " + std::to_string(names.empty() ? member : names[member]);
    }

    // What every member says, by rank. Valid until the next round.
    template <class T>
    Result<std::span<const T>> exchange(const T& mine) {
        static_assert(std::is_trivially_copyable_v<T>);
        if (auto reserved = reserve(size * sizeof(T)); !reserved) return reserved.error();
        if (allgather(user, &mine, buffer(), sizeof(T)) != 0) {
            return Error{ErrorCode::kBootstrap, "the allgather callback failed"};
        }
        return std::span<const T>(reinterpret_cast<const T*>(buffer()), size);
    }

    // Done where all can go on; otherwise the first that cannot is named by all alike.
    [[nodiscard]] Result<Done> agree(const Report& mine);
    // A member's report, for all alike.
    [[nodiscard]] Error error_of(uint32_t member, const Report& report) const;
    // The same in two rounds, the second only where a member cannot go on: for large circles.
    [[nodiscard]] Result<Done> agree_briefly(const Report& mine);

  private:
    // Where there is too little, a round by itself in which everybody says whether it got more.
    // What small circles say fits into memory that is there: 64 members and a report each.
    static constexpr size_t kOwnBytes = 8192;
    Result<Done> reserve(size_t bytes);
    [[nodiscard]] Result<bool> vote(bool mine) const;

    [[nodiscard]] std::byte* buffer() { return buffer_ ? buffer_.get() : own_.data(); }

    alignas(std::max_align_t) std::array<std::byte, kOwnBytes> own_;
    std::unique_ptr<std::byte[]> buffer_;
    size_t buffer_bytes_ = kOwnBytes;
};

}  // namespace tutti::agree
