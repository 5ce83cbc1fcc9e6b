// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/report.h"

#include <cstdio>
#include <cstring>
#include <ctime>

namespace tutti::mpi {

namespace {

constexpr uint32_t kOverflowText = 0;  // more kinds of text than the table holds

// Never 0, since 0 is a free slot: the top bit says "in use".
uint64_t make_key(Kind kind, Form form, uint8_t bytes_class, uint32_t ranks, uint32_t text) {
    return uint64_t{1} << 63 | uint64_t{static_cast<uint8_t>(form)} << 56 | uint64_t{kind} << 48 |
           uint64_t{bytes_class} << 40 | uint64_t{text} << 32 | ranks;
}

uint32_t home_of(uint64_t key) { return static_cast<uint32_t>((key * 0x9e3779b97f4a7c15u) >> 40); }

}  // namespace

uint64_t now_ns() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(t.tv_nsec);
}

// Texts are few and never leave, so a scan by address is the common case. Two threads that bring
// the same new text at once may take two numbers; merging by content makes them one again.
uint32_t Counters::text_number(const char* how) {
    for (uint32_t i = 1; i < kTexts; ++i) {
        const char* known = texts_[i].load(std::memory_order_acquire);
        if (known == how) return i;
        if (known != nullptr) continue;
        if (texts_[i].compare_exchange_strong(known, how, std::memory_order_acq_rel)) return i;
        if (known == how) return i;
    }
    return kOverflowText;
}

uint64_t Tally::estimated_ns() const {
    const uint64_t took_ns = nanoseconds.load(std::memory_order_relaxed);
    const uint64_t timed = covered.load(std::memory_order_relaxed);
    if (timed == 0) return took_ns;
    const double all = static_cast<double>(calls.load(std::memory_order_relaxed));
    return static_cast<uint64_t>(static_cast<double>(took_ns) * all / static_cast<double>(timed));
}

Tally* Counters::find(uint64_t key) {
    uint32_t at = home_of(key) % kSlots;
    // A full table drops what is new rather than slowing down the program; it holds far more kinds
    // than a program has.
    for (uint32_t tries = 0; tries < kSlots; ++tries, at = (at + 1) % kSlots) {
        Tally& slot = slots_[at];
        uint64_t held = slot.key.load(std::memory_order_relaxed);
        if (held == 0 && slot.key.compare_exchange_strong(held, key, std::memory_order_relaxed)) {
            held = key;
        }
        if (held == key) return &slot;
    }
    return nullptr;
}

void Counters::count(Kind kind, uint32_t ranks, uint64_t bytes, const char* how,
                     uint64_t nanoseconds) {
    Tally* const tally =
        find(make_key(kind, Form::kBlocking, size_class(bytes), ranks, text_number(how)));
    if (tally == nullptr) return;
    tally->add(bytes, false);
    tally->nanoseconds.fetch_add(nanoseconds, std::memory_order_relaxed);
}

Tally* Counters::passed(Kind kind, Form form, uint32_t ranks, uint64_t bytes) {
    return find(make_key(kind, form, size_class(bytes), ranks, kPassedText));
}

std::vector<ReportRecord> Counters::records() const {
    std::vector<ReportRecord> all;
    for (const Tally& slot : slots_) {
        const uint64_t key = slot.key.load(std::memory_order_relaxed);
        // A persistent collective may never have been started.
        if (slot.calls.load(std::memory_order_relaxed) == 0) continue;
        ReportRecord record;
        memset(&record, 0, sizeof record);  // padding too: the record travels as bytes
        record.kind = static_cast<uint8_t>(key >> 48 & 0xff);
        record.form = static_cast<uint8_t>(key >> 56 & 0x7f);
        record.size_class = static_cast<uint8_t>(key >> 40 & 0xff);
        record.ranks = static_cast<uint32_t>(key);
        record.calls = slot.calls.load(std::memory_order_relaxed);
        record.bytes = slot.bytes.load(std::memory_order_relaxed);
        record.nanoseconds = slot.estimated_ns();
        const uint32_t text = static_cast<uint32_t>(key >> 32) & 0xff;
        const char* how = text == kOverflowText ? "other" : texts_[text].load();
        snprintf(record.how, sizeof record.how, "%s", how);
        all.push_back(record);
    }
    return all;
}

}  // namespace tutti::mpi
