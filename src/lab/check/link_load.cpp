// SPDX-License-Identifier: BSD-3-Clause
#include "lab/check/link_load.h"

#include <algorithm>
#include <tuple>

#include "base/amounts.h"
#include "base/topo/multicast_tree.h"

namespace tutti::check {
namespace {

std::vector<uint32_t> hosts_of(const topo::Placement& placement) {
    std::vector<uint32_t> hosts(placement.nodes());
    for (uint32_t host = 0; host < hosts.size(); ++host) hosts[host] = host;
    return hosts;
}

// What a step's messages put on links, which are all empty between two steps.
class Links {
  public:
    Links(const topo::Fabric& fabric, const topo::Placement& placement)
        : fabric_(fabric),
          placement_(placement),
          tree_(fabric, hosts_of(placement)),
          load_(fabric.links()) {}

    void add(std::span<const Passage> step) {
        if (std::ranges::is_sorted(step, {}, pair_of)) {
            add_sorted(step);
            return;
        }
        std::vector<Passage> sorted(step.begin(), step.end());
        std::ranges::sort(sorted, {}, pair_of);
        add_sorted(sorted);
    }
    // Only these carry anything.
    [[nodiscard]] std::vector<uint32_t>& loaded() { return loaded_; }
    [[nodiscard]] const std::vector<Load>& load() const { return load_; }
    void clear() {
        for (const uint32_t link : loaded_) load_[link] = {};
        loaded_.clear();
    }

  private:
    static std::tuple<Rank, bool, Rank> pair_of(const Passage& one) {
        return {one.sender, one.is_multicast, one.receiver};
    }
    void add_sorted(std::span<const Passage> step) {
        for (size_t i = 0; i < step.size(); ++i) {
            is_new_ = i == 0 || pair_of(step[i]) != pair_of(step[i - 1]);
            add(step[i]);
        }
    }
    void add(const Passage& passage) {
        const uint32_t from = placement_.node_of(passage.sender);
        if (passage.is_multicast) {
            if (placement_.nodes() == 1) return;
            add_multicast(topo::MulticastTree::first_link(from), passage.bytes);
            return;
        }
        const uint32_t to = placement_.node_of(passage.receiver);
        if (from == to) return;
        const topo::LinkRoute route = topo::link_route(fabric_, from, to);
        for (uint32_t hop = 0; hop < route.hops(); ++hop) put(route[hop], passage.bytes);
    }
    void put(uint32_t link, uint64_t bytes) {
        Load& load = load_[link];
        if (load.messages == 0) loaded_.push_back(link);
        ++load.messages;
        load.pairs += is_new_ ? 1 : 0;
        load.bytes += bytes;
    }
    void add_multicast(uint32_t link, uint64_t bytes) {
        put(link, bytes);
        tree_.for_each_next(link, [&](uint32_t next) { add_multicast(next, bytes); });
    }

    const topo::Fabric& fabric_;
    const topo::Placement& placement_;
    topo::MulticastTree tree_;
    bool is_new_ = true;      // the pair whose message is added
    std::vector<Load> load_;  // by link
    std::vector<uint32_t> loaded_;
};

}  // namespace

LinkLoad link_load(const topo::Fabric& fabric, const topo::Placement& placement,
                   std::span<const std::unique_ptr<sched::Program>> programs) {
    return link_load(fabric, placement, steps(placement, programs));
}

LinkLoad link_load(const topo::Fabric& fabric, const topo::Placement& placement,
                   std::span<const std::vector<Passage>> steps) {
    LinkLoad result;
    result.bytes.resize(fabric.links());
    Links links(fabric, placement);
    for (size_t number = 0; number < steps.size(); ++number) {
        links.add(steps[number]);
        std::sort(links.loaded().begin(), links.loaded().end());
        for (const uint32_t link : links.loaded()) {
            const Load& load = links.load()[link];
            result.bytes[link] += load.bytes;
            result.extra += load.pairs - 1;
            if (load.pairs <= result.pairs) continue;
            result.pairs = load.pairs;
            result.step = number;
            result.link = link;
        }
        links.clear();
    }
    return result;
}

std::vector<Load> step_load(const topo::Fabric& fabric, const topo::Placement& placement,
                            std::span<const Passage> step) {
    Links links(fabric, placement);
    links.add(step);
    return links.load();
}

uint32_t busiest_link(const topo::Fabric& fabric, std::span<const uint64_t> bytes) {
    uint32_t busiest = 0;
    uint64_t most_ns = 0;
    for (uint32_t link = 0; link < bytes.size(); ++link) {
        const uint64_t ns = bits_ns(bytes[link], fabric.link_bits_per_s(link));
        if (ns <= most_ns) continue;
        most_ns = ns;
        busiest = link;
    }
    return busiest;
}

std::string link_text(const topo::Fabric& fabric, uint32_t link,
                      std::span<const std::string> host_names,
                      std::span<const std::string> switch_names) {
    const auto name = [](std::span<const std::string> names, std::string_view what, uint32_t at) {
        return at < names.size() ? names[at] : std::string(what) + ' ' + std::to_string(at);
    };
    const bool is_up = link % 2 == 0;
    if (fabric.is_host_link(link)) {
        return (is_up ? "from " : "to ") + name(host_names, "host", link / 2);
    }
    const uint32_t at = fabric.switch_below(link);
    const std::string text = (is_up ? "up from " : "down to ") + name(switch_names, "switch", at);
    const uint32_t links = fabric.links_up(at);
    if (links == 1) return text;
    return text + ", link " + std::to_string(fabric.number_of_parallel(link) + 1) + " of " +
           std::to_string(links);
}

}  // namespace tutti::check
