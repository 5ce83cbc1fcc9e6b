// SPDX-License-Identifier: BSD-3-Clause
#include "run/bootstrap/make_networks.h"

#include <utility>

namespace tutti::bootstrap {
namespace {

using networks::TeamNetworks;

// A line for people, which is left away where there is no memory.
void tell_obstacle(engine::Context& context, const std::string& name, uint32_t rank,
                   const TeamNetworks::Part& part, const std::string& why) {
    static_cast<void>(guarded([&] {
        const std::string title(kNetworks[part.number].title);
        const std::string line = name + " has no " + title + ": " + why;
        const bool is_wanted = context.settings().networks[part.number] == NetworkChoice::kOn;
        if (rank == 0 && context.process_multicast().is_new(line)) {
            context.log(is_wanted ? TUTTI_LOG_ERROR : TUTTI_LOG_INFO, line);
        }
        return Report{};
    }));
}

}  // namespace

Result<Done> make_networks(engine::Context& context, Circle& all, TeamNetworks& networks,
                           const networks::TeamTraits& traits, const std::string& name) {
    for (TeamNetworks::Part& part : networks.parts()) {
        context.remnants().tidy();  // what teams that were freed hold of it
        auto made = part.team->make(all, traits);
        if (made) {
            networks.use(part);
            continue;
        }
        const bool are_apart = made.error().code == ErrorCode::kBootstrap;
        if (!are_apart) tell_obstacle(context, name, all.rank, part, made.error().message);
        TeamNetworks::drop(part, are_apart ? std::string() : std::move(made.error().message));
        if (are_apart) return made;
    }
    return Done{};
}

}  // namespace tutti::bootstrap
