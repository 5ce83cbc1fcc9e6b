// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/agreement.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "mpi/front.h"

namespace tutti::mpi {

namespace {

// Large texts, those of rules, travel in pieces, so that no rank needs memory to receive them.
constexpr int kPieceBytes = 4096;
constexpr int kStatusOfTrouble = 2;

void least_of_all(const int* mine, int* least, int count) {
    front.host.allreduce(mine, least, count, front.host.handles.type[abi::kTypeInt],
                         front.host.handles.op[abi::kOpMin], front.host.handles.comm_world);
}

void bcast_bytes(void* data, int bytes) {
    front.host.bcast(data, bytes, front.host.handles.type[abi::kTypeByte], 0,
                     front.host.handles.comm_world);
}

bool is_leaving = false;  // in all_go_on()

void leave_at_once() {
    if (!is_leaving) return;
    fflush(nullptr);
    _exit(kStatusOfTrouble);
}

// One rank's trouble, "WHAT: why", or the reason alone.
void speak(int speaker, const char* what, const Trouble& mine) {
    if (speaker != front.world.rank) return;
    char line[sizeof mine.text + 128];
    snprintf(line, sizeof line, "%s%s%s", what, *what ? ": " : "", mine.text);
    print_line(line);
}

}  // namespace

void Trouble::add(Kind what, const char* why) {
    if (kind != Kind::kNone) return;
    kind = what;
    snprintf(text, sizeof text, "%s", why);
}

bool has_one_version() {
    char first[sizeof kLibraryVersion];
    memcpy(first, kLibraryVersion, sizeof first);
    bcast_bytes(first, sizeof first);
    const bool differs = memcmp(first, kLibraryVersion, sizeof first) != 0;
    int mine = differs ? front.world.rank : front.world.size, lowest = 0;
    least_of_all(&mine, &lowest, 1);
    if (lowest == front.world.size) return true;
    if (lowest == front.world.rank) {
        char line[256];
        first[sizeof first - 1] = '\0';
        snprintf(line, sizeof line, "rank %d has %s, rank 0 has %s: everything stays with your MPI",
                 front.world.rank, kLibraryVersion, first);
        print_line(line);
    }
    return false;
}

void hand_out(std::string& text, Trouble& trouble) {
    int bytes = static_cast<int>(text.size());
    front.host.bcast(&bytes, 1, front.host.handles.type[abi::kTypeInt], 0,
                     front.host.handles.comm_world);
    attempt(trouble, [&] { text.reserve(static_cast<size_t>(bytes)); });
    char piece[kPieceBytes];
    for (int offset = 0; offset < bytes; offset += kPieceBytes) {
        const int length = std::min(kPieceBytes, bytes - offset);
        const bool at_root = front.world.rank == 0;
        if (at_root) memcpy(piece, text.data() + offset, static_cast<size_t>(length));
        bcast_bytes(piece, length);
        if (!at_root) {
            attempt(trouble, [&] { text.append(piece, static_cast<size_t>(length)); });
        }
    }
}

bool any_of_all(bool mine) {
    const int not_mine = mine ? 0 : 1;
    int none = 1;
    least_of_all(&not_mine, &none, 1);
    return none == 0;
}

bool any_fails(const Trouble& mine, const char* what) {
    const int own = mine.kind != Trouble::Kind::kNone ? front.world.rank : front.world.size;
    int lowest = 0;
    least_of_all(&own, &lowest, 1);
    speak(lowest, what, mine);
    return lowest != front.world.size;
}

bool all_go_on(const Trouble& mine) {
    const int nobody = front.world.size;
    const int own[] = {mine.kind == Trouble::Kind::kEnds ? front.world.rank : nobody,
                       mine.kind == Trouble::Kind::kStays ? front.world.rank : nobody};
    int lowest[] = {nobody, nobody};
    least_of_all(own, lowest, 2);
    const bool ends = lowest[0] != nobody;
    const int speaker = ends ? lowest[0] : lowest[1];
    if (speaker == nobody) return true;
    char what[64] = {};
    if (!ends) {
        snprintf(what, sizeof what, "everything stays with your MPI: rank %d", front.world.rank);
    }
    speak(speaker, what, mine);
    if (!ends) return false;
    // The quietest way that launchers know: all ranks finalize and leave with status 2. By exit(),
    // since MPICH 5 takes its leave of the launcher in a handler of it; the launcher kills all
    // ranks when one goes without, and then its own status may be 9.
    front.host.finalize();
    is_leaving = true;
    exit(kStatusOfTrouble);
}

// Where there is no memory for it, older handlers run.
void keep_from_older_handlers() { static_cast<void>(atexit(leave_at_once)); }

}  // namespace tutti::mpi
