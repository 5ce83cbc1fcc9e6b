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
    bool is_handled = false;     // the host has called the error handler
};

class Preparation {
  public:
    Preparation(const Preparation&) = delete;
    Preparation& operator=(const Preparation&) = delete;
    // Once it is known that the call runs here. Not before a call of no bytes, nor after one that
    // comes before this and is unready.
    virtual Unready before() = 0;
    // After the call, or what came of it, before() or no before(). `status` is how it stands;
    // returns how it stands now.
    virtual int after(int status) = 0;

  protected:
    Preparation() = default;
    ~Preparation() = default;
};

}  // namespace tutti::mpi
