// SPDX-License-Identifier: BSD-3-Clause
// Which algorithm runs which call, as rules that a person can read and write: the first one that
// fits wins. The format is docs/formats/rules.md; the built-in rules are built_in.toml beside this.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/networks.h"
#include "base/result.h"
#include "base/settings.h"
#include "plan/algo/registry.h"
#include "plan/price/cluster_parameters.h"
#include "plan/select/fingerprint.h"

namespace tutti::select {

// Both ends belong to it.
struct Range {
    uint64_t low = 0;
    uint64_t high = std::numeric_limits<uint64_t>::max();
    [[nodiscard]] bool contains(uint64_t value) const { return low <= value && value <= high; }
    bool operator==(const Range&) const = default;
};

// "4", "2..16", "..4K", "64K.."; units as parse_bytes where `in_bytes`.
std::optional<Range> parse_range(std::string_view text, bool in_bytes);

// A file of more is a mistake, and every rank reads it.
inline constexpr size_t kRulesTextBytesMax = 256u << 10;

// What a rule may name beside the algorithms of the registry.
inline constexpr std::string_view kHostMpi = "host";  // your MPI's own
// Shared memory, for teams on one host; "node:small" names one of its algorithms
// (run/node/node_algorithms.h).
inline constexpr std::string_view kNodeLevel = "node";
inline constexpr std::array<std::string_view, 3> kHostMpiNames = {"openmpi", "mpich", "impi"};

struct Rule {
    uint32_t number = 0;  // in its file, from 1
    uint32_t line = 0;    // in its file, from 1
    // What it is about: everything unless said.
    std::array<bool, TUTTI_COLLECTIVE_COUNT> collectives{};
    std::optional<Range> bytes;  // of the vector, or of one rank's block
    std::optional<Range> ranks;
    std::optional<Range> hosts;
    std::optional<Range> ranks_per_host;  // of the fewest and of the most
    // Where the tree of switches is known, else none fits.
    std::optional<Range> switches;
    std::optional<Range> hosts_per_switch;  // of the fewest and of the most
    std::optional<bool> contiguous;         // the order of ranks is a walk along hosts and switches
    std::vector<std::string> mpis;          // empty: any
    std::optional<bool> commutative;
    std::array<std::optional<bool>, kNetworks.size()> networks;  // by number
    std::optional<bool> multicast;
    std::optional<Range> multicast_mbit;
    // What it says.
    std::string algorithm;
    std::optional<std::string> node_algorithm;  // of kNodeLevel; none: its own choice
    algo::Tuning tuning;
    std::string why;  // for people
};

// A name with options: what TUTTI_ALLREDUCE and --algorithm hold.
struct Forced {
    std::string algorithm;
    std::string node_algorithm;  // of kNodeLevel; empty: its own choice
    algo::Tuning tuning;
    bool operator==(const Forced&) const = default;
};

// "ring", "ring:segment=64K,lanes=4,leaders=2", "host", "node:small". An unknown name is an error
// that names the nearest one, one that the collective has not is too.
Result<Forced> parse_forced(tutti_collective collective, std::string_view text);

// Its options as rules write them: {"segment", "64K"}, {"flat", "true"}; none where nothing is set.
std::vector<std::pair<std::string, std::string>> tuning_entries(const algo::Tuning& tuning);
// As parse_forced() takes it: "ring:segment=64K,flat".
std::string forced_text(std::string_view algorithm, const algo::Tuning& tuning);

// What a rule asks of a call, as people say it: "allreduce, 64 KiB and more, 2 hosts and more".
std::string describe(const Rule& rule);

class Rules {
  public:
    // An error is one line that begins `file_name:line:column: `.
    static Result<Rules> parse(std::string_view text, std::string file_name);
    static const Rules& built_in();
    static std::string_view built_in_text();

    // Where these come from, for messages: "built-in", or the file's name.
    [[nodiscard]] const std::string& source() const { return source_; }
    // The same of one of them; others may have followed.
    [[nodiscard]] const std::string& source_of(const Rule& rule) const {
        return is_own(rule) ? source_ : tuned_source_;
    }
    [[nodiscard]] bool is_own(const Rule& rule) const {
        return static_cast<size_t>(&rule - rules_.data()) < own_count_;
    }
    // Puts those of a tuned file behind these, and takes what parameters these do not tell. Not
    // where these are all.
    void follow_with(Rules tuned);
    // In the order in which they are tried.
    [[nodiscard]] std::span<const Rule> rules() const { return rules_; }
    // Whether the built-in rules follow where none of these fits.
    [[nodiscard]] bool has_built_in_after() const { return has_built_in_after_; }
    // What messages take; then calls that none of these rules is about go by price, not by the
    // built-in ones.
    [[nodiscard]] const std::optional<price::ClusterParameters>& parameters() const {
        return parameters_;
    }
    // The preset that they are; empty: a file's own, or there are none.
    [[nodiscard]] const std::string& preset() const { return preset_; }
    // Of a tuned file (docs/formats/tuned.md): what it was measured with; then it may describe the
    // cluster's topology, too.
    [[nodiscard]] const std::optional<Fingerprint>& tuned() const { return tuned_; }
    [[nodiscard]] bool has_fabric() const { return has_fabric_; }
    // What goes before all rules for this collective; nullptr: nothing.
    [[nodiscard]] const Forced* forced(tutti_collective collective) const {
        const auto& one = forced_[collective];
        return one ? &*one : nullptr;
    }
    void force(tutti_collective collective, Forced forced) {
        forced_[collective] = std::move(forced);
    }

  private:
    std::string source_;
    std::vector<Rule> rules_;
    size_t own_count_ = std::numeric_limits<size_t>::max();  // the others are a tuned file's
    std::string tuned_source_;
    bool has_built_in_after_ = false;
    std::optional<price::ClusterParameters> parameters_;
    std::string preset_;
    std::optional<Fingerprint> tuned_;
    bool has_fabric_ = false;
    std::array<std::optional<Forced>, TUTTI_COLLECTIVE_COUNT> forced_;
};

// The text of a tuned file: rules that say what they were measured with.
Result<Rules> parse_tuned(std::string_view text, std::string file_name);
// Of these settings: RulesSettings::tuned_text if it is there, else the file tuned_file.
Result<std::optional<Rules>> load_tuned(const Settings& settings);

// What holds under these settings: RulesSettings::text if it is there, else the file
// RulesSettings::file; behind them those of the tuned file; without either the built-in rules
// alone; and the algorithms of RulesSettings::forced. Their text is parsed here and nowhere else: a
// mistake in it is an error, before any in the rules. Nobody looks whether the tuned file fits.
Result<Rules> load_rules(const Settings& settings);

}  // namespace tutti::select
