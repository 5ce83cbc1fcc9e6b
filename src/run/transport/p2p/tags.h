// SPDX-License-Identifier: BSD-3-Clause
// Which tags of the embedder's messages belong to which team. A team across nodes owns one range of
// consecutive tags on all of its members: those of its transport (p2p.h), then one for notes
// (notes.h). It goes with the team, on each member by itself. The more tags there are, the more
// kinds of calls a team tells apart.
//
// A member may free its range while another one still waits in the team's last call. Still no
// message can be mistaken: a team of the same range and of the same two processes is made only when
// both have freed it, and by then all their messages have been received. Notes may be left; they
// carry the team's token.
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

// A range, given back at the end.
class TagLease {
  public:
    TagLease(TagBook& book, const tutti_p2p& p2p, uint32_t range, uint64_t token)
        : book_(&book),
          endpoint_(p2p.user),
          range_(range),
          kinds_(tag_kinds(p2p.tag_max)),
          token_(token) {}
    TagLease(TagLease&& other) noexcept
        : book_(other.book_),
          endpoint_(other.endpoint_),
          range_(other.range_),
          kinds_(other.kinds_),
          token_(other.token_) {
        other.book_ = nullptr;
    }
    TagLease& operator=(TagLease&&) = delete;
    ~TagLease() {
        if (book_) book_->give_back(endpoint_, range_);
    }
    [[nodiscard]] uint32_t first_tag() const;
    [[nodiscard]] uint32_t note_tag() const;
    [[nodiscard]] uint32_t kinds() const { return kinds_; }
    // A random number, the same on all members.
    [[nodiscard]] uint64_t token() const { return token_; }

  private:
    TagBook* book_;
    const void* endpoint_;
    uint32_t range_;
    uint32_t kinds_;
    uint64_t token_;
};

}  // namespace tutti::transport
