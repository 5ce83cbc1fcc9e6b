// SPDX-License-Identifier: BSD-3-Clause
// Collective calls made up from a seed, with their buffers and the results that they must have,
// computed here without any of the code under test. The simulated, the exhaustive, the threaded
// and the fuzzed tests all draw from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/collectives.h"
#include "base/prng.h"
#include "run/node/node_team.h"
#include "tutti/tutti.h"

namespace tutti::test {

// How vectors are combined. The operators from kAffine on are the user's and do not commute.
enum class Fold {
    kSumU32,
    kXorU64,
    kMaxI16,
    kSumF64,         // whole numbers: exact in any order
    kSumF64Ordered,  // any numbers: right only from the lowest rank to the highest
    kAffine,         // x -> a x + b modulo 2^32, composed; 8 bytes
    kTriangle,       // upper triangular 2x2 matrices modulo 256; 3 bytes
    kMatrices,       // 64 matrices 2x2 modulo 2^32 in one element of 1024 bytes
    kCount
};
size_t fold_bytes(Fold fold);
bool is_user(Fold fold);
// out = out op right, in rank order.
void fold_reference(Fold fold, std::byte* out, const std::byte* right, size_t bytes);

struct Spec {
    tutti_collective collective = TUTTI_BARRIER;
    uint32_t root = 0;
    size_t bytes = 0;  // of a vector form the longest block; see block_bytes()
    Fold fold = Fold::kSumU32;
    uint64_t seed = 0;  // of the contents, the alignment and who is in place
    bool may_be_in_place = true;
};
std::string describe(const Spec& spec);
// Of a vector form: the block that `from` gives to `to`, by the seed. One of all is the longest;
// some are empty.
size_t block_bytes(const Spec& spec, uint32_t ranks, uint32_t from, uint32_t to);
// Its buffers count, as far as all ranks know: there may be something to move.
bool may_move(const Spec& spec);

// What a call may be drawn from.
struct Limits {
    uint32_t ranks = 2;
    size_t chunk_bytes = 4096;
    size_t bytes_max = 16384;
    bool keeps_order = true;  // operands are combined in rank order whatever the operator
};
Spec draw_spec(Prng& prng, const Limits& limits);
// A size at or next to a border of the implementation.
size_t draw_bytes(Prng& prng, const Limits& limits);

// One call of all ranks: buffers with guards around them and what must be in them afterwards.
class Exchange {
  public:
    Exchange(const Spec& spec, uint32_t ranks);
    Exchange(const Exchange&) = delete;
    Exchange& operator=(const Exchange&) = delete;
    [[nodiscard]] tutti_call call(uint32_t rank) const;
    [[nodiscard]] node::Call node_call(uint32_t rank) const;
    // Empty where everything is as it must be, else what is wrong; `rank` alone, or all.
    [[nodiscard]] std::string check(uint32_t rank) const;
    [[nodiscard]] std::string check() const;
    // Restores the inputs, so that the same call can run again.
    void reset();
    [[nodiscard]] const Spec& spec() const { return spec_; }
    // Everything that a call may write (for snapshots).
    [[nodiscard]] std::vector<std::byte>& recv_memory(uint32_t rank) { return sides_[rank].recv; }

  private:
    // Where the blocks of a buffer are.
    struct Places {
        std::vector<uint64_t> bytes;
        std::vector<uint64_t> offsets;
        size_t end = 0;  // of the last one
    };
    // Memory of one rank; `at` is where the buffer begins behind the guard.
    struct Side {
        std::vector<std::byte> send;
        std::vector<std::byte> recv;
        std::vector<std::byte> recv_before;
        std::vector<std::byte> recv_after;  // expected, guards included
        size_t send_at = 0;
        size_t recv_at = 0;
        size_t send_bytes = 0;
        size_t recv_bytes = 0;
        Places sent, received;
        tutti_blocks blocks{};
        bool is_in_place = false;
    };
    [[nodiscard]] Places place_blocks(Prng& prng, uint32_t rank, bool is_input) const;
    [[nodiscard]] size_t own_bytes(uint32_t rank) const;
    void size_buffers(Prng& prng);
    void fill_inputs(Prng& prng);
    void expect();
    void expect_block(uint32_t rank, uint32_t block);
    void move_in_place();
    [[nodiscard]] bool is_root(uint32_t rank) const { return rank == spec_.root; }
    [[nodiscard]] std::byte* expected(uint32_t rank) {
        return sides_[rank].recv_after.data() + sides_[rank].recv_at;
    }
    [[nodiscard]] const std::byte* input(uint32_t rank) const {
        return sides_[rank].send.data() + sides_[rank].send_at;
    }

    Spec spec_;
    uint32_t ranks_;
    std::vector<Side> sides_;
};

// A random tree over the ranks, or a flat layout.
node::Layout random_tree(Prng& prng, uint32_t ranks);

}  // namespace tutti::test
