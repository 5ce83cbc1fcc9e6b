// SPDX-License-Identifier: BSD-3-Clause
// Multicast packets as anybody may send them: what parses is written to the same again, and a group
// that gets them, with whatever its application does meanwhile, keeps its invariants.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "run/mcast/group.h"

namespace {

using namespace tutti::mcast;

constexpr Member kMembers = 4;
constexpr uint32_t kTeam = 3;

void demand(bool condition) {
    if (!condition) std::abort();
}

// The input, byte by byte; zeros at its end.
class Source {
  public:
    explicit Source(std::span<const uint8_t> bytes) : bytes_(bytes) {}
    [[nodiscard]] bool is_empty() const { return bytes_.empty(); }
    uint8_t next() {
        if (bytes_.empty()) return 0;
        const uint8_t byte = bytes_.front();
        bytes_ = bytes_.subspan(1);
        return byte;
    }
    std::vector<std::byte> next(size_t count) {
        std::vector<std::byte> taken(count);
        for (std::byte& byte : taken) byte = std::byte{next()};
        return taken;
    }

  private:
    std::span<const uint8_t> bytes_;
};

void try_both_ways(std::span<const std::byte> bytes) {
    const auto packet = parse(bytes);
    if (!packet) return;
    std::vector<std::byte> again(std::max(bytes.size(), kControlBytesMax));
    const size_t written = write(*packet, again);
    // A train's packets are filled up.
    demand(written <= bytes.size());
    demand(std::equal(again.begin() + kCodeBytes,
                      again.begin() + static_cast<std::ptrdiff_t>(written),
                      bytes.begin() + kCodeBytes));
}

Params params() {
    Params params;
    params.members = kMembers;
    params.window_packets = 4;
    params.packet_bytes_max = kControlBytesMax;
    params.posts_max = 4;
    params.fan_out = 2;
    return params;
}

class Trial {
  public:
    explicit Trial(Source& source) : source_(source), group_(made()) {
        demand(static_cast<bool>(group_->open_team(kTeam)));
    }

    void step() {
        switch (source_.next() % 6) {
            case 0:
            case 1:
                packet();
                break;
            case 2:
                now_ns_ += uint64_t{1} << (source_.next() % 34);
                group_->tick(now_ns_);
                break;
            case 3:
                write_some();
                break;
            case 4:
                post();
                break;
            default:
                release();
        }
        std::array<std::byte, kControlBytesMax> out;
        Member to = kNobody;
        while (const size_t bytes = group_->next_packet(now_ns_, out, to)) {
            demand(parse(std::span<const std::byte>(out).first(bytes)).has_value());
            demand(to == kEverybody || to < kMembers);
        }
    }

  private:
    static std::unique_ptr<Group> made() { return std::move(Group::create(params()).value()); }

    // Most packets should get past the header: small numbers, the right magic.
    void packet() {
        const size_t count = source_.next();
        std::vector<std::byte> bytes(kCodeBytes);
        bytes.insert(bytes.end(), {std::byte{kMagic}, std::byte{kVersion},
                                   std::byte(source_.next() % 10), std::byte(source_.next() % 2)});
        bytes.insert(bytes.end(), 4, std::byte{0});
        bytes.insert(bytes.end(), {std::byte(source_.next() % (kMembers + 1)), std::byte{0}});
        // Mostly a new one.
        const uint8_t counter = source_.next();
        counter_ += counter % 4 == 0 ? 0 : counter;
        bytes.insert(bytes.end(), {std::byte(counter_ & 255), std::byte(counter_ >> 8 & 255)});
        bytes.insert(bytes.end(), 4, std::byte{0});
        bytes.insert(bytes.end(), 2, std::byte{uint8_t(source_.next() % 8 == 0 ? 0 : 255)});
        const auto rest = source_.next(count);
        bytes.insert(bytes.end(), rest.begin(), rest.end());
        try_both_ways(bytes);
        group_->on_packet(now_ns_, bytes);
    }
    void write_some() {
        const std::vector<std::byte> data(source_.next() * size_t{8});
        Outgoing message{{kTeam, source_.next(), 0, 0}, data, 0, false};
        group_->write(now_ns_, message);
    }
    void post() {
        if (is_posted_) return;
        place_.assign(source_.next(), std::byte{0});
        const auto sender = static_cast<Member>(source_.next() % kMembers);
        const MessageName name{kTeam, source_.next(), 0, 0};
        // The own number: for anybody's message.
        auto posted = sender == 0 ? group_->post_any(now_ns_, name, place_)
                                  : group_->post(now_ns_, sender, name, place_);
        demand(static_cast<bool>(posted));
        post_ = posted.value();
        is_posted_ = true;
    }
    void release() {
        if (!is_posted_) return;
        const bool is_done = group_->inbox().state(post_) == PostState::kDone;
        demand(!is_done || group_->inbox().message_bytes(post_) <= place_.size());
        group_->release(now_ns_, post_);
        is_posted_ = false;
    }

    Source& source_;
    std::unique_ptr<Group> group_;
    uint64_t now_ns_ = 1;
    uint64_t counter_ = 0;
    std::vector<std::byte> place_;
    PostId post_;
    bool is_posted_ = false;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
    const std::span<const uint8_t> input(data, bytes);
    try_both_ways(std::as_bytes(input));
    Source source(input);
    Trial trial(source);
    while (!source.is_empty()) trial.step();
    return 0;
}
