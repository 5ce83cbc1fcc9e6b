// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/requests.h"

#include <cstddef>
#include <mutex>
#include <new>
#include <unordered_map>
#include <utility>

#include "mpi/counted.h"

namespace tutti::mpi {

// Made when there is the first one, and never freed: programs call MPI after the end of main.
struct Requests {
    struct Persistent {
        Startable start;
        IntArrays arrays;
    };
    static constexpr size_t kKeptMax = 1024;

    std::mutex mutex;
    std::unordered_map<uintptr_t, Persistent> persistent;  // by handle
    std::array<IntArrays, kKeptMax> kept;
    size_t kept_next = 0;
};

namespace {

using Lock = std::unique_lock<std::mutex>;
// Where the program calls MPI from one thread at a time there is nothing to lock.
Lock lock(Requests& requests) {
    return front.is_serial ? Lock(requests.mutex, std::defer_lock) : Lock(requests.mutex);
}

// Null where there is no memory.
Requests* make_requests() {
    Requests* found = front.requests.load(std::memory_order_acquire);
    if (found != nullptr) return found;
    std::unique_ptr<Requests> made(new (std::nothrow) Requests);
    if (made == nullptr) return nullptr;
    const bool is_first =
        front.requests.compare_exchange_strong(found, made.get(), std::memory_order_acq_rel);
    return is_first ? made.release() : found;
}

// change(persistent), of that handle. False where there is no memory for it.
template <class Change>
bool change_persistent(const void* request, Change change) {
    Requests* const requests = make_requests();
    if (requests == nullptr) return false;
    const Lock locked = lock(*requests);
    try {
        change(requests->persistent[handle_at(request)]);
    } catch (const std::bad_alloc&) {
        return false;
    }
    return true;
}

// Where they cannot be kept: the host may still read them, so they are never freed.
void leak(IntArrays& arrays) {
    for (auto& one : arrays) static_cast<void>(one.release());
}

Startable find_start(Requests& requests, uintptr_t handle) {
    const Lock locked = lock(requests);
    const auto found = requests.persistent.find(handle);
    return found != requests.persistent.end() ? found->second.start : Startable{};
}

// Null where no start is counted.
Requests* counted_requests() {
    Requests* const requests = front.requests.load(std::memory_order_acquire);
    if (requests == nullptr || !front.asked.report || thread_state.uncounted_depth != 0)
        return nullptr;
    return requests;
}

}  // namespace

void remember_start(const void* request, Startable start) {
    change_persistent(request, [&](Requests::Persistent& one) { one.start = start; });
}

void keep_arrays(Form form, const void* request, IntArrays arrays) {
    if (form == Form::kInit) {
        const auto keep = [&](Requests::Persistent& one) { one.arrays = std::move(arrays); };
        if (!change_persistent(request, keep)) leak(arrays);
        return;
    }
    Requests* const requests = make_requests();
    if (requests == nullptr) return leak(arrays);
    const Lock locked = lock(*requests);
    std::swap(requests->kept[requests->kept_next++ % Requests::kKeptMax], arrays);
}

int start(void* request) {
    Requests* const requests = counted_requests();
    if (requests == nullptr || request == nullptr) [[likely]]
        return front.host.program_start(request);
    const Startable one = find_start(*requests, handle_at(request));
    return run_tallied(one.tally, one.bytes, [&] { return front.host.program_start(request); });
}

// They share the call's time.
int start_all(int count, void* requests) {
    Requests* const known = counted_requests();
    if (known == nullptr || requests == nullptr || count <= 0) [[likely]]
        return front.host.program_start_all(count, requests);
    const auto number = static_cast<size_t>(count);
    const auto start_of = [&](size_t i) { return find_start(*known, handle_at(requests, i)); };
    bool is_timed = false;
    for (size_t i = 0; i < number && !is_timed; ++i) {
        const Startable one = start_of(i);
        is_timed = one.tally != nullptr && one.tally->is_timed();
    }
    const Uncounted within;
    const uint64_t begin = is_timed ? now_ns() : 0;
    const int status = front.host.program_start_all(count, requests);
    if (status != abi::kSuccess) return status;
    const uint64_t took_ns = is_timed ? (now_ns() - begin) / number : 0;
    for (size_t i = 0; i < number; ++i) {
        const Startable one = start_of(i);
        if (one.tally == nullptr) continue;
        one.tally->add(one.bytes, front.is_serial);
        if (is_timed) one.tally->add_time(took_ns, front.is_serial);
    }
    return status;
}

// Out of the table before the host may give the handle to another thread's request.
int free_request(void* request) {
    Requests* const requests = front.requests.load(std::memory_order_acquire);
    if (requests == nullptr || request == nullptr) [[likely]]
        return front.host.program_request_free(request);
    Lock locked = lock(*requests);
    auto freed = requests->persistent.extract(handle_at(request));
    if (locked.owns_lock()) locked.unlock();
    const int status = front.host.program_request_free(request);
    if (status == abi::kSuccess || freed.empty()) return status;
    const Lock again = lock(*requests);
    requests->persistent.insert(std::move(freed));
    return status;
}

}  // namespace tutti::mpi
