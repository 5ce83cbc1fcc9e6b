// SPDX-License-Identifier: BSD-3-Clause
#include "run/multicast/multicast_facts.h"

#include <utility>

#include "base/assert.h"

namespace tutti::multicast {

namespace {

using State = MulticastStory::State;
using transport::carrier::Protection;

uint64_t bytes_per_s(const sched::Speed& speed) { return speed.mbit * 1'000'000 / 8; }

const char* name_of(State state) {
    switch (state) {
        case State::kNone:
            return "none";
        case State::kLater:
            return "later";
        case State::kOff:
            return "off";
        case State::kOn:
            return "on";
        case State::kFailed:
            return "failed";
    }
    TUTTI_ASSERT(false, "one of these");
}

const char* headline(State state) {
    switch (state) {
        case State::kOff:
            return "multicast off on {}";
        case State::kOn:
            return "multicast on {}";
        case State::kFailed:
            return "multicast until a failure on {}";
        default:
            return "messages on {}";
    }
}

// Why it is not there, or how it came back.
const char* reason_phrase(const MulticastStory& story) {
    const bool came_back = story.returns > 0;
    if (story.state == State::kOn) return came_back ? ": came back {returns:time} ({})" : "";
    if (story.state == State::kFailed && came_back) {
        return ": {}, after it came back {returns:time}";
    }
    return ": {}";
}

struct Covered {
    const char* name;  // as the setting has it
    const char* phrase;
};

// What the code of packets covers.
Covered covered_by(Protection protection) {
    switch (protection) {
        case Protection::kAll:
            return {"all", ", authenticated: anyone who joins can read packets"};
        case Protection::kSecret:
            return {"all", ", encrypted"};
        case Protection::kHeader:
            return {
                "header",
                ", headers authenticated: anyone who joins can read packets, and send them again "
                "with other data (TUTTI_MCAST_CODE=header)"};
        case Protection::kNone:
            return {"none",
                    ", not authenticated: anyone who joins can read packets, and forge them "
                    "(TUTTI_MCAST_CODE=none)"};
    }
    TUTTI_ASSERT(false, "a key has one of these");
}

// What the choice between multicasts and messages goes by.
void add_messages(FactRow& row, const MulticastStory& story) {
    const uint64_t rate = bytes_per_s(story.message);
    if (rate == 0 && !story.has_group()) return;
    const char* phrase = " (one way at best {latency_s}; messages {}, {message_bytes_per_s})";
    if (!story.has_group()) {
        phrase = story.state == State::kOff
                     ? "; messages measured {}, {message_bytes_per_s}; where prices decide, by "
                       "that (TUTTI_PRICE)"
                     : ": measured {}, {message_bytes_per_s}; where prices decide, by that "
                       "(TUTTI_PRICE)";
    }
    row.add_seconds("message_latency_s", story.message.latency_ns).say(rate != 0 ? phrase : "", 0);
    row.add("message_bytes_per_s", rate).in(TUTTI_UNIT_BYTES_PER_SECOND);
}

// Why the other networks do not carry it.
void add_others(FactRow& row, const MulticastStory& story) {
    const AgreedMulticast& agreed = *story.agreed;
    const MulticastNetworkName& own = kMulticastNetworks[story.network];
    for (size_t i = 0; i < kMulticastNetworks.size(); ++i) {
        if (i == story.network) continue;
        const std::string title(kMulticastNetworks[i].title);
        const bool was_before = i < story.network;
        std::string why = agreed.obstacles[i];
        if (was_before && agreed.predicted[i] != Predicted{}) {
            why = std::string(own.title) + " is predicted to be faster";
        }
        const auto& lacks = agreed.lacks_prediction;
        if (why.empty() && !was_before && (lacks[i] || lacks[story.network])) {
            why =
                "no latency or rate was measured by " + (lacks[i] ? title : std::string(own.title));
        }
        if (why.empty()) continue;
        row.add("no_" + std::string(kMulticastNetworks[i].word), why)
            .say((was_before ? " (not by " : " (not compared with ") + title + ": {})");
    }
}

// "{predicted/a/short_s} by A, {predicted/b/short_s} by B".
std::string predicted_phrase(const AgreedMulticast& agreed, const std::string& what) {
    std::string phrase;
    for (size_t i = 0; i < kMulticastNetworks.size(); ++i) {
        if (agreed.predicted[i] == Predicted{}) continue;
        const auto& [word, title] = kMulticastNetworks[i];
        if (!phrase.empty()) phrase += ", ";
        phrase.append("{predicted/").append(word).append(what).append("} by ").append(title);
    }
    return phrase;
}

void add_choice(FactRow& row, const MulticastStory& story) {
    const AgreedMulticast& agreed = *story.agreed;
    row.add("over", std::string(kMulticastNetworks[story.network].word));
    add_others(row, story);
    std::string phrase = " (broadcasts predicted: 8 B " + predicted_phrase(agreed, "/short_s") +
                         "; 64 KiB " + predicted_phrase(agreed, "/long_s") + ")";
    for (size_t i = 0; i < kMulticastNetworks.size(); ++i) {
        const Predicted& predicted = agreed.predicted[i];
        if (predicted == Predicted{}) continue;
        const std::string at = "predicted/" + std::string(kMulticastNetworks[i].word);
        row.add_seconds(at + "/short_s", predicted.short_ns).say(std::exchange(phrase, {}));
        row.add_seconds(at + "/long_s", predicted.long_ns);
    }
}

void add_carried(FactRow& row, const Carried& carried) {
    const mcast::SenderCounters& sent = carried.group.sent;
    const mcast::ReceiverCounters& received = carried.group.received;
    const auto count = [&](const char* name, uint64_t value, const char* phrase) {
        row.add(name, value).sum().say(phrase, 0);
    };
    count("data_packets", sent.data, "; {:packet}");
    count("losses", received.gaps, ", {:lost packet}");
    count("naks", received.naks, ", {:NAK}");
    count("repairs_to_one", sent.repairs_to_one, ", {:repair} to one");
    count("repairs_to_all", sent.repairs_to_all, " and {} to all");
    count("repaired", received.repaired, "");
    count("repaired_in_10_ms", received.repaired_in_10_ms, " ({} of {repaired} within 10 ms");
    row.add_seconds("repair_s_max", received.repair_ns_max).most().say(", at most {})", 0);
    count("duplicates", received.duplicates + carried.group.packets_replayed, ", {:duplicate}");
    count("rejected", carried.all.rejected, ", {} rejected");
    count("ungrouped", carried.all.ungrouped, ", {} ungrouped");
    count("malformed", carried.group.packets_malformed, ", {} malformed");
    count("wakeups", carried.all.wakeups, "");
}

void add_group(FactRow& row, const MulticastStory& story) {
    const AgreedMulticast& agreed = *story.agreed;
    const bool has_failed = story.state == State::kFailed;
    row.add("group", uint64_t{agreed.group});
    row.add("returns", uint64_t{story.returns}).most();
    row.add("failures", uint64_t{story.returns} + (has_failed ? 1 : 0)).most();
    row.add("interface", story.carried ? story.carried->interface_name : "")
        .say(has_failed || story.returns > 0 ? "; {}" : ": {}");
    add_choice(row, story);
    row.add("address", agreed.address).say(", {}");
    // Where processors bound it, what to do is about them and not about the network.
    const bool is_bound = agreed.bytes_per_s > 0 && agreed.bytes_per_s == agreed.code_bytes_per_s;
    row.add("bytes_per_s", agreed.bytes_per_s)
        .in(TUTTI_UNIT_BYTES_PER_SECOND)
        .say(agreed.bytes_per_s == 0 ? ", not paced"
             : is_bound              ? ", {} (as fast as packets are coded)"
                                     : ", {}",
             0);
    row.add("code_bytes_per_s", agreed.code_bytes_per_s).in(TUTTI_UNIT_BYTES_PER_SECOND);
    row.add_seconds("round_trip_s", agreed.round_trip_ns).most().say(", round trip {}", 0);
    row.add_seconds("latency_s", agreed.latency_ns);
    add_messages(row, story);
    const Covered covered = covered_by(agreed.protection);
    row.add("code", covered.name).say(covered.phrase);
    row.add("encrypted", agreed.protection == Protection::kSecret);
    if (story.carried) add_carried(row, *story.carried);
}

// The same group, or teams that go without for the same reason, with messages as fast.
std::string key_of(const MulticastStory& story) {
    if (story.has_group()) return "group " + std::to_string(story.agreed->group);
    return std::string(story.state == State::kOff ? "off" : "untried") + ": " + story.reason +
           ": " + std::to_string(story.message.latency_ns) + " ns, " +
           std::to_string(story.message.mbit) + " Mbit/s";
}

}  // namespace

// Groups stand first. If one host noticed a failure, the row says so.
FactRow facts_of(const MulticastStory& story, const Whose& whose) {
    constexpr uint64_t kHasFailed = uint64_t{1} << 40;
    constexpr uint64_t kHasGroup = uint64_t{1} << 41;
    FactRow row = row_about(whose, "multicast", headline(story.state));
    row.key = key_of(story);
    row.weight = whose.ranks + (story.has_group() ? kHasGroup : 0) +
                 (story.state == State::kFailed ? kHasFailed : 0);
    row.add("state", name_of(story.state));
    if (!story.reason.empty()) row.add("reason", story.reason).say(reason_phrase(story));
    if (story.has_group()) {
        row.is_told = story.carried.has_value();
        // Each host of a group counts it; others are counted by one rank of each team.
        row.get("communicators")->most();
        add_group(row, story);
    } else {
        row.is_told = whose.rank == 0 && (story.state == State::kOff || story.message.mbit != 0);
        add_messages(row, story);
    }
    return row;
}

}  // namespace tutti::multicast
