// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/host_messages.h"

#include <climits>
#include <cstdint>
#include <cstring>

#include "mpi/front.h"

namespace tutti::mpi {

namespace {

void* to_handle(abi::Request request) { return reinterpret_cast<void*>(request.bits); }
abi::Request to_request(const void* handle) { return {reinterpret_cast<uintptr_t>(handle)}; }

int send(void*, const void* data, size_t bytes, uint32_t peer, uint32_t tag, void** handle) {
    if (bytes > INT_MAX || front.host.has_ended.load(std::memory_order_relaxed)) return 1;
    const HostGuard guard;
    abi::Request request{};
    const int status = front.host.isend(
        data, static_cast<int>(bytes), front.host.handles.type[abi::kTypeByte],
        static_cast<int>(peer), static_cast<int>(tag), front.own.p2p_comm, &request);
    *handle = to_handle(request);
    return status;
}

int recv(void*, void* data, size_t bytes, uint32_t peer, uint32_t tag, void** handle) {
    if (bytes > INT_MAX || front.host.has_ended.load(std::memory_order_relaxed)) return 1;
    const HostGuard guard;
    abi::Request request{};
    const int status = front.host.irecv(
        data, static_cast<int>(bytes), front.host.handles.type[abi::kTypeByte],
        static_cast<int>(peer), static_cast<int>(tag), front.own.p2p_comm, &request);
    *handle = to_handle(request);
    return status;
}

// A message that was cut has more bytes than anybody waits for.
int tested(abi::Request& request, abi::Status& message, void** handle, int* done) {
    int status = front.host.test(&request, done, &message);
    *handle = to_handle(request);
    uintptr_t bytes = front.host.abi.received_bytes(message, front.host, front.host.handles);
    if (status != abi::kSuccess) {
        int kind = status;
        front.host.error_class(status, &kind);
        if (kind != front.host.abi.err_truncate) return status;
        bytes = UINTPTR_MAX;
        *done = 1;
    }
    if (*done != 0) {
        *handle = reinterpret_cast<void*>(bytes);
        *done = 2;
    }
    return abi::kSuccess;
}

int test(void*, void** handle, int* done) {
    if (front.host.has_ended.load(std::memory_order_relaxed)) return 1;
    *done = 0;
    if (!front.active.load(std::memory_order_acquire)) return 0;
    const HostGuard guard;
    abi::Request request = to_request(*handle);
    abi::Status message{};
    return tested(request, message, handle, done);
}

// A receive that has met its message cannot be cancelled, and is complete when that has come.
int cancel(void*, void** handle, int* done) {
    *done = 0;
    if (front.host.has_ended.load(std::memory_order_relaxed)) return 1;
    const HostGuard guard;
    abi::Request request = to_request(*handle);
    abi::Status message{};
    int status = front.host.cancel(&request);
    if (status == abi::kSuccess) status = tested(request, message, handle, done);
    int is_cancelled = 0;
    if (status != abi::kSuccess || *done == 0) return status;
    status = front.host.test_cancelled(&message, &is_cancelled);
    if (is_cancelled != 0) *done = 1;
    return status;
}

// Teams go after the host's own end, and look for a last time.
int probe(void*, uint32_t tag, uint32_t* peer, int* there) {
    *there = 0;
    if (!front.active.load(std::memory_order_acquire)) return 0;
    const HostGuard guard;
    abi::Status status{};
    const int outcome = front.host.iprobe(front.host.abi.any_source, static_cast<int>(tag),
                                          front.own.p2p_comm, there, &status);
    if (outcome == abi::kSuccess && *there != 0)
        memcpy(peer, status.host + front.host.abi.status_source_at, sizeof *peer);
    return outcome;
}

}  // namespace

bool create_p2p_comm() {
    if (front.host.comm_dup(front.host.handles.comm_world, &front.own.p2p_comm) != abi::kSuccess ||
        front.host.comm_set_errhandler(front.own.p2p_comm, front.host.handles.errors_return) !=
            abi::kSuccess) {
        return false;
    }
    void* tag_ub = nullptr;
    int found = 0;
    front.host.comm_get_attr(front.own.p2p_comm, front.host.abi.tag_ub, &tag_ub, &found);
    // What every MPI allows. The highest is for probes that shall find nothing.
    constexpr int kLeast = 32767;
    front.own.probe_tag = found != 0 ? *static_cast<int*>(tag_ub) : kLeast;
    front.own.p2p_tag_max = static_cast<uint32_t>(front.own.probe_tag - 1);
    return true;
}

tutti_p2p p2p_callbacks() {
    tutti_p2p callbacks{};
    callbacks.struct_bytes = sizeof callbacks;
    callbacks.user = &front;
    callbacks.tag_max = front.own.p2p_tag_max;
    callbacks.send = send;
    callbacks.recv = recv;
    callbacks.test = test;
    callbacks.probe = probe;
    callbacks.cancel = cancel;
    return callbacks;
}

}  // namespace tutti::mpi
