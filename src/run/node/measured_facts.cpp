// SPDX-License-Identifier: BSD-3-Clause
#include "run/node/measured_facts.h"

#include <algorithm>
#include <string>

#include "base/text.h"
#include "run/node/figures_text.h"

namespace tutti::node {

namespace {

// Entries of a list: "one_way/0/bytes", "one_way/0/rings_ns".
class List {
  public:
    List(FactRow& row, std::string name) : row_(row), name_(std::move(name)) {
        row_.add(name_ + "/", nullptr);
    }
    void begin(const char* key, uint64_t value) {
        at_ = name_ + "/" + std::to_string(count_++) + "/";
        row_.add(at_ + key, value);
    }
    // 0: not measured.
    void add(const char* key, uint32_t ns) {
        if (ns != 0) row_.add(at_ + key, uint64_t{ns}).in(TUTTI_UNIT_NANOSECONDS);
    }

  private:
    FactRow& row_;
    std::string name_;
    std::string at_;
    uint32_t count_ = 0;
};

void add_ns(FactRow& row, std::string name, uint32_t ns) {
    if (ns != 0) row.add(std::move(name), uint64_t{ns}).in(TUTTI_UNIT_NANOSECONDS);
}

void add_times(FactRow& row, const char* name, const Times& times) {
    List list(row, name);
    for (size_t i = 0; i < kMeasuredBytes.size(); ++i) {
        if (times.ring[i] == 0 && times.single[i] == 0) continue;
        list.begin("bytes", kMeasuredBytes[i]);
        list.add("rings_ns", times.ring[i]);
        list.add("single_copy_ns", times.single[i]);
    }
}

std::string figures_line(const Figures& figures) {
    std::string text;
    for (const std::string& part : figures_text(figures)) {
        text += (text.empty() ? "" : "; ") + part;
    }
    return text;
}

void add_figures(FactRow& row, const Figures& figures) {
    row.add("barrier_ns", uint64_t{figures.barrier_ns})
        .in(TUTTI_UNIT_NANOSECONDS)
        .say(": " + figures_line(figures));
    for (size_t i = 0; i < kCopyWays; ++i) {
        add_ns(row, std::string("one_way_64k_ns/") + name_of(static_cast<CopyWay>(i)),
               figures.way_ns[i]);
    }
    add_ns(row, "one_way_64k_ns/short_ring", figures.short_ring_ns);
    add_times(row, "one_way", figures.one_way);
    add_times(row, "all_ways", figures.all_ways);
    add_ns(row, "one_way_1k_ns", figures.short_ns);
    add_ns(row, "folded_64k_ns", figures.fold_ns);
    List readers(row, "one_way_64k_readers");
    for (size_t i = 0; i < kReaderLimits; ++i) {
        if (figures.readers_ns[i] == 0) continue;
        readers.begin("readers", uint64_t{1} << i);
        readers.add("single_copy_ns", figures.readers_ns[i]);
    }
}

void add_bytes(FactRow& row, const char* name, uint64_t bytes) {
    row.add(name, bytes == kNever ? Fact::Value(nullptr) : Fact::Value(bytes)).in(TUTTI_UNIT_BYTES);
}

void add_tuning(FactRow& row, const NodeStory& story) {
    const Tuning& tuning = story.tuning;
    row.add("follows/way", name_of(tuning.way))
        .say("\n  -> " + consequence_text(story.figures, tuning, story.can_read));
    row.add("follows/pieces", uint64_t{tuning.pieces.count});
    add_bytes(row, "follows/piece_bytes_min", tuning.pieces.bytes_min);
    add_bytes(row, "follows/piece_bytes_max", tuning.pieces.bytes_max);
    add_bytes(row, "follows/ring_bytes", story.ring_bytes);
    row.add("follows/single_copy", story.may_read);
    add_bytes(row, "follows/single_copy_one_way_from_bytes", tuning.single_one_way);
    add_bytes(row, "follows/single_copy_all_ways_from_bytes", tuning.single_all_ways);
    add_bytes(row, "follows/single_copy_scatter_from_bytes", tuning.single_scatter);
    add_bytes(row, "follows/single_copy_once_from_bytes", tuning.single_once);
    const bool has_limit = tuning.readers_max != kAllReaders;
    row.add("follows/single_copy_readers_max",
            has_limit ? Fact::Value(uint64_t{tuning.readers_max}) : Fact::Value(nullptr));
}

}  // namespace

// Of two teams of the same processes that speaks which measured last, as far as can be told. Sets
// of many ranks stand first.
FactRow facts_of(const NodeStory& story) {
    const bool is_measured = story.figures.barrier_ns != 0;
    constexpr uint32_t kAgainMax = (1u << 23) - 1;
    FactRow row;
    row.subject = "nodes";
    row.key = story.host + "/" + hex_word(story.processes);
    row.weight = uint64_t{story.ranks} << 26;
    if (is_measured) {
        row.weight += (uint64_t{1} << 25) + uint64_t{2} * std::min(story.again, kAgainMax) +
                      (story.has_measured ? 1 : 0);
    }
    row.is_told = story.rank == 0;
    row.add("host", story.host).say("within {}");
    row.add("ranks", uint64_t{story.ranks}).say(", {:rank}");
    row.add("communicators", uint64_t{1}).sum().say(", {:communicator}");
    row.add("lean_communicators", uint64_t{story.is_lean ? 1u : 0u}).sum().say(" ({} lean)");
    row.add("measured", is_measured);
    if (is_measured) {
        row.add("measured_again", uint64_t{story.again}).sum().say(", measured again {:time}");
        add_figures(row, story.figures);
    } else {
        row.add("reason", story.unmeasured).say(": not measured: {}");
    }
    add_tuning(row, story);
    return row;
}

}  // namespace tutti::node
