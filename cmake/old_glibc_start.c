// SPDX-License-Identifier: BSD-3-Clause
// Up to glibc 2.33 a program runs its own constructors; later ones run them for it, and their start
// files bring no code for it. A program that names such a function is served by both.
#include <stddef.h>

typedef void constructor(int, char**, char**);

extern constructor* const __preinit_array_start[] __attribute__((visibility("hidden")));
extern constructor* const __preinit_array_end[] __attribute__((visibility("hidden")));
extern constructor* const __init_array_start[] __attribute__((visibility("hidden")));
extern constructor* const __init_array_end[] __attribute__((visibility("hidden")));
extern void _init(void);

static void construct(int argc, char** argv, char** environment) {
    const size_t early = (size_t)(__preinit_array_end - __preinit_array_start);
    const size_t count = (size_t)(__init_array_end - __init_array_start);
    for (size_t i = 0; i < early; ++i) __preinit_array_start[i](argc, argv, environment);
    _init();
    for (size_t i = 0; i < count; ++i) __init_array_start[i](argc, argv, environment);
}

typedef int entry(int, char**, char**);

int __real___libc_start_main(entry*, int, char**, constructor*, void (*)(void), void (*)(void),
                             void*);
int __wrap___libc_start_main(entry*, int, char**, constructor*, void (*)(void), void (*)(void),
                             void*);

int __wrap___libc_start_main(entry* program, int argc, char** argv, constructor* init,
                             void (*fini)(void), void (*rtld_fini)(void), void* stack_end) {
    return __real___libc_start_main(program, argc, argv, init ? init : construct, fini, rtld_fini,
                                    stack_end);
}
