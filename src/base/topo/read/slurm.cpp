// SPDX-License-Identifier: BSD-3-Clause
#include "base/topo/read/slurm.h"

#include <algorithm>
#include <string_view>

#include "base/text.h"
#include "base/topo/read/hostlist.h"

namespace tutti::topo {
namespace {

// Parentheses are in no name that Slurm takes.
constexpr std::string_view kAboveBlocks = "(blocks)";

class SlurmFabric {
  public:
    SlurmFabric(const std::string& source, const std::vector<SlurmEntry>& entries)
        : source_(source), entries_(entries), made_(source), below_(entries.size()) {}

    Result<Topology> make() {
        for (const SlurmEntry& entry : entries_) {
            if (entry.nodes.empty() && entry.switches.empty()) {
                return made_.wrong(entry.line,
                                   printable(entry.name) + " has neither nodes nor switches");
            }
            const auto added = made_.add_switch(entry.name, entry.line);
            if (!added) return added.error();
        }
        for (uint32_t number = 0; number < entries_.size(); ++number) {
            if (const auto done = add_nodes(number); !done) return done.error();
            if (const auto done = add_below(number); !done) return done.error();
        }
        if (const auto done = find_circle(); !done) return done.error();
        if (const auto done = join_blocks(); !done) return done.error();
        return made_.finish();
    }

  private:
    Result<std::vector<std::string>> names(const SlurmEntry& entry, const std::string& list) const {
        if (list.empty()) return std::vector<std::string>();
        auto found = expand_hostlist(list, kHostsMax);
        if (!found) return made_.wrong(entry.line, found.error().message);
        std::vector<std::string_view> sorted(found.value().begin(), found.value().end());
        std::sort(sorted.begin(), sorted.end());
        const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
        if (twice == sorted.end()) return found;
        return made_.wrong(entry.line,
                           printable(*twice) + " is named twice by " + printable(entry.name));
    }

    Result<Done> add_nodes(uint32_t number) {
        const SlurmEntry& entry = entries_[number];
        const auto list = names(entry, entry.nodes);
        if (!list) return list.error();
        for (const std::string& name : list.value()) {
            const auto* end = made_.find(name);
            if (!end || !end->is_host) {
                const auto added = made_.add_host(name, entry.line);
                if (!added) return added.error();
                end = made_.find(name);
            }
            const auto done = made_.add_link(*end, {false, number}, {.line = entry.line});
            if (!done) return done.error();
        }
        return Done{};
    }

    Result<Done> add_below(uint32_t number) {
        const SlurmEntry& entry = entries_[number];
        const auto list = names(entry, entry.switches);
        if (!list) return list.error();
        for (const std::string& name : list.value()) {
            const auto* end = made_.find(name);
            if (!end || end->is_host) {
                return made_.wrong(entry.line, "there is no switch " + printable(name));
            }
            below_[number].push_back(end->number);
            const auto done = made_.add_link({false, number}, *end, {.line = entry.line});
            if (!done) return done.error();
        }
        return Done{};
    }

    // Takes away, again and again, switches that have none above them.
    [[nodiscard]] Result<Done> find_circle() const {
        std::vector<uint32_t> above(entries_.size());
        for (const auto& list : below_) {
            for (const uint32_t number : list) ++above[number];
        }
        std::vector<uint32_t> ready;
        for (uint32_t number = 0; number < above.size(); ++number) {
            if (above[number] == 0) ready.push_back(number);
        }
        size_t taken = 0;
        while (!ready.empty()) {
            const uint32_t number = ready.back();
            ready.pop_back();
            ++taken;
            for (const uint32_t lower : below_[number]) {
                if (--above[lower] == 0) ready.push_back(lower);
            }
        }
        if (taken == above.size()) return Done{};
        // Whatever is left has one of those left above it; so going up one comes round.
        std::vector<uint32_t> upper(entries_.size(), 0);
        for (uint32_t number = 0; number < below_.size(); ++number) {
            if (above[number] == 0) continue;
            for (const uint32_t lower : below_[number]) upper[lower] = number;
        }
        const auto some =
            std::find_if(above.begin(), above.end(), [](uint32_t count) { return count > 0; });
        auto at = static_cast<uint32_t>(some - above.begin());
        for (size_t step = 0; step < entries_.size(); ++step) at = upper[at];
        return topology_error(source_, entries_[at].line,
                              "switch " + printable(entries_[at].name) + " is below itself");
    }

    Result<Done> join_blocks() {
        std::vector<uint32_t> blocks;
        for (uint32_t number = 0; number < entries_.size(); ++number) {
            if (entries_[number].is_block) blocks.push_back(number);
        }
        if (blocks.size() < 2) return Done{};
        const auto top = made_.add_switch(kAboveBlocks, entries_[blocks[0]].line);
        if (!top) return top.error();
        for (const uint32_t block : blocks) {
            const auto done = made_.add_link({false, top.value()}, {false, block},
                                             {.line = entries_[block].line});
            if (!done) return done.error();
        }
        return Done{};
    }

    const std::string& source_;
    const std::vector<SlurmEntry>& entries_;
    TopologyBuilder made_;
    std::vector<std::vector<uint32_t>> below_;  // by entry: switches that it names
};

}  // namespace

Result<Topology> topology_of_slurm(const std::string& source,
                                   const std::vector<SlurmEntry>& entries) {
    return SlurmFabric(source, entries).make();
}

}  // namespace tutti::topo
