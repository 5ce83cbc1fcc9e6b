// SPDX-License-Identifier: BSD-3-Clause
// Ranks of one host that read large data in each other's memory, or cannot:
//
//   single_copy calls                   every root, in place and not, sizes about the thresholds
//   single_copy denied HOW WHEN WHO     rank WHO (or `all`) is not to read, or be read, from a time
//                                       on; HOW: filter (a container's), dumpable, user;
//                                       WHEN: init (before it), team (before the first collective),
//                                       later
//   single_copy rounds                  a few calls
//   single_copy failing                 a read fails when a part of the data has come
//   single_copy lost                    the same in an allreduce, which then cannot end
//   single_copy late                    whoever has something to read does not wait for a late one
//   single_copy stopped                 readers, and whose memory is being read, stop meanwhile
//   single_copy killed reader|owner     the same, for good
//
// All give up CAP_SYS_PTRACE first, so that root is denied what others are. Tutti's system call is
// looked at on its way, by a function of its name.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

enum { kNobody = 65534, kInline = 1024, kCollectives = 6 };

static int rank, size;

// ---- the system call ----------------------------------------------------------------------------

enum Deed { kNothing, kFail, kStopSelf, kStopOwner, kKillSelf, kKillOwner };

static long long reads, reads_failed;
// What happens at the next reads of more than a page: nothing at so many, then `deed` at one.
static enum Deed deed = kNothing;
static long long reads_before;
static long long deeds;

static int is_tutti(const void* caller) {
    Dl_info info;
    return dladdr(caller, &info) && info.dli_fname && strstr(info.dli_fname, "libtutti");
}

static enum Deed next_deed(size_t bytes) {
    if (deed == kNothing || bytes <= 4096 || reads_before-- > 0) return kNothing;
    ++deeds;
    return deed;
}

ssize_t process_vm_readv(pid_t pid, const struct iovec* to, unsigned long to_count,
                         const struct iovec* from, unsigned long from_count, unsigned long flags) {
    const int is_ours = is_tutti(__builtin_return_address(0));
    const enum Deed now = is_ours ? next_deed(to->iov_len) : kNothing;
    if (now == kStopSelf) raise(SIGSTOP);
    if (now == kStopOwner) kill(pid, SIGSTOP);
    if (now == kKillSelf) raise(SIGKILL);
    if (now == kKillOwner) kill(pid, SIGKILL);
    ssize_t done = -1;
    errno = EFAULT;
    if (now != kFail) {
        done = syscall(SYS_process_vm_readv, pid, to, to_count, from, from_count, flags);
    }
    reads += is_ours;
    reads_failed += is_ours && done < 0;
    return done;
}

// "reads N failed M", of all ranks.
static void print_reads(void) {
    long long all[2] = {reads, reads_failed};
    if (rank != 0) MPI_Send(all, 2, MPI_LONG_LONG, 0, 4713, MPI_COMM_WORLD);
    for (int peer = 1; rank == 0 && peer < size; ++peer) {
        long long theirs[2];
        MPI_Recv(theirs, 2, MPI_LONG_LONG, peer, 4713, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        all[0] += theirs[0];
        all[1] += theirs[1];
    }
    if (rank == 0) printf("reads %lld failed %lld\n", all[0], all[1]);
}

// ---- one call of each collective ----------------------------------------------------------------

typedef struct Case {
    MPI_Comm comm;
    int root;
    int in_place;
    size_t bytes;  // of one block
    uint64_t key;
} Case;

// Of calls that are large enough, as rank 0 counts them.
static long long large_calls[kCollectives];
static const char* const kNames[kCollectives] = {"bcast",  "reduce",  "allreduce",
                                                 "gather", "scatter", "allgather"};

static uint64_t block_key(const Case* c, int of) { return c->key * 1009 + (uint64_t)of; }

static void expect_block(const Case* c, const char* what, const void* data, int of) {
    Buffer right = make_buffer(c->bytes, 0);
    fill(right.data, c->bytes, block_key(c, of));
    const int holds = !memcmp(data, right.data, c->bytes);
    const long long at = holds ? 0 : differs(data, c->bytes, block_key(c, of));
    expect(holds, "%s, %zu bytes, root %d, in place %d: block of %d differs at %lld", what,
           c->bytes, c->root, c->in_place, of, at);
    drop_buffer(&right, what);
}

static void try_bcast(const Case* c) {
    Buffer data = make_buffer(c->bytes, 1);
    if (rank == c->root) fill(data.data, c->bytes, block_key(c, c->root));
    MPI_Bcast(data.data, (int)c->bytes, MPI_BYTE, c->root, c->comm);
    expect_block(c, "bcast", data.data, c->root);
    drop_buffer(&data, "bcast");
}

// Sums of words, or what an odd number of vectors has in each bit of its bytes, without MPI.
static void fold_all(const Case* c, unsigned char* out) {
    const size_t words = c->bytes % 4 == 0 ? c->bytes / 4 : 0;
    Buffer one = make_buffer(c->bytes, 0);
    memset(out, 0, c->bytes);
    for (int of = 0; of < size; ++of) {
        fill(one.data, c->bytes, block_key(c, of));
        for (size_t i = 0; i < words; ++i) ((uint32_t*)out)[i] += ((uint32_t*)one.data)[i];
        for (size_t i = 0; words == 0 && i < c->bytes; ++i) out[i] ^= one.data[i];
    }
    drop_buffer(&one, "fold_all");
}

static void try_reduction(const Case* c, int is_all) {
    const int is_wide = c->bytes % 4 == 0;
    const MPI_Datatype type = is_wide ? MPI_UINT32_T : MPI_BYTE;
    const MPI_Op op = is_wide ? MPI_SUM : MPI_BXOR;
    const int count = (int)(is_wide ? c->bytes / 4 : c->bytes);
    const int receives = is_all || rank == c->root;
    const char* what = is_all ? "allreduce" : "reduce";
    Buffer in = make_buffer(c->bytes, 0);
    Buffer out = make_buffer(c->bytes, 0);
    const int in_place = c->in_place && receives;
    fill(in_place ? out.data : in.data, c->bytes, block_key(c, rank));
    const void* from = in_place ? MPI_IN_PLACE : (void*)in.data;
    if (is_all) {
        MPI_Allreduce(from, out.data, count, type, op, c->comm);
    } else {
        MPI_Reduce(from, receives ? out.data : NULL, count, type, op, c->root, c->comm);
    }
    if (receives) {
        Buffer right = make_buffer(c->bytes, 0);
        fold_all(c, right.data);
        expect(!memcmp(out.data, right.data, c->bytes), "%s, %zu bytes, root %d, in place %d", what,
               c->bytes, c->root, c->in_place);
        drop_buffer(&right, what);
    }
    if (!in_place) expect_block(c, "a reduction's input", in.data, rank);
    drop_buffer(&in, what);
    drop_buffer(&out, what);
}

static void try_gather(const Case* c, int is_all) {
    const int count = (int)c->bytes;
    const int receives = is_all || rank == c->root;
    const int in_place = c->in_place && receives;
    const char* what = is_all ? "allgather" : "gather";
    Buffer own = make_buffer(c->bytes, 3);
    Buffer all = make_buffer(receives ? c->bytes * (size_t)size : 0, 5);
    fill(in_place ? all.data + (size_t)rank * c->bytes : own.data, c->bytes, block_key(c, rank));
    const void* from = in_place ? MPI_IN_PLACE : (void*)own.data;
    if (is_all) {
        MPI_Allgather(from, count, MPI_BYTE, all.data, count, MPI_BYTE, c->comm);
    } else {
        MPI_Gather(from, count, MPI_BYTE, all.data, count, MPI_BYTE, c->root, c->comm);
    }
    for (int of = 0; receives && of < size; ++of) {
        expect_block(c, what, all.data + (size_t)of * c->bytes, of);
    }
    drop_buffer(&own, what);
    drop_buffer(&all, what);
}

static void try_scatter(const Case* c) {
    const int is_root = rank == c->root;
    Buffer own = make_buffer(c->bytes, 7);
    Buffer all = make_buffer(is_root ? c->bytes * (size_t)size : 0, 2);
    for (int of = 0; is_root && of < size; ++of) {
        fill(all.data + (size_t)of * c->bytes, c->bytes, block_key(c, of));
    }
    const int in_place = c->in_place && is_root;
    MPI_Scatter(all.data, (int)c->bytes, MPI_BYTE, in_place ? MPI_IN_PLACE : (void*)own.data,
                (int)c->bytes, MPI_BYTE, c->root, c->comm);
    if (!in_place) expect_block(c, "scatter", own.data, rank);
    drop_buffer(&own, "scatter");
    drop_buffer(&all, "scatter");
}

static void try_one(int collective, const Case* c) {
    large_calls[collective] += c->bytes > kInline;
    switch (collective) {
        case 0:
            return try_bcast(c);
        case 1:
            return try_reduction(c, 0);
        case 2:
            return try_reduction(c, 1);
        case 3:
            return try_gather(c, 0);
        case 4:
            return try_scatter(c);
        default:
            return try_gather(c, 1);
    }
}

static int has_root(int collective) { return collective != 2 && collective != 5; }

// Every collective and root, in place and not.
static void try_all(MPI_Comm comm, size_t bytes) {
    static uint64_t key = 0;
    for (int collective = 0; collective < kCollectives; ++collective) {
        for (int root = 0; root < (has_root(collective) ? size : 1); ++root) {
            for (int in_place = 0; in_place < (collective == 0 ? 1 : 2); ++in_place) {
                const Case c = {comm, root, in_place, bytes, ++key};
                try_one(collective, &c);
            }
        }
    }
}

// A size that its half does not divide, one in the middle, and one that no ring holds.
static void rounds(MPI_Comm comm) {
    try_all(comm, 4097);
    try_all(comm, 100 * 1000);
    try_all(comm, 1000 * 1000);
}

static void calls(void) {
    static const size_t edges[] = {1 << 10, 8 << 10, 64 << 10, 256 << 10, 1 << 20};
    for (size_t i = 0; i < sizeof edges / sizeof edges[0]; ++i) {
        for (size_t bytes = edges[i] - 1; bytes <= edges[i] + 1; ++bytes) {
            try_all(MPI_COMM_WORLD, bytes);
        }
    }
    try_all(MPI_COMM_WORLD, 5 << 20);
    for (int collective = 0; rank == 0 && collective < kCollectives; ++collective) {
        printf("large %s %lld\n", kNames[collective], large_calls[collective]);
    }
}

// ---- denied -------------------------------------------------------------------------------------

static void give_up_ptrace(void) {
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2];
    if (syscall(SYS_capget, &header, data) != 0) return;
    const uint32_t bit = 1u << CAP_SYS_PTRACE;
    data[0].effective &= ~bit;
    data[0].permitted &= ~bit;
    data[0].inheritable &= ~bit;
    if (syscall(SYS_capset, &header, data) != 0) perror("capset");
}

static void install_filter(void) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof code / sizeof code[0], code};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0) {
        perror("seccomp");
        _exit(3);
    }
}

static void deny(const char* how) {
    if (!strcmp(how, "filter")) {
        install_filter();
    } else if (!strcmp(how, "dumpable")) {
        prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    } else if (!strcmp(how, "user") && setresuid(kNobody, kNobody, kNobody) != 0) {
        perror("setresuid");
        _exit(3);
    }
}

// Before MPI_Init, as the launcher says it.
static int is_rank(const char* who) {
    const char* own = getenv("OMPI_COMM_WORLD_RANK");
    if (!own) own = getenv("PMI_RANK");
    return !strcmp(who, "all") || (own && atoi(own) == atoi(who));
}

static void denied(const char* how, const char* when, const char* who) {
    if (!strcmp(when, "team") && is_rank(who)) deny(how);
    rounds(MPI_COMM_WORLD);
    if (strcmp(when, "later") != 0) return;
    // Nobody is in a call.
    MPI_Barrier(MPI_COMM_WORLD);
    if (is_rank(who)) deny(how);
    MPI_Barrier(MPI_COMM_WORLD);
    rounds(MPI_COMM_WORLD);
    MPI_Comm again;
    MPI_Comm_dup(MPI_COMM_WORLD, &again);
    rounds(again);
    MPI_Comm_free(&again);
}

// Rank 1 folds its share when it can read no longer; nobody has anything to fall back on.
static void lost(void) {
    rounds(MPI_COMM_WORLD);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    Buffer in = make_buffer(300 * 1000, 0);
    Buffer out = make_buffer(300 * 1000, 0);
    if (rank == 1) deed = kFail;
    int errors = 0;
    for (int i = 0; i < 2; ++i) {
        errors += MPI_Allreduce(in.data, out.data, (int)in.bytes, MPI_BYTE, MPI_BXOR,
                                MPI_COMM_WORLD) != MPI_SUCCESS;
        deed = kNothing;
    }
    drop_buffer(&in, "lost");
    drop_buffer(&out, "lost");
    print_errors(errors);
}

// The second read of a block of several; allreduce looks first, and what it has seen must stay.
static void failing(void) {
    for (int collective = 0; collective < kCollectives; ++collective) {
        for (int root = 0; root < (has_root(collective) ? size : 1); ++root) {
            for (int of = 0; of < size; ++of) {
                if (collective == 2) continue;
                deed = of == rank ? kFail : kNothing;
                reads_before = 1;
                const Case c = {MPI_COMM_WORLD, root, of % 2, 300 * 1000,
                                (uint64_t)(collective * 100 + root * 10 + of)};
                try_one(collective, &c);
                deed = kNothing;
            }
        }
    }
}

// ---- late ---------------------------------------------------------------------------------------

static int gives_root(int collective) { return collective == 0 || collective == 4; }

// `who` enters once those have gone on whose data it needs.
static void late_call(int collective, const Case* c, int who) {
    const int is_giver = gives_root(collective) == (rank == c->root);
    const int givers = gives_root(collective) ? 1 : size - 1;
    char word = 0;
    for (int i = 0; rank == who && i < givers; ++i) {
        MPI_Recv(&word, 1, MPI_BYTE, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    try_one(collective, c);
    if (is_giver) MPI_Send(&word, 1, MPI_BYTE, who, 1, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void late(void) {
    static const size_t sizes[] = {1025, 16 << 10, 100 * 1000};
    static const int collectives[] = {0, 1, 3, 4};  // in the others everybody needs everybody
    uint64_t key = 0;
    MPI_Barrier(MPI_COMM_WORLD);  // the first call needs everybody
    // Before the 64th broadcast or reduction all look whether they may still read, and so does
    // everybody need everybody: there are 54.
    for (int i = 0; i < 2 * 4 * 3; ++i) {
        const int collective = collectives[i / 3 % 4];
        for (int root = 0; root < size; ++root) {
            for (int who = 0; who < size; ++who) {
                if ((who == root) == gives_root(collective)) continue;
                const Case c = {MPI_COMM_WORLD, root, 0, sizes[i % 3], ++key};
                late_call(collective, &c, who);
            }
        }
    }
}

// ---- stopped and killed -------------------------------------------------------------------------

static char state_of(pid_t pid) {
    char path[64], text[512] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    const int file = open(path, O_RDONLY);
    if (file < 0 || read(file, text, sizeof text - 1) <= 0) return '?';
    close(file);
    const char* end = strrchr(text, ')');
    return end && end[1] ? end[2] : '?';
}

// A process that lets this one go on, some time after it was stopped.
static pid_t make_waker(void) {
    const pid_t self = getpid();
    const pid_t child = fork();
    if (child != 0) return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    // The launcher waits for the end of what it reads from its processes.
    for (int file = 0; file < 1024; ++file) close(file);
    while (getppid() == self) {
        usleep(1000);
        if (state_of(self) != 'T') continue;
        usleep(20 * 1000);
        kill(self, SIGCONT);
    }
    _exit(0);
}

static void stopped(void) {
    rounds(MPI_COMM_WORLD);
    for (int i = 0; i < 6; ++i) {
        const int who = i % size;
        if (rank == who) deed = i < 3 ? kStopSelf : kStopOwner;
        reads_before = i;
        // Many at the most: each takes the waker's time.
        const long long deeds_max = deeds + 4;
        for (int collective = 0; collective < kCollectives; ++collective) {
            for (int root = 0; root < size; ++root) {
                const Case c = {MPI_COMM_WORLD, root, 0, 300 * 1000, (uint64_t)(i * 100 + root)};
                try_one(collective, &c);
                if (deeds >= deeds_max) deed = kNothing;
                reads_before = 2;
            }
        }
        deed = kNothing;
    }
    expect(deeds >= 4, "stopped %lld times", deeds);
}

static void killed(const char* whom) {
    rounds(MPI_COMM_WORLD);
    reads_before = 10;
    if (rank == 1) deed = !strcmp(whom, "reader") ? kKillSelf : kKillOwner;
    rounds(MPI_COMM_WORLD);
    fprintf(stderr, "nobody was killed\n");
}

int main(int argc, char** argv) {
    const char* what = argc > 1 ? argv[1] : "calls";
    const int is_denied = !strcmp(what, "denied") && argc == 5;
    const pid_t waker = !strcmp(what, "stopped") ? make_waker() : 0;
    give_up_ptrace();
    if (is_denied && !strcmp(argv[3], "init") && is_rank(argv[4])) deny(argv[2]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (!strcmp(what, "calls")) {
        calls();
    } else if (is_denied) {
        denied(argv[2], argv[3], argv[4]);
    } else if (!strcmp(what, "rounds")) {
        rounds(MPI_COMM_WORLD);
    } else if (!strcmp(what, "lost")) {
        lost();
    } else if (!strcmp(what, "failing")) {
        failing();
    } else if (!strcmp(what, "late")) {
        late();
    } else if (!strcmp(what, "stopped")) {
        stopped();
    } else if (!strcmp(what, "killed") && argc == 3) {
        killed(argv[2]);
    } else {
        fprintf(stderr, "single_copy: see the head of single_copy.c\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    print_reads();
    if (waker > 0) {
        kill(waker, SIGKILL);
        waitpid(waker, NULL, 0);
    }
    return finish();
}
