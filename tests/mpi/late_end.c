// SPDX-License-Identifier: BSD-3-Clause
// Preloaded into a rank: its process ends later than others, and says so at each step.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void __attribute__((noreturn)) end_late(const char* name, int status) {
    void (*end)(int) = (void (*)(int))dlsym(RTLD_NEXT, name);
    usleep(500000);
    fprintf(stderr, "late_end: at its %s\n", name);
    end(status);
    abort();
}

void exit(int status) { end_late("exit", status); }
void _exit(int status) { end_late("_exit", status); }
