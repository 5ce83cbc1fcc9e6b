// SPDX-License-Identifier: BSD-3-Clause
// What all ranks of the world agree on in MPI_Init. All functions but attempt() are collective over
// the world, and every rank comes to every one of them, whatever has gone wrong on it before: a
// rank that stayed away, or went ahead, would be waited for without end.
#pragma once

#include <new>
#include <string>

namespace tutti::mpi {

// The first that went wrong on this rank. Holds its text itself: memory may be what is missing.
struct Trouble {
    enum class Kind {
        kNone,
        kStays,  // everything stays with your MPI
        kEnds    // a setting is wrong: the job ends
    };
    Kind kind = Kind::kNone;
    char text[512] = {};

    void add(Kind what, const char* why);
};

// A step of this rank alone.
template <class Step>
void attempt(Trouble& trouble, Step step) {
    if (trouble.kind != Trouble::Kind::kNone) return;
    try {
        step();
    } catch (const std::bad_alloc&) {
        trouble.add(Trouble::Kind::kStays, "out of memory");
    }
}

// The first exchange of all, and one whose form stays as it is, so that it also works between
// libraries of different versions. False where there are such: the lowest rank that has another one
// than rank 0 has said so.
bool has_one_version();

// Rank 0's text to all. Where a rank has no memory for it, that is its trouble.
void hand_out(std::string& text, Trouble& trouble);

bool any_of_all(bool mine);

// Whether any rank has trouble, of whatever kind; the lowest such rank has said "WHAT: why".
bool any_fails(const Trouble& mine, const char* what);

// False where any rank has trouble that leaves everything to the host; the lowest such rank has
// said why. Where a rank's trouble ends the job, that one's says why, and this does not return.
bool all_go_on(const Trouble& mine);

// Before the host's start: all_go_on() will run only exit handlers that are registered after this
// call. Those of the program would find MPI finalized.
void keep_from_older_handlers();

}  // namespace tutti::mpi
