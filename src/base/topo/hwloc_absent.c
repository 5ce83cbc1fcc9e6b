// SPDX-License-Identifier: BSD-3-Clause
// What the static hwloc may not reach, answered with "not there". (The build renames hwloc's own
// references to these, so that nobody else's dlopen or stderr is touched.)
//
// - udev: hwloc asks it only for the names of I/O devices, which are filtered out, and udev has no
//   static archive.
// - dlopen: hwloc's plug-ins (OpenCL, NVML, libxml) would bring graphics libraries and another
// hwloc
//   into the user's process, for objects that are filtered out as well.
// - stdout, stderr and what writes to them: a library does not print. (Debian's archive also refers
//   to these variables in a way that only a program can satisfy, not a shared library.) Files are
//   written by hwloc in exports only, which are not called here.
#include <stddef.h>

void* tutti_absent_stdout = NULL;
void* tutti_absent_stderr = NULL;
char* tutti_absent_program_invocation_name = "tutti";

int tutti_absent_fprintf(void* file, const char* format, ...);
int tutti_absent___fprintf_chk(void* file, int flag, const char* format, ...);
int tutti_absent_fputc(int character, void* file);
size_t tutti_absent_fwrite(const void* data, size_t bytes, size_t count, void* file);
void* tutti_absent_dlopen(const char* file, int mode);
void* tutti_absent_udev_new(void);
void* tutti_absent_udev_unref(void* udev);
void* tutti_absent_udev_device_new_from_subsystem_sysname(void* udev, const char* subsystem,
                                                          const char* sysname);
const char* tutti_absent_udev_device_get_property_value(void* device, const char* key);
void* tutti_absent_udev_device_unref(void* device);

int tutti_absent_fprintf(void* file, const char* format, ...) {
    (void)file;
    (void)format;
    return 0;
}

int tutti_absent___fprintf_chk(void* file, int flag, const char* format, ...) {
    (void)file;
    (void)flag;
    (void)format;
    return 0;
}

int tutti_absent_fputc(int character, void* file) {
    (void)file;
    return character;
}

size_t tutti_absent_fwrite(const void* data, size_t bytes, size_t count, void* file) {
    (void)data;
    (void)bytes;
    (void)file;
    return count;
}

void* tutti_absent_dlopen(const char* file, int mode) {
    (void)file;
    (void)mode;
    return NULL;
}

void* tutti_absent_udev_new(void) { return NULL; }

void* tutti_absent_udev_unref(void* udev) {
    (void)udev;
    return NULL;
}

void* tutti_absent_udev_device_new_from_subsystem_sysname(void* udev, const char* subsystem,
                                                          const char* sysname) {
    (void)udev;
    (void)subsystem;
    (void)sysname;
    return NULL;
}

const char* tutti_absent_udev_device_get_property_value(void* device, const char* key) {
    (void)device;
    (void)key;
    return NULL;
}

void* tutti_absent_udev_device_unref(void* device) {
    (void)device;
    return NULL;
}
