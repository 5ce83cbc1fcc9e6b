// SPDX-License-Identifier: BSD-3-Clause
#include "run/engine/tracks.h"

#include <algorithm>

#include "base/assert.h"

namespace tutti::engine {

Tracks::Tracks(uint32_t count, Members& members, const ActiveLink& link, bool checks)
    : first_(members, link, checks) {
    for (uint32_t number = 1; number < count; ++number) {
        later_.push_back(std::make_unique<Track>(members, link, checks));
    }
    for (size_t number = 0; count > 1 && number < count; ++number) at(number).waits().join(*this);
}

void Tracks::keep(size_t wanted) {
    TUTTI_ASSERT(calls_ == 0 && wanted > 0 && wanted <= count(), "before the first call");
    later_.resize(wanted - 1);
}

Track& Tracks::take() {
    Track& track = next();
    ++calls_;
    return track;
}

bool Tracks::are_idle() const {
    return first_.is_idle() &&
           std::ranges::all_of(later_, [](const auto& track) { return track->is_idle(); });
}

bool Tracks::are_others_busy(const Queue& own) const {
    const auto is_busy = [&](const Track& track) { return !track.has(own) && !track.is_idle(); };
    return is_busy(first_) ||
           std::ranges::any_of(later_, [&](const auto& track) { return is_busy(*track); });
}

void Tracks::move_on() {
    for (size_t number = 0; number < count(); ++number) at(number).move_on();
}

void Tracks::move_others_on(const Queue& own) {
    for (size_t number = 0; number < count(); ++number) {
        if (!at(number).has(own)) at(number).move_on();
    }
}

void Tracks::listen_beside(const Queue& own) {
    for (size_t number = 0; number < count(); ++number) {
        Track& track = at(number);
        const Request* front = track.queue().front();
        if (!track.has(own)) track.control().listen_beside(front ? &front->op.call : nullptr);
    }
}

void Tracks::settle() {
    for (size_t number = 0; number < count(); ++number) at(number).settle();
}

void Tracks::settle_others(const Track& own) {
    for (size_t number = 0; number < count(); ++number) {
        if (&at(number) != &own) at(number).settle();
    }
}

void Tracks::end() {
    for (size_t number = 0; number < count(); ++number) at(number).end();
}

}  // namespace tutti::engine
