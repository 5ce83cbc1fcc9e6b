// SPDX-License-Identifier: BSD-3-Clause
// What this machine's headers and static libraries want of the C library and a glibc of the age of
// TUTTI_GLIBC (old_glibc.cmake) does not have. Compiled into each file that is installed, and
// hidden.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// glibc 2.33. Where file offsets have 64 bits, the kernel's struct is the C library's.
_Static_assert(sizeof(((struct stat*)0)->st_size) == 8, "struct stat is not the kernel's");

int fstatat(int directory, const char* restrict path, struct stat* restrict result, int flags) {
    return (int)syscall(SYS_newfstatat, directory, path, result, flags);
}

int stat(const char* restrict path, struct stat* restrict result) {
    return fstatat(AT_FDCWD, path, result, 0);
}

int lstat(const char* restrict path, struct stat* restrict result) {
    return fstatat(AT_FDCWD, path, result, AT_SYMLINK_NOFOLLOW);
}

int fstat(int file, struct stat* result) { return (int)syscall(SYS_fstat, file, result); }

int fstatat64(int, const char* restrict, struct stat64* restrict, int)
    __attribute__((alias("fstatat"), visibility("hidden")));
int stat64(const char* restrict, struct stat64* restrict)
    __attribute__((alias("stat"), visibility("hidden")));
int lstat64(const char* restrict, struct stat64* restrict)
    __attribute__((alias("lstat"), visibility("hidden")));
int fstat64(int, struct stat64*) __attribute__((alias("fstat"), visibility("hidden")));

// glibc 2.32. Not set: the standard library's counters then use atomic instructions, as they must
// beside threads.
char __libc_single_threaded = 0;

// glibc 2.35, for unwinding.
#if __GLIBC_PREREQ(2, 35)
struct search {
    ElfW(Addr) address;
    struct dl_find_object* found;
};

static int look_into(struct dl_phdr_info* object, size_t bytes, void* user) {
    struct search* search = user;
    ElfW(Addr) begin = (ElfW(Addr)) - 1, end = 0;
    void* frames = NULL;
    int inside = 0;
    (void)bytes;
    for (int i = 0; i < object->dlpi_phnum; ++i) {
        const ElfW(Phdr)* part = &object->dlpi_phdr[i];
        const ElfW(Addr) start = object->dlpi_addr + part->p_vaddr;
        if (part->p_type == PT_GNU_EH_FRAME) frames = (void*)start;
        if (part->p_type != PT_LOAD) continue;
        if (start < begin) begin = start;
        if (start + part->p_memsz > end) end = start + part->p_memsz;
        if (search->address >= start && search->address - start < part->p_memsz) inside = 1;
    }
    if (!inside || !frames) return inside;
    search->found->dlfo_flags = 0;
    search->found->dlfo_map_start = (void*)begin;
    search->found->dlfo_map_end = (void*)end;
    search->found->dlfo_link_map = NULL;  // the unwinder does not read it
    search->found->dlfo_eh_frame = frames;
    search->address = 0;
    return 1;
}

int _dl_find_object(void* address, struct dl_find_object* result) {
    struct search search = {(ElfW(Addr))address, result};
    dl_iterate_phdr(look_into, &search);
    return search.address == 0 ? 0 : -1;
}
#endif
