// SPDX-License-Identifier: BSD-3-Clause
#include "lab/machine/network_facts.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/networks.h"
#include "run/engine/context.h"
#include "run/networks/all/all_networks.h"
#include "run/networks/rdma/rdma_network.h"
#include "run/networks/ud_multicast/ud_facts.h"

namespace tutti::machine {
namespace {

struct NetworkSetting {
    SettingGroup group;
    const char* variable;
};
// By number.
constexpr NetworkSetting kNetworkSettings[] = {
#define TUTTI_NETWORK(name, title, group, variable, option, text) {group, variable},
#include "base/networks.inc"
#undef TUTTI_NETWORK
};

// One that looks at its networks and makes no team.
class Looker final : public networks::Process {
  public:
    explicit Looker(const Settings& settings) : settings_(settings) {}
    [[nodiscard]] const Settings& settings() const override { return settings_; }
    Clock& clock() override { return clock_; }
    [[nodiscard]] uint64_t member() const override { return 0; }
    void progress() const override {}

  private:
    const Settings& settings_;
    engine::RealClock clock_;
};

// Multicast may go by the port of messages.
void add_multicast(FactRow& row, const networks::Networks& all, const McastSettings& settings) {
    const auto port = networks::rdma::network_of(all).device();
    if (port) row.add("multicast", networks::ud_multicast::port_text(port.value(), settings));
}

}  // namespace

std::vector<FactRow> network_facts(const Settings& settings) {
    Looker process(settings);
    const networks::Networks all = networks::make_networks(process);
    std::vector<FactRow> rows;
    for (size_t number = 0; number < all.size(); ++number) {
        const NetworkSetting& setting = kNetworkSettings[number];
        const bool is_off = settings.networks[number] == NetworkChoice::kOff;
        if (is_off && setting.group == SettingGroup::kTest) continue;
        FactRow& row = rows.emplace_back();
        row.subject = kNetworks[number].title;
        row.add("used", is_off ? "no, by " + std::string(setting.variable) : "where all ranks can");
        for (Fact& fact : all[number]->process_facts().facts) {
            std::ranges::replace(fact.name, '_', ' ');
            row.facts.push_back(std::move(fact));
        }
        if (number == network_number("rdma")) add_multicast(row, all, settings.mcast);
    }
    return rows;
}

}  // namespace tutti::machine
