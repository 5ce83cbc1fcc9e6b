// SPDX-License-Identifier: BSD-3-Clause
// How much each group may send to a process. A packet that finds no receive is dropped silently, so
// a process promises its receives to groups.
//
// Source: ours; docs/protocol/ud.md, "Receives are promised". What an address says of a process's
// receives is how many are free when it is asked for; a group's window follows from what all its
// members said, on all of them alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tutti::transport::ud {

// Posted ahead: as many as the device and `ulimit -l` allow.
inline constexpr uint32_t kReceivesMax = 4096;
inline constexpr uint32_t kReceivesMin = 256;
// Buffers to send from, used in turn.
inline constexpr uint32_t kSends = 256;

// As many packets in flight as a carrier ever has, and as few (mcast's least would wait for
// acknowledgements all the time).
inline constexpr uint32_t kWindowPacketsMax = 256;
inline constexpr uint32_t kWindowPacketsMin = 16;

// Of so many receives that are posted, those that data may take: a quarter is left for packets
// without.
constexpr uint32_t promisable(uint32_t receives) { return receives / 4 * 3; }

// What each member sends at most before the others have said that they have it: half of what is
// free with the one that has least is for all other members' whole windows, even if its service
// does not run at all. The other half is for groups to come.
uint32_t choose_window(std::span<const uint32_t> free_of_member);

// So many of its receives a member promises to the group. Of groups so large that the least window
// is more than is free: what is. There a sender may overrun it, which is a loss and is repaired.
uint32_t promise_of(uint32_t window_packets, size_t members, uint32_t own_free);

}  // namespace tutti::transport::ud
