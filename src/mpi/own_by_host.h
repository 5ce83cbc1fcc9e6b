// SPDX-License-Identifier: BSD-3-Clause
// A rank's own block has one size where it is sent and another where it is received: nobody else
// has to do with that. The host moves it, as it would in a call of its own, while Tutti runs the
// rest. What the host says of a block that is too long is what the caller is told at last.
#pragma once

#include "mpi/call.h"
#include "mpi/preparation.h"

namespace tutti::mpi {

class OwnByHost : public Preparation {
  public:
    Unready before() final {
        moved_ = move();
        is_moved_ = true;
        return {};
    }
    int after(int status) final {
        if (status == abi::kSuccess && !is_moved_) static_cast<void>(before());  // of no bytes
        return status;
    }
    // When all else is done.
    [[nodiscard]] Ended told(const Ended& ended) const {
        return ended && *ended == abi::kSuccess ? Ended(moved_) : ended;
    }

  protected:
    ~OwnByHost() = default;
    // The host's status.
    virtual int move() = 0;

  private:
    bool is_moved_ = false;
    int moved_ = abi::kSuccess;
};

}  // namespace tutti::mpi
