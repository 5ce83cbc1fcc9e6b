// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/init.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "base/large_stack.h"
#include "mpi/agreement.h"
#include "mpi/comm_state.h"
#include "mpi/environment.h"
#include "mpi/finish_report.h"
#include "mpi/front.h"
#include "mpi/host_calls.h"
#include "mpi/host_messages.h"
#include "mpi/presence_mail.h"
#include "mpi/switches_of_job.h"
#include "mpi/tuned.h"
#include "mpi/verify.h"
#include "mpi/watches.h"

namespace tutti::mpi {

namespace {

constexpr std::string_view kRulesFile = "TUTTI_RULES=";
constexpr std::string_view kRulesText = "TUTTI_RULES_TEXT=";
constexpr size_t kRulesBytesMax = 2u << 20;  // more than any file that is taken
constexpr size_t kNamesBytes = 128;          // of the variables in which a rank differs

abi::Datatype byte_type() { return front.host.handles.type[abi::kTypeByte]; }
abi::Datatype int_type() { return front.host.handles.type[abi::kTypeInt]; }

// Rank 0's rules hold for all, so their text travels with its settings. What is wrong with the file
// is said by whoever reads it again, rank 0's own context.
std::vector<std::string> with_rules(std::vector<std::string> entries) {
    if (front.world.rank != 0) return entries;
    std::string text;
    for (const std::string& entry : entries) {
        if (!entry.starts_with(kRulesFile)) continue;
        std::ifstream file(entry.substr(kRulesFile.size()));
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

// What rank 0's site has to say goes below its variables, or above them all. That the site's file
// is broken is told to everybody.
std::vector<std::string> with_site(const std::vector<std::string>& own, bool& is_broken) {
    std::vector<const char*> settings;
    for (const std::string& entry : own) settings.push_back(entry.c_str());
    std::vector<std::string> entries;
    const auto take = [](void* user, const char* entry) {
        static_cast<std::vector<std::string>*>(user)->emplace_back(entry);
    };
    char why[512] = {};
    const tutti_status status =
        tutti_site_settings(settings.data(), settings.size(), take, &entries, why, sizeof why);
    if (status == TUTTI_ERR_MEMORY) throw std::bad_alloc();
    is_broken = status == TUTTI_ERR_ARGUMENT;
    if (is_broken) {
        print_line((std::string("everything stays with your MPI: ") + why).c_str());
    } else if (status == TUTTI_OK && why[0] != '\0') {
        print_line(why);
    }
    return entries;
}

// Rank 0's own variables among those that hold.
std::vector<std::string> own_of(std::vector<std::string> held) {
    constexpr std::string_view kSiteNames = "TUTTI_SITE_NAMES=";
    std::string names = ",";
    for (const std::string& one : held) {
        if (one.starts_with(kSiteNames)) names += one.substr(kSiteNames.size()) + ",";
    }
    std::erase_if(held, [&](const std::string& one) {
        const std::string name = one.substr(0, one.find('='));
        return one.starts_with(kRulesText) || one.starts_with("TUTTI_SITE_") ||
               one.starts_with("TUTTI_TUNED_") || names.find("," + name + ",") != std::string::npos;
    });
    return held;
}

// A file that rank 0 could not read is read by nobody: another rank may have one of that name.
// Rank 0 itself keeps the name, and says what is wrong with it.
void drop_unread_rules(std::vector<std::string>& entries) {
    const auto is_text = [](const std::string& one) { return one.starts_with(kRulesText); };
    if (front.world.rank == 0 || std::any_of(entries.begin(), entries.end(), is_text)) return;
    std::erase_if(entries, [](const std::string& one) { return one.starts_with(kRulesFile); });
}

// What the ranks have told each other.
struct Meeting {
    std::vector<std::string> mine;        // this rank's variables
    std::vector<std::string> held;        // rank 0's, which hold for all
    uint64_t host = 0;                    // see host_hash()
    std::unique_ptr<uint64_t[]> hosts;    // by rank
    std::unique_ptr<char[]> differences;  // at rank 0: kNamesBytes a rank
    bool site_is_broken = false;          // at rank 0, which has said so
};

// Without variables that are no settings, such as those of modules.
std::vector<std::string> known_of(std::vector<std::string> entries) {
    std::erase_if(entries, [](const std::string& one) {
        const std::string name = one.substr(0, one.find('='));
        return tutti_context_setting(front.context, name.c_str()) == nullptr;
    });
    return entries;
}

// Collective over the world. Rank 0 tells who was given other settings than itself.
void tell_differences(const Meeting& meeting) {
    char own[kNamesBytes] = {};
    Trouble untold;  // a line for people, which may be left away
    attempt(untold, [&] {
        const std::string names =
            differing_names(known_of(meeting.mine), known_of(own_of(meeting.held)));
        snprintf(own, sizeof own, "%s", names.c_str());
    });
    int differs = own[0] != '\0' ? 1 : 0, any = 0;
    const abi::Op max = front.host.handles.op[abi::kOpMax];
    front.host.allreduce(&differs, &any, 1, int_type(), max, front.host.handles.comm_world);
    if (any == 0) return;
    front.host.gather(own, kNamesBytes, byte_type(), meeting.differences.get(), kNamesBytes,
                      byte_type(), 0, front.host.handles.comm_world);
    if (front.world.rank != 0) return;
    attempt(untold, [&] {
        std::vector<std::string> names(static_cast<size_t>(front.world.size));
        for (size_t rank = 0; rank < names.size(); ++rank) {
            names[rank] = &meeting.differences[rank * kNamesBytes];
        }
        print_line(describe_differences(names).c_str());
    });
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
uint32_t count_ranks_on_node(const Meeting& meeting) {
    uint64_t* all = meeting.hosts.get();
    front.host.allgather(&meeting.host, sizeof *all, byte_type(), all, sizeof *all, byte_type(),
                         front.host.handles.comm_world);
    return static_cast<uint32_t>(std::count(all, all + front.world.size, meeting.host));
}

// Lets messages that the program has under way go on, on whatever communicator. The probe finds
// nothing of interest: whatever it finds stays where it is. Not on a communicator of the program's,
// whose error handler would be told of a peer that is gone.
void progress(void*) {
    if (front.host.has_ended.load(std::memory_order_relaxed)) return;
    int found = 0;
    front.host.iprobe(front.host.abi.any_source, front.own.probe_tag, front.own.p2p_comm, &found,
                      status_ignore());
}

// What is for information stands in the report.
void log_line(void*, tutti_log_level level, const char* line) {
    if (level != TUTTI_LOG_INFO) print_line(line);
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
    params.job_rank = static_cast<uint32_t>(front.world.rank);
    params.job_size = static_cast<uint32_t>(front.world.size);
    params.host_mpi = front.host.brand->rules_name;
    return tutti_context_create(&params, &front.context, message, message_bytes);
}

const char* setting(const char* variable) {
    const char* value = tutti_context_setting(front.context, variable);
    return value != nullptr ? value : "";
}

// A rank that has left its last collective may still have to repair what others missed of it. So no
// rank ends before all are here, and those that are here still help the others.
void wait_for_all() {
    constexpr int kLooks = 1000;  // as long as another takes that comes at the same time
    constexpr int kLong = kLooks + 1000;
    const HostGuard guard;
    abi::Request request{};
    if (front.host.own_ibarrier(front.own.p2p_comm, &request) != abi::kSuccess) return;
    for (int looks = 0;; looks += looks < kLong ? 1 : 0) {
        int done = 0;
        const int status = front.host.test(&request, &done, status_ignore());
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

// The report, and what was watched. Collective over the world.
void tell_at_end() {
    const HostGuard guard;
    const WatchTotals watches = gather_watches();
    if (front.asked.report) finish_report(setting("TUTTI_REPORT"), watches);
    tell_watches(watches);
}

// MPI_Finalize deletes the attributes of MPI_COMM_SELF first, in the reverse order in which they
// were set. Tutti's was set in MPI_Init, so functions of the program have all been called, which
// may communicate with ranks that have yet to come to MPI_Finalize; and the MPI still works.
int end_before_host(uintptr_t, int, void*, void*) {
    if (!front.active.load(std::memory_order_acquire)) return abi::kSuccess;
    destroy_freed_states();
    // Before the report, whose messages are the host's.
    if (front.world.size > 1 && !front.host.has_fault_tolerance) wait_for_all();
    // The logs of the report are long, and so are the frames of MPICH's own reductions.
    if (front.asked.counts_calls || front.verify.is_on) {
        call_on_large_stack([](void*) { tell_at_end(); }, nullptr);
    }
    front.devices.let_go();
    front.active.store(false, std::memory_order_release);
    front.host.comm_free(&front.own.quiet_comm);
    return abi::kSuccess;
}

// Nothing is hung on MPI_COMM_SELF while the host deletes what hangs there: its state comes first.
bool hang_on_self() {
    const abi::Comm self = front.host.handles.comm_self;
    return attach_now(self) &&
           front.host.comm_create_keyval(copy_no_attribute, end_before_host, &front.own.end_key,
                                         nullptr) == abi::kSuccess &&
           front.host.comm_set_attr(self, front.own.end_key, nullptr) == abi::kSuccess;
}

// What Tutti needs of the host beside its functions. Collective over the world, whatever has gone
// wrong on this rank.
void prepare_host(Trouble& trouble) {
    front.host.types.fill(front.host, front.host.handles);
    front.host.ops.fill(front.host.handles);
    if (!packs_without_header()) {
        trouble.add(Trouble::Kind::kStays, "MPI_Pack of this MPI adds to the data");
    }
    if (front.host.comm_dup(front.host.handles.comm_self, &front.own.quiet_comm) != abi::kSuccess ||
        front.host.comm_set_errhandler(front.own.quiet_comm, front.host.handles.errors_return) !=
            abi::kSuccess) {
        front.own.quiet_comm = front.host.handles.comm_self;
        trouble.add(Trouble::Kind::kStays, "this MPI gives out no communicator");
    }
    front.host.checks_arguments = host_checks_arguments();
    attempt(trouble, [] { front.devices.start(); });
    if (!create_comm_keyval() || !create_type_keyval() || !hang_on_self()) {
        trouble.add(Trouble::Kind::kStays, "this MPI gives out no attribute keys");
    }
    front.own.p2p_comm = front.own.quiet_comm;  // in a world of one rank
    if (front.world.size > 1 && !front.host.has_fault_tolerance && !create_p2p_comm()) {
        trouble.add(Trouble::Kind::kStays, "this MPI gives out no copy of MPI_COMM_WORLD");
    }
}

// Collective over the world, whatever has gone wrong on this rank.
Meeting meet(Trouble& trouble) {
    Meeting meeting;
    std::string text;
    attempt(trouble, [&] {
        meeting.mine = tutti_variables(environ);
        if (front.world.rank == 0) {
            std::vector<std::string> entries =
                with_rules(with_site(meeting.mine, meeting.site_is_broken));
            add_tuned(entries, trouble);
            text = join_entries(entries);
        }
        meeting.host = host_hash();
        const auto ranks = static_cast<size_t>(front.world.size);
        meeting.hosts = std::make_unique<uint64_t[]>(ranks);
        if (front.world.rank == 0) {
            meeting.differences = std::make_unique<char[]>(ranks * kNamesBytes);
        }
    });
    hand_out(text, trouble);
    attempt(trouble, [&] {
        meeting.held = split_entries(text);
        drop_unread_rules(meeting.held);
        put_own_first(meeting.held, meeting.mine);
    });
    return meeting;
}

void make_context(const Meeting& meeting, uint32_t ranks_on_node, Trouble& trouble) {
    attempt(trouble, [&] {
        char message[512] = {};
        const tutti_status status =
            create_context(meeting.held, ranks_on_node, message, sizeof message);
        if (status == TUTTI_OK) return;
        // A setting that is wrong is mended by whoever gave it. What else keeps a rank from going
        // on is no reason to end a program that needs no Tutti.
        const bool is_setting = status == TUTTI_ERR_ARGUMENT;
        trouble.add(is_setting ? Trouble::Kind::kEnds : Trouble::Kind::kStays,
                    message[0] != '\0' ? message : tutti_status_text(status));
    });
}

// Everything is off. A user of rank 0 who wonders what became of the report is told.
void tell_no_report(const Meeting& meeting) {
    if (front.world.rank != 0 || meeting.site_is_broken || *setting("TUTTI_REPORT") == '\0') return;
    Trouble untold;  // words for people, which may be left away
    attempt(untold, [&] {
        const auto own = own_of(meeting.held);
        const auto asks = [](const std::string& one) { return one.starts_with("TUTTI_REPORT="); };
        if (std::none_of(own.begin(), own.end(), asks)) return;
        const std::string site = setting("TUTTI_SITE_OFF");
        print_line(("no report: " + (site.empty() ? "TUTTI=off" : site)).c_str());
    });
}

// Collective over the world, right after the host's own start. False where everything stays with
// the host; somebody has said why, or TUTTI=off has.
//
// Each step in which ranks talk to each other is reached by all of them, whatever went wrong on
// one: that is kept as its trouble, and agreed on before a step that it could keep a rank from.
bool prepare() {
    if (!all_have_tutti() || !has_one_version()) return false;
    Trouble trouble;
    const Meeting meeting = meet(trouble);
    if (!all_go_on(trouble)) return false;
    make_context(meeting, count_ranks_on_node(meeting), trouble);
    if (!all_go_on(trouble)) return false;
    // All have rank 0's settings, so this is the same on all ranks.
    if (*setting("TUTTI") == '0') {
        tell_no_report(meeting);
        return false;
    }
    front.host.has_fault_tolerance = any_of_all(abi::has_fault_tolerance(front.host.library));
    prepare_host(trouble);
    if (!all_go_on(trouble)) return false;
    tell_differences(meeting);
    if (front.world.size > 1) share_fabric(meeting.held);
    start_verification(setting("TUTTI_VERIFY"));
    Trouble untold;  // words for people, which may be left away
    attempt(untold, [&] { remember_settings(meeting.held); });
    return true;
}

// Each rank in a world of its own, though a launcher started several: it is another MPI's.
void hint_at_wrong_launcher() {
    constexpr const char* kNames[][2] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                         {"PMI_RANK", "PMI_SIZE"},
                                         {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}};
    for (const auto& [rank_name, size_name] : kNames) {
        const char *rank = getenv(rank_name), *size = getenv(size_name);
        if (rank == nullptr || size == nullptr) continue;
        const long started = strtol(size, nullptr, 10);
        if (started <= 1 || strcmp(rank, "0") != 0 || is_off_here()) return;
        char line[256];
        snprintf(line, sizeof line,
                 "this rank is alone in its MPI_COMM_WORLD, though its launcher started %ld: is "
                 "that the launcher of the program's MPI (%s)?",
                 started, front.host.abi.name);
        print_line(line);
        return;
    }
}

void start() {
    const HostGuard guard;
    front.host.comm_rank(front.host.handles.comm_world, &front.world.rank);
    front.host.comm_size(front.host.handles.comm_world, &front.world.size);
    if (front.world.size == 1) hint_at_wrong_launcher();
    if (!prepare()) {
        // `tutti run` need not wonder what became of the report.
        if (front.world.rank == 0) leave_mark();
        if (front.context != nullptr) tutti_context_destroy(front.context);
        front.context = nullptr;
        return;
    }
    int provided = abi::kThreadMultiple;
    front.host.query_thread(&provided);
    front.is_serial = provided < abi::kThreadMultiple;
    front.asked.check = *setting("TUTTI_CHECK") == '1';
    front.asked.report = *setting("TUTTI_REPORT") != '\0';
    front.asked.stall_s = strtod(setting("TUTTI_STALL"), nullptr);
    front.asked.counts_calls = front.asked.check || front.asked.report || front.asked.stall_s > 0;
    front.asked.tunes_live = std::string_view(setting("TUTTI_TUNE")) != "off";
    front.asked.tells_exits = front.asked.report || front.asked.tunes_live;
    // The check is made over the team, and the first calls are to be compared too. What is promised
    // of results holds for the first calls as well.
    const unsigned long warmup = strtoul(setting("TUTTI_WARMUP"), nullptr, 10);
    const bool promises =
        *setting("TUTTI_REPRODUCIBLE") == '1' || *setting("TUTTI_HETEROGENEOUS") == '1';
    front.asked.warmup_calls = front.asked.check || promises ? 0 : static_cast<uint32_t>(warmup);
    front.counts.begin_ns = now_ns();
    front.active.store(true, std::memory_order_release);
}

}  // namespace

int init(int* argc, char*** argv) {
    if (thread_state.host_depth != 0) return front.host.init(argc, argv);
    int status = 0;
    keep_from_older_handlers();
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
    keep_from_older_handlers();
    {
        const HostGuard guard;
        status = front.host.init_thread(argc, argv, required, provided);
    }
    if (status == abi::kSuccess) start();
    return status;
}

// Teams outlive the host's own end, as do communicators of sessions.
int finalize() {
    if (thread_state.host_depth != 0) return front.host.finalize();
    if (!front.active.load(std::memory_order_acquire)) {
        front.mail.close();
        return front.host.finalize();
    }
    const int status = front.host.finalize();
    // MPICH lives on while there is a session, and deletes no attribute before its end.
    if (status == abi::kSuccess) end_before_host(0, 0, nullptr, nullptr);
    front.host.has_ended.store(true, std::memory_order_relaxed);
    front.active.store(false, std::memory_order_release);
    destroy_leftover_states();
    tutti_context_destroy(front.context);
    front.context = nullptr;
    return status;
}

}  // namespace tutti::mpi
