// SPDX-License-Identifier: BSD-3-Clause
// Preloaded: counts what the library itself holds of a process's heap. What the process holds in
// all says little, since host MPIs keep memory too: across hosts Open MPI 5.0.11 some 2 KB for each
// communicator that there ever was, and the largest unexpected messages that ever came.
//
// In each process that has libtutti the bytes stand as an int64_t in a file HOST.PID in the folder
// that FOLDER names when this is compiled; other processes run on unchanged.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// Of the C library, which exports them beside the names that are taken here.
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
void __libc_free(void*);

// Blocks of the library: an open hash table without tombstones, guarded by the mutex. Larger than
// any process needs: a rank of 32 holds some 5,000.
enum { kBits = 18, kBlocks = 1 << kBits };

static uintptr_t library_begin, library_end;  // set once, before there are threads
static _Atomic(int64_t)* held;                // mapped from the file; NULL: nothing is counted
static void* blocks[kBlocks];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static uint32_t place_of(const void* block) {
    return (uint32_t)(((uintptr_t)block >> 4) * 0x9E3779B97F4A7C15u >> (64 - kBits));
}

static uint32_t next(uint32_t place) { return (place + 1) % kBlocks; }

static int is_library(const void* caller) {
    return held && (uintptr_t)caller >= library_begin && (uintptr_t)caller < library_end;
}

static void* took(void* block, const void* caller) {
    if (!block || !is_library(caller)) return block;
    pthread_mutex_lock(&mutex);
    uint32_t place = place_of(block);
    while (blocks[place]) place = next(place);
    blocks[place] = block;
    pthread_mutex_unlock(&mutex);
    atomic_fetch_add_explicit(held, (int64_t)malloc_usable_size(block), memory_order_relaxed);
    return block;
}

// Closes the gap: what comes behind it and may stand there moves up.
static void remove_at(uint32_t gap) {
    blocks[gap] = NULL;
    for (uint32_t at = next(gap); blocks[at]; at = next(at)) {
        const uint32_t home = place_of(blocks[at]);
        if ((at - home) % kBlocks < (at - gap) % kBlocks) continue;
        blocks[gap] = blocks[at];
        blocks[at] = NULL;
        gap = at;
    }
}

// Whoever frees it: the library also lets go of what others gave it, and others of its blocks.
static void leaves(void* block) {
    if (!held || !block) return;
    pthread_mutex_lock(&mutex);
    uint32_t place = place_of(block);
    while (blocks[place] && blocks[place] != block) place = next(place);
    const int is_ours = blocks[place] != NULL;
    if (is_ours) remove_at(place);
    pthread_mutex_unlock(&mutex);
    if (!is_ours) return;
    atomic_fetch_sub_explicit(held, (int64_t)malloc_usable_size(block), memory_order_relaxed);
}

void* malloc(size_t bytes) { return took(__libc_malloc(bytes), __builtin_return_address(0)); }

void* calloc(size_t count, size_t bytes) {
    return took(__libc_calloc(count, bytes), __builtin_return_address(0));
}

void* memalign(size_t alignment, size_t bytes) {
    return took(__libc_memalign(alignment, bytes), __builtin_return_address(0));
}

void* aligned_alloc(size_t alignment, size_t bytes) {
    return took(__libc_memalign(alignment, bytes), __builtin_return_address(0));
}

int posix_memalign(void** block, size_t alignment, size_t bytes) {
    void* found = took(__libc_memalign(alignment, bytes), __builtin_return_address(0));
    if (found) *block = found;
    return found ? 0 : ENOMEM;
}

// Where there is no memory the old block stays, and is no longer counted.
void* realloc(void* block, size_t bytes) {
    leaves(block);
    return took(__libc_realloc(block, bytes), __builtin_return_address(0));
}

void free(void* block) {
    leaves(block);
    __libc_free(block);
}

static int find(struct dl_phdr_info* object, size_t size, void* unused) {
    (void)size;
    (void)unused;
    if (!strstr(object->dlpi_name, "/libtutti")) return 0;
    for (int i = 0; i < object->dlpi_phnum; ++i) {
        const ElfW(Phdr)* part = &object->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X)) continue;
        library_begin = object->dlpi_addr + part->p_vaddr;
        library_end = library_begin + part->p_memsz;
    }
    return 1;
}

__attribute__((constructor)) static void begin(void) {
    if (!dl_iterate_phdr(find, NULL) || !library_end) return;
    char path[512], host[128] = "";
    gethostname(host, sizeof host - 1);
    snprintf(path, sizeof path, "%s/%s.%d", FOLDER, host, (int)getpid());
    const int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) return;
    if (ftruncate(fd, sizeof *held) == 0) {
        void* found = mmap(NULL, sizeof *held, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (found != MAP_FAILED) held = found;
    }
    close(fd);
}
