// SPDX-License-Identifier: BSD-3-Clause
// The identity of this process, in numbers that are sent through an allgather.
#pragma once

#include <cstdint>
#include <string>

namespace tutti::arena {

struct ProcessId {
    uint64_t pid_space =
        0;  // inode of the pid namespace: the same pid in another one is another process
    uint64_t started = 0;  // clock ticks since boot: a pid is used again
    int64_t pid = 0;

    bool operator==(const ProcessId&) const = default;
    auto operator<=>(const ProcessId&) const = default;
};

ProcessId this_process();

// Allocates nothing.
uint64_t hash_of(const ProcessId& process);

// A number that processes of one machine share that have one hostname and one network. Equal
// numbers are only a reason to try; the token in the segment is the proof. Hosts of a test bed
// share a kernel, at times a name, but never a network. Mounts, process numbers and System V memory
// do not count: containers that each hold one rank have their own and share memory all the same,
// since the segment is handed over by /proc or within the network (arena.h).
uint64_t node_hash();

// A number that all processes under one running kernel share, whatever hosts it pretends to be.
uint64_t machine_hash();

std::string host_name();

// The kernel's automatic scheduling group of this process's session (sched(7), autogroup), 0
// without. Where ranks are in different groups, as under MPICH's launcher, which gives each a
// session of its own, sched_yield gives way to nobody outside: a crowded rank must sleep instead.
uint64_t scheduling_group();

// Unpredictable; used as the token that proves a shared segment.
uint64_t random_token();

// FNV-1a, 64 bits.
uint64_t hash_text(const std::string& text, uint64_t seed = 0xcbf29ce484222325u);

}  // namespace tutti::arena
