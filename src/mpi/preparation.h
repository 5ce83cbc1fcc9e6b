// SPDX-License-Identifier: BSD-3-Clause
// What a call needs before and after it where its buffers are not as Tutti takes them: packing, a
// copy of device memory, a comparison with what the host would have done. None of that happens for
// a call that the rules leave to the host.
#pragma once

#include "mpi/abi/abi.h"

namespace tutti::mpi {

// Why this rank cannot go on with a call that the others are in.
struct Unready {
    int status = abi::kSuccess;  // for the caller; success: it can
    const char* why = nullptr;   // for the others; a literal, or as long as the call
};

class Preparation {
  public:
    Preparation(const Preparation&) = delete;
    Preparation& operator=(const Preparation&) = delete;
    // Once it is known that the call runs here; not for a call of no bytes, and not where an outer
    // one was unready. The others may be in the call already, and have not been told: nothing of
    // the program's may be called from here, no error handler either.
    virtual Unready before() = 0;
    // After the call, or what came of it, before() or no before(). `status` is how it stands;
    // returns how it stands now. No error handler is called from here either: others come after.
    virtual int after(int status) = 0;

  protected:
    Preparation() = default;
    ~Preparation() = default;
};

}  // namespace tutti::mpi
