// SPDX-License-Identifier: BSD-3-Clause
// Allgatherv on a circulant graph: each block is broadcast, all at once, long ones in pieces.
//
// Source: Träff 2022, arXiv:2205.10072, section 3 (irregular allgather); Träff 2024,
// arXiv:2407.18004. Schedule and letters: plan/algo/circulant.h. p ranks, r own rank, c bytes of a
// piece, N of all blocks.
//
// All ranks talk to the same neighbours in a round, whoever has the block. So in each round a rank
// sends what the broadcasts of all blocks send there.
//
// Differs from the papers: there each block is cut into n pieces, and a round's pieces travel in
// one message, for which they are copied together. Here a block longer than c is cut into as many
// pieces as it needs, each a message. A shorter one is one piece. Such a block passes a rank in one
// round alone, together with those of the ranks around its own: in round k blocks of skip[k + 1] -
// skip[k] ranks up to r go out. These are one message, but for the end of the output and for long
// blocks among them. So nothing is copied.
//
// Blocks that are about alike are all short: Bruck's algorithm with other distances. At most
// kLongMax are long, and c is no less than what that takes. Otherwise it is that of a broadcast of
// the longest one, or Tuning::segment_bytes.
//
// Example, p = 5, q = 3, skips 1 2 3, all blocks short, what rank 3 sends:
//   to 4: 3;  to 0: 3;  to 1: 2 3
//
// Invariants (checked in lab/check/prove.cpp and the property test):
//   I1  a rank sends what it has received in an earlier round, or its own
//   I2  each block comes to each other rank once
//   I3  both ends of a message cut a round's short blocks alike
#include <vector>

#include "plan/algo/circulant.h"
#include "plan/algo/ring_slots.h"

namespace tutti::algo {
namespace {

// A round has a piece of each each way, and no more than so many stretches of short blocks and one.
constexpr uint32_t kLongMax = 12;
// Messages of a round from one rank to another.
constexpr uint32_t kMessages = 2 * kLongMax + 2;
static_assert(2 * kMessages + 1 <= sched::kRoundOpsMax);

// c.
uint64_t longest_piece(const Shape& shape, const CirculantSkips& skips, const Tuning& tuning) {
    const uint64_t longest = longest_block(shape);
    if (tuning.segment_bytes == 0 && are_about_alike(shape)) return longest;
    const CirculantCut cut(std::max<uint64_t>(1, longest), shape.element_bytes, skips, tuning);
    if (shape.ranks <= kLongMax) return cut.block_bytes();
    std::vector<uint64_t> bytes;
    for (Rank i = 0; i < shape.ranks; ++i) bytes.push_back(shape.block_bytes(i));
    std::ranges::nth_element(bytes, bytes.begin() + kLongMax, std::greater<>());
    return std::max(cut.block_bytes(), bytes[kLongMax]);
}

class AllgathervCirculant final : public Program {
  public:
    AllgathervCirculant(const Shape& shape, Rank rank, const Tuning& tuning)
        : shape_(shape),
          p_(shape.ranks),
          r_(rank),
          skips_(shape.ranks),
          c_(longest_piece(shape, skips_, tuning)) {
        const uint64_t q = skips_.levels();
        begin_ = q;
        end_ = q;
        for (Rank root = 0; root < p_ && p_ > 1; ++root) {
            const uint64_t bytes = shape.block_bytes(root);
            if (bytes <= c_) continue;
            const auto d = static_cast<Rank>((rank + p_ - root) % p_);
            long_.push_back({root, CirculantBlocks(skips_, d, (bytes + c_ - 1) / c_)});
            begin_ = std::min(begin_, long_.back().pieces.begin());
            end_ = std::max(end_, long_.back().pieces.end());
        }
        // Short blocks take the first whole phase.
        if (long_.empty()) begin_ = 0;
        shorts_ = begin_ == 0 ? 0 : q;
    }

    static constexpr std::string_view kName = "circulant";
    [[nodiscard]] std::string_view name() const override { return kName; }
    [[nodiscard]] sched::Extent extent() const override {
        if (shape_.bytes == 0) return {1, 1, 0, 0};
        return {1, 1, p_ == 1 ? 1 : end_ - begin_, 0};
    }
    void read(uint64_t, uint64_t t, sched::Round& out) const override {
        out.clear();
        const uint64_t round = begin_ + t;
        const uint64_t first = t * kMessages;
        if (p_ > 1) {
            const Rank from = circulant_previous(skips_, r_, round);
            visit_received(round, [&](uint64_t number, const sched::Block& to) {
                out.add(sched::recv(from, static_cast<uint32_t>(first + number), to,
                                    sched::kAfterNone));
            });
        }
        if (t == 0 && own().bytes > 0) out.add(sched::copy(place(own_run()), own()));
        if (p_ == 1) return;
        // Messages of a round between two ranks wait for the same.
        uint64_t after = sched::kAfterNone;
        visit_sent(round, [&](uint64_t, const sched::Block& what) {
            if (t > 0) after |= writers(round - 1, what);
        });
        const Rank to = circulant_next(skips_, r_, round);
        visit_sent(round, [&](uint64_t number, const sched::Block& what) {
            out.add(sched::send(to, static_cast<uint32_t>(first + number), what, after));
        });
    }

  private:
    struct Long {
        Rank root;
        CirculantBlocks pieces;
    };
    // Blocks of consecutive ranks, or a part of one.
    struct Run {
        uint64_t begin = 0;
        uint64_t end = 0;  // bytes of the output
    };

    [[nodiscard]] Run run_of(Rank first, Rank last) const {
        return {shape_.block_offset(first), shape_.block_offset(last) + shape_.block_bytes(last)};
    }
    [[nodiscard]] Run own_run() const { return run_of(r_, r_); }
    [[nodiscard]] sched::Block own() const { return sched::input(0, shape_.block_bytes(r_)); }
    [[nodiscard]] static sched::Block place(const Run& run) {
        return sched::output(run.begin, run.end - run.begin);
    }
    [[nodiscard]] Run piece_of(Rank root, uint64_t i) const {
        const Run whole = run_of(root, root);
        const uint64_t begin = whole.begin + i * c_;
        return {begin, std::min(begin + c_, whole.end)};
    }

    // Calls visit(number, run) for what a round brings or takes, short blocks being those of so
    // many ranks from `first` on.
    template <class Piece, class Visit>
    void visit_messages(uint64_t round, Piece piece, Rank first, Visit visit) const {
        for (uint64_t i = 0; i < long_.size(); ++i) {
            const auto which = piece(long_[i].pieces);
            if (which) visit(i, piece_of(long_[i].root, *which));
        }
        if (round < shorts_ || round >= shorts_ + skips_.levels()) return;
        const auto k = static_cast<uint32_t>(round - shorts_);
        const uint64_t last = first + skips_[k + 1] - skips_[k] - 1;
        uint64_t number = kLongMax;
        const auto visit_between = [&](uint64_t from, uint64_t to) {
            for (const Long& one : long_) {
                if (one.root < from || one.root > to) continue;
                if (one.root > from) visit_run(from, one.root - 1, number++, visit);
                from = one.root + 1;
            }
            if (from <= to) visit_run(from, to, number++, visit);
        };
        visit_between(first, std::min<uint64_t>(last, p_ - 1));
        if (last >= p_) visit_between(0, last - p_);
    }
    template <class Visit>
    void visit_run(uint64_t from, uint64_t to, uint64_t number, Visit visit) const {
        const Run run = run_of(static_cast<Rank>(from), static_cast<Rank>(to));
        if (run.end > run.begin) visit(number, run);
    }

    template <class Visit>
    void visit_received(uint64_t round, Visit visit) const {
        const uint64_t before = skips_[static_cast<uint32_t>(round % skips_.levels()) + 1];
        visit_messages(
            round, [&](const CirculantBlocks& one) { return one.received(round); },
            static_cast<Rank>((r_ + p_ - before + 1) % p_),
            [&](uint64_t number, const Run& run) { visit(number, place(run)); });
    }
    // The own block alone is sent from the input.
    template <class Visit>
    void visit_sent(uint64_t round, Visit visit) const {
        const auto k = static_cast<uint32_t>(round % skips_.levels());
        const Run mine = own_run();
        visit_messages(
            round, [&](const CirculantBlocks& one) { return one.sent(round); },
            static_cast<Rank>((r_ + p_ + 1 - (skips_[k + 1] - skips_[k])) % p_),
            [&](uint64_t number, const Run& run) {
                const bool is_own = run.begin >= mine.begin && run.end <= mine.end;
                visit(number, is_own ? sched::input(run.begin - mine.begin, run.end - run.begin)
                                     : place(run));
            });
    }

    // Of the operations of a round, those that write this block.
    [[nodiscard]] uint64_t writers(uint64_t round, const sched::Block& what) const {
        if (what.buffer != sched::Buffer::kOutput) return sched::kAfterNone;
        uint64_t mask = 0;
        uint32_t index = 0;
        const auto consider = [&](uint64_t, const sched::Block& to) {
            const bool is_inside =
                to.offset < what.offset + what.bytes && what.offset < to.offset + to.bytes;
            if (is_inside) mask |= sched::after_op(index);
            ++index;
        };
        visit_received(round, consider);
        if (round == begin_ && own().bytes > 0) consider(0, place(own_run()));
        return mask;
    }

    Shape shape_;
    uint64_t p_;
    Rank r_;
    CirculantSkips skips_;
    uint64_t c_;
    std::vector<Long> long_;  // by rank
    uint64_t begin_ = 0;      // as CirculantBlocks counts rounds
    uint64_t end_ = 0;
    uint64_t shorts_ = 0;  // the first round of short blocks
};

}  // namespace

Algorithm allgatherv_circulant() {
    return {.name = AllgathervCirculant::kName,
            .collective = TUTTI_ALLGATHERV,
            .summary = "each block around a circle at q distances by turns, long ones in pieces",
            .obstacle = [](const Shape& shape) -> std::string_view {
                const bool is_too_long = shape.all_blocks_bytes() > sched::kBlockBytesMax;
                return is_too_long ? kTooLong : std::string_view();
            },
            .make = make<AllgathervCirculant>,
            .steps = [](const Shape& shape, const Tuning& tuning) -> uint64_t {
                if (shape.ranks == 1) return 0;
                return AllgathervCirculant(shape, 0, tuning).extent().rounds;
            },
            .reaches_far = true,
            .has_pieces = true};
}

}  // namespace tutti::algo
