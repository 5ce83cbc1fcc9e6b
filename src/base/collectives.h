// SPDX-License-Identifier: BSD-3-Clause
// The one table of collectives: what each is, as MPI says it. All else that code asks of a
// collective follows from its row: names, which arguments count on which rank, how large a buffer
// is, what a result is made of.
//
// Source: MPI 4.1, chapter 6, "Collective Communication".
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "tutti/tutti.h"

namespace tutti {

// What a buffer holds: one vector or block (`bytes` of the call), or one block of every rank, one
// after the other in the order of ranks.
enum class Holds : uint8_t { kNothing, kOne, kAll };
// The ranks on which a buffer means something.
enum class On : uint8_t { kNobody, kRoot, kEverybody, kAllButFirst };

struct CollectiveBuffer {
    Holds holds = Holds::kNothing;
    On on = On::kNobody;
};

// Whose input a block of a rank's output is made of.
enum class From : uint8_t {
    kNobody,
    kRoot,     // the root's
    kInTurn,   // block i: rank i's
    kAll,      // all ranks', folded
    kUpToOwn,  // those of the ranks up to the own one, folded
    kBelowOwn
};
// Where lengths of blocks may differ: who knows those of which others.
enum class Lengths : uint8_t { kEqual, kKnownToAll, kKnownToRoot, kKnownToPairs };
// On ranks that have both buffers.
enum class InPlace : uint8_t {
    kNever,
    kAlways,         // there is one buffer only: what is sent stands where it is received
    kInputInOutput,  // the input stands in the output, where the result would put it
    kOutputInInput,
    kCopied  // the same bytes hold both, so the input is copied before the call
};
// Where the inner of the two stands then: at the outer one's begin, or where the own block is.
enum class InnerAt : uint8_t { kStart, kOwnBlock };
enum class MarkedBy : uint8_t { kSend, kRecv };  // the argument that IN_PLACE is given for

struct Collective {
    std::string_view name;
    CollectiveBuffer input = {};
    CollectiveBuffer output = {};
    From from = From::kNobody;
    Lengths lengths = Lengths::kEqual;
    InPlace in_place = InPlace::kNever;
    InnerAt inner_at = InnerAt::kStart;
    MarkedBy marked_by = MarkedBy::kSend;
    // Who receives may have more room than is sent, so that ranks differ in `bytes`: a wrong
    // program, which MPIs run.
    bool allows_short_blocks = false;
};

namespace detail {
inline constexpr CollectiveBuffer kNone{};
inline constexpr CollectiveBuffer kOneAtRoot{Holds::kOne, On::kRoot};
inline constexpr CollectiveBuffer kOneEach{Holds::kOne, On::kEverybody};
inline constexpr CollectiveBuffer kOneButFirst{Holds::kOne, On::kAllButFirst};
inline constexpr CollectiveBuffer kAllAtRoot{Holds::kAll, On::kRoot};
inline constexpr CollectiveBuffer kAllEach{Holds::kAll, On::kEverybody};
}  // namespace detail

// By tutti_collective.
inline constexpr auto kCollectives = std::to_array<Collective>({
    {"barrier"},
    {"bcast", detail::kOneAtRoot, detail::kOneEach, From::kRoot, Lengths::kEqual, InPlace::kAlways},
    {"reduce", detail::kOneEach, detail::kOneAtRoot, From::kAll, Lengths::kEqual,
     InPlace::kInputInOutput},
    {"allreduce", detail::kOneEach, detail::kOneEach, From::kAll, Lengths::kEqual,
     InPlace::kInputInOutput},
    {"gather", detail::kOneEach, detail::kAllAtRoot, From::kInTurn, Lengths::kEqual,
     InPlace::kInputInOutput, InnerAt::kOwnBlock, MarkedBy::kSend, true},
    {"scatter", detail::kAllAtRoot, detail::kOneEach, From::kRoot, Lengths::kEqual,
     InPlace::kOutputInInput, InnerAt::kOwnBlock, MarkedBy::kRecv, true},
    {"allgather", detail::kOneEach, detail::kAllEach, From::kInTurn, Lengths::kEqual,
     InPlace::kInputInOutput, InnerAt::kOwnBlock},
    {"reduce_scatter_block", detail::kAllEach, detail::kOneEach, From::kAll, Lengths::kEqual,
     InPlace::kOutputInInput},
    {"alltoall", detail::kAllEach, detail::kAllEach, From::kInTurn, Lengths::kEqual,
     InPlace::kCopied},
    {"scan", detail::kOneEach, detail::kOneEach, From::kUpToOwn, Lengths::kEqual,
     InPlace::kInputInOutput},
    {"exscan", detail::kOneEach, detail::kOneButFirst, From::kBelowOwn, Lengths::kEqual,
     InPlace::kInputInOutput},
    {"gatherv", detail::kOneEach, detail::kAllAtRoot, From::kInTurn, Lengths::kKnownToRoot,
     InPlace::kInputInOutput, InnerAt::kOwnBlock},
    {"scatterv", detail::kAllAtRoot, detail::kOneEach, From::kRoot, Lengths::kKnownToRoot,
     InPlace::kOutputInInput, InnerAt::kOwnBlock, MarkedBy::kRecv},
    {"allgatherv", detail::kOneEach, detail::kAllEach, From::kInTurn, Lengths::kKnownToAll,
     InPlace::kInputInOutput, InnerAt::kOwnBlock},
    {"alltoallv", detail::kAllEach, detail::kAllEach, From::kInTurn, Lengths::kKnownToPairs,
     InPlace::kCopied},
    {"alltoallw", detail::kAllEach, detail::kAllEach, From::kInTurn, Lengths::kKnownToPairs,
     InPlace::kCopied},
    // A result may lie over several blocks of the input.
    {"reduce_scatter", detail::kAllEach, detail::kOneEach, From::kAll, Lengths::kKnownToAll,
     InPlace::kCopied},
});
static_assert(kCollectives[TUTTI_BARRIER].name == "barrier");
static_assert(kCollectives[TUTTI_COLLECTIVE_COUNT - 1].name == "reduce_scatter");
static_assert(kCollectives.size() == TUTTI_COLLECTIVE_COUNT);

// The vector forms come last.
inline constexpr tutti_collective kFirstVectorForm = TUTTI_GATHERV;

// collective: below TUTTI_COLLECTIVE_COUNT.
constexpr const Collective& facts(tutti_collective collective) { return kCollectives[collective]; }

// In rules, variables and on the command line: "allreduce".
constexpr std::string_view collective_name(tutti_collective collective) {
    return facts(collective).name;
}
// Of those that Tutti runs, by tutti_collective.
inline constexpr auto kCollectiveNames = [] {
    std::array<std::string_view, TUTTI_COLLECTIVE_COUNT> names;
    for (size_t i = 0; i < names.size(); ++i) names[i] = kCollectives[i].name;
    return names;
}();
// Nothing where Tutti runs none of this name.
constexpr std::optional<tutti_collective> find_collective(std::string_view name) {
    for (size_t i = 0; i < TUTTI_COLLECTIVE_COUNT; ++i) {
        if (kCollectives[i].name == name) return static_cast<tutti_collective>(i);
    }
    return std::nullopt;
}

// ---- what a collective is ----------------------------------------------------------------------

// Something is moved.
constexpr bool has_data(const Collective& c) { return c.output.on != On::kNobody; }
constexpr bool has_root(const Collective& c) {
    return c.input.on == On::kRoot || c.output.on == On::kRoot;
}
// Every rank's result takes all ranks: nobody leaves before all have come.
constexpr bool awaits_all(const Collective& c) {
    return !has_data(c) || (!has_root(c) && (c.from == From::kInTurn || c.from == From::kAll));
}
// Operands are folded; only these have an operator.
constexpr bool is_reduction(const Collective& c) { return c.from >= From::kAll; }
// Each rank has the fold of the ranks up to it, or before it: the order of ranks is part of the
// result, and no two ranks have the same.
constexpr bool is_prefix(const Collective& c) {
    return c.from == From::kUpToOwn || c.from == From::kBelowOwn;
}
// Every rank has a block of its own, which travels whole.
constexpr bool has_blocks(const Collective& c) {
    return c.input.holds == Holds::kAll || c.output.holds == Holds::kAll;
}
// Every rank has a block for each rank.
constexpr bool is_between_all(const Collective& c) {
    return c.input.holds == Holds::kAll && c.from == From::kInTurn;
}
// One vector, which may be cut anywhere between elements.
constexpr bool is_vector(const Collective& c) { return has_data(c) && !has_blocks(c); }

// A vector form: blocks differ in length.
constexpr bool has_lengths(const Collective& c) { return c.lengths != Lengths::kEqual; }
static_assert([] {
    for (size_t i = 0; i < kCollectives.size(); ++i) {
        if (has_lengths(kCollectives[i]) != (i >= kFirstVectorForm)) return false;
    }
    return true;
}());
// And no rank knows all of them, so that nothing may be chosen by them.
constexpr bool has_private_lengths(const Collective& c) {
    return c.lengths == Lengths::kKnownToRoot || c.lengths == Lengths::kKnownToPairs;
}

// The giver has a block for each receiver: no two receivers read the same bytes.
constexpr bool is_dealt(const Collective& c) {
    return c.input.holds == Holds::kAll && !is_reduction(c);
}

constexpr bool has_data(tutti_collective c) { return has_data(facts(c)); }
constexpr bool has_root(tutti_collective c) { return has_root(facts(c)); }
constexpr bool awaits_all(tutti_collective c) { return awaits_all(facts(c)); }
constexpr bool is_reduction(tutti_collective c) { return is_reduction(facts(c)); }
constexpr bool is_prefix(tutti_collective c) { return is_prefix(facts(c)); }
constexpr bool has_blocks(tutti_collective c) { return has_blocks(facts(c)); }
constexpr bool is_between_all(tutti_collective c) { return is_between_all(facts(c)); }
constexpr bool is_vector(tutti_collective c) { return is_vector(facts(c)); }
constexpr bool is_dealt(tutti_collective c) { return is_dealt(facts(c)); }
constexpr bool has_lengths(tutti_collective c) { return has_lengths(facts(c)); }
constexpr bool has_private_lengths(tutti_collective c) { return has_private_lengths(facts(c)); }

// ---- what a rank has ---------------------------------------------------------------------------

constexpr bool is_on(On on, uint32_t rank, uint32_t root) {
    switch (on) {
        case On::kRoot:
            return rank == root;
        case On::kEverybody:
            return true;
        case On::kAllButFirst:
            return rank != 0;
        case On::kNobody:
            break;
    }
    return false;
}

constexpr uint32_t blocks_of(const CollectiveBuffer& buffer, uint32_t rank, uint32_t root,
                             uint32_t ranks) {
    if (!is_on(buffer.on, rank, root)) return 0;
    return buffer.holds == Holds::kAll ? ranks : 1;
}
// Blocks, or 1 for a vector, of each buffer on this rank; 0: it is not significant. Where there is
// one buffer only (InPlace::kAlways) it is the output.
constexpr uint32_t input_blocks(tutti_collective c, uint32_t rank, uint32_t root, uint32_t ranks) {
    return facts(c).in_place == InPlace::kAlways ? 0 : blocks_of(facts(c).input, rank, root, ranks);
}
constexpr uint32_t output_blocks(tutti_collective c, uint32_t rank, uint32_t root, uint32_t ranks) {
    return blocks_of(facts(c).output, rank, root, ranks);
}

// Whether a call can be in place on this rank, where it has both buffers.
constexpr bool may_be_in_place(tutti_collective c, uint32_t rank, uint32_t root) {
    const Collective& r = facts(c);
    const bool is_inside =
        r.in_place == InPlace::kInputInOutput || r.in_place == InPlace::kOutputInInput;
    return is_inside && is_on(r.input.on, rank, root) && is_on(r.output.on, rank, root);
}

// A rank's two buffers, nullptr where one is not significant, from what a call gives: nullptr for
// the argument that says IN_PLACE, and for what does not count. own_offset: of this rank's block
// among all.
struct BufferPair {
    const std::byte* input = nullptr;
    std::byte* output = nullptr;
};
inline BufferPair buffers_of(tutti_collective c, const std::byte* send, std::byte* recv,
                             uint32_t rank, uint32_t root, size_t own_offset) {
    const Collective& f = facts(c);
    BufferPair pair;
    const bool has_input = f.in_place != InPlace::kAlways && is_on(f.input.on, rank, root);
    if (has_input) pair.input = send;
    if (is_on(f.output.on, rank, root)) pair.output = recv;
    const bool is_marked = f.marked_by == MarkedBy::kSend ? !send : !recv;
    if (!has_input || !is_marked) return pair;
    // One argument holds both.
    auto* outer = f.marked_by == MarkedBy::kSend ? recv : const_cast<std::byte*>(send);
    auto* inner = outer + (f.inner_at == InnerAt::kOwnBlock ? own_offset : 0);
    const bool is_input_inside = f.in_place == InPlace::kInputInOutput;
    pair.input = is_input_inside ? inner : outer;
    if (is_on(f.output.on, rank, root)) pair.output = is_input_inside ? outer : inner;
    return pair;
}

// Each rank's block goes to the root or comes from there.
constexpr bool has_rooted_blocks(tutti_collective c) {
    return c == TUTTI_GATHER || c == TUTTI_SCATTER;
}
// Of a rooted collective of blocks: this rank sends, so that it is others who may have more room.
constexpr bool is_sender(tutti_collective c, uint32_t rank, uint32_t root) {
    return facts(c).output.on == On::kRoot ? rank != root : rank == root;
}

// What block `block` of a rank's output is made of: the inputs of the ranks from `first` to `last`,
// folded where there are several; of each the block `block`.
struct Origin {
    uint32_t first = 0;
    uint32_t last = 0;
    uint32_t block = 0;
    constexpr bool operator==(const Origin&) const = default;
};
// collective: with data. rank: with an output.
constexpr Origin origin(tutti_collective c, uint32_t rank, uint32_t root, uint32_t ranks,
                        uint32_t block) {
    const Collective& r = facts(c);
    const uint32_t of_input = r.input.holds == Holds::kAll ? rank : 0;
    switch (r.from) {
        case From::kRoot:
            return {root, root, of_input};
        case From::kInTurn:
            return {block, block, of_input};
        case From::kAll:
            return {0, ranks - 1, of_input};
        case From::kUpToOwn:
            return {0, rank, of_input};
        case From::kBelowOwn:
            return {0, rank - 1, of_input};
        case From::kNobody:
            break;
    }
    return {};
}

}  // namespace tutti
