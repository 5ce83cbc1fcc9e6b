// SPDX-License-Identifier: BSD-3-Clause
// The messages of presence.h over your MPI, on MPI_COMM_WORLD itself: a communicator of Tutti's own
// takes a collective.
#pragma once

#include <array>
#include <cstdint>

#include "mpi/abi/handles.h"
#include "mpi/presence.h"

namespace tutti::mpi {

class HostMail final : public PresenceMail {
  public:
    // After the host's own start.
    void open();
    void send(int rank, const PresenceWord* word) override;
    void expect(int slot, int rank) override;
    bool arrived(int slot, PresenceWord& word) override;
    // Takes back the receives that wait for ranks which have never come. Before the host's end.
    void close();

  private:
    int tag_ = 0;
    std::array<bool, Presence::kSlots> posted_{};
    std::array<abi::Request, Presence::kSlots> requests_{};
    std::array<PresenceWord, Presence::kSlots> words_{};
};

// Whether all ranks of the world have this library: the same answer on all that have it. Where it
// is no, one rank has said which have not.
bool all_have_tutti();

}  // namespace tutti::mpi
