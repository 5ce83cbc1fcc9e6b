// SPDX-License-Identifier: BSD-3-Clause
// The C interface: opaque handles in front of Context, Team and Request. No exception crosses it.
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "base/collectives.h"
#include "base/facts.h"
#include "base/large_stack.h"
#include "base/text.h"
#include "run/bootstrap/make_team.h"
#include "run/engine/context.h"
#include "run/engine/team.h"
#include "run/engine/team_requests.h"
#include "run/node/kernels/kernels.h"
#include "run/site/fabric_search.h"
#include "run/site/job_fabric.h"
#include "run/site/site.h"
#include "run/site/tuned_search.h"

using tutti::Error;
using tutti::ErrorCode;
using tutti::engine::Context;
using tutti::engine::Request;
using tutti::engine::Team;

struct tutti_context {
    std::unique_ptr<Context> context;
};

namespace {

// A tutti_team is the Team itself: a handle of its own could fail on one member when all others
// have the team already. Questions may come through a const one.
Team& team_of(const tutti_team* team) {
    return *reinterpret_cast<Team*>(const_cast<tutti_team*>(team));
}

static_assert(sizeof(Request) <= TUTTI_REQUEST_BYTES && alignof(Request) <= alignof(tutti_request));
static_assert(std::is_trivially_destructible_v<Request>, "nobody frees a request");
Request& request_of(tutti_request* request) {
    return *std::launder(reinterpret_cast<Request*>(request->bytes));
}

tutti_status status_of(ErrorCode code) {
    switch (code) {
        case ErrorCode::kArgument:
            return TUTTI_ERR_ARGUMENT;
        case ErrorCode::kMemory:
            return TUTTI_ERR_MEMORY;
        case ErrorCode::kNode:
            return TUTTI_ERR_NODE;
        case ErrorCode::kBootstrap:
            return TUTTI_ERR_BOOTSTRAP;
        case ErrorCode::kOff:
            return TUTTI_ERR_OFF;
        case ErrorCode::kNetwork:
            return TUTTI_ERR_NETWORK;
        case ErrorCode::kSystem:
            break;
    }
    return TUTTI_ERR_SYSTEM;
}

void tell(const std::string& line, char* message, size_t message_bytes) {
    if (!message || message_bytes == 0) return;
    std::strncpy(message, line.c_str(), message_bytes - 1);
    message[message_bytes - 1] = '\0';
}

tutti_status report(const Error& error, char* message, size_t message_bytes) {
    tell(error.message, message, message_bytes);
    return status_of(error.code);
}

// Runs `make`, on a large stack, and turns whatever it throws into a status.
template <class Make>
tutti_status guarded(Make make, char* message, size_t message_bytes) {
    try {
        return tutti::on_large_stack(make);
    } catch (const std::bad_alloc&) {
        return report({ErrorCode::kMemory, "out of memory"}, message, message_bytes);
    } catch (const std::exception& error) {
        return report({ErrorCode::kSystem, error.what()}, message, message_bytes);
    }
}

}  // namespace

extern "C" {

tutti_status tutti_context_create(const tutti_context_params* params, tutti_context** context,
                                  char* message, size_t message_bytes) {
    if (!context) return TUTTI_ERR_ARGUMENT;
    *context = nullptr;
    const auto make = [&]() -> tutti_status {
        if (!params || params->struct_bytes != sizeof(tutti_context_params)) {
            return report({ErrorCode::kArgument, "tutti_context_params of another version"},
                          message, message_bytes);
        }
        auto made = Context::create(*params);
        if (!made) return report(made.error(), message, message_bytes);
        *context = new tutti_context{std::move(made.value())};
        return TUTTI_OK;
    };
    return guarded(make, message, message_bytes);
}

void tutti_context_destroy(tutti_context* context) { delete context; }

void tutti_context_attend(tutti_context* context, int has_waited_long) {
    tutti::multicast::ProcessMulticast& process = context->context->process_multicast();
    process.watch_all_for_others(has_waited_long != 0);
    process.attend_all();
    context->context->remnants().tidy();
}

tutti_status tutti_site_settings(const char* const* settings, size_t settings_count,
                                 void (*take)(void* user, const char* entry), void* user,
                                 char* message, size_t message_bytes) {
    const auto ask = [&]() -> tutti_status {
        std::vector<std::string> own;
        for (size_t i = 0; i < settings_count; ++i) own.emplace_back(settings[i]);
        const auto merged =
            tutti::site::merge(tutti::site::read_site(), tutti::site::own_program(), own);
        for (const std::string& entry : merged.entries) take(user, entry.c_str());
        if (merged.off.empty()) {
            tell(merged.left_out, message, message_bytes);
            return TUTTI_OK;
        }
        const ErrorCode code = merged.is_broken ? ErrorCode::kArgument : ErrorCode::kOff;
        return report({code, merged.off}, message, message_bytes);
    };
    return guarded(ask, message, message_bytes);
}

tutti_status tutti_tuned_find(const char* const* settings, size_t settings_count,
                              const char* library_version,
                              void (*take)(void* user, const char* entry), void* user,
                              char* message, size_t message_bytes) {
    tell("", message, message_bytes);
    if (library_version == nullptr) return TUTTI_ERR_ARGUMENT;
    const auto ask = [&]() -> tutti_status {
        const std::vector<std::string> held(settings, settings + settings_count);
        const auto found = tutti::site::tuned_entries(held, library_version);
        if (!found) return report(found.error(), message, message_bytes);
        for (const std::string& entry : found.value().entries) take(user, entry.c_str());
        tell(found.value().remark, message, message_bytes);
        return TUTTI_OK;
    };
    return guarded(ask, message, message_bytes);
}

tutti_status tutti_fabric_find(const char* const* settings, size_t settings_count, char* file,
                               size_t file_bytes, char* message, size_t message_bytes) {
    const auto ask = [&]() -> tutti_status {
        const std::vector<std::string> held(settings, settings + settings_count);
        auto search = tutti::site::fabric_search(tutti::site::Site(), held, getenv("SLURM_CONF"));
        if (!search) return report(search.error(), message, message_bytes);
        search.value().reads_yaml = false;
        const auto found = tutti::site::find_fabric(search.value());
        if (!found) return report(found.error(), message, message_bytes);
        if (found.value().file.size() >= file_bytes) {
            return report(
                {ErrorCode::kArgument, "the name of the cluster's description is too long"},
                message, message_bytes);
        }
        std::strcpy(file, found.value().file.c_str());
        return TUTTI_OK;
    };
    return guarded(ask, message, message_bytes);
}

tutti_status tutti_fabric_part(const char* file, const char* const* hosts, size_t hosts_count,
                               void (*take)(void* user, const char* text), void* user,
                               char* message, size_t message_bytes) {
    const auto ask = [&]() -> tutti_status {
        const std::vector<std::string> names(hosts, hosts + hosts_count);
        const auto part = tutti::site::fabric_part(file, names);
        if (!part) return report(part.error(), message, message_bytes);
        const std::string& missing = part.value().missing;
        // A list that is cut in the middle of a name would name another host.
        constexpr size_t kListBytesMax = 300;
        const bool is_long = missing.size() > kListBytesMax;
        const size_t end = is_long ? missing.rfind(',', kListBytesMax) : missing.size();
        const std::string line =
            tutti::printable(file) +
            ": not there, each on a switch of its own: " + missing.substr(0, end) +
            (is_long ? ", and others" : "");
        tell(missing.empty() ? "" : line, message, message_bytes);
        take(user, part.value().text.c_str());
        return TUTTI_OK;
    };
    return guarded(ask, message, message_bytes);
}

void tutti_context_host(const tutti_context* context, char* name, size_t name_bytes) {
    tell("", name, name_bytes);
    const auto ask = [&]() -> tutti_status {
        tell(context->context->fabric_host(), name, name_bytes);
        return TUTTI_OK;
    };
    guarded(ask, nullptr, 0);
}

tutti_status tutti_context_set_fabric(tutti_context* context, const char* text, char* message,
                                      size_t message_bytes) {
    context->context->forget_fabric();
    if (text == nullptr || *text == '\0') return TUTTI_OK;
    const auto make = [&]() -> tutti_status {
        auto fabric = tutti::site::parse_fabric_part(text);
        if (!fabric) return report(fabric.error(), message, message_bytes);
        const uint32_t own = fabric.value().find(context->context->fabric_host());
        context->context->set_fabric(std::move(fabric.value().tree), own, text);
        return TUTTI_OK;
    };
    return guarded(make, message, message_bytes);
}

void tutti_context_fabric(const tutti_context* context, uint32_t* hosts, uint32_t* switches) {
    const Context::OwnFabric* fabric = context->context->fabric();
    *hosts = fabric ? static_cast<uint32_t>(fabric->tree.place_of_host.size()) : 0;
    *switches = fabric ? fabric->switches() : 0;
}

const char* tutti_context_setting(const tutti_context* context, const char* variable) {
    return context && variable ? context->context->setting(variable) : nullptr;
}

const char* tutti_context_no_single_copy(const tutti_context* context) {
    return context ? context->context->findings().no_single_copy() : "";
}

tutti_status tutti_team_create(tutti_context* context, const tutti_team_params* params,
                               tutti_team** team, char* message, size_t message_bytes) {
    if (!team) return TUTTI_ERR_ARGUMENT;
    *team = nullptr;
    const auto make = [&]() -> tutti_status {
        if (!params || params->struct_bytes != sizeof(tutti_team_params)) {
            return report({ErrorCode::kArgument, "tutti_team_params of another version"}, message,
                          message_bytes);
        }
        const bool is_sound = context && params->size > 0 && params->rank < params->size &&
                              (params->allgather || params->size == 1);
        if (!is_sound) {
            return report(
                {ErrorCode::kArgument, "tutti_team_params: context, rank, size or allgather"},
                message, message_bytes);
        }
        if (params->requests > TUTTI_REQUESTS_MAX) {
            return report({ErrorCode::kArgument, "tutti_team_params: too many requests"}, message,
                          message_bytes);
        }
        if (!context->context->settings().on) {
            return report({ErrorCode::kOff, "switched off by TUTTI=off"}, message, message_bytes);
        }
        auto made = tutti::bootstrap::make_team(*context->context, *params);
        if (!made) return report(made.error(), message, message_bytes);
        *team = reinterpret_cast<tutti_team*>(made.value().release());
        return TUTTI_OK;
    };
    return guarded(make, message, message_bytes);
}

void tutti_team_destroy(tutti_team* team) {
    if (team) delete &team_of(team);
}

uint32_t tutti_team_rank(const tutti_team* team) { return team_of(team).rank(); }
uint32_t tutti_team_size(const tutti_team* team) { return team_of(team).size(); }

int tutti_is_exact(tutti_dtype dtype, tutti_op op) {
    return tutti::engine::is_exact(op, dtype) ? 1 : 0;
}

int tutti_reducible(tutti_dtype dtype, tutti_op op) {
    return tutti::node::find_kernel(dtype, op, tutti::node::Isa::kBaseline) != nullptr;
}

size_t tutti_dtype_bytes(tutti_dtype dtype) { return tutti::node::dtype_bytes(dtype); }

tutti_status tutti_run(tutti_team* team, const tutti_call* call) {
    return team_of(team).run(*call);
}

tutti_status tutti_resume(tutti_team* team, const void* send, void* recv) {
    return team_of(team).resume(send, recv);
}

tutti_status tutti_request_init(tutti_request* request, tutti_team* team, const tutti_call* call) {
    if (!request || !team || !call) return TUTTI_ERR_ARGUMENT;
    return tutti::engine::init(team_of(team), *call, *new (request->bytes) Request);
}

tutti_status tutti_request_start(tutti_request* request) {
    if (!request || !tutti::engine::is_over(request_of(request))) return TUTTI_ERR_ARGUMENT;
    tutti::engine::start(request_of(request));
    return TUTTI_OK;
}

tutti_status tutti_request_test(tutti_request* request) {
    return tutti::engine::test(request_of(request));
}

tutti_status tutti_request_wait(tutti_request* request) {
    return tutti::engine::wait(request_of(request));
}

const char* tutti_team_ran(const tutti_team* team) { return team_of(team).ran(); }

const char* tutti_algorithm(const tutti_team* team, const tutti_call* call) {
    return team_of(team).algorithm(*call);
}

tutti_status tutti_team_force(tutti_team* team, const tutti_call* call, const char* algorithm,
                              char* message, size_t message_bytes) {
    return guarded(
        [&] {
            const auto forced = team_of(team).force(*call, algorithm ? algorithm : "");
            if (forced) return TUTTI_OK;
            const tutti_status status = report(forced.error(), message, message_bytes);
            return status == TUTTI_ERR_ARGUMENT ? TUTTI_ERR_ALGORITHM : status;
        },
        message, message_bytes);
}

tutti_status tutti_check_foreign(tutti_team* team, const char* label) {
    return team_of(team).check_foreign(label);
}

void tutti_team_give_up(tutti_team* team, const char* why) {
    team_of(team).give_up(why ? why : "it cannot go on");
}

void tutti_team_rejected(tutti_team* team, const tutti_call* call) {
    team_of(team).rejected(*call);
}

void tutti_team_rejected_foreign(tutti_team* team, const char* label) {
    team_of(team).rejected_foreign(label);
}

const char* tutti_team_message(const tutti_team* team) { return team_of(team).message(); }

tutti_status tutti_team_facts(const tutti_team* team, int alone, tutti_fact_visitor visit,
                              void* state) {
    if (!team || !visit) return TUTTI_ERR_ARGUMENT;
    const auto tell = [&]() -> tutti_status {
        for (const tutti::FactRow& row : team_of(team).facts(alone != 0)) {
            const std::vector<tutti_fact> facts = tutti::c_facts(row);
            const tutti_fact_row told{sizeof told, row.subject.c_str(), row.key.c_str(),
                                      row.weight,  row.by_rank ? 1 : 0, facts.data(),
                                      facts.size()};
            visit(state, &told);
        }
        return TUTTI_OK;
    };
    return guarded(tell, nullptr, 0);
}

int tutti_team_host_left(tutti_team* team) {
    return team != nullptr && team_of(team).host_left() ? 1 : 0;
}

tutti_status tutti_team_finish_arrivals(tutti_team* team) {
    if (!team) return TUTTI_ERR_ARGUMENT;
    return guarded([&] { return team_of(team).finish_arrivals(); }, nullptr, 0);
}

const char* tutti_status_text(tutti_status status) {
    switch (status) {
        case TUTTI_OK:
            return "success";
        case TUTTI_PENDING:
            return "pending";
        case TUTTI_HOST:
            return "the embedder's own call";
        case TUTTI_CHOSEN:
            return "waits for its buffers";
        case TUTTI_ERR_ARGUMENT:
            return "malformed argument or setting";
        case TUTTI_ERR_MEMORY:
            return "not enough memory";
        case TUTTI_ERR_NODE:
            return "the ranks do not share one node and have no way between nodes";
        case TUTTI_ERR_BOOTSTRAP:
            return "the allgather callback failed";
        case TUTTI_ERR_MISMATCH:
            return "the ranks called different things";
        case TUTTI_ERR_SYSTEM:
            return "a system call failed";
        case TUTTI_ERR_OFF:
            return "switched off";
        case TUTTI_ERR_NETWORK:
            return "a message to or from another node failed";
        case TUTTI_ERR_ALGORITHM:
            return "the forced algorithm cannot run this call";
    }
    return "unknown status";
}

const char* tutti_collective_name(tutti_collective collective) {
    const auto index = static_cast<size_t>(collective);
    // Names are literals.
    return index < TUTTI_COLLECTIVE_COUNT ? tutti::collective_name(collective).data()
                                          : "collective";
}

}  // extern "C"
