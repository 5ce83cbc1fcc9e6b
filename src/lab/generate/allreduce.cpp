// SPDX-License-Identifier: BSD-3-Clause
#include "lab/generate/allreduce.h"

#include <algorithm>

#include "base/assert.h"
#include "base/text.h"
#include "lab/generate/comment.h"
#include "lab/generate/template.h"

namespace tutti::generate {
namespace {

bool is_word(char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
           (letter >= '0' && letter <= '9') || letter == '_';
}

std::string table_of(std::span<const Stop> ring) {
    const std::vector<uint32_t> ranks = ranks_of(ring);
    Lines lines("    ");
    for (size_t i = 0; i < ranks.size(); ++i) {
        lines.add(std::to_string(ranks[i]) + (i + 1 < ranks.size() ? "," : ""));
    }
    return lines.text();
}

// "0", "0-3": ranks that follow each other are one word.
std::string ranks_text(std::span<const uint32_t> ranks) {
    std::string text;
    for (size_t i = 0; i < ranks.size();) {
        size_t last = i;
        while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
        text += (text.empty() ? "" : ",") + std::to_string(ranks[i]);
        if (last > i) text += "-" + std::to_string(ranks[last]);
        i = last + 1;
    }
    return text;
}

// A line or more for each switch, in the order of the walk.
std::string drawing_of(const topo::SwitchTree& tree, std::span<const Stop> ring,
                       const Labels& labels) {
    std::string text;
    for (size_t i = 0; i < ring.size();) {
        const uint32_t node = tree.place_of_host[ring[i].host].node;
        text += text.empty() ? "" : "\n";
        Lines name(" *   ");
        name.add(in_comment(labels.nodes[node]));
        text += name.text() + "\n";
        Lines lines(" *     ");
        for (; i < ring.size() && tree.place_of_host[ring[i].host].node == node; ++i) {
            lines.add("-> " + in_comment(labels.hosts[ring[i].host]) + " (" +
                      ranks_text(ring[i].ranks) + ")");
        }
        if (i == ring.size()) lines.add("-> back to the first");
        text += lines.text();
    }
    return text;
}

std::string origin_of(const Labels& labels) {
    std::string text;
    for (const std::string& line : labels.origin) {
        Lines lines(" * ", " *          ");
        lines.add(in_comment(line));
        text += (text.empty() ? "" : "\n") + lines.text();
    }
    return text;
}

// Nodes of several switches that messages of the ring pass: the lowest that is above all its hosts,
// and what is below that and above some.
std::vector<uint32_t> merged_nodes(const topo::SwitchTree& tree, std::span<const Stop> ring) {
    std::vector<size_t> below(tree.nodes.size());
    for (const Stop& stop : ring) ++below[tree.place_of_host[stop.host].node];
    for (size_t node = tree.nodes.size(); node-- > 1;) {
        below[tree.nodes[node].parent] += below[node];
    }
    uint32_t top = 0;
    for (uint32_t node = 0; node < below.size(); ++node) {
        if (below[node] == ring.size()) top = node;
    }
    std::vector<uint32_t> merged;
    for (uint32_t node = top; ring.size() > 1 && node < below.size(); ++node) {
        if (below[node] > 0 && tree.nodes[node].switches.size() > 1) merged.push_back(node);
    }
    return merged;
}

// What is said of links holds on the tree; where that is not the cluster's, it says so.
std::string claim_of(const topo::SwitchTree& tree, std::span<const Stop> ring,
                     const Labels& labels) {
    const std::vector<uint32_t> merged = merged_nodes(tree, ring);
    Lines lines(" * ");
    const auto say = [&](std::string_view words) {
        for (const std::string_view word : split(words, ' ')) lines.add(word);
    };
    if (merged.empty()) {
        say("share a link of the tree of switches.");
        return lines.text();
    }
    say("share a link, on the tree that `tutti fabric` prints; these switches are taken for one:");
    for (const uint32_t node : merged) {
        lines.add(in_comment(labels.nodes[node]) + (node == merged.back() ? "." : ";"));
    }
    say("Among those, messages may meet.");
    return lines.text();
}

struct Insert {
    std::string_view mark;
    std::string text;
};

// One pass, so that what is put in is not read again.
std::string filled(std::string_view text, std::span<const Insert> inserts) {
    std::string result;
    while (!text.empty()) {
        const size_t begin = text.find('@');
        result += text.substr(0, begin);
        if (begin == std::string_view::npos) break;
        const size_t end = text.find('@', begin + 1);
        TUTTI_ASSERT(end != std::string_view::npos, "a mark of the template has two ends");
        const std::string_view mark = text.substr(begin + 1, end - begin - 1);
        const auto found = std::ranges::find(inserts, mark, &Insert::mark);
        TUTTI_ASSERT(found != inserts.end(), "a mark of the template is known");
        result += found->text;
        text.remove_prefix(end + 1);
    }
    return result;
}

}  // namespace

std::string identifier_of(std::string_view text) {
    std::string name(text);
    std::ranges::replace_if(
        name, [](char letter) { return !is_word(letter); }, '_');
    return name;
}

std::string allreduce_source(const topo::SwitchTree& tree, std::span<const Stop> ring,
                             const Labels& labels) {
    TUTTI_ASSERT(!ring.empty(), "a ring has ranks");
    const std::string ranks = std::to_string(ranks_of(ring).size());
    const std::string compile[] = {"mpicc", "-DSELFTEST", labels.file};
    const Insert inserts[] = {{"name", labels.name},
                              {"claim", claim_of(tree, ring, labels)},
                              {"command", command_lines("Made by:", labels.command)},
                              {"origin", origin_of(labels)},
                              {"test", command_lines("Test against MPI_Allreduce:", compile,
                                                     "&& mpirun -n " + ranks + " ./a.out")},
                              {"ranks", ranks},
                              {"ring", drawing_of(tree, ring, labels)},
                              {"table", table_of(ring)}};
    return filled(allreduce_template(), inserts);
}

}  // namespace tutti::generate
