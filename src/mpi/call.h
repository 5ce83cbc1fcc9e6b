// SPDX-License-Identifier: BSD-3-Clause
// A call that needs preparations, as one object from the program's arguments to its result: it owns
// its sides, their preparations, and what Tutti is told. Nothing of it lies with its caller, but
// for the sides of a vector form.
//
// Its steps go in one direction:
//
//   choose   the team says who runs the call, and by what; across hosts it has its number then;
//   prepare  stage, keep a copy to compare, pack: a rank that cannot tells the others why;
//   start    the team runs it by what was chosen;
//   finish   unpack, compare, write back.
//
// A call of no bytes is over when it is chosen, and one that the rules leave to the host ends
// there. A call that needs no preparation goes to tutti_run() at once (run_call.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "mpi/comm_state.h"
#include "mpi/preparation.h"
#include "tutti/tutti.h"

namespace tutti::mpi {

// The status of a call, of which the caller has yet to be told by answer(); none where the rules
// leave it to the host.
using Ended = std::optional<int>;

class Call {
  public:
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    // Makes all steps.
    Ended run();

  protected:
    Call(CommState& state, const tutti_call& call) : state_(state), call_(call) {}
    ~Call() = default;
    // The outermost first; a member of the call. Each may change what Tutti is told, and the last
    // one sets the buffers.
    void needs(Preparation& one);

    CommState& state_;
    tutti_call call_;  // what Tutti is told

  private:
    static constexpr size_t kPreparationsMax = 4;

    tutti_status choose();
    bool prepare();
    tutti_status start();
    int finish(tutti_status ended);
    template <class Step>
    tutti_status timed(Step step);

    std::array<Preparation*, kPreparationsMax> preparations_{};
    size_t count_ = 0;
    Unready unready_;
    uint64_t took_ns_ = 0;  // in Tutti; only where calls are counted
};

}  // namespace tutti::mpi
