// SPDX-License-Identifier: BSD-3-Clause
// Ranks across hosts of which one makes another call than the others, by seed: whole teams, a
// thread a rank, over messages of which some are eager. No result that comes without an error is
// wrong, nobody waits for ever, and all ranks are told before they have made another two calls.
#include <gtest/gtest.h>

#include <barrier>
#include <mutex>

#include "sim/seeds.h"
#include "unit/run/engine/hosts.h"

namespace tutti::test {
namespace {

struct Draw {
    uint32_t ranks = 2;
    std::string hosts;
    size_t eager_bytes_max = 0;
    uint32_t odd = 0;
    Exchanges before;
    std::unique_ptr<Exchange> common;
    std::unique_ptr<Exchange> other;  // the odd rank's, in the place of `common`
    Exchanges after;
};

// Sizes up to what is cut into pieces; lengths of vectors that all operators take.
Spec draw_call(Prng& prng, uint32_t ranks) {
    constexpr size_t kSizes[] = {0, 8, 64, 200, 512, 4000, 120'000, 1u << 20, 2u << 20};
    Spec spec;
    spec.collective = static_cast<tutti_collective>(prng.below(TUTTI_COLLECTIVE_COUNT));
    spec.root = static_cast<uint32_t>(prng.below(ranks));
    spec.bytes = kSizes[prng.below(std::size(kSizes))];
    spec.fold = Fold::kSumU32;
    spec.seed = prng.next();
    return spec;
}

// The odd rank differs in bytes alone, and bare hosts would run it (receive_capacity_test.cpp).
bool may_go_together(const Spec& common, const Spec& other, uint32_t odd) {
    if (common.collective != other.collective || common.root != other.root) return false;
    if (common.bytes == 0 || other.bytes == 0) return false;
    const bool has_more = other.bytes > common.bytes, is_root = odd == common.root;
    if (common.collective == TUTTI_GATHER) return is_root && has_more;
    return common.collective == TUTTI_SCATTER && is_root != has_more;
}

// Another one in some respect that the ranks must agree on.
Spec draw_other(Prng& prng, const Spec& common, uint32_t ranks, uint32_t odd) {
    while (true) {
        Spec spec = common;
        const Spec drawn = draw_call(prng, ranks);
        const uint64_t what = prng.below(4);
        if (what == 0) spec = drawn;
        if (what == 1) spec.root = drawn.root;
        if (what == 2) spec.bytes = drawn.bytes;
        if (what == 3) spec.collective = drawn.collective;
        if (may_go_together(common, spec, odd)) continue;
        // Of lengths that only pairs know ranks may differ, as under bare hosts (words.md).
        const bool has_bytes =
            spec.collective != TUTTI_BARRIER && !has_private_lengths(spec.collective);
        if (spec.collective != common.collective) return spec;
        if (has_root(spec.collective) && spec.root != common.root) return spec;
        if (has_bytes && spec.bytes != common.bytes) return spec;
    }
}

Draw draw(uint64_t seed) {
    Prng prng(seed);
    Draw draw;
    draw.ranks = static_cast<uint32_t>(2 + prng.below(5));
    const uint64_t hosts = 2 + prng.below(draw.ranks - 1);
    draw.hosts = "TUTTI_HOSTS=" + std::to_string(hosts) + (prng.below(2) ? ":round-robin" : "");
    constexpr size_t kEager[] = {0, 300, 64 * 1024, size_t{1} << 30};
    draw.eager_bytes_max = kEager[prng.below(std::size(kEager))];
    draw.odd = static_cast<uint32_t>(prng.below(draw.ranks));
    const auto exchange = [&](const Spec& spec) {
        return std::make_unique<Exchange>(spec, draw.ranks);
    };
    for (uint64_t i = prng.below(3); i > 0; --i) {
        draw.before.push_back(exchange(draw_call(prng, draw.ranks)));
    }
    const Spec common = draw_call(prng, draw.ranks);
    draw.common = exchange(common);
    draw.other = exchange(draw_other(prng, common, draw.ranks, draw.odd));
    draw.after.push_back(exchange(draw_call(prng, draw.ranks)));
    draw.after.push_back(exchange(Spec{}));  // a barrier, of which all ranks hear
    return draw;
}

std::string text_of(const Draw& draw) {
    return std::to_string(draw.ranks) + " ranks, " + draw.hosts + ", eager " +
           std::to_string(draw.eager_bytes_max) + ", after " + std::to_string(draw.before.size()) +
           " calls, all but rank " + std::to_string(draw.odd) + ": " +
           describe(draw.common->spec()) + ", that one: " + describe(draw.other->spec()) +
           ", then " + describe(draw.after[0]->spec());
}

// What one rank finds wrong; it stops at the first error, as a program would.
std::string run_rank(tutti_team* team, uint32_t rank, const Draw& draw) {
    std::string what;
    const auto run = [&](const Exchange& exchange) {
        const tutti_call call = exchange.call(rank);
        const tutti_status status = tutti_run(team, &call);
        if (status == TUTTI_OK) {
            const std::string wrong = exchange.check(rank);
            if (!wrong.empty()) what += describe(exchange.spec()) + ": " + wrong;
        } else if (status != TUTTI_ERR_MISMATCH) {
            what += "status " + std::to_string(status) + ": " + tutti_team_message(team);
        }
        return status == TUTTI_OK;
    };
    for (const auto& exchange : draw.before) {
        if (!run(*exchange)) return what + " before they differ: " + tutti_team_message(team);
    }
    if (!run(rank == draw.odd ? *draw.other : *draw.common)) return what;
    for (const auto& exchange : draw.after) {
        if (!run(*exchange)) return what;
    }
    return what + " nothing was noticed";
}

std::string run_seed(uint64_t seed) {
    const Draw one = draw(seed);
    SCOPED_TRACE(text_of(one));
    Log log;
    const ContextPtr context = make_context({one.hosts.c_str(), "TUTTI_MCAST=off"}, &log);
    Meeting meeting(one.ranks);
    // As many tags as most MPIs have. With fewer, calls of different kinds may have one (words.md).
    constexpr uint32_t kTagMax = (1u << 28) - 1;
    Mailbox mailbox(one.ranks, one.eager_bytes_max, kTagMax);
    std::barrier all_complete(one.ranks);
    std::mutex mutex;
    std::string wrong;
    run_threads(one.ranks, [&](uint32_t rank) {
        const tutti_p2p p2p = mailbox.callbacks(rank);
        const Made made = make_team(context.get(), meeting, rank, "the crew", &p2p);
        ASSERT_EQ(made.status, TUTTI_OK) << made.message;
        const std::string what = run_rank(made.team.get(), rank, one);
        all_complete.arrive_and_wait();
        const std::lock_guard lock(mutex);
        if (!what.empty()) wrong += "\nrank " + std::to_string(rank) + ": " + what;
    });
    if (log.is_empty()) wrong += "\nno line";
    if (wrong.empty()) return "";
    return wrong + "\n" + text_of(one) + (log.is_empty() ? "" : "; " + log.lines()[0]);
}

TEST(Disagreement, EndsInErrorsAcrossHosts) {
    const Seeds seeds = Seeds::wanted(100);
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        ASSERT_EQ(run_seed(seed), "") << replay(seed);
    }
}

}  // namespace
}  // namespace tutti::test
