// SPDX-License-Identifier: BSD-3-Clause
// Processes as ranks: how they find the segment, how they prove that it is one, how they fail.
#include "unit/run/engine/processes.h"

#include <dirent.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "run/arena/arena.h"
#include "unit/run/engine/crew.h"

namespace tutti::test {
namespace {

TEST(Processes, ShareMemory) {
    for (const uint32_t ranks : {2u, 5u}) {
        run_processes(ranks, [](Board& board, uint32_t rank) -> std::string {
            Seated seated(board, rank);
            if (seated.make() != TUTTI_OK) return seated.message();
            return seated.use();
        });
    }
}

// A context that was made before the processes parted.
TEST(Processes, ForkAfterTheContext) {
    const ContextPtr context = make_context({});
    run_processes(3, [&](Board& board, uint32_t rank) -> std::string {
        Seated seated(board, rank, {}, context.get());
        if (seated.make() != TUTTI_OK) return seated.message();
        return seated.use();
    });
}

TEST(Processes, DifferentSettings) {
    run_processes(3, [](Board& board, uint32_t rank) -> std::string {
        Seated seated(board, rank, {rank == 1 ? "TUTTI_CHECK=1" : "TUTTI_CHECK=0"});
        if (seated.make() != TUTTI_ERR_ARGUMENT) return "the team was made";
        const std::string expected = "settings of rank 1 differ from those of rank 0";
        return seated.message() == expected ? "" : seated.message();
    });
}

// Where /proc does not lead to the leader, the descriptor comes over a socket.
TEST(Processes, OtherPidNamespace) {
    if (geteuid() != 0) GTEST_SKIP() << "needs root to make a pid namespace";
    run_processes(3, [](Board& board, uint32_t rank) -> std::string {
        if (rank == 2) {
            if (unshare(CLONE_NEWPID) != 0) return std::string("unshare: ") + strerror(errno);
            // The namespace begins with the next child.
            const pid_t child = fork();
            if (child != 0) {
                int status = 0;
                waitpid(child, &status, 0);
                if (status != 0) board.give_up();
                return status == 0 ? "" : "in the namespace: " + std::string(board.complaint[rank]);
            }
        }
        Seated seated(board, rank);
        std::string complaint = seated.make() == TUTTI_OK ? seated.use() : seated.message();
        if (rank == 2) {
            std::strncpy(board.complaint[rank], complaint.c_str(), 511);
            if (!complaint.empty()) board.give_up();
            _exit(complaint.empty() ? 0 : 1);
        }
        return complaint;
    });
}

// No way at all to hand over the segment: no team, on all ranks alike.
TEST(Processes, OtherPidAndNetworkNamespace) {
    if (geteuid() != 0) GTEST_SKIP() << "needs root to make namespaces";
    run_processes(2, [](Board& board, uint32_t rank) -> std::string {
        if (rank == 1) {
            if (unshare(CLONE_NEWPID | CLONE_NEWNET) != 0) return "unshare failed";
            const pid_t child = fork();
            if (child != 0) {
                int status = 0;
                waitpid(child, &status, 0);
                return status == 0 ? "" : "in the namespace: " + std::string(board.complaint[rank]);
            }
        }
        Seated seated(board, rank);
        const tutti_status status = seated.make();
        std::string complaint;
        if (status != TUTTI_ERR_NODE) complaint = "status " + std::to_string(status);
        if (rank == 1) {
            std::strncpy(board.complaint[rank], complaint.c_str(), 511);
            _exit(complaint.empty() ? 0 : 1);
        }
        return complaint;
    });
}

int find_segment() {
    for (int fd = 0; fd < 256; ++fd) {
        char target[256] = "";
        const std::string path = "/proc/self/fd/" + std::to_string(fd);
        if (readlink(path.c_str(), target, sizeof(target) - 1) < 0) continue;
        if (std::string(target).find("memfd:tutti") != std::string::npos) return fd;
    }
    return -1;
}

// The leader's descriptor suddenly is another file: the tokens tell.
TEST(Processes, ForeignMemoryIsNoticed) {
    run_processes(2, [](Board& board, uint32_t rank) -> std::string {
        Seated seated(board, rank);
        seated.seat().between = [&](uint32_t round) {
            // Round 1 says which descriptor it is; nobody has opened it yet.
            const int segment = round == 1 ? find_segment() : -1;
            if (segment < 0) return;
            struct stat info {};
            fstat(segment, &info);
            const int other = memfd_create("other", MFD_CLOEXEC);
            if (ftruncate(other, info.st_size) == 0) dup2(other, segment);
            close(other);
        };
        if (seated.make() != TUTTI_ERR_NODE) return "the team was made";
        const bool says_it = seated.message().find("does not share memory") != std::string::npos;
        return says_it ? "" : seated.message();
    });
}

// In a child, since the limit cannot be raised again and its violation would end the process.
TEST(Processes, FileSizeLimit) {
    run_processes(1, [](Board&, uint32_t) -> std::string {
        const rlimit limit{64 << 10, 64 << 10};
        if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return "setrlimit failed";
        const ContextPtr context = make_context({});
        Meeting meeting(3);
        std::string complaints[3];
        run_threads(3, [&](uint32_t rank) {
            const Made made = make_team(context.get(), meeting, rank);
            if (made.status != TUTTI_ERR_MEMORY ||
                made.message.find("ulimit -f") == std::string::npos) {
                complaints[rank] = made.message + " (" + tutti_status_text(made.status) + ")";
            }
        });
        return complaints[0] + complaints[1] + complaints[2];
    });
}

// A member of the team dies: its memory goes with the others', nothing stays behind.
TEST(Processes, NothingIsLeftBehind) {
    struct stat before {};
    struct stat after {};
    ASSERT_EQ(stat("/dev/shm", &before), 0);
    Board* board = Board::create(2);
    pid_t children[2];
    for (uint32_t rank = 0; rank < 2; ++rank) {
        children[rank] = fork();
        if (children[rank] == 0) {
            Seated seated(*board, rank);
            if (seated.make() != TUTTI_OK) _exit(1);
            kill(getpid(), SIGKILL);
        }
    }
    for (const pid_t child : children) {
        int status = 0;
        waitpid(child, &status, 0);
        EXPECT_TRUE(WIFSIGNALED(status));
    }
    Board::destroy(board);
    ASSERT_EQ(stat("/dev/shm", &after), 0);
    EXPECT_EQ(before.st_mtim.tv_sec, after.st_mtim.tv_sec);
    EXPECT_EQ(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
}

}  // namespace
}  // namespace tutti::test
