// SPDX-License-Identifier: BSD-3-Clause
#include "sim/multicast_mix.h"

#include <algorithm>

#include "plan/sched/list_program.h"

namespace tutti::test {
namespace {

// With its copy a multicast is two operations at its sender.
constexpr uint64_t kRoundMulticastsMax = sched::kRoundOpsMax / 2;

uint64_t draw_bytes(Prng& prng) {
    const uint64_t kind = prng.below(16);
    if (kind == 0) return 0;
    return kind == 1 ? sched::kMulticastBytesMax - prng.below(3) : 1 + prng.below(600);
}

}  // namespace

MulticastMix::MulticastMix(Prng& prng, uint32_t ranks) : ranks_(ranks) {
    extent_.lanes = 1 + prng.below(5);
    extent_.lanes_in_flight = static_cast<uint32_t>(1 + prng.below(4));
    extent_.rounds = 1 + prng.below(4);
    const uint64_t crowd = prng.below(8) == 0 ? kRoundMulticastsMax : 4;
    uint64_t end = 0;
    for (uint64_t lane = 0; lane < extent_.lanes; ++lane) {
        const size_t first_of_lane = casts_.size();
        for (uint64_t round = 0; round < extent_.rounds; ++round) {
            const size_t first_of_round = casts_.size();
            for (uint64_t left = prng.below(crowd + 1); left > 0; --left) {
                Cast cast{lane, round, static_cast<uint32_t>(prng.below(ranks)), {}, {}};
                const size_t earlier = first_of_round - first_of_lane;
                if (earlier > 0 && prng.below(3) == 0) {
                    cast.source = casts_[first_of_lane + prng.below(earlier)].place;
                } else {
                    cast.source = sched::input(end, draw_bytes(prng));
                }
                cast.place = sched::output(end, cast.source.bytes);
                end += cast.source.bytes;
                casts_.push_back(cast);
            }
        }
    }
    extent_.multicasts = casts_.size();
    for (uint64_t i = 0; i < end; ++i) input_.push_back(static_cast<std::byte>(prng.next() >> 56));
    expected_.resize(end);
    outputs_.assign(ranks, std::vector<std::byte>(end));
    for (const Cast& cast : casts_) {
        const auto& from = cast.source.buffer == sched::Buffer::kInput ? input_ : expected_;
        std::copy_n(from.begin() + static_cast<ptrdiff_t>(cast.source.offset), cast.source.bytes,
                    expected_.begin() + static_cast<ptrdiff_t>(cast.place.offset));
    }
}

std::unique_ptr<sched::Program> MulticastMix::program(Prng& prng, uint32_t rank) const {
    auto program = std::make_unique<sched::ListProgram>("multicast mix", extent_);
    for (uint64_t number = 0; number < casts_.size(); ++number) {
        const Cast& cast = casts_[number];
        const bool is_own = cast.source.buffer == sched::Buffer::kInput;
        const bool may_begin = (is_own || cast.sender != rank) && prng.below(2) == 0;
        const uint64_t after = may_begin ? sched::kAfterNone : sched::kAfterAll;
        if (cast.sender == rank) {
            program->add(cast.lane, cast.round, sched::multicast(number, cast.source, after));
            program->add(cast.lane, cast.round, sched::copy(cast.place, cast.source, after));
        } else {
            program->add(cast.lane, cast.round,
                         sched::recv_multicast(cast.sender, number, cast.place, after));
        }
    }
    return program;
}

exec::Arguments MulticastMix::arguments(uint32_t rank) {
    return {input_.data(), outputs_[rank].data(), {}};
}

std::string MulticastMix::text() const {
    return std::to_string(casts_.size()) + " multicasts in " + std::to_string(extent_.lanes) +
           " lanes of " + std::to_string(extent_.rounds) + " rounds, " +
           std::to_string(extent_.lanes_in_flight) + " in flight";
}

std::string MulticastMix::check() const {
    for (uint32_t rank = 0; rank < ranks_; ++rank) {
        for (uint64_t number = 0; number < casts_.size(); ++number) {
            const auto at = static_cast<ptrdiff_t>(casts_[number].place.offset);
            const auto bytes = static_cast<ptrdiff_t>(casts_[number].place.bytes);
            const auto& got = outputs_[rank];
            if (!std::equal(got.begin() + at, got.begin() + at + bytes, expected_.begin() + at)) {
                return "rank " + std::to_string(rank) + " has a wrong multicast " +
                       std::to_string(number);
            }
        }
    }
    return "";
}

}  // namespace tutti::test
