// SPDX-License-Identifier: BSD-3-Clause
// TUTTI_VERIFY: your MPI runs a share of the calls too, and the results are compared.
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
#include <memory>
#include <string>
#include <vector>

#include "mpi/buffers.h"
#include "mpi/comm_state.h"
#include "mpi/front.h"
#include "mpi/preparation.h"
#include "tutti/tutti.h"

namespace tutti::mpi {

class RankBlocks;

// A call as this rank sees it. A side that is not significant here, or in place, is null; a
// broadcast has `recv` alone. Vector forms, but for reductions, have `sent` and `received`.
struct Subject {
    const TypedBuffer* send = nullptr;
    const TypedBuffer* recv = nullptr;
    abi::Op op{};  // of reductions, as their element type
    abi::Datatype type{};
    const RankBlocks* sent = nullptr;
    const RankBlocks* received = nullptr;
};

class Trial;

// Compares, where the call is chosen. A call of no bytes is one of these only where others may have
// more. `call` is as it was run, and outlives this.
class Verified final : public Preparation {
  public:
    Verified(CommState& state, const tutti_call& call, const Subject& subject);
    ~Verified();
    Unready before() override;
    // Counts the call.
    int after(int status) override;

  private:
    void prepare();
    int compare(int status);

    CommState& state_;
    const tutti_call& call_;
    Subject subject_;
    std::unique_ptr<Trial> trial_;  // of a chosen call; none where there is no memory for it
    bool is_chosen_ = false;
    bool is_prepared_ = false;
};

// Neither verified nor, as far as is known, on device memory: as good as all calls. Asked first,
// since preparing a call for these two takes longer than asking.
inline bool is_plain() { return !front.verify.is_on && !front.devices.may_meet(); }

// Collective over the members of a new team: the number that its calls are chosen by.
void agree_on_verify_number(CommState& state);
// Collective over the world, in MPI_Init: `setting` is that of TUTTI_VERIFY.
void start_verification(const char* setting);
// All settings, to repeat the run with. May throw std::bad_alloc.
void remember_settings(const std::vector<std::string>& settings);

}  // namespace tutti::mpi
