// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/init.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "mpi/comm_state.h"
#include "mpi/environment.h"
#include "mpi/finish_report.h"
#include "mpi/front.h"
#include "mpi/p2p.h"

namespace tutti::mpi {

namespace {

constexpr std::string_view kRulesText = "TUTTI_RULES_TEXT=";
constexpr size_t kRulesBytesMax = 2u << 20;  // more than any file that is taken
constexpr size_t kNamesBytes = 128;          // of the variables in which a rank differs

abi::Datatype byte_type() { return front.handles.type[abi::kTypeByte]; }
abi::Datatype int_type() { return front.handles.type[abi::kTypeInt]; }

// Collective over the world.
std::vector<std::string> entries_of_rank_0(const std::vector<std::string>& mine) {
    std::string text = join_entries(mine);
    int length = static_cast<int>(text.size());
    front.host.bcast(&length, 1, int_type(), 0, front.handles.comm_world);
    text.resize(static_cast<size_t>(length));
    if (length > 0) {
        front.host.bcast(text.data(), length, byte_type(), 0, front.handles.comm_world);
    }
    return split_entries(text);
}

// Rank 0's rules hold for all, so their text travels with its settings. What is wrong with the file
// is said by whoever reads it again, rank 0's own context.
std::vector<std::string> with_rules(std::vector<std::string> entries) {
    if (front.world_rank != 0) return entries;
    constexpr std::string_view kFile = "TUTTI_RULES=";
    std::string text;
    for (const std::string& entry : entries) {
        if (!entry.starts_with(kFile)) continue;
        std::ifstream file(entry.substr(kFile.size()));
        if (!file) continue;
        text.resize(kRulesBytesMax);
        file.read(text.data(), static_cast<std::streamsize>(text.size()));
        text.resize(static_cast<size_t>(file.gcount()));
        text += '\n';  // an empty file is there, too
    }
    // Entries end at a null character, which no file of rules has.
    if (!text.empty() && text.find('\0') == std::string::npos)
        entries.push_back(std::string(kRulesText) + text);
    return entries;
}

std::vector<std::string> without_rules(std::vector<std::string> entries) {
    std::erase_if(entries, [](const std::string& one) { return one.starts_with(kRulesText); });
    return entries;
}

// Collective over the world. Rank 0 tells who was given other settings than itself.
void tell_differences(const std::vector<std::string>& mine, const std::vector<std::string>& held) {
    const std::string different = differing_names(mine, held);
    int differs = different.empty() ? 0 : 1, any = 0;
    const abi::Op max = front.handles.op[abi::kOpMax];
    front.host.allreduce(&differs, &any, 1, int_type(), max, front.handles.comm_world);
    if (any == 0) return;
    char own[kNamesBytes] = {};
    snprintf(own, sizeof own, "%s", different.c_str());
    const auto ranks = static_cast<size_t>(front.world_rank == 0 ? front.world_size : 0);
    std::vector<char> all(ranks * kNamesBytes + 1);
    front.host.gather(own, kNamesBytes, byte_type(), all.data(), kNamesBytes, byte_type(), 0,
                      front.handles.comm_world);
    if (front.world_rank != 0) return;
    std::vector<std::string> names(ranks);
    for (size_t rank = 0; rank < ranks; ++rank) names[rank] = &all[rank * kNamesBytes];
    print_line(describe_differences(names).c_str());
}

// Equal on ranks of one running kernel with one host name: containers on one machine may still be
// told apart by name, and what it is used for (how many ranks share the processors) needs no more.
uint64_t host_hash() {
    std::string text;
    std::ifstream("/proc/sys/kernel/random/boot_id") >> text;
    char name[256] = {};
    gethostname(name, sizeof name - 1);
    text += name;
    uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    return hash;
}

// Collective over the world.
uint32_t count_ranks_on_node() {
    const uint64_t mine = host_hash();
    std::vector<uint64_t> all(static_cast<size_t>(front.world_size));
    front.host.allgather(&mine, sizeof mine, byte_type(), all.data(), sizeof mine, byte_type(),
                         front.handles.comm_world);
    return static_cast<uint32_t>(std::count(all.begin(), all.end(), mine));
}

// Lets messages that the program has under way go on. The probe finds nothing of interest: whatever
// it finds stays where it is.
void progress(void*) {
    if (front.host_ended.load(std::memory_order_relaxed)) return;
    int found = 0;
    front.host.iprobe(abi::kAnySource, front.probe_tag, front.handles.comm_world, &found,
                      abi::status_ignore());
}

// What is for information stands in the report.
void log_line(void*, tutti_log_level level, const char* line) {
    if (level != TUTTI_LOG_INFO) print_line(line);
}

// As rules call it.
const char* host_name() {
    if (abi::kIsOmpi) return "openmpi";
    char version[abi::kLibraryVersionMax + 1] = {};
    int length = 0;
    const bool is_known = front.host.get_library_version(version, &length) == abi::kSuccess;
    return is_known && strstr(version, "Intel") != nullptr ? "impi" : "mpich";
}

tutti_status create_context(const std::vector<std::string>& entries, uint32_t ranks_on_node,
                            char* message, size_t message_bytes) {
    std::vector<const char*> settings;
    for (const std::string& entry : entries) settings.push_back(entry.c_str());
    tutti_context_params params{};
    params.struct_bytes = sizeof params;
    params.settings = settings.data();
    params.settings_count = settings.size();
    params.ranks_on_node = ranks_on_node;
    params.progress = progress;
    params.log = log_line;
    params.job_rank = static_cast<uint32_t>(front.world_rank);
    params.job_size = static_cast<uint32_t>(front.world_size);
    params.host_mpi = host_name();
    return tutti_context_create(&params, &front.context, message, message_bytes);
}

bool prepare_host(char* message, size_t message_bytes) {
    front.types.fill(front.host, front.handles);
    front.ops.fill(front.handles);
    void* tag_ub = nullptr;
    int found = 0;
    front.host.comm_get_attr(front.handles.comm_world, abi::kTagUb, &tag_ub, &found);
    front.probe_tag = found != 0 ? *static_cast<int*>(tag_ub) : 32767;
    if (!packs_without_header()) {
        snprintf(message, message_bytes, "MPI_Pack of this MPI adds to the data");
        return false;
    }
    if (front.world_size > 1 && !create_p2p_comm()) {
        snprintf(message, message_bytes, "this MPI gives out no copy of MPI_COMM_WORLD");
        return false;
    }
    if (front.host.comm_dup(front.handles.comm_self, &front.quiet_comm) != abi::kSuccess ||
        front.host.comm_set_errhandler(front.quiet_comm, front.handles.errors_return) !=
            abi::kSuccess) {
        snprintf(message, message_bytes, "this MPI gives out no communicator");
        return false;
    }
    if (!create_comm_keyval() || !create_type_keyval()) {
        snprintf(message, message_bytes, "this MPI gives out no attribute keys");
        return false;
    }
    return true;
}

// Collective over the world. The lowest rank that failed says why; then the job ends, in the
// quietest way that launchers know: all ranks finalize and leave with status 2.
void end_if_failed(bool failed, const char* message) {
    int mine = failed ? front.world_rank : front.world_size, lowest = 0;
    const abi::Op min = front.handles.op[abi::kOpMin];
    front.host.allreduce(&mine, &lowest, 1, int_type(), min, front.handles.comm_world);
    if (lowest == front.world_size) return;
    if (lowest == front.world_rank) print_line(message);
    front.host.finalize();
    fflush(nullptr);
    _exit(2);
}

const char* setting(const char* variable) {
    const char* value = tutti_context_setting(front.context, variable);
    return value != nullptr ? value : "";
}

// Collective over the world, right after the host's own start.
void start() {
    const HostGuard guard;
    front.host.comm_rank(front.handles.comm_world, &front.world_rank);
    front.host.comm_size(front.handles.comm_world, &front.world_size);
    const std::vector<std::string> mine = tutti_variables(environ, false);
    const std::vector<std::string> held = entries_of_rank_0(with_rules(mine));
    const uint32_t ranks_on_node = count_ranks_on_node();
    char message[512] = {};
    const tutti_status status = create_context(held, ranks_on_node, message, sizeof message);
    const bool off = status == TUTTI_ERR_OFF || (status == TUTTI_OK && *setting("TUTTI") == '0');
    const bool failed = !off && (status != TUTTI_OK || !prepare_host(message, sizeof message));
    end_if_failed(failed, message[0] != '\0' ? message : tutti_status_text(status));
    if (off) {
        if (front.context != nullptr) tutti_context_destroy(front.context);
        front.context = nullptr;
        return;
    }
    tell_differences(mine, without_rules(held));
    front.check = *setting("TUTTI_CHECK") == '1';
    front.report = *setting("TUTTI_REPORT") != '\0';
    // The check is made over the team, and the first calls are to be compared too.
    const unsigned long warmup = strtoul(setting("TUTTI_WARMUP"), nullptr, 10);
    front.warmup_calls = front.check ? 0 : static_cast<uint32_t>(warmup);
    front.active.store(true, std::memory_order_release);
}

// Who has left its last collective may still have to repair what others missed of it, so nobody
// ends before all are here; and who is here still helps those who are not.
void wait_for_all() {
    constexpr int kLooks = 1000;  // as long as another takes that comes at the same time
    constexpr int kLong = kLooks + 1000;
    const HostGuard guard;
    abi::Request request{};
    if (front.host.ibarrier(front.handles.comm_world, &request) != abi::kSuccess) return;
    for (int looks = 0;; looks += looks < kLong ? 1 : 0) {
        int done = 0;
        const int status = front.host.test(&request, &done, abi::status_ignore());
        if (status != abi::kSuccess || done != 0) break;
        tutti_context_attend(front.context, looks == kLong ? 1 : 0);
        if (looks < kLooks) {
            sched_yield();
        } else {
            usleep(1000);
        }
    }
    tutti_context_attend(front.context, 0);
}

}  // namespace

int init(int* argc, char*** argv) {
    if (thread_state.host_depth != 0) return front.host.init(argc, argv);
    int status = 0;
    {
        const HostGuard guard;
        status = front.host.init(argc, argv);
    }
    if (status == abi::kSuccess) start();
    return status;
}

int init_thread(int* argc, char*** argv, int required, int* provided) {
    if (thread_state.host_depth != 0) {
        return front.host.init_thread(argc, argv, required, provided);
    }
    int status = 0;
    {
        const HostGuard guard;
        status = front.host.init_thread(argc, argv, required, provided);
    }
    if (status == abi::kSuccess) start();
    return status;
}

// Teams outlive the host's own end: functions that the program hung on MPI_COMM_SELF run there and
// may still call collectives.
int finalize() {
    if (thread_state.host_depth != 0 || !front.active.load(std::memory_order_acquire)) {
        return front.host.finalize();
    }
    // Before the report, whose messages are the host's. Functions that are called from within the
    // host's own end have no such care taken of them.
    if (strcmp(setting("TUTTI_MCAST"), "off") != 0 && front.world_size > 1) wait_for_all();
    if (front.report) {
        const HostGuard guard;
        finish_report(setting("TUTTI_REPORT"), getenv("TUTTI_REPORT_MARK"));
    }
    front.host.comm_free(&front.quiet_comm);
    front.quiet_comm = front.handles.comm_self;  // for what still runs inside the host's own end
    const int status = front.host.finalize();
    front.host_ended.store(true, std::memory_order_relaxed);
    front.active.store(false, std::memory_order_release);
    destroy_leftover_states();
    tutti_context_destroy(front.context);
    front.context = nullptr;
    return status;
}

}  // namespace tutti::mpi
