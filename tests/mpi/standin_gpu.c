// SPDX-License-Identifier: BSD-3-Clause
// A stand-in for the runtime of a GPU, made from STANDIN_CUDA, STANDIN_HIP or STANDIN_ZE as a
// library with the real one's name and the real functions that Tutti calls. Its device memory is
// mapped without any rights where the program sees it, so whoever touches it ends there; the copies
// go through a second mapping. It is strict where the real ones are: a copy needs the right context
// or device, stays within one allocation, and nothing has happened before its stream is waited for.
#include "standin_gpu.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { kAllocations = 256, kStreams = 64, kPending = 4096, kDevices = 2, kRegions = 64 };

typedef struct Allocation {
    unsigned char* front;
    unsigned char* back;
    size_t bytes, mapped;
    int kind, device;
    const unsigned char* marks;
    unsigned ticks;
    long last_drain;  // the number of copies then
} Allocation;

typedef struct Copy {
    void* to;
    const void* from;
    size_t bytes;
    void* owned;  // freed when made
} Copy;

typedef struct Stream {
    int device, is_blocking, count, is_used;
    Copy pending[kPending];
} Stream;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Allocation allocations[kAllocations];
static Stream streams[kStreams];
static struct {
    char* memory;
    size_t bytes;
} regions[kRegions];  // of the processor's memory that are pinned
static Stream legacy[kDevices];
static long queries, copies, pushed, held, bytes_copied, registrations;
static char failing[64];
static __thread int current_device = -1;
static __thread int last_error;

static Allocation* find(const void* address) {
    const unsigned char* p = (const unsigned char*)address;
    for (int i = 0; i < kAllocations; ++i) {
        Allocation* a = &allocations[i];
        if (a->front && p >= a->front && p < a->front + a->bytes) return a;
    }
    return NULL;
}

static int fails(const char* function) {
    if (strcmp(failing, function) != 0) return 0;
    failing[0] = '\0';
    return 1;
}

// Where the bytes really are; null where they leave the allocation.
static unsigned char* real(const void* address, size_t bytes) {
    const Allocation* a = find(address);
    if (!a) return (unsigned char*)(uintptr_t)address;
    const size_t at = (size_t)((const unsigned char*)address - a->front);
    return bytes <= a->bytes - at ? a->back + at : NULL;
}

static void make(Copy* copy) {
    memcpy(real(copy->to, copy->bytes), real(copy->from, copy->bytes), copy->bytes);
    bytes_copied += (long)copy->bytes;
    free(copy->owned);
}

// Once for each allocation in a drain; where every copy is one, for the first and then seldom.
static void tick(const void* address) {
    enum { kSeldom = 4096 };
    static long drains;
    Allocation* a = find(address);
    if (!a || !a->marks || a->last_drain == copies) return;
    if (a->last_drain == copies - 1 && ++drains % kSeldom != 0) {
        a->last_drain = copies;
        return;
    }
    a->last_drain = copies;
    ++a->ticks;
    for (size_t i = 0; i < a->bytes; ++i)
        a->back[i] = (unsigned char)(a->back[i] + (a->marks[i] != 0));
}

static void drain(Stream* stream) {
    for (int i = 0; i < stream->count; ++i) make(&stream->pending[i]);
    for (int i = 0; i < stream->count; ++i) {
        tick(stream->pending[i].from);
        tick(stream->pending[i].to);
    }
    stream->count = 0;
}

// 0, or why it cannot be.
static int enqueue(Stream* stream, void* to, const void* from, size_t bytes) {
    const Allocation* ends[2] = {find(to), find(from)};
    for (int i = 0; i < 2; ++i) {
        if (ends[i] && ends[i]->device != stream->device) return 201;
    }
    if (!real(to, bytes) || !real(from, bytes)) return 1;
    if (stream->count == kPending) drain(stream);
    stream->pending[stream->count++] = (Copy){to, from, bytes, NULL};
    ++copies;
    return 0;
}

// One copy, as they are counted. A row may not reach into the next.
static inline int enqueue_rows(Stream* stream, void* to, size_t to_pitch, const void* from,
                               size_t from_pitch, size_t width, size_t rows) {
    if (width > to_pitch || width > from_pitch || rows == 0) return 1;
    pthread_mutex_lock(&lock);
    const long counted = copies;
    int status = 0;
    for (size_t row = 0; row < rows && status == 0; ++row) {
        status = enqueue(stream, (char*)to + row * to_pitch, (const char*)from + row * from_pitch,
                         width);
    }
    copies = counted + 1;
    pthread_mutex_unlock(&lock);
    return status;
}

static Stream* new_stream(int device, int is_blocking) {
    for (int i = 0; i < kStreams; ++i) {
        if (streams[i].is_used) continue;
        streams[i].is_used = 1;
        streams[i].device = device;
        streams[i].is_blocking = is_blocking;
        return &streams[i];
    }
    return NULL;
}

static void wait_for(Stream* stream) {
    if (stream->is_blocking) drain(&legacy[stream->device]);
    drain(stream);
}

// As the real ones: whole pages once, and the whole region again.
static inline int pin(void* memory, size_t bytes) {
    pthread_mutex_lock(&lock);
    int place = -1, status = 0;
    for (int i = 0; i < kRegions; ++i) {
        char* begin = regions[i].memory;
        if (!begin) place = i;
        if (begin && (char*)memory < begin + regions[i].bytes && begin < (char*)memory + bytes)
            status = 712;
    }
    if (place < 0 || bytes == 0) status = 1;
    if (status == 0) {
        regions[place].memory = memory;
        regions[place].bytes = bytes;
        ++registrations;
    }
    pthread_mutex_unlock(&lock);
    return status;
}
static inline int unpin(void* memory) {
    pthread_mutex_lock(&lock);
    int status = 713;
    for (int i = 0; i < kRegions; ++i) {
        if (regions[i].memory != memory) continue;
        regions[i].memory = NULL;
        status = 0;
    }
    pthread_mutex_unlock(&lock);
    return status;
}
static long pinned_bytes(void) {
    long bytes = 0;
    for (int i = 0; i < kRegions; ++i) bytes += regions[i].memory ? (long)regions[i].bytes : 0;
    return bytes;
}

static void* standin_alloc(void* wish, size_t bytes, int kind, int device) {
    pthread_mutex_lock(&lock);
    Allocation* a = NULL;
    for (int i = 0; i < kAllocations && !a; ++i) a = allocations[i].front ? NULL : &allocations[i];
    const int fd = memfd_create("standin", 0);
    const size_t mapped = (bytes + 4095) / 4096 * 4096 + 4096;
    if (!a || fd < 0 || ftruncate(fd, (off_t)mapped) != 0) abort();
    const int rights = kind == kStandinPinned ? PROT_READ | PROT_WRITE : PROT_NONE;
    void* front = mmap(wish, mapped, rights, MAP_SHARED | (wish ? MAP_FIXED : 0), fd, 0);
    void* back = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (front == MAP_FAILED || back == MAP_FAILED) abort();
    *a = (Allocation){front, back, bytes, mapped, kind, device, NULL, 0, -9};
    pthread_mutex_unlock(&lock);
    return front;
}

static void standin_release(void* memory) {
    pthread_mutex_lock(&lock);
    Allocation* a = find(memory);
    munmap(a->front, a->mapped);
    munmap(a->back, a->mapped);
    a->front = NULL;
    pthread_mutex_unlock(&lock);
}

static void standin_write(void* memory, const void* from, size_t bytes) {
    memcpy(real(memory, bytes), from, bytes);
}
static void standin_read(const void* memory, void* to, size_t bytes) {
    memcpy(to, real(memory, bytes), bytes);
}
static void standin_write_later(void* memory, const void* from, size_t bytes) {
    void* kept = malloc(bytes);
    memcpy(kept, from, bytes);
    pthread_mutex_lock(&lock);
    Stream* stream = &legacy[find(memory)->device];
    if (stream->count == kPending) abort();
    stream->pending[stream->count++] = (Copy){memory, kept, bytes, kept};
    pthread_mutex_unlock(&lock);
}
static void standin_busy(void* memory, const unsigned char* marks) {
    find(memory)->marks = marks;
    find(memory)->ticks = 0;
}
static unsigned standin_ticks(const void* memory) { return find(memory)->ticks; }

static long standin_count(const char* what) {
    if (strcmp(what, "queries") == 0) return queries;
    if (strcmp(what, "copies") == 0) return copies;
    if (strcmp(what, "pushed") == 0) return pushed;
    if (strcmp(what, "held") == 0) return held;
    if (strcmp(what, "bytes") == 0) return bytes_copied;
    if (strcmp(what, "registrations") == 0) return registrations;
    if (strcmp(what, "pinned") == 0) return pinned_bytes();
    long used = 0;
    for (int i = 0; i < kStreams; ++i) used += streams[i].is_used;
    return used;
}
static void standin_fail(const char* function) {
    snprintf(failing, sizeof failing, "%s", function);
}
static void standin_make_current(int device) { current_device = device; }
static int standin_current(void) {
#if defined(STANDIN_HIP)
    return current_device < 0 ? 0 : current_device;
#else
    return current_device;
#endif
}
static int standin_has_error(void) { return last_error; }

__attribute__((visibility("default"))) void standin_open(Standin* s) {
    *s = (Standin){standin_alloc,       standin_release,      standin_write,   standin_read,
                   standin_write_later, standin_busy,         standin_ticks,   standin_count,
                   standin_fail,        standin_make_current, standin_current, standin_has_error};
}

#define EXPORT __attribute__((visibility("default")))

#if defined(STANDIN_CUDA)

// Contexts are numbers from 1, one a device; the null one is that of memory of a pool.
enum { kStack = 16 };
static __thread int stack[kStack];
static __thread int depth;

EXPORT int cuPointerGetAttributes(unsigned count, const int* which, void** values, uintptr_t at) {
    pthread_mutex_lock(&lock);
    ++queries;
    const Allocation* a = find((const void*)at);
    for (unsigned i = 0; i < count; ++i) {
        const int is_host = a && a->kind == kStandinPinned;
        if (which[i] == 1) {
            const int has_context = a && a->kind != kStandinPool;
            *(void**)values[i] = has_context ? (void*)(uintptr_t)(a->device + 1) : NULL;
        }
        if (which[i] == 2) *(unsigned*)values[i] = !a ? 0 : is_host ? 1 : 2;
        if (which[i] == 8) *(unsigned*)values[i] = a && a->kind == kStandinManaged;
        if (which[i] == 9) *(int*)values[i] = a ? a->device : -2;
    }
    pthread_mutex_unlock(&lock);
    return 0;
}
EXPORT int cuCtxPushCurrent_v2(void* context) {
    if (fails("cuCtxPushCurrent")) return 201;
    stack[depth++] = current_device;
    current_device = (int)(uintptr_t)context - 1;
    __atomic_add_fetch(&pushed, 1, __ATOMIC_RELAXED);
    return 0;
}
EXPORT int cuCtxPopCurrent_v2(void** context) {
    *context = (void*)(uintptr_t)(current_device + 1);
    if (depth == 0) return 201;
    current_device = stack[--depth];
    __atomic_sub_fetch(&pushed, 1, __ATOMIC_RELAXED);
    return 0;
}
EXPORT int cuCtxGetCurrent(void** context) {
    *context = (void*)(uintptr_t)(current_device + 1);
    return 0;
}
EXPORT int cuCtxGetDevice(int* device) {
    *device = current_device;
    return current_device < 0 ? 201 : 0;
}
EXPORT int cuDevicePrimaryCtxRetain(void** context, int device) {
    *context = (void*)(uintptr_t)(device + 1);
    ++held;
    return 0;
}
EXPORT int cuStreamCreate(void** stream, unsigned flags) {
    if (fails("cuStreamCreate")) return 2;
    if (current_device < 0) return 201;
    *stream = new_stream(current_device, (flags & 1) == 0);
    return *stream ? 0 : 2;
}
EXPORT int cuStreamDestroy_v2(void* stream) {
    ((Stream*)stream)->is_used = 0;
    return 0;
}
EXPORT int cuStreamSynchronize(void* stream) {
    if (fails("cuStreamSynchronize")) return 700;
    if (((Stream*)stream)->device != current_device) return 400;
    pthread_mutex_lock(&lock);
    wait_for(stream);
    pthread_mutex_unlock(&lock);
    return 0;
}
EXPORT int cuMemHostRegister_v2(void* memory, size_t bytes, unsigned flags) {
    if (fails("cuMemHostRegister")) return 2;
    if (current_device < 0) return 201;
    return flags == 1 ? pin(memory, bytes) : 1;
}
EXPORT int cuMemHostUnregister(void* memory) { return current_device < 0 ? 201 : unpin(memory); }
EXPORT int cuMemcpyAsync(uintptr_t to, uintptr_t from, size_t bytes, void* stream) {
    if (fails("cuMemcpyAsync")) return 700;
    if (((Stream*)stream)->device != current_device) return 400;
    pthread_mutex_lock(&lock);
    const int status = enqueue(stream, (void*)to, (const void*)from, bytes);
    pthread_mutex_unlock(&lock);
    return status;
}
typedef struct Copy2D {
    size_t from_x, from_y;
    unsigned from_type;
    const void* from_host;
    uintptr_t from_device;
    void* from_array;
    size_t from_pitch;
    size_t to_x, to_y;
    unsigned to_type;
    void* to_host;
    uintptr_t to_device;
    void* to_array;
    size_t to_pitch, width, height;
} Copy2D;
EXPORT int cuMemcpy2DAsync_v2(const Copy2D* c, void* stream) {
    if (c->from_type != 1 || c->to_type != 2 || find(c->from_host) || c->from_x || c->from_y ||
        c->to_x || c->to_y) {
        return 1;
    }
    if (((Stream*)stream)->device != current_device) return 400;
    return enqueue_rows(stream, (void*)c->to_device, c->to_pitch, c->from_host, c->from_pitch,
                        c->width, c->height);
}
EXPORT int cuGetErrorString(int status, const char** text) {
    *text = status == 700 ? "an illegal memory access was encountered" : "some other error";
    return 0;
}

#elif defined(STANDIN_HIP)

typedef struct PointerAttribute {
    int type, device;
    void *device_pointer, *host_pointer;
    int is_managed;
    unsigned flags;
} PointerAttribute;

static int version(void) {
    const char* text = getenv("STANDIN_HIP_VERSION");
    return text ? atoi(text) : 60000000;
}
static int said(int status) {
    if (status != 0) last_error = status;
    return status;
}
EXPORT int hipPointerGetAttributes(PointerAttribute* found, const void* at) {
    const int is_old = version() < 60000000;
    pthread_mutex_lock(&lock);
    ++queries;
    const Allocation* a = find(at);
    memset(found, 0, sizeof *found);
    if (a) {
        static const int kNew[] = {2, 3, 1, 2, 2}, kOld[] = {1, 4, 0, 1, 1};
        found->type = (is_old ? kOld : kNew)[a->kind];
        found->device = a->device;
        found->is_managed = a->kind == kStandinManaged;
    }
    pthread_mutex_unlock(&lock);
    return !a && is_old ? said(1) : 0;
}
EXPORT int hipRuntimeGetVersion(int* number) {
    *number = version();
    return 0;
}
EXPORT int hipGetDevice(int* device) {
    *device = current_device < 0 ? 0 : current_device;
    return 0;
}
EXPORT int hipSetDevice(int device) {
    current_device = device;
    return 0;
}
EXPORT int hipStreamCreateWithFlags(void** stream, unsigned flags) {
    if (fails("hipStreamCreateWithFlags")) return said(2);
    *stream = new_stream(current_device < 0 ? 0 : current_device, (flags & 1) == 0);
    return *stream ? 0 : said(2);
}
EXPORT int hipStreamDestroy(void* stream) {
    ((Stream*)stream)->is_used = 0;
    return 0;
}
EXPORT int hipStreamSynchronize(void* stream) {
    if (fails("hipStreamSynchronize")) return said(700);
    pthread_mutex_lock(&lock);
    wait_for(stream);
    pthread_mutex_unlock(&lock);
    return 0;
}
EXPORT int hipHostRegister(void* memory, size_t bytes, unsigned flags) {
    if (fails("hipHostRegister") || flags != 1) return said(2);
    return said(pin(memory, bytes));
}
EXPORT int hipHostUnregister(void* memory) { return said(unpin(memory)); }
EXPORT int hipMemcpyAsync(void* to, const void* from, size_t bytes, int kind, void* stream) {
    if (fails("hipMemcpyAsync") || kind != 4) return said(700);
    if (((Stream*)stream)->device != (current_device < 0 ? 0 : current_device)) return said(400);
    pthread_mutex_lock(&lock);
    const int status = enqueue(stream, to, from, bytes);
    pthread_mutex_unlock(&lock);
    return said(status);
}
EXPORT int hipMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                            size_t width, size_t height, int kind, void* stream) {
    if (kind != 4) return said(1);
    if (((Stream*)stream)->device != (current_device < 0 ? 0 : current_device)) return said(400);
    return said(enqueue_rows(stream, to, to_pitch, from, from_pitch, width, height));
}
EXPORT int hipPeekAtLastError(void) { return last_error; }
EXPORT int hipGetLastError(void) {
    const int status = last_error;
    last_error = 0;
    return status;
}
EXPORT const char* hipGetErrorString(int status) {
    return status == 700 ? "an illegal memory access was encountered" : "some other error";
}

#elif defined(STANDIN_ZE)

// Devices are the addresses of these; there is one driver.
static char devices[kDevices];
static char driver, context;
static int is_initialised;

typedef struct Properties {
    int type;
    void* next;
    int memory;
    uint64_t id, page_bytes;
} Properties;

EXPORT int zeInit(uint32_t flags) {
    is_initialised = flags == 0;
    return 0;
}
EXPORT int zeDriverGet(uint32_t* count, void** drivers) {
    if (!is_initialised) return 0x78000001;
    if (*count > 0) drivers[0] = &driver;
    *count = 1;
    return 0;
}
EXPORT int zeContextCreate(void* of, const void* description, void** made) {
    if (of != &driver || *(const int*)description != 0xd) return 0x78000004;
    *made = &context;
    return 0;
}
EXPORT int zeMemGetAllocProperties(void* in, const void* at, Properties* found, void** device) {
    if (in != &context || found->type != 0x17) return 0x78000004;
    pthread_mutex_lock(&lock);
    ++queries;
    const Allocation* a = find(at);
    static const int kTypes[] = {2, 3, 1, 2, 2};
    found->memory = a ? kTypes[a->kind] : 0;
    *device = a ? &devices[a->device] : NULL;
    pthread_mutex_unlock(&lock);
    return 0;
}
EXPORT int zeCommandListCreateImmediate(void* in, void* device, const void* description,
                                        void** list) {
    if (fails("zeCommandListCreateImmediate")) return 0x70000002;
    // Type and mode, as the structure has them.
    const int* words = (const int*)description;
    if (in != &context || words[0] != 0xe || words[7] != 1) return 0x78000004;
    *list = new_stream((int)((char*)device - devices), 0);
    return 0;
}
EXPORT int zeCommandListAppendMemoryCopy(void* list, void* to, const void* from, size_t bytes,
                                         void* signal, uint32_t waits, void** events) {
    if (fails("zeCommandListAppendMemoryCopy") || signal || waits || events) return 0x70000001;
    pthread_mutex_lock(&lock);
    const int status = enqueue(list, to, from, bytes);
    if (status == 0) wait_for(list);
    pthread_mutex_unlock(&lock);
    return status;
}
EXPORT int zeCommandListDestroy(void* list) {
    ((Stream*)list)->is_used = 0;
    return 0;
}

#endif
