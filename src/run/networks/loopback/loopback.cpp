// SPDX-License-Identifier: BSD-3-Clause
// Messages by Unix domain sockets of one machine, between hosts that are pretended: a network of no
// use but the tests', which shows what one is (docs/networks.md, docs/loopback.md).
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "run/arena/process.h"
#include "run/networks/loopback/meet_streams.h"
#include "run/networks/loopback/stream_messages.h"
#include "run/networks/message_network.h"

namespace tutti::networks::loopback {
namespace {

class TeamLoopback final : public TeamNetwork {
  public:
    TeamLoopback(Process& process, uint64_t machine, const topo::Placement& placement)
        : process_(process), machine_(machine), placement_(placement), messages_(1) {}

    // Each track has sockets of its own, so what nobody reads of one holds up no other.
    Result<Done> make(agree::Circle& all, const TeamTraits& traits) override {
        const auto make_room = [&] {
            messages_.resize(traits.tracks);
            return agree::Report{};
        };
        Result<Done> made = Done{};
        if (traits.tracks > 1) made = all.agree_briefly(agree::guarded(make_room));
        for (auto one = messages_.begin(); made && one != messages_.end(); ++one) {
            made = meet_streams(process_, machine_, placement_, all, *one);
        }
        return made;
    }
    transport::Transport* messages(uint32_t track) override { return messages_[track].get(); }
    [[nodiscard]] std::span<const transport::Rank> peers() const override {
        return messages_.front()->peers();
    }
    bool close() override {
        bool are_closed = true;
        for (const auto& one : messages_) are_closed &= one->close();
        return are_closed;
    }
    // What was cancelled is written nowhere.
    void give_up() override {}
    bool has_settled(bool is_sound) override {
        bool have_settled = true;
        for (const auto& one : messages_) {
            one->poll();
            have_settled &= !is_sound || one->has_flushed();
        }
        return have_settled;
    }
    [[nodiscard]] FactRow facts(const Whose& whose) const override {
        FactRow row = row_about(whose, "loopback", "messages by loopback on {}");
        row.key = "on";
        row.weight = uint64_t{2} * whose.ranks;
        row.add("state", "on");
        uint64_t sent = 0;
        for (const auto& one : messages_) sent += one->sent();
        row.add("peers", uint64_t{peers().size()}).say(" to {:rank}", 0);
        row.add("messages", sent).sum().say(", {:message} sent");
        return row;
    }

  private:
    Process& process_;
    const uint64_t machine_;
    const topo::Placement& placement_;
    std::vector<std::unique_ptr<StreamMessages>> messages_;  // by track
};

class Loopback final : public Network {
  public:
    explicit Loopback(Process& process) : process_(process) {}
    std::unique_ptr<TeamNetwork> make_team(const topo::Placement& placement, uint32_t) override {
        return std::make_unique<TeamLoopback>(process_, machine_, placement);
    }
    [[nodiscard]] FactRow process_facts() override {
        FactRow row;
        row.subject = "loopback";
        row.add("reaches", "pretended hosts of this machine");
        return row;
    }
    [[nodiscard]] FactRow facts_without(const Whose& whose, const std::string& why) const override {
        FactRow row = row_about(whose, "loopback", "no messages by loopback on {}");
        row.key = why;
        row.weight = whose.ranks;
        row.add("state", "off");
        row.add("reason", why).say(": {}");
        return row;
    }

  private:
    Process& process_;
    const uint64_t machine_ = arena::machine_hash();  // reading it may take memory
};

}  // namespace

std::unique_ptr<Network> make(Process& process) { return std::make_unique<Loopback>(process); }

}  // namespace tutti::networks::loopback
