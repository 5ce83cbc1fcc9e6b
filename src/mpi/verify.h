// SPDX-License-Identifier: BSD-3-Clause
// TUTTI_VERIFY: a share of the calls is run by the host MPI too, and compared.
//
// A chosen call goes so, on all ranks alike:
//
//   1. each rank packs what it gives, by the host's own MPI_Pack;
//
//   2. Tutti runs the call as always, into the program's buffers: that is what the program gets;
//
//   3. the ranks agree, over the host, whether all can go on; else nothing is compared;
//
//   4. the host runs the call on the packed data, into memory of its own;
//
//   5. what Tutti left in the program's buffers is packed and compared (compare.h);
//
//   6. the ranks agree on what came out, so that one of them can count it.
//
// All that the host runs here it runs on the program's communicator, as the program itself could
// have.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "mpi/buffers.h"
#include "mpi/comm_state.h"
#include "mpi/front.h"
#include "tutti/tutti.h"

namespace tutti::mpi {

// A call as this rank sees it. A side that is not significant here, or in place, is null; a
// broadcast has `recv` alone.
struct Subject {
    const Side* send = nullptr;
    const Side* recv = nullptr;
    abi::Op op{};  // of reductions, as their element type
    abi::Datatype type{};
};

// Counts the call, and chooses.
int run_verified(CommState& state, const tutti_call& call, const Subject& subject,
                 const std::function<int()>& by_tutti);

// `by_tutti` runs the call and returns MPI's status. A call of no bytes is one of these only where
// others may have more.
template <class ByTutti>
int verified(CommState& state, const tutti_call& call, const Subject& subject, ByTutti by_tutti) {
    if (!front.verify.is_on) [[likely]]
        return by_tutti();
    return run_verified(state, call, subject, std::cref(by_tutti));
}

// A call that this rank has given up before it could run it: the others wait for its word.
inline int verified_failure(CommState& state, const tutti_call& call, int status) {
    return verified(state, call, {}, [status] { return status; });
}

// Neither verified nor, as far as is known, on device memory: as good as all calls. Asked first,
// since describing a call for these two takes longer than asking.
inline bool is_plain() { return !front.verify.is_on && !front.devices.may_meet(); }

// Collective over the world, in MPI_Init: `setting` is that of TUTTI_VERIFY.
void start_verification(const char* setting);
// All settings, for whoever wants to repeat the run. May throw std::bad_alloc.
void remember_settings(const std::vector<std::string>& settings);
// Collective over the world, in MPI_Finalize; zeros where nothing was to be verified.
VerifyTotals gather_verify_totals();
// Rank 0 says how many calls differed, if any.
void tell_differing_calls(const VerifyTotals& totals);

}  // namespace tutti::mpi
