// SPDX-License-Identifier: BSD-3-Clause
#include "lab/survey/link_survey.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

namespace tutti::survey {
namespace {

constexpr uint32_t kPairs = 3;  // of each kind, one after the other
constexpr size_t kCircle = 4;   // hosts that send to the next one each
constexpr uint32_t kShortTrips = 50;
constexpr uint32_t kLongTrips = 3;
constexpr uint32_t kPosted = 50;
constexpr uint64_t kShortBytes = 8;
// Transfers are as long as take this time: long against round trips and bursts.
constexpr uint64_t kLongNs = 20'000'000;
constexpr uint64_t kLongBytesMin = 64u << 10;
constexpr uint64_t kUnaskedBytesMin = 256;
constexpr uint64_t kUnaskedBytesMax = 1u << 20;
// Of a message: its MPI's own words, where a limit counts them too.
constexpr uint64_t kEnvelopeBytes = 256;
constexpr uint64_t kBurstBytesMin = 4u << 10;
// What is full carries less than this share of what could come.
constexpr double kFull = 0.8;
constexpr double kNoise = 1.05;
// An exchange takes so much longer than a shift: one message waits for the other.
constexpr double kInTurn = 1.25;
constexpr double kBothWaysMax = 2.2;  // one way at a time takes twice as long; more is no link's

// The first error ends all.
class Links {
  public:
    Links(const topo::Fabric& fabric, const Make& make) : fabric_(fabric), make_(make) {}
    Result<LinkFigures> measure();

  private:
    std::vector<uint64_t> times(Experiment::Kind kind, uint64_t bytes, uint32_t trips,
                                std::vector<Transfer> transfers);
    double one_way_ns(uint64_t bytes, const std::vector<Transfer>& pairs);
    struct Trial {
        double longest_ns;
        double mean_ns;
    };
    std::vector<Trial> trials(Experiment::Kind kind, const std::vector<Transfer>& at_once);
    double transfer_ns(Experiment::Kind kind, const std::vector<Transfer>& at_once);
    void measure_short();
    void measure_long();
    void measure_burst();
    void measure_both_ways();
    void measure_eager();
    void measure_between(const std::vector<uint32_t>& some, const std::vector<uint32_t>& others);

    const topo::Fabric& fabric_;
    const Make& make_;
    std::vector<Transfer> near_;
    std::vector<uint32_t> circle_;  // some hosts of one switch
    LinkFigures figures_;
    std::optional<Error> error_;
    double one_way_ns_ = 0;  // of a few bytes
    uint64_t bytes_ = 0;     // of what is long
    double half_ns_ = 0;     // of half of it, one way
    double bytes_per_ns_ = 0;
};

// kPairs of neighbours in this order, as far as there are.
std::vector<Transfer> pairs_of(const std::vector<uint32_t>& hosts) {
    std::vector<Transfer> pairs;
    for (size_t i = 0; i + 1 < hosts.size() && pairs.size() < kPairs; i += 2) {
        pairs.push_back({hosts[i], hosts[i + 1]});
    }
    return pairs;
}

uint64_t whole(double value) { return static_cast<uint64_t>(std::max(value, 0.0) + 0.5); }

std::vector<uint64_t> Links::times(Experiment::Kind kind, uint64_t bytes, uint32_t trips,
                                   std::vector<Transfer> transfers) {
    std::vector<uint64_t> none(transfers.size(), kMissingNs);
    if (error_ || transfers.empty()) return none;
    auto made = make_({kind, bytes, trips, std::move(transfers)});
    if (made) return std::move(made.value());
    error_ = made.error();
    return none;
}

// The median of the pairs, each by itself. Of short messages a pair's is the median of its trips;
// of long ones the fastest, as all that can be in their way makes them slower. Without an answer an
// error.
double Links::one_way_ns(uint64_t bytes, const std::vector<Transfer>& pairs) {
    const bool is_short = bytes == kShortBytes;
    std::vector<double> ways;
    for (const Transfer& pair : pairs) {
        uint64_t ns = kMissingNs;
        for (uint32_t trial = 0; trial < (is_short ? 1 : kLongTrips); ++trial) {
            const uint32_t trips = is_short ? kShortTrips : 1;
            ns = std::min(ns, times(Experiment::Kind::kRoundTrips, bytes, trips, {pair}).front());
        }
        if (ns != kMissingNs) ways.push_back(static_cast<double>(ns) / 2);
    }
    if (!ways.empty()) return median(std::move(ways));
    if (!error_) error_ = Error{ErrorCode::kNetwork, "no pair of hosts answered each other"};
    return 1;
}

void Links::measure_short() {
    one_way_ns_ = one_way_ns(kShortBytes, near_);
    std::vector<double> posts;
    for (const Transfer& pair : near_) {
        const uint64_t ns = times(Experiment::Kind::kPosts, kShortBytes, kPosted, {pair}).front();
        if (ns != kMissingNs) posts.push_back(static_cast<double>(ns));
    }
    // A round trip has both, and the message is not there before it has left.
    const double post = posts.empty() ? 0 : std::min(median(std::move(posts)), one_way_ns_ / 2);
    figures_.post_ns = whole(post);
    figures_.latency_ns = std::max<uint64_t>(whole(one_way_ns_ - post), 1);
}

void Links::measure_long() {
    double ns = 0;
    for (bytes_ = kLongBytesMin;; bytes_ *= 2) {
        ns = one_way_ns(bytes_, near_);
        if (error_ || ns >= kLongNs || bytes_ >= kLinkBytesMax) break;
    }
    half_ns_ = one_way_ns(bytes_ / 2, near_);
    const auto half = static_cast<double>(bytes_) / 2;
    // What a few bytes take is far less than half of it, so the rate is less than twice this.
    const double least = 2 * half / ns;
    bytes_per_ns_ = ns > half_ns_ ? std::min(half / (ns - half_ns_), 2 * least) : least;
    figures_.bits_per_s = whole(bytes_per_ns_ * 8e9);
}

// What comes sooner than by the rate passed at once. Believed where as many bytes alone come in
// less than half of the time of theirs.
void Links::measure_burst() {
    const double waits = figures_.eager_bytes < bytes_ / 2 ? 3 : 1;  // a request and its answer
    const double sooner =
        static_cast<double>(bytes_) / 2 - (half_ns_ - waits * one_way_ns_) * bytes_per_ns_;
    if (sooner < kBurstBytesMin || sooner > static_cast<double>(bytes_) / 4) return;
    const uint64_t burst = whole(sooner);
    const double ns = one_way_ns(burst, near_);
    if (ns - one_way_ns_ < sooner / bytes_per_ns_ / 2) figures_.burst_bytes = burst;
}

// By trial: when the last has come, and what they take on average; without those that miss one.
std::vector<Links::Trial> Links::trials(Experiment::Kind kind,
                                        const std::vector<Transfer>& at_once) {
    std::vector<Trial> all;
    for (uint32_t trial = 0; trial < kLongTrips; ++trial) {
        const auto ns = times(kind, bytes_, 0, at_once);
        if (std::ranges::count(ns, kMissingNs) > 0) continue;
        const double sum = std::accumulate(ns.begin(), ns.end(), 0.0);
        all.push_back({static_cast<double>(*std::ranges::max_element(ns)),
                       sum / static_cast<double>(ns.size())});
    }
    return all;
}

// The fastest of some, so that nothing else is in the way.
double Links::transfer_ns(Experiment::Kind kind, const std::vector<Transfer>& at_once) {
    const std::vector<Trial> all = trials(kind, at_once);
    return all.empty() ? 0 : std::ranges::min(all, {}, &Trial::longest_ns).longest_ns;
}

// In a circle of hosts each sends to the next, so both ways of all links are full. Pieces show what
// the links make of it. Of whole messages an answer may wait or not, as it happens; and in an
// exchange between two always one waits for the other. Two hosts alone do not tell which.
void Links::measure_both_ways() {
    constexpr auto kWhole = Experiment::Kind::kTransfers;
    constexpr auto kPieces = Experiment::Kind::kStreams;
    const Transfer there = near_.front();
    const std::vector<Transfer> exchange{there, {there.to, there.from}};
    const double one = transfer_ns(kWhole, {there});
    const double one_in_pieces = transfer_ns(kPieces, {there});
    const double both = transfer_ns(kWhole, exchange);
    if (one <= 0 || one_in_pieces <= 0 || both <= 0) return;
    std::vector<Transfer> shift;
    for (size_t i = 0; i < circle_.size(); ++i) {
        shift.push_back({circle_[i], circle_[(i + 1) % circle_.size()]});
    }
    const bool is_circle = circle_.size() > 2;
    const std::vector<Transfer>& full = is_circle ? shift : exchange;
    const auto permille = [](double slower) {
        const bool is_seen = slower > kNoise && slower <= kBothWaysMax;
        return is_seen ? static_cast<uint32_t>(whole(slower * 1000)) : 1000;
    };
    figures_.both_ways_permille = permille(transfer_ns(kPieces, full) / one_in_pieces);
    const std::vector<Trial> wholes = trials(kWhole, full);
    if (wholes.empty()) return;
    double mean_ns = 0;
    for (const Trial& trial : wholes) {
        mean_ns += trial.mean_ns / static_cast<double>(wholes.size());
    }
    figures_.long_in_turn = is_circle && both > kInTurn * std::max(mean_ns, one);
    const uint32_t of_long = permille(mean_ns / one);
    const double noisy = kNoise * figures_.both_ways_permille;
    if (of_long > noisy) figures_.long_both_ways_permille = of_long;
}

void Links::measure_eager() {
    const auto leaves = [&](uint64_t bytes) {
        return times(Experiment::Kind::kUnasked, bytes, 1, {near_.front()}).front() != kMissingNs;
    };
    uint64_t bytes = kUnaskedBytesMin;
    while (bytes <= kUnaskedBytesMax && leaves(bytes)) bytes *= 2;
    const uint64_t almost = bytes - kEnvelopeBytes;
    if (bytes > kUnaskedBytesMax) {
        figures_.eager_bytes = kUnaskedBytesMax;
    } else {
        figures_.eager_bytes = bytes > kUnaskedBytesMin && leaves(almost) ? almost : bytes / 2;
    }
}

// Hosts of two switches.
void Links::measure_between(const std::vector<uint32_t>& some,
                            const std::vector<uint32_t>& others) {
    const size_t most = std::min(some.size(), others.size());
    std::vector<Transfer> across;
    for (size_t i = 0; i < most; ++i) across.push_back({some[i], others[i]});
    const std::vector<Transfer> few(
        across.begin(), across.begin() + static_cast<ptrdiff_t>(std::min<size_t>(most, kPairs)));
    const topo::LinkRoute route = topo::link_route(fabric_, some.front(), others.front());
    const uint32_t hops = std::max(route.hops(), 3u) - 2;  // the other two are the hosts' own
    const double far_ns = one_way_ns(kShortBytes, few);
    figures_.hop_ns = std::max<uint64_t>(whole((far_ns - one_way_ns_) / hops), 1);

    const double longest = transfer_ns(Experiment::Kind::kTransfers, across);
    if (longest == 0) return;
    const double carried = static_cast<double>(most * bytes_) / longest;
    const double possible = static_cast<double>(most) * bytes_per_ns_;
    // Transfers of hosts that follow each other take parallel links in turn.
    const auto links = static_cast<double>(
        std::min<size_t>(most, fabric_.links_up(fabric_.switch_of_host[some.front()])));
    figures_.is_trunk_full = carried < kFull * possible;
    figures_.trunk_bits_per_s = whole((figures_.is_trunk_full ? carried : possible) / links * 8e9);
}

Result<LinkFigures> Links::measure() {
    std::vector<std::vector<uint32_t>> leaves(fabric_.switches());
    for (uint32_t host = 0; host < fabric_.hosts(); ++host) {
        leaves[fabric_.switch_of_host[host]].push_back(host);
    }
    std::erase_if(leaves, [](const auto& leaf) { return leaf.empty(); });
    std::ranges::stable_sort(leaves, std::greater<>(), &std::vector<uint32_t>::size);
    near_ = pairs_of(leaves.front());
    circle_ = leaves.front();
    circle_.resize(std::min(circle_.size(), kCircle));
    // Where no two hosts share a switch, near is what is nearest.
    if (near_.empty()) near_.push_back({leaves[0].front(), leaves[1].front()});
    measure_short();
    measure_long();
    measure_eager();
    measure_burst();
    measure_both_ways();
    if (leaves.size() > 1 && leaves.front().size() > 1) measure_between(leaves[0], leaves[1]);
    if (error_) return *error_;
    return figures_;
}

}  // namespace

Result<LinkFigures> measure_links(const topo::Fabric& fabric, const Make& make) {
    return Links(fabric, make).measure();
}

}  // namespace tutti::survey
