// SPDX-License-Identifier: BSD-3-Clause
// Makes musl's loader pass over the preloaded library. A library built for glibc has symbols that
// musl lacks, and musl ends every process that preloads one, even a shell. But it never loads a
// second C library: a file that defines __libc_start_main and stdin counts as one and is dropped,
// unread.
//
// glibc looks both up by version, and so finds its own; exports.map gives these a version of
// theirs. Somebody who asks dlsym() without a version finds these, so they lead to glibc's.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

typedef int starter(void*, int, char**, void*, void*, void*, void*);

#pragma GCC visibility push(default)
int tutti_start_main(void* program, int argc, char** argv, void* init, void* fini, void* rtld_fini,
                     void* stack_end);
extern FILE* tutti_stdin;
#pragma GCC visibility pop

FILE* tutti_stdin;
__asm__(".symver tutti_start_main, __libc_start_main@@TUTTI_OTHER_C_LIBRARY");
__asm__(".symver tutti_stdin, stdin@@TUTTI_OTHER_C_LIBRARY");

int tutti_start_main(void* program, int argc, char** argv, void* init, void* fini, void* rtld_fini,
                     void* stack_end) {
    void* const symbol = dlsym(RTLD_NEXT, "__libc_start_main");
    starter* start;
    memcpy(&start, &symbol, sizeof start);
    return start(program, argc, argv, init, fini, rtld_fini, stack_end);
}

// Before all other constructors: within this library, too, stdin is this one.
__attribute__((constructor(101))) static void find_stdin(void) {
    FILE** const real = dlsym(RTLD_NEXT, "stdin");
    if (real) tutti_stdin = *real;
}
