// SPDX-License-Identifier: BSD-3-Clause
// Which tags of the embedder's messages belong to which team. A team across nodes owns ranges of
// consecutive tags, the same on all of its members, one for each call that may be under way at
// once: those of its transport (p2p.h), then one for notes (notes.h). They go with the team, on
// each member by itself. The more tags there are, the more kinds of calls a team tells apart.
//
// A member may free a range while another one still waits in the team's last call. Still no message
// can be mistaken: a team of the same range and of the same two processes is made only when both
// have freed it, and by then all their messages have been received. Notes may be left; they carry
// the team's token.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "tutti/tutti.h"

namespace tutti::transport {

// Kinds of calls that a team tells apart by tags.
uint32_t tag_kinds(uint32_t tag_max);
// Ranges of tags that there are.
uint32_t tag_ranges(const tutti_p2p& p2p);

class TagBook {
  public:
    // Ranges that members compare at a time.
    static constexpr uint32_t kWindow = 64;

    // Bit i: range first + i is free and below `limit`.
    uint64_t free_ranges(const void* endpoint, uint32_t first, uint32_t limit);
    // False if another team was faster.
    bool take(const void* endpoint, uint32_t range);
    void give_back(const void* endpoint, uint32_t range);

  private:
    std::mutex mutex_;
    // One process has one endpoint; tests have one for every thread that plays a rank.
    std::map<const void*, std::vector<bool>> taken_;
};

// Ranges of a team, one for each of its calls that may be under way at once; given back at the end.
class TagLease {
  public:
    // Of none at first. ranges: to come, for which there is room from now on. token: a random
    // number, the same on all members.
    TagLease(TagBook& book, const tutti_p2p& p2p, uint32_t ranges, uint64_t token)
        : book_(book), endpoint_(p2p.user), kinds_(tag_kinds(p2p.tag_max)), token_(token) {
        ranges_.reserve(ranges);
    }
    TagLease(TagLease&&) = default;  // leaves one without ranges
    TagLease& operator=(TagLease&&) = delete;
    ~TagLease() {
        for (const uint32_t range : ranges_) book_.give_back(endpoint_, range);
    }
    // One more. False if another team was faster.
    bool take(uint32_t range);

    [[nodiscard]] uint32_t ranges() const { return static_cast<uint32_t>(ranges_.size()); }
    // Of a range, from 0.
    [[nodiscard]] uint32_t first_tag(uint32_t range) const;
    [[nodiscard]] uint32_t note_tag(uint32_t range) const;
    [[nodiscard]] uint32_t kinds() const { return kinds_; }
    [[nodiscard]] uint64_t token() const { return token_; }

  private:
    TagBook& book_;
    const void* endpoint_;
    std::vector<uint32_t> ranges_;
    uint32_t kinds_;
    uint64_t token_;
};

}  // namespace tutti::transport
