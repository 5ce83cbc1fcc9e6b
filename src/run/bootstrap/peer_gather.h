// SPDX-License-Identifier: BSD-3-Clause
// An allgather among a few ranks of a team by messages, for the time before there is a team: the
// members of one node tell each other what the other nodes need not know.
//
// Where a message fails, the member that sees it tells the others by notes, in which it gives up:
// they would wait for it. All of them then come to the next round of the whole team, and say there
// that there can be none.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "run/engine/context.h"
#include "run/notes/notes.h"
#include "run/transport/transport.h"

namespace tutti::bootstrap {

// To be kept for good after a failure, as the transport is: messages may still write into the
// memory of both.
class PeerGather final : public engine::Retired {
  public:
    // members: ranks of the team, ascending; index: the own one among them. All memory is made
    // here, for rounds of at most bytes_max a member.
    PeerGather(transport::Transport& transport, notes::Notes& notes,
               std::span<const uint32_t> members, uint32_t index, size_t bytes_max = kBytesMax);

    static constexpr size_t kBytesMax = 768;
    // A callback as in tutti_team_params; `self` is a PeerGather. Waits, yielding.
    static int allgather(void* self, const void* in, void* out, size_t bytes);

    // The messages of such a round, whatever is in them; false where one failed.
    bool exchange(size_t bytes);
    // Final; the transport is of no use any more.
    [[nodiscard]] bool has_failed() const { return failure_.kind == notes::Note::Kind::kGaveUp; }
    // What has failed is told to the other members, who wait for this one, or will.
    void pass_on(const notes::Note& failure) {
        failure_ = failure;
        tell_others();
    }
    [[nodiscard]] const notes::Note& failure() const { return failure_; }
    // Which member has seen which failure.
    [[nodiscard]] std::string error() const { return failure_.text.data(); }

  private:
    int gather(const void* in, void* out, size_t bytes);
    void post(size_t bytes);
    bool complete();
    bool is_told();
    void tell();
    void tell_others();

    transport::Transport& transport_;
    notes::Notes& notes_;
    std::span<const uint32_t> members_;
    uint32_t index_;
    size_t bytes_max_;
    notes::Note failure_;
    // What the messages read and write.
    std::vector<std::byte> out_;
    std::vector<std::byte> in_;
    std::vector<transport::Ticket> tickets_;
};

}  // namespace tutti::bootstrap
