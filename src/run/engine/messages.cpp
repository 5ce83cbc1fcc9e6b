// SPDX-License-Identifier: BSD-3-Clause
#include "run/engine/messages.h"

#include <cstdio>
#include <cstring>

#include "base/collectives.h"
#include "base/text.h"
#include "plan/sched/shape.h"

namespace tutti::engine {
namespace {

constexpr const char* kOpNames[] = {"SUM",    "PROD",   "MIN",          "MAX", "LAND",
                                    "LOR",    "LXOR",   "BAND",         "BOR", "BXOR",
                                    "MINLOC", "MAXLOC", "user operator"};
static_assert(sizeof(kOpNames) / sizeof(kOpNames[0]) == TUTTI_OP_COUNT);

constexpr const char* kTypeNames[] = {
    "bytes",           "int8",        "int16",         "int32",          "int64",
    "uint8",           "uint16",      "uint32",        "uint64",         "bool",
    "logical8",        "logical16",   "logical32",     "logical64",      "float",
    "double",          "long double", "complex float", "complex double", "complex long double",
    "float-int",       "double-int",  "long-int",      "int-int",        "short-int",
    "long double-int", "float-float", "double-double"};
static_assert(sizeof(kTypeNames) / sizeof(kTypeNames[0]) == TUTTI_DTYPE_COUNT);

// Tells apart what has no room in a line.
std::string hash_text(uint64_t hash) {
    char text[8];
    std::snprintf(text, sizeof(text), "#%04x", static_cast<unsigned>(hash & 0xffff));
    return text;
}

std::string card_text(const CallCard& card) {
    if (card.label[0] != '\0')
        return std::string(card.label, strnlen(card.label, sizeof(card.label)));
    const auto collective = static_cast<tutti_collective>(card.collective);
    std::string text(collective_name(collective));
    if (collective == TUTTI_BARRIER) return text;
    if (has_root(collective)) {
        text += " root " + std::to_string(card.root);
    }
    if (is_reduction(collective) && card.op < TUTTI_OP_COUNT) {
        text += std::string(" ") + kOpNames[card.op];
    }
    if (has_private_lengths(collective)) return text;
    text += " " + std::to_string(card.bytes) + " bytes";
    if (has_lengths(collective)) text += " a block at most, lengths " + hash_text(card.lengths);
    const bool is_told = card.dtype != TUTTI_BYTE && card.dtype < TUTTI_DTYPE_COUNT;
    return is_told ? text + " of " + kTypeNames[card.dtype] : text;
}

}  // namespace

std::string rank_list(const std::vector<uint32_t>& ranks) {
    std::string text = ranks.size() == 1 ? "rank " : "ranks ";
    for (size_t i = 0; i < ranks.size();) {
        size_t last = i;
        while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
        if (i > 0) text += ", ";
        text += std::to_string(ranks[i]);
        if (last >= i + 2) {
            text += "-" + std::to_string(ranks[last]);
            i = last + 1;
        } else {
            ++i;
        }
    }
    return text;
}

std::string mismatch_message(const std::string& team_name, uint64_t call,
                             const std::vector<CallCard>& cards) {
    std::string text = "mismatch on " + team_name + " of " + std::to_string(cards.size()) +
                       " ranks (exchange " + std::to_string(call) + "):";
    std::vector<bool> told(cards.size(), false);
    const char* separator = " ";
    for (size_t i = 0; i < cards.size(); ++i) {
        if (told[i]) continue;
        std::vector<uint32_t> alike;
        for (size_t j = i; j < cards.size(); ++j) {
            if (!(cards[j] == cards[i])) continue;
            told[j] = true;
            alike.push_back(static_cast<uint32_t>(j));
        }
        text += separator + rank_list(alike) + ": " + card_text(cards[i]);
        separator = "; ";
    }
    return text;
}

namespace {

std::string stall_head(const Stall& stall) {
    char seconds[32];
    std::snprintf(seconds, sizeof(seconds), "%.1f s", static_cast<double>(stall.waited_ns) / 1e9);
    return "rank " + std::to_string(stall.rank) + " of " + stall.team_name + " has waited " +
           seconds + " in " + std::string(collective_name(stall.collective)) + " (call " +
           std::to_string(stall.call) + " of this communicator): ";
}

constexpr const char* kNobodyIsMissing = "all ranks have arrived, still waiting for data";

}  // namespace

std::string stall_message(const Stall& stall, const std::vector<uint32_t>& not_arrived) {
    if (not_arrived.empty()) return stall_head(stall) + kNobodyIsMissing;
    return stall_head(stall) + "not arrived: " + rank_list(not_arrived);
}

std::string stall_message(const Stall& stall, const StallAcross& across) {
    std::string text;
    const auto add = [&](const char* what, const std::vector<std::string>& names) {
        if (names.empty()) return;
        text += (text.empty() ? "" : "; ") + std::string(what);
        for (const std::string& name : names) text += (&name == &names[0] ? "" : ", ") + name;
    };
    add(across.was_asked ? "not arrived: " : "waits for messages of ", across.silent);
    add("waiting too: ", across.waiting);
    add("in another call: ", across.elsewhere);
    return stall_head(stall) + (text.empty() ? kNobodyIsMissing : text);
}

}  // namespace tutti::engine
