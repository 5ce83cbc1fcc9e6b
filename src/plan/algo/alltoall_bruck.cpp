// SPDX-License-Identifier: BSD-3-Clause
// Alltoall by combining blocks: ceil(log_k p) rounds of at most k - 1 messages a rank, k the radix.
//
// Source: Bruck, Ho, Kipnis, Upfal, Weathersby 1997, "Efficient algorithms for all-to-all
// communications in multiport message-passing systems", doi:10.1109/71.642949, section 3, the index
// algorithm. Fan and Kumar 2022, "Parameterized radix-r Bruck algorithm for all-to-all
// communication", tune its radix, as Fan and others 2024 do.
// Letters: p ranks (n in the first source), r own rank, n bytes of a block (b), k the radix (r),
// w = ceil(log_k p) digits, x a digit's place, z its value, i the distance that a block has to go.
//
// The block of rank r for r + i (modulo p) goes as many ranks on in round x as place x of i,
// written in base k, says: z k^x. What has the same z goes in one message. So a block has gone i
// ranks on when all places are done, and where it is on its way, it is known by its i.
//
// Differs from the paper: there all blocks are rotated first, and again in the end. Here a block
// leaves straight from the input. On its way it stands at the rank that it has come to in the place
// of output into which that rank's own block of the same i goes in the end, r - i: each i has one,
// which is free until then. So nothing is rotated, and scratch holds only what one round sends
// and receives. The messages of a round are under way together. Where nodes are the participants,
// a block holds one for each pair of their ranks.
//
// A message's blocks stand in it by i, the largest first, as in output: so neighbours are copied
// together. A message of one block leaves from the input, and one whose blocks all stand side by
// side in output is received there.
//
// Example, p = 5, k = 2, what rank 0 sends, by i:  1, 3 to rank 1;  2, 3 to rank 2;  4 to rank 4
//   The first 3 is its own one for rank 3, the second one that of rank 4 for rank 2.
//
// Tuning::fan_in is k (otherwise 2, at most 33).
//
// Invariants (checked in lab/check/prove.cpp and the property test):
//   I1  after round x a rank holds, of each i, the block that has gone i modulo k^(x+1) ranks
//   I2  what a round receives is copied before the next one is received
//   I3  nothing is received into output that is still to be sent from there: what stands there and
//       is sent, is packed before, since the first block of each message comes from the input
#include "plan/algo/algorithms.h"

namespace tutti::algo {
namespace {

constexpr uint64_t kRadixDefault = 2;
// A round has a receive and a send for each value of a digit but 0.
constexpr uint64_t kRadixMax = sched::kRoundOpsMax / 2 + 1;

uint64_t radix(const Tuning& tuning) {
    if (tuning.fan_in == 0) return kRadixDefault;
    return std::clamp<uint64_t>(tuning.fan_in, 2, kRadixMax);
}

// Distances below p by the digits of base k: what all ranks know alike.
struct Digits {
    uint64_t p;
    uint64_t k;

    [[nodiscard]] uint64_t power(uint64_t x) const {
        uint64_t power = 1;
        for (; x > 0; --x) power *= k;
        return power;
    }
    [[nodiscard]] uint64_t places() const {
        uint64_t w = 0;
        for (uint64_t power = 1; power < p; power *= k) ++w;
        return w;
    }
    // Distances below `end` whose place x has a value from 1 to z; unit = k^x.
    [[nodiscard]] uint64_t count_below(uint64_t end, uint64_t unit, uint64_t z) const {
        const uint64_t rest = end % (unit * k);
        const uint64_t in_rest = std::min(rest > unit ? rest - unit : 0, z * unit);
        return end / (unit * k) * unit * z + in_rest;
    }
    // Blocks of the messages for values up to z, and of the one for z.
    [[nodiscard]] uint64_t up_to(uint64_t unit, uint64_t z) const {
        return count_below(p, unit, z);
    }
    [[nodiscard]] uint64_t count(uint64_t unit, uint64_t z) const {
        return up_to(unit, z) - up_to(unit, z - 1);
    }
    // Blocks that a round packs, at most; single ones are not packed.
    [[nodiscard]] uint64_t packed() const {
        uint64_t most = 0;
        for (uint64_t unit = 1; unit < p; unit *= k) {
            uint64_t z = k - 1;
            while (z > 0 && count(unit, z) <= 1) --z;
            most = std::max(most, up_to(unit, z));
        }
        return most;
    }
};

// What is copied between two rounds of messages is dealt with in groups of distances, each of
// which has another value of place x than the one before it, 0 after k - 1. A group that is sent
// takes a copy for each value of place x - 1, but two for 0, one that stays none for 0. In all one
// more is needed where output ends inside. So many groups in a row fit a round.
uint64_t groups_that_fit(uint64_t k) {
    uint64_t groups = sched::kRoundOpsMax;
    const auto copies = [&] { return groups * (k + 1) - groups / k * 2 + 1; };
    while (copies() > sched::kRoundOpsMax) --groups;
    return groups;
}

class AlltoallBruck final : public Program {
  public:
    AlltoallBruck(const Shape& shape, Rank rank, const Tuning& tuning)
        : n_(shape.pair_bytes(rank, rank)),
          p_(shape.ranks),
          r_(rank),
          k_(radix(tuning)),
          digits_{p_, k_},
          w_(digits_.places()),
          groups_a_round_(groups_that_fit(k_)),
          landing_(align_up(digits_.packed() * n_)) {}

    static constexpr std::string_view kName = "bruck";
    [[nodiscard]] std::string_view name() const override { return kName; }
    [[nodiscard]] sched::Extent extent() const override {
        if (n_ == 0) return {1, 1, 0, 0};
        uint64_t rounds = copying_rounds(w_);
        for (uint64_t x = 0; x < w_; ++x) rounds += copying_rounds(x) + 1;
        return {1, 1, rounds, 2 * landing_};
    }
    void read(uint64_t, uint64_t round, sched::Round& out) const override {
        out.clear();
        uint64_t x = 0;
        for (; round > copying_rounds(x); ++x) round -= copying_rounds(x) + 1;
        const uint64_t unit = digits_.power(x);
        if (x < w_ && round == copying_rounds(x)) return exchange(x, unit, out);
        const uint64_t first = round * groups_a_round(x);
        const uint64_t end = std::min(first + groups_a_round(x), groups(unit));
        for (uint64_t group = first; group < end; ++group) copy_group(unit, group, out);
        // The first of these rounds waits for the messages; the others, for the round before it.
        if (round == 0) return;
        for (sched::Operation& operation : out) operation.after = sched::kAfterNone;
    }

  private:
    // A run of distances, from and up to but not including.
    struct Run {
        uint64_t from = 0;
        uint64_t to = 0;
        [[nodiscard]] uint64_t size() const { return to - from; }
    };

    // ---- what is copied between two rounds of messages -----------------------------------------

    // The distances of a group differ in the places below x only.
    [[nodiscard]] uint64_t groups(uint64_t unit) const { return (p_ + unit - 1) / unit; }
    [[nodiscard]] uint64_t groups_a_round(uint64_t x) const {
        return x == 0 ? sched::kRoundOpsMax : groups_a_round_;
    }
    [[nodiscard]] uint64_t copying_rounds(uint64_t x) const {
        if (x == w_ && x > 0) return lands_apart(digits_.power(x - 1)) ? 1 : 0;
        const uint64_t each = groups_a_round(x);
        return (groups(digits_.power(x)) + each - 1) / each;
    }
    // In the last round, some message has the end of output inside.
    [[nodiscard]] bool lands_apart(uint64_t unit) const {
        for (uint64_t z = 1; z < k_; ++z) {
            if (digits_.count(unit, z) > 0 && !lands_in_place(unit, z)) return true;
        }
        return false;
    }

    void copy_group(uint64_t unit, uint64_t group, sched::Round& out) const {
        const uint64_t first = group * unit;
        if (first == 0 && unit == 1) {
            out.add(sched::copy(output({0, 1}), input(0)));
            return;
        }
        const uint64_t z = group % k_;
        const bool packs = z != 0;
        // A single block leaves from the input.
        if (packs && digits_.count(unit, z) == 1) return;
        const uint64_t below = unit / k_;
        for (uint64_t v = k_ - 1; v > 0 && below > 0; --v) {
            const Run run = cut({first + v * below, first + (v + 1) * below});
            if (run.size() == 0) continue;
            const bool is_in_place = lands_in_place(below, v);
            if (packs && is_in_place) {
                copy_from_output(unit, z, run, out);
            } else if (packs) {
                add(packed(0, unit, z, run), packed(landing_, below, v, run), out);
            } else if (!is_in_place) {
                copy_to_output(below, v, run, out);
            }
        }
        if (!packs) return;
        copy_from_output(unit, z, cut({first + 1, first + below}), out);
        add(packed(0, unit, z, {first, first + 1}), input(first), out);
    }
    void copy_from_output(uint64_t unit, uint64_t z, const Run& run, sched::Round& out) const {
        each_side(run, [&](const Run& side) { add(packed(0, unit, z, side), output(side), out); });
    }
    void copy_to_output(uint64_t unit, uint64_t z, const Run& run, sched::Round& out) const {
        each_side(
            run, [&](const Run& side) { add(output(side), packed(landing_, unit, z, side), out); });
    }
    // Joins it to the copy before, if both go on where that ends.
    static void add(const sched::Block& to, const sched::Block& from, sched::Round& out) {
        const auto goes_on = [](const sched::Block& block, const sched::Block& next) {
            return block.buffer == next.buffer && block.offset + block.bytes == next.offset;
        };
        if (out.size() > 0) {
            sched::Operation& last = out[out.size() - 1];
            if (goes_on(last.to, to) && goes_on(last.left, from)) {
                last.to.bytes += to.bytes;
                last.left.bytes += from.bytes;
                return;
            }
        }
        out.add(sched::copy(to, from));
    }
    // The parts of a run on either side of the end of output, the one in front of it last.
    template <class Use>
    void each_side(const Run& run, Use use) const {
        if (run.from >= run.to) return;
        if (!has_end_inside(run)) return use(run);
        use({uint64_t{r_} + 1, run.to});
        use({run.from, uint64_t{r_} + 1});
    }
    [[nodiscard]] bool has_end_inside(const Run& run) const {
        return run.from <= r_ && run.to > uint64_t{r_} + 1;
    }
    [[nodiscard]] Run cut(const Run& run) const {
        return {std::min(run.from, p_), std::min(run.to, p_)};
    }

    // ---- messages ------------------------------------------------------------------------------

    void exchange(uint64_t x, uint64_t unit, sched::Round& out) const {
        const auto message = static_cast<uint32_t>(x);
        for (uint64_t z = 1; z < k_ && z * unit < p_; ++z) {
            const auto from = static_cast<Rank>((r_ + p_ - z * unit) % p_);
            out.add(sched::recv(
                from, message,
                lands_in_place(unit, z) ? output(only_run(unit, z)) : whole(landing_, unit, z)));
        }
        for (uint64_t z = 1; z < k_ && z * unit < p_; ++z) {
            const auto to = static_cast<Rank>((r_ + z * unit) % p_);
            const bool is_single = digits_.count(unit, z) == 1;
            out.add(sched::send(to, message, is_single ? input(z * unit) : whole(0, unit, z)));
        }
    }
    // All distances of a message are one run that stands in output in one piece.
    [[nodiscard]] bool lands_in_place(uint64_t unit, uint64_t z) const {
        return (z + k_) * unit >= p_ && !has_end_inside(only_run(unit, z));
    }
    [[nodiscard]] Run only_run(uint64_t unit, uint64_t z) const {
        return cut({z * unit, (z + 1) * unit});
    }

    // ---- where blocks stand --------------------------------------------------------------------

    // The own block for the rank at that distance.
    [[nodiscard]] sched::Block input(uint64_t i) const {
        return sched::input((r_ + i) % p_ * n_, n_);
    }
    // The places of output of a run that has not its end inside.
    [[nodiscard]] sched::Block output(const Run& run) const {
        return sched::output((r_ + p_ - (run.to - 1)) % p_ * n_, run.size() * n_);
    }
    // A message in scratch, what is sent at the start and what is received behind it; and some of
    // it.
    [[nodiscard]] sched::Block whole(uint64_t start, uint64_t unit, uint64_t z) const {
        return sched::scratch(start + digits_.up_to(unit, z - 1) * n_, digits_.count(unit, z) * n_);
    }
    [[nodiscard]] sched::Block packed(uint64_t start, uint64_t unit, uint64_t z,
                                      const Run& run) const {
        // Those of larger distances stand in front.
        const uint64_t below =
            digits_.count_below(run.to, unit, z) - digits_.count_below(run.to, unit, z - 1);
        const uint64_t before = digits_.count(unit, z) - below;
        return sched::scratch(start + (digits_.up_to(unit, z - 1) + before) * n_, run.size() * n_);
    }

    uint64_t n_;
    uint64_t p_;
    Rank r_;
    uint64_t k_;
    Digits digits_;
    uint64_t w_;
    uint64_t groups_a_round_;  // but before the first messages
    uint64_t landing_;         // where it begins in scratch
};

}  // namespace

Algorithm alltoall_bruck() {
    return {.name = AlltoallBruck::kName,
            .collective = TUTTI_ALLTOALL,
            .summary = "blocks combined, ceil(log_k p) rounds",
            .obstacle = [](const Shape& shape) -> std::string_view {
                if (shape.nodes && shape.nodes->members_min() != shape.nodes->members_max()) {
                    return "nodes have different numbers of ranks";
                }
                // To each distance with z = 1 in some place belongs one with 0 there, so that a
                // message has half of the blocks at most, whatever the radix.
                const uint64_t blocks = std::max<uint64_t>(shape.ranks / 2, 1);
                return shape.pair_bytes_max(0) > sched::kBlockBytesMax / blocks
                           ? kTooLong
                           : std::string_view();
            },
            .make = make<AlltoallBruck>,
            .scratch_bytes = [](const Shape& shape, const Tuning& tuning) -> uint64_t {
                const Digits digits{shape.ranks, radix(tuning)};
                return 2 * align_up(digits.packed() * shape.pair_bytes_max(0));
            },
            .steps = [](const Shape& shape, const Tuning& tuning) -> uint64_t {
                return Digits{shape.ranks, radix(tuning)}.places();
            },
            .has_fan_in = true,
            .has_radix = true,
            .fan_in_max = kRadixMax};
}

}  // namespace tutti::algo
