// SPDX-License-Identifier: BSD-3-Clause
// The members of a team, what they agreed on when it was made, and whether it has broken down. The
// team and its tracks share it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "run/arena/arena.h"
#include "run/arena/home.h"
#include "run/engine/context.h"
#include "run/engine/wait.h"
#include "run/node/node_team.h"
#include "run/notes/notes.h"
#include "tutti/tutti.h"

namespace tutti::engine {

// Where the own node's figures come from.
struct NodeSource {
    uint64_t processes = 0;     // equal for teams of the same ones
    bool has_measured = false;  // these figures, when this team was made
    bool is_crowded = false;    // more ranks of the node than processors
};

struct Members {
    Members(Context& context_of_all, const tutti_team_params& params)
        : context(context_of_all),
          name(params.name ? params.name : "a team"),
          rank(params.rank),
          size(params.size),
          allgather(params.allgather),
          allgather_user(params.allgather_user),
          is_in_turn(params.in_turn != 0) {
        message.reserve(name.size() + sizeof(notes::Note));
    }
    Members(const Members&) = delete;
    Members& operator=(const Members&) = delete;

    Context& context;
    std::string name;
    uint32_t rank;
    uint32_t size;
    // The embedder's; while the team is made, and with multicast_later as long as there is one.
    int (*allgather)(void* user, const void* in, void* out, size_t bytes);
    void* allgather_user;
    bool is_in_turn;  // has no requests
    WaitPolicy policy;

    // The own node's part; no arena for a member that is alone on its node.
    std::shared_ptr<arena::Arena> arena;
    arena::TeamMemory memory;
    node::Team node;                      // of the first track
    std::vector<node::Team> later_nodes;  // of the others, from the second on
    uint32_t node_leader = 0;  // by its place on the node: who owns the arena, but of lean teams
    NodeSource node_source;

    // Not TUTTI_OK: a message failed, or a member gave up. No further call runs.
    tutti_status broken = TUTTI_OK;
    std::string message;

    // Its name, for messages.
    [[nodiscard]] std::string host() const {
        tutti_team_params params{};
        params.rank = rank;
        params.size = size;
        return context.host_of(params);
    }
    [[nodiscard]] node::Team& node_of(size_t track) {
        return track == 0 ? node : later_nodes[track - 1];
    }
    [[nodiscard]] bool is_broken() const { return broken != TUTTI_OK; }
    // This member takes part in no further call. Allocates nothing; the text is as long as a note's
    // at most.
    void break_down(tutti_status status, const char* text) {
        broken = status;
        message.assign(name);
        message.append(": ").append(text);
    }
};

}  // namespace tutti::engine
