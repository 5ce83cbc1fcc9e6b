// SPDX-License-Identifier: BSD-3-Clause
#include "run/exec/bundle_rows.h"

namespace tutti::exec {
namespace {

using Length = uint16_t;
static_assert(sizeof(Length) == sched::kBundledLengthBytes);
static_assert(sizeof(uint32_t) == sched::kBundleRowBytes);
static_assert(sched::kBundledBytesMax <= UINT16_MAX);

// Each row of a bundle, with the lengths and the messages; null where it has none: visit(lengths,
// messages).
template <class Visit>
void for_rows(const std::byte* bundle, uint32_t rows, uint32_t members, Visit visit) {
    for (uint32_t row = 0; row < rows; ++row) {
        const uint32_t bytes = row_bytes(get<uint32_t>(bundle));
        const std::byte* lengths = bytes > 0 ? bundle : nullptr;
        visit(lengths, lengths ? lengths + members * sizeof(Length) : nullptr);
        bundle += bytes;
    }
}

void pack_row(const BundlePlace& place, uint32_t node, std::span<const BundledPart> sent,
              std::span<const BundledPart> received, const std::byte* input, std::byte*& to) {
    const std::span<const uint32_t> others = place.on->members(node);
    uint32_t word = 0;
    uint64_t bytes = 0;
    for (const uint32_t other : others) {
        if (sent[other].is_there) word |= kRowSends;
        if (received[other].is_there) word |= kRowReceives;
        bytes += sent[other].bytes;
    }
    if (bytes > 0) bytes += others.size() * sizeof(Length);
    put(to, word | static_cast<uint32_t>(bytes));
    if (bytes == 0) return;
    for (const uint32_t other : others) put(to, static_cast<Length>(sent[other].bytes));
    for (const uint32_t other : others) {
        put_bytes(to, input + sent[other].offset, sent[other].bytes);
    }
}

}  // namespace

void MemberExchange::reserve(size_t members) {
    for (auto* one : {&given, &given_at, &taken, &taken_at}) one->reserve(members);
}

void MemberExchange::start(size_t members) {
    for (auto* one : {&given, &given_at, &taken, &taken_at}) one->assign(members, 0);
}

uint64_t MemberExchange::place_taken() {
    uint64_t end = 0;
    for (size_t i = 0; i < taken.size(); ++i) {
        taken_at[i] = end;
        end += taken[i];
    }
    return end;
}

void pack_rows(const BundlePlace& place, std::span<const BundledPart> sent,
               std::span<const BundledPart> received, const std::byte* input, std::byte* to,
               MemberExchange& exchange) {
    const std::byte* const begin = to;
    for (uint32_t leader = 0; leader < place.size; ++leader) {
        exchange.given_at[leader] = static_cast<uint64_t>(to - begin);
        place.for_led(leader,
                      [&](uint32_t node) { pack_row(place, node, sent, received, input, to); });
        exchange.given[leader] = static_cast<uint64_t>(to - begin) - exchange.given_at[leader];
    }
}

bool is_bundle(const BundlePlace& place, const std::byte* bundle, uint32_t from) {
    const uint32_t members = place.size;
    const uint64_t most = sched::bundle_bytes_max(1, members, place.message_bytes_max);
    for (uint32_t row = 0; row < from; ++row) {
        const uint32_t bytes = row_bytes(get<uint32_t>(bundle));
        if (bytes == 0) continue;
        if (bytes > most - sched::kBundleRowBytes || bytes < members * sizeof(Length)) return false;
        const std::byte* lengths = bundle;
        uint64_t needed = members * sizeof(Length);
        for (uint32_t i = 0; i < members; ++i) {
            const auto length = get<Length>(lengths);
            if (length > place.message_bytes_max) return false;
            needed += length;
        }
        if (needed != bytes) return false;
        bundle += bytes;
    }
    return true;
}

void add_given(const std::byte* bundle, uint32_t from, std::span<uint64_t> given) {
    const auto members = static_cast<uint32_t>(given.size());
    for_rows(bundle, from, members, [&](const std::byte* lengths, const std::byte*) {
        for (uint64_t& one : given) {
            one += sizeof(Length) + (lengths ? get<Length>(lengths) : Length{0});
        }
    });
}

void hand_on(const std::byte* bundle, uint32_t from, std::span<std::byte*> ends) {
    const auto members = static_cast<uint32_t>(ends.size());
    for_rows(bundle, from, members, [&](const std::byte* lengths, const std::byte* messages) {
        for (std::byte*& end : ends) {
            const Length length = lengths ? get<Length>(lengths) : Length{0};
            put(end, length);
            put_bytes(end, messages, length);
            if (messages) messages += length;
        }
    });
}

}  // namespace tutti::exec
