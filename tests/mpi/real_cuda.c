// SPDX-License-Identifier: BSD-3-Clause
// NVIDIA's own driver behind the face of the stand-in (standin_gpu.h), so that the programs for the
// one try the other. Of one GPU the two devices are two contexts: the primary one, and one of its
// own. A real runtime cannot be told to fail and counts nothing, and nobody changes what stands in
// gaps meanwhile.
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "standin_gpu.h"

enum { kContexts = 2, kAllocations = 1024, kLateUs = 20000 };

// CUmemLocation, CUmemAllocationProp and CUmemAccessDesc of the CUDA Driver API's reference.
typedef struct Location {
    int type, id;
} Location;
typedef struct AllocationProperties {
    int type, handle_types;
    Location location;
    void* windows;
    unsigned char flags[8];
} AllocationProperties;
typedef struct Access {
    Location location;
    int flags;
} Access;
enum { kPinnedMemory = 1, kOnDevice = 1, kReadWrite = 3, kAttachGlobal = 1, kGranularity = 0 };

static struct {
    int (*init)(unsigned flags);
    int (*device_get)(int* device, int ordinal);
    int (*primary_retain)(void** context, int device);
    int (*ctx_create)(void** context, unsigned flags, int device);
    int (*ctx_set)(void* context);
    int (*ctx_get)(void** context);
    int (*ctx_push)(void* context);
    int (*ctx_pop)(void** context);
    int (*ctx_sync)(void);
    int (*alloc)(uintptr_t* at, size_t bytes);
    int (*free)(uintptr_t at);
    int (*alloc_managed)(uintptr_t* at, size_t bytes, unsigned flags);
    int (*alloc_host)(void** at, size_t bytes);
    int (*free_host)(void* at);
    int (*alloc_async)(uintptr_t* at, size_t bytes, void* stream);
    int (*free_async)(uintptr_t at, void* stream);
    int (*granularity)(size_t* bytes, const AllocationProperties* of, int which);
    int (*reserve)(uintptr_t* at, size_t bytes, size_t alignment, uintptr_t wish, uint64_t flags);
    int (*unreserve)(uintptr_t at, size_t bytes);
    int (*create)(uint64_t* handle, size_t bytes, const AllocationProperties* of, uint64_t flags);
    int (*release)(uint64_t handle);
    int (*map)(uintptr_t at, size_t bytes, size_t offset, uint64_t handle, uint64_t flags);
    int (*unmap)(uintptr_t at, size_t bytes);
    int (*set_access)(uintptr_t at, size_t bytes, const Access* access, size_t count);
    int (*copy)(uintptr_t to, uintptr_t from, size_t bytes);
    int (*copy_async)(uintptr_t to, uintptr_t from, size_t bytes, void* stream);
    int (*launch_host)(void* stream, void (*function)(void*), void* argument);
} cu;

static const struct {
    const char* name;
    void* slot;
} kFunctions[] = {{"cuInit", &cu.init},
                  {"cuDeviceGet", &cu.device_get},
                  {"cuDevicePrimaryCtxRetain", &cu.primary_retain},
                  {"cuCtxCreate_v2", &cu.ctx_create},
                  {"cuCtxSetCurrent", &cu.ctx_set},
                  {"cuCtxGetCurrent", &cu.ctx_get},
                  {"cuCtxPushCurrent_v2", &cu.ctx_push},
                  {"cuCtxPopCurrent_v2", &cu.ctx_pop},
                  {"cuCtxSynchronize", &cu.ctx_sync},
                  {"cuMemAlloc_v2", &cu.alloc},
                  {"cuMemFree_v2", &cu.free},
                  {"cuMemAllocManaged", &cu.alloc_managed},
                  {"cuMemAllocHost_v2", &cu.alloc_host},
                  {"cuMemFreeHost", &cu.free_host},
                  {"cuMemAllocAsync", &cu.alloc_async},
                  {"cuMemFreeAsync", &cu.free_async},
                  {"cuMemGetAllocationGranularity", &cu.granularity},
                  {"cuMemAddressReserve", &cu.reserve},
                  {"cuMemAddressFree", &cu.unreserve},
                  {"cuMemCreate", &cu.create},
                  {"cuMemRelease", &cu.release},
                  {"cuMemMap", &cu.map},
                  {"cuMemUnmap", &cu.unmap},
                  {"cuMemSetAccess", &cu.set_access},
                  {"cuMemcpy", &cu.copy},
                  {"cuMemcpyAsync", &cu.copy_async},
                  {"cuLaunchHostFunc", &cu.launch_host}};

typedef struct Allocation {
    uintptr_t at;  // 0: not used
    size_t bytes;  // of a mapping
    int kind, context;
    void* late;  // what write_later() copies from
} Allocation;

static int device;
static void* contexts[kContexts];
static Allocation allocations[kAllocations];

static void need(int status, const char* what) {
    if (status == 0) return;
    fprintf(stderr, "real_cuda: %s: error %d\n", what, status);
    _exit(3);
}

static void enter(int context) { need(cu.ctx_push(contexts[context]), "cuCtxPushCurrent"); }
static void leave(void) {
    void* popped;
    need(cu.ctx_pop(&popped), "cuCtxPopCurrent");
}

// Two threads allocate at once: a slot is taken by its address.
static Allocation* add(uintptr_t at) {
    for (int i = 0; i < kAllocations; ++i) {
        uintptr_t unused = 0;
        if (__atomic_compare_exchange_n(&allocations[i].at, &unused, at, 0, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED)) {
            return &allocations[i];
        }
    }
    need(-1, "allocations");
    return NULL;
}
static Allocation* find(const void* memory) {
    for (int i = 0; i < kAllocations; ++i)
        if (__atomic_load_n(&allocations[i].at, __ATOMIC_ACQUIRE) == (uintptr_t)memory)
            return &allocations[i];
    need(-1, "no such allocation");
    return NULL;
}

// Mapped by the program itself, at `wish` where the driver grants that.
static uintptr_t map_memory(void* wish, size_t* bytes) {
    const AllocationProperties properties = {kPinnedMemory, 0, {kOnDevice, device}, NULL, {0}};
    const Access access = {{kOnDevice, device}, kReadWrite};
    size_t unit = 0;
    uint64_t handle = 0;
    uintptr_t at = 0;
    need(cu.granularity(&unit, &properties, kGranularity), "cuMemGetAllocationGranularity");
    *bytes = (*bytes + unit - 1) / unit * unit;
    need(cu.reserve(&at, *bytes, 0, (uintptr_t)wish, 0), "cuMemAddressReserve");
    need(cu.create(&handle, *bytes, &properties, 0), "cuMemCreate");
    need(cu.map(at, *bytes, 0, handle, 0), "cuMemMap");
    need(cu.set_access(at, *bytes, &access, 1), "cuMemSetAccess");
    need(cu.release(handle), "cuMemRelease");
    return at;
}

static void* real_alloc(void* wish, size_t bytes, int kind, int context) {
    uintptr_t at = 0;
    void* host = NULL;
    enter(context);
    if (kind == kStandinDevice) need(cu.alloc(&at, bytes), "cuMemAlloc");
    if (kind == kStandinManaged)
        need(cu.alloc_managed(&at, bytes, kAttachGlobal), "cuMemAllocManaged");
    if (kind == kStandinPinned) need(cu.alloc_host(&host, bytes), "cuMemAllocHost");
    if (kind == kStandinPool) {
        need(cu.alloc_async(&at, bytes, NULL), "cuMemAllocAsync");
        need(cu.ctx_sync(), "cuCtxSynchronize");
    }
    if (kind == kStandinMapped) at = map_memory(wish, &bytes);
    leave();
    if (host) at = (uintptr_t)host;
    Allocation* a = add(at);
    a->bytes = bytes;
    a->kind = kind;
    a->context = context;
    a->late = NULL;
    return (void*)at;
}

static void real_release(void* memory) {
    Allocation* a = find(memory);
    const Allocation was = *a;
    __atomic_store_n(&a->at, 0, __ATOMIC_RELEASE);
    enter(was.context);
    if (was.kind == kStandinDevice || was.kind == kStandinManaged)
        need(cu.free(was.at), "cuMemFree");
    if (was.kind == kStandinPinned) need(cu.free_host(memory), "cuMemFreeHost");
    if (was.kind == kStandinPool) need(cu.free_async(was.at, NULL), "cuMemFreeAsync");
    if (was.kind == kStandinMapped) {
        need(cu.unmap(was.at, was.bytes), "cuMemUnmap");
        need(cu.unreserve(was.at, was.bytes), "cuMemAddressFree");
    }
    if (was.late) need(cu.free_host(was.late), "cuMemFreeHost");
    leave();
}

// A copy from pageable memory may be under way still when it is back, and what belongs to no
// context is behind the streams of the one that is current then: whoever calls from another one
// waits himself, as the program here does.
static void real_write(void* memory, const void* from, size_t bytes) {
    const Allocation* a = find(memory);
    enter(a->context);
    need(cu.copy((uintptr_t)memory, (uintptr_t)from, bytes), "cuMemcpy to the device");
    if (a->kind == kStandinPool || a->kind == kStandinMapped)
        need(cu.ctx_sync(), "cuCtxSynchronize");
    leave();
}
static void real_read(const void* memory, void* to, size_t bytes) {
    enter(find(memory)->context);
    need(cu.copy((uintptr_t)to, (uintptr_t)memory, bytes), "cuMemcpy from the device");
    leave();
}

static void dawdle(void* unused) {
    (void)unused;
    usleep(kLateUs);
}
static void real_write_later(void* memory, const void* from, size_t bytes) {
    Allocation* a = find(memory);
    enter(a->context);
    need(cu.alloc_host(&a->late, bytes), "cuMemAllocHost");
    memcpy(a->late, from, bytes);
    need(cu.launch_host(NULL, dawdle, NULL), "cuLaunchHostFunc");
    need(cu.copy_async((uintptr_t)memory, (uintptr_t)a->late, bytes, NULL), "cuMemcpyAsync");
    leave();
}

static void real_busy(void* memory, const unsigned char* marks) {
    (void)memory;
    (void)marks;
}
static unsigned real_ticks(const void* memory) {
    (void)memory;
    return 0;
}
static long real_count(const char* what) {
    (void)what;
    return 0;
}
static void real_fail(const char* function) { need(-1, function); }
static void real_make_current(int context) {
    need(cu.ctx_set(context < 0 ? NULL : contexts[context]), "cuCtxSetCurrent");
}
static int real_current(void) {
    void* current = NULL;
    need(cu.ctx_get(&current), "cuCtxGetCurrent");
    for (int i = 0; i < kContexts; ++i)
        if (current == contexts[i]) return i;
    return current ? -2 : -1;
}
static int real_has_error(void) { return 0; }

__attribute__((visibility("default"))) void standin_open(Standin* s) {
    void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    need(driver ? 0 : -1, "libcuda.so.1");
    for (size_t i = 0; i < sizeof kFunctions / sizeof *kFunctions; ++i) {
        void* function = dlsym(driver, kFunctions[i].name);
        need(function ? 0 : -1, kFunctions[i].name);
        memcpy(kFunctions[i].slot, &function, sizeof function);
    }
    need(cu.init(0), "cuInit");
    need(cu.device_get(&device, 0), "cuDeviceGet");
    need(cu.primary_retain(&contexts[0], device), "cuDevicePrimaryCtxRetain");
    need(cu.ctx_create(&contexts[1], 0, device), "cuCtxCreate");
    need(cu.ctx_set(NULL), "cuCtxSetCurrent");
    *s = (Standin){real_alloc,       real_release,      real_write,   real_read,
                   real_write_later, real_busy,         real_ticks,   real_count,
                   real_fail,        real_make_current, real_current, real_has_error};
}
