// SPDX-License-Identifier: BSD-3-Clause
// What a test program asks of the stand-in for a GPU's runtime, or of a real one (real_cuda.c),
// beyond what Tutti asks. `standin_open` is found by dlsym: the program is linked to no runtime.
#ifndef TESTS_MPI_STANDIN_GPU_H
#define TESTS_MPI_STANDIN_GPU_H

#include <stddef.h>

// kStandinMapped is device memory that the program maps itself, where it wishes.
enum { kStandinDevice, kStandinManaged, kStandinPinned, kStandinPool, kStandinMapped };

typedef struct Standin {
    // Memory at `wish`, or anywhere where that is null or cannot be had, on device (and in context)
    // `device`.
    void* (*alloc)(void* wish, size_t bytes, int kind, int device);
    void (*release)(void* memory);
    // At once, as if on the device.
    void (*write)(void* memory, const void* from, size_t bytes);
    void (*read)(const void* memory, void* to, size_t bytes);
    // In the legacy default stream, where nobody has waited for it yet.
    void (*write_later)(void* memory, const void* from, size_t bytes);
    // The device adds one to every marked byte of an allocation whenever a copy is waited for;
    // returns how often it has.
    void (*busy)(void* memory, const unsigned char* marks);
    unsigned (*ticks)(const void* memory);
    // "queries", "copies", "streams", "pushed", "held", "bytes", "registrations" of the processor's
    // memory, bytes of it that are "pinned". 0 of a real runtime.
    long (*count)(const char* what);
    void (*fail)(const char* function);  // its next call
    void (*make_current)(int device);
    int (*current)(void);
    int (*has_error)(void);  // what the program would see of its own last error
} Standin;

#endif
