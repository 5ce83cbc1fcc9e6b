// SPDX-License-Identifier: BSD-3-Clause
#include "lab/bench/bench_limits.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <cstring>
#include <ctime>
#include <memory>
#include <new>
#include <string>

#include "base/memory_file.h"
#include "base/random.h"

namespace tutti::bench {
namespace {

// Two lines, since processors fetch neighbours in pairs.
struct alignas(128) Line {
    std::atomic<uint64_t> word;
};

constexpr uint64_t kRoundTrips = 200;
constexpr size_t kRepeats = 15;
constexpr uint64_t kYieldBarriers = 20;
// A rank that shares its core with the other one must let go of it.
constexpr uint64_t kSpinsBeforeYield = 20'000;

double now_us() {
    using namespace std::chrono;
    return duration<double, std::micro>(steady_clock::now().time_since_epoch()).count();
}

double median(std::vector<double>& values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

void wait_for(const std::atomic<uint64_t>& word, uint64_t value,
              uint64_t spins_max = kSpinsBeforeYield) {
    uint64_t spins = 0;
    while (word.load(std::memory_order_acquire) < value) {
        if (++spins > spins_max) sched_yield();
    }
}

void sleep_until(const std::atomic<uint64_t>& word, uint64_t value) {
    const timespec pause{0, 200'000};
    while (word.load(std::memory_order_acquire) < value) nanosleep(&pause, nullptr);
}

void futex(std::atomic<uint32_t>& word, int operation, uint32_t value) {
    // A failure is an early or a needless wake-up; callers look at the memory again.
    syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), operation, value, nullptr, nullptr, 0);
}

// Keeps this thread, as long as it lives, on the first or the last of the cores it may use: two
// ranks that share their cores with others would now and then be on the same one.
class OnOneCore {
  public:
    explicit OnOneCore(bool first) {
        CPU_ZERO(&before_);
        if (sched_getaffinity(0, sizeof before_, &before_) != 0) return;
        int chosen = -1;
        for (int core = 0; core < CPU_SETSIZE; ++core) {
            if (CPU_ISSET(core, &before_) && (chosen < 0 || !first)) chosen = core;
        }
        if (chosen < 0) return;
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(chosen, &one);
        moved_ = sched_setaffinity(0, sizeof one, &one) == 0;
    }
    ~OnOneCore() {
        if (moved_) sched_setaffinity(0, sizeof before_, &before_);
    }
    OnOneCore(const OnOneCore&) = delete;
    OnOneCore& operator=(const OnOneCore&) = delete;

  private:
    cpu_set_t before_;
    bool moved_ = false;
};

struct Offer {
    long process;
    int descriptor;  // -1: rank 0 could make none
    uint64_t token;
};

}  // namespace

struct SharedPage::Page {
    Line ping;
    Line pong;
    Line done;
    Line counter;
    Line release;
    std::atomic<uint32_t> alarm;  // a futex: changes with every release
    std::atomic<uint64_t> token;
    Line arrivals[1];  // one a rank
};

SharedPage::SharedPage(BenchMpi& mpi) : rank_(mpi.place().rank), size_(mpi.place().size) {
    const size_t bytes = sizeof(Page) + size_ * sizeof(Line);
    Offer offer{getpid(), -1, random_number()};
    int descriptor = -1;
    if (rank_ == 0) {
        descriptor = make_memory_file("tutti-bench");
        if (descriptor >= 0 && ftruncate(descriptor, static_cast<off_t>(bytes)) == 0 &&
            attach(offer.process, descriptor, 0, bytes)) {
            page_->token.store(offer.token, std::memory_order_release);
            offer.descriptor = descriptor;
        }
    }
    mpi.bcast(&offer, sizeof offer, 0);
    if (rank_ != 0 && offer.descriptor >= 0) {
        attach(offer.process, offer.descriptor, offer.token, bytes);
    }
    // The first rank has the largest value.
    double seen[2] = {page_ ? 0.0 : 1.0, rank_ > 0 && page_ ? size_ - rank_ : 0.0};
    mpi.max_in_place(seen, 2);
    if (descriptor >= 0) close(descriptor);
    all_attached_ = seen[0] == 0.0;
    crowded_ = static_cast<long>(size_) > sysconf(_SC_NPROCESSORS_ONLN);
    if (seen[1] > 0) partner_ = size_ - static_cast<uint32_t>(seen[1]);
}

SharedPage::~SharedPage() {
    if (page_) munmap(page_, bytes_);
}

bool SharedPage::attach(long process, int descriptor, uint64_t token, size_t bytes) {
    const std::string path =
        "/proc/" + std::to_string(process) + "/fd/" + std::to_string(descriptor);
    const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (file < 0) return false;
    // The same numbers on another host lead to some other file: its size is looked at before its
    // contents, since a mapping beyond the end of a file must not be touched.
    const bool long_enough = lseek(file, 0, SEEK_END) == static_cast<off_t>(bytes);
    void* memory = long_enough ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
                               : MAP_FAILED;
    close(file);
    if (memory == MAP_FAILED) return false;
    auto* page = static_cast<Page*>(memory);
    if (page->token.load(std::memory_order_acquire) != token) {
        munmap(memory, bytes);
        return false;
    }
    page_ = page;
    bytes_ = bytes;
    return true;
}

std::optional<double> SharedPage::flag_us(BenchMpi& mpi) {
    if (partner_ == 0) return std::nullopt;
    mpi.barrier();
    ++epoch_;
    if (rank_ != 0 && rank_ != partner_) {
        if (page_) sleep_until(page_->done.word, epoch_);
        return std::nullopt;
    }
    std::optional<OnOneCore> apart;
    if (crowded_) apart.emplace(rank_ == 0);
    std::vector<double> times;
    times.reserve(kRepeats);
    for (size_t repeat = 0; repeat < kRepeats; ++repeat) {
        const double start = now_us();
        for (uint64_t i = 0; i < kRoundTrips; ++i) {
            ++turn_;
            if (rank_ == 0) {
                page_->ping.word.store(turn_, std::memory_order_release);
                wait_for(page_->pong.word, turn_);
            } else {
                wait_for(page_->ping.word, turn_);
                page_->pong.word.store(turn_, std::memory_order_release);
            }
        }
        times.push_back((now_us() - start) / (2.0 * kRoundTrips));
    }
    if (rank_ == 0) page_->done.word.store(epoch_, std::memory_order_release);
    return *std::min_element(times.begin(), times.end());
}

bool SharedPage::arrive_last() {
    ++meetings_;
    const uint64_t arrived = page_->counter.word.fetch_add(1, std::memory_order_acq_rel);
    if (arrived + 1 != meetings_ * size_) return false;
    page_->release.word.store(meetings_, std::memory_order_release);
    return true;
}

// Some launchers give each rank a session of its own, and with it a scheduling group of its own in
// which a yield finds nobody to yield to: only sleepers make room then.
void SharedPage::sleep_for_all() {
    if (arrive_last()) {
        page_->alarm.fetch_add(1, std::memory_order_acq_rel);
        futex(page_->alarm, FUTEX_WAKE, INT_MAX);
        return;
    }
    for (;;) {
        const uint32_t alarm = page_->alarm.load(std::memory_order_acquire);
        if (page_->release.word.load(std::memory_order_acquire) >= meetings_) return;
        futex(page_->alarm, FUTEX_WAIT, alarm);
    }
}

void SharedPage::meet(BenchMpi& mpi) {
    if (!all_attached_) {
        mpi.barrier();
    } else if (crowded_) {
        sleep_for_all();
    } else if (!arrive_last()) {
        wait_for(page_->release.word, meetings_);
    }
}

std::optional<double> SharedPage::yield_barrier_us(BenchMpi& mpi) {
    if (!all_attached_) return std::nullopt;
    mpi.barrier();
    std::vector<double> times;
    times.reserve(kRepeats);
    for (size_t repeat = 0; repeat < kRepeats; ++repeat) {
        const double start = now_us();
        for (uint64_t i = 0; i < kYieldBarriers; ++i) {
            if (!arrive_last()) wait_for(page_->release.word, meetings_, 0);
        }
        times.push_back((now_us() - start) / kYieldBarriers);
    }
    return median(times);
}

void SharedPage::arrive(uint32_t rank, uint64_t number) {
    // Sequentially consistent: the barrier under test may order less than it should.
    page_->arrivals[rank].word.store(number);
}

std::optional<uint32_t> SharedPage::rank_behind(uint64_t number) const {
    for (uint32_t r = 0; r < size_; ++r) {
        if (page_->arrivals[r].word.load() < number) return r;
    }
    return std::nullopt;
}

double copy_us(size_t bytes) {
    // Large ones in fewer buffers, which no cache holds anyway.
    const size_t buffers = bytes > (1u << 20) ? 2 : 4;
    std::vector<std::unique_ptr<char[]>> from;
    std::vector<std::unique_ptr<char[]>> to;
    for (size_t k = 0; k < buffers; ++k) {
        from.push_back(std::make_unique<char[]>(bytes));
        to.push_back(std::make_unique<char[]>(bytes));
    }
    const size_t copies = std::max<size_t>(buffers, (64u << 10) / bytes);
    std::vector<double> times;
    times.reserve(kRepeats);
    // The first round only warms up.
    for (size_t repeat = 0; repeat <= kRepeats / 2; ++repeat) {
        const double start = now_us();
        for (size_t i = 0; i < copies; ++i) {
            char* target = to[i % buffers].get();
            std::memcpy(target, from[i % buffers].get(), bytes);
            asm volatile("" : : "r"(target) : "memory");
        }
        if (repeat > 0) times.push_back((now_us() - start) / static_cast<double>(copies));
    }
    return median(times);
}

}  // namespace tutti::bench
