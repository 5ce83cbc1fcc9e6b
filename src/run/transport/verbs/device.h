// SPDX-License-Identifier: BSD-3-Clause
// The part of verbs that Tutti uses: writes, with and without immediate, on reliable connections,
// receives for the immediates, additions to words of the other end, one completion queue, and
// memory of the program registered for a while. tests/conformance/fake_verbs.h is one under seeds.
// Which promises of the specification are relied on stands in docs/protocol/verbs.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"

namespace tutti::transport::verbs {

// Where a process's port is, for others. Plain data: the team's bootstrap carries it.
struct PortCard {
    uint8_t gid[16] = {};
    uint64_t subnet = 0;  // InfiniBand's; Ethernet: 0
    uint32_t lid = 0;
    uint32_t mtu_bytes = 0;
    uint32_t is_ethernet = 0;
    uint32_t needs_address = 0;  // packets to it bear the GIDs; Ethernet always
    uint64_t bytes_per_s = 0;    // of its link; 0: not known

    // Else neither reaches the other. All ports on Ethernet are as one network: whether they do,
    // they do not say.
    [[nodiscard]] bool is_in_network_of(const PortCard& other) const {
        return is_ethernet == other.is_ethernet && subnet == other.subnet;
    }
};

// One end of a queue pair, for the other: likewise.
struct PairCard {
    uint64_t address = 0;  // of the memory that the other end writes to
    uint64_t words = 0;    // of the words that it may add to; 0: there are none
    uint32_t key = 0;
    uint32_t queue_pair = 0;
    uint32_t first_packet = 0;  // the number of the first one that this end sends
    uint32_t polls_tails = 0;   // this end looks in memory for what comes without an immediate
};

struct Need {
    uint32_t pairs = 0;
    uint32_t sends = 0;  // of each pair, at once; receives likewise
    uint32_t recvs = 0;
    size_t pair_bytes = 0;  // of memory
    uint32_t words = 0;     // of 8 bytes, for all pairs together
    uint32_t mtu_bytes = 0;
    bool may_sleep = false;  // wants a wait_fd()
};

// A write to the other end of a pair. One that tells takes a receive there, whose completion brings
// the immediate.
struct Write {
    size_t offset = 0;  // in the own memory
    size_t bytes = 0;
    uint64_t remote_offset = 0;  // in the other's
    bool tells = true;
    uint32_t immediate = 0;
    bool is_signaled = false;  // its completion is told, and says that all before are complete
    uint64_t number = 0;       // which that brings; below 2^40
    bool wakes = true;         // of one that tells: its receive's completion is a solicited event
};

// Which completions wake a sleeper. Solicited ones are those of receives whose write wakes, and all
// that have failed; those of own writes, when they succeed, are none.
enum class Events : uint8_t { kAll, kSolicited };

// An addition to a word of the other end, at once: of several that come through the device that has
// the word none is lost, and each is told another sum. The processor of that end sees it by
// looking. By the completion the word's former value is here.
struct Add {
    uint32_t word = 0;  // there
    uint64_t amount = 1;
    uint32_t former = 0;  // a word here
    bool is_signaled = false;
    uint64_t number = 0;  // as a write's
};

// Memory of the program that a device may use for now.
struct Region {
    void* handle = nullptr;  // the endpoint's; nullptr: none
    uint32_t key = 0;        // for the other end
};

// A write from the program's memory here into the program's there. It tells nobody there; here its
// completion is always told.
struct DirectWrite {
    Region from;
    const std::byte* source = nullptr;
    size_t bytes = 0;      // kWriteBytesMax at most
    uint64_t address = 0;  // there
    uint32_t key = 0;
    uint64_t number = 0;
};
// Less than any device is known to take: soft-RoCE takes 8 MiB, others a GiB and more.
inline constexpr size_t kWriteBytesMax = size_t{4} << 20;

class Sends;  // send.h

struct Completion {
    uint32_t pair = 0;
    bool is_recv = false;
    int status = 0;          // 0: success; where it is none, only pair and number count
    uint64_t number = 0;     // of a write
    uint32_t immediate = 0;  // of a receive
};

// Queue pairs, their completion queue and the memory of both. Used by one thread at a
// time.
class Endpoint {
  public:
    virtual ~Endpoint() = default;
    // Registered; pair i has the part [i * pair_bytes, (i + 1) * pair_bytes).
    [[nodiscard]] virtual std::span<std::byte> memory() = 0;
    // Those that were wanted, zero at first. Empty: the device cannot add.
    [[nodiscard]] virtual std::span<uint64_t> words() = 0;
    [[nodiscard]] virtual PairCard card(uint32_t pair) = 0;
    // Posts all receives and brings the pair to where it may send.
    virtual Result<Done> connect(uint32_t pair, const PortCard& port, const PairCard& other) = 0;
    // 0, else what errno calls it: no room in the queue, or the pair has failed.
    virtual int write(uint32_t pair, const Write& write) = 0;
    // Likewise.
    virtual int write_direct(uint32_t pair, const DirectWrite& write) = 0;
    // Likewise; both ends have words.
    virtual int add(uint32_t pair, const Add& add) = 0;
    // Registers memory of the program: to write from, or to be written to by other ends. None: the
    // device, the limits or the system do not allow it.
    virtual Region expose(const std::byte* memory, size_t bytes, bool is_target) = 0;
    // From here on the device does not touch it: a write that comes for it, or is still to be sent
    // from it, fails, and its pair with it.
    virtual void conceal(const Region& region) = 0;
    // A word of memory() as it is now. Where the device promises that a write's end is placed last,
    // all that the write has placed can be read after this.
    [[nodiscard]] virtual uint64_t look(const std::byte* word) const;
    // One receive more, of no bytes: only immediates come in.
    virtual int recv(uint32_t pair) = 0;
    // How many; below 0: the queue was overrun, nothing can be relied on any more.
    virtual int poll(std::span<Completion> completions) = 0;
    // Readable once such a completion has come as arm() asked for; -1: there is none.
    [[nodiscard]] virtual int wait_fd() const { return -1; }
    // What the fd has told is taken off, and it will tell of the next of these completions, not of
    // those that are there: whoever is to sleep polls once more. It may tell of others, too. False:
    // it will not tell, nor be there again.
    virtual bool arm(Events of) {
        static_cast<void>(of);
        return false;
    }
    // For who compares; nullptr: there are none.
    [[nodiscard]] virtual Sends* sends() { return nullptr; }
    // Static.
    [[nodiscard]] virtual const char* status_text(int status) const = 0;
};

class UdEndpoint;
struct UdNeed;

// A port of a process. Outlived by nothing that it made.
class Device {
  public:
    virtual ~Device() = default;
    [[nodiscard]] virtual std::string name() const = 0;  // "mlx5_0:1"
    [[nodiscard]] virtual const PortCard& port() const = 0;
    virtual Result<std::unique_ptr<Endpoint>> make_endpoint(const Need& need) = 0;
    // Unreliable datagrams (ud.h), where there are any. kMemory: fewer may be had.
    virtual Result<std::unique_ptr<UdEndpoint>> make_ud(const UdNeed& need);
};

}  // namespace tutti::transport::verbs
