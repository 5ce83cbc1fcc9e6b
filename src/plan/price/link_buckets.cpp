// SPDX-License-Identifier: BSD-3-Clause
#include "plan/price/link_buckets.h"

#include "base/amounts.h"

namespace tutti::price {

Links::Links(const Network& network) : network_(network), links_(network.fabric.links()) {
    if (network.burst_bytes == 0) return;
    bursts_ns_.reserve(links_.size());
    for (uint32_t link = 0; link < count(); ++link) {
        bursts_ns_.push_back(bits_ns(network.burst_bytes, network.fabric.link_bits_per_s(link)));
    }
}

uint64_t Links::rated_ns(uint32_t link, uint64_t bytes) {
    const uint64_t rate = network_.fabric.link_bits_per_s(link);
    if (bytes != last_bytes_ || rate != last_rate_) {
        last_bytes_ = bytes;
        last_rate_ = rate;
        last_ns_ = bits_ns(bytes, network_.payload_bits_per_s(rate));
    }
    if (network_.foreign_permille == 1000 || network_.fabric.is_host_link(link)) return last_ns_;
    return last_ns_ * network_.foreign_permille / 1000;
}

Links::Passage Links::pass(uint32_t link, uint64_t head_ns, uint64_t tail_ns, uint64_t bytes,
                           bool is_long) {
    Link& one = links_[link];
    const uint64_t ns = rated_ns(link, bytes);
    const uint64_t saved_ns = burst_ns(link);
    const uint64_t begin_ns = std::max(head_ns, less_ns(one.full_ns, saved_ns));
    if (ns == 0) {
        const uint64_t end_ns = std::max(begin_ns, tail_ns);
        one.full_ns = std::max(one.full_ns, end_ns);
        return {begin_ns, end_ns};
    }
    one.full_ns = std::max(one.full_ns, head_ns) + ns;
    const uint64_t alone_ns = std::max(begin_ns, less_ns(one.full_ns, saved_ns));
    uint64_t end_ns = std::max(alone_ns, tail_ns);
    one.full_ns = std::max(one.full_ns, end_ns);
    one.load_ns += ns;
    one.has_long |= is_long;
    one.begun_ns = std::min(one.begun_ns, begin_ns);
    if (has_both_ways(link)) {
        const uint64_t more_ns = stretched_ns(link, {begin_ns, end_ns}, end_ns - alone_ns, is_long);
        one.full_ns += more_ns;
        end_ns += more_ns;
    }
    one.end_ns = std::max(one.end_ns, end_ns);
    return {begin_ns, end_ns};
}

// While both ways are busy each takes longer: what both still carry there. How much later this
// message ends; those on the other way that have not begun are moved.
uint64_t Links::stretched_ns(uint32_t link, Passage passage, uint64_t waited_ns, bool is_long) {
    Link& own = links_[link];
    Link& other = links_[link ^ 1];
    if (passage.begin_ns > own.end_ns) {
        own.busy_from_ns = passage.begin_ns;
        own.waited_ns = 0;
    }
    const uint64_t both_ns = less_ns(std::min(passage.end_ns, other.end_ns),
                                     std::max(passage.begin_ns, other.busy_from_ns));
    const uint64_t more_ns = network_.stretch_ns(both_ns, is_long);
    // Who waits for its bytes is not slower for it.
    own.waited_ns += less_ns(waited_ns, more_ns);
    const uint64_t moved_ns = less_ns(more_ns, other.waited_ns);
    other.waited_ns = less_ns(other.waited_ns, more_ns);
    other.full_ns += moved_ns;
    other.end_ns += moved_ns;
    return less_ns(more_ns, waited_ns);
}

Work Links::work(uint32_t link) const {
    const Link& own = links_[link];
    if (own.load_ns == 0) return {};
    Work work{
        .load_ns = own.load_ns, .window_ns = own.end_ns - own.begun_ns, .burst_ns = burst_ns(link)};
    if (has_both_ways(link)) {
        const uint64_t both_ns = std::min(own.load_ns, links_[link ^ 1].load_ns);
        work.load_ns += network_.stretch_ns(both_ns, own.has_long);
    }
    return work;
}

}  // namespace tutti::price
