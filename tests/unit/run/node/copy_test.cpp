// SPDX-License-Identifier: BSD-3-Clause
// Every way of copying moves exactly the bytes it was given, wherever they lie.
#include "run/node/copy.h"

#include <gtest/gtest.h>

#include <vector>

namespace tutti::node {
namespace {

constexpr std::byte kGuard{0xA5};
constexpr size_t kGuardBytes = 64;

std::vector<std::byte> numbered(size_t bytes) {
    std::vector<std::byte> data(bytes);
    for (size_t at = 0; at < bytes; ++at) data[at] = static_cast<std::byte>(at * 7 + at / 251);
    return data;
}

// Empty where `copy` does what memcpy does, else the sizes at which it does not.
template <class Copy>
std::string wrong_copies(Copy copy) {
    for (const size_t bytes :
         {0u, 1u, 63u, 64u, 1023u, 1024u, 1025u, 2047u, 2048u, 2049u, 8192u, 100'003u}) {
        for (const size_t in_at : {0u, 1u, 13u}) {
            for (const size_t out_at : {0u, 1u, 40u}) {
                const std::vector<std::byte> in = numbered(in_at + bytes);
                std::vector<std::byte> out(kGuardBytes + out_at + bytes + kGuardBytes, kGuard);
                std::vector<std::byte> wanted = out;
                const size_t begin = kGuardBytes + out_at;
                for (size_t i = 0; i < bytes; ++i) wanted[begin + i] = in[in_at + i];
                copy(out.data() + begin, in.data() + in_at, bytes);
                if (out == wanted) continue;
                return std::to_string(bytes) + " bytes from " + std::to_string(in_at) + " to " +
                       std::to_string(out_at);
            }
        }
    }
    return "";
}

TEST(Copy, ToSharedMovesAllBytesAndNoMore) {
    for (const CopyWay way :
         {CopyWay::kPlain, CopyWay::kPrefetch, CopyWay::kString, CopyWay::kStream}) {
        EXPECT_EQ(wrong_copies([way](std::byte* out, const std::byte* in, size_t bytes) {
                      copy_to_shared(way, out, in, bytes);
                  }),
                  "");
    }
}

TEST(Copy, ToUserMovesAllBytesAndNoMore) {
    for (const bool is_past_caches : {false, true}) {
        EXPECT_EQ(wrong_copies([=](std::byte* out, const std::byte* in, size_t bytes) {
                      copy_to_user(find_copy_ahead(Isa::kBaseline), out, in, bytes, is_past_caches);
                  }),
                  "");
    }
}

TEST(Copy, AheadMovesAllBytesAndNoMoreInEveryInstructionSet) {
    const Isa best = best_isa(IsaChoice::kAuto);
    for (const Isa isa : {Isa::kBaseline, Isa::kAvx2, Isa::kAvx512}) {
        if (isa > best) continue;
        EXPECT_EQ(wrong_copies(find_copy_ahead(isa)), "") << isa_name(isa);
    }
}

}  // namespace
}  // namespace tutti::node
