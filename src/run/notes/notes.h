// SPDX-License-Identifier: BSD-3-Clause
// Notes: small messages between ranks of a team across nodes, beside its calls. They say that a
// rank gives up, which rank waits for which, and what each takes the last calls to be. They have a
// tag of their own. No rank waits for a note or posts a receive for one. A rank that has waited
// long in a call probes for them (tutti_p2p::probe).
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <span>

#include "run/notes/call_log.h"
#include "tutti/tutti.h"

namespace tutti::notes {

struct Note {
    enum class Kind : uint32_t {
        kQuestion,  // in which call are you?
        kAnswer,    // in `call`, where I wait for `waits_for`
        kGaveUp,    // I take part in no call from `call` on
        kCalls,     // I wait for you, and these were my last calls
        kHeard      // as far as I can see, they were mine too
    };
    static constexpr uint32_t kNamesMax = 8;

    uint64_t team = 0;  // Notes fills in this and the next
    uint32_t from = 0;
    Kind kind = Kind::kQuestion;
    uint32_t call = 0;    // of the sender
    uint32_t asked = 0;   // kAnswer: the call of the question
    uint32_t status = 0;  // kGaveUp: a tutti_status
    uint32_t count = 0;   // of waits_for
    std::array<uint32_t, kNamesMax> waits_for{};
    LastCalls calls{};             // kCalls
    std::array<char, 128> text{};  // kGaveUp: which rank, and why; zero-terminated
};

class Notes {
  public:
    // team: equal on all members, and different from that of any other team of these tags, of which
    // a note may be left over. peers as in transport::P2p; both outlive this.
    Notes(const tutti_p2p& p2p, uint32_t tag, std::span<const uint32_t> peers, uint32_t ranks,
          uint32_t rank, uint64_t team);
    Notes(const Notes&) = delete;
    Notes& operator=(const Notes&) = delete;

    // The embedder can do it.
    [[nodiscard]] bool is_on() const { return p2p_.probe != nullptr; }
    // To a rank; any thread. False, and not sent, where too many are under way: the embedder
    // normally takes a note at once.
    bool send(uint32_t to, const Note& note);
    // The next that has come, if any.
    bool receive(Note& note);
    // At the end: takes what has come, so that the embedder need not keep it for ever.
    void drain();
    // A note is under way, out of this memory.
    [[nodiscard]] bool is_busy();

  private:
    struct Sending {
        Note note;
        void* request = nullptr;
        bool is_under_way = false;
    };
    void look_at(Sending& sending);
    bool take(uint32_t peer, Note& note);
    [[nodiscard]] bool names_ranks(const Note& note) const;

    tutti_p2p p2p_;
    uint32_t tag_;
    std::span<const uint32_t> peers_;
    uint32_t ranks_;
    uint32_t rank_;
    uint64_t team_;
    std::mutex sendings_mutex_;
    std::array<Sending, 32> sendings_{};
};

}  // namespace tutti::notes
