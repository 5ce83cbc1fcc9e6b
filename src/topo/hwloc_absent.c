// SPDX-License-Identifier: BSD-3-Clause
// What the static hwloc would reach for beyond libc, answered with "not there". (The build renames
// hwloc's references to these, so that nobody else's udev_new or dlopen is touched.)
//
// - udev: hwloc asks it only for the names of I/O devices, which are filtered out, and udev has no
//   static archive.
// - dlopen: hwloc's plug-ins (OpenCL, NVML, libxml) would bring graphics libraries and another
// hwloc
//   into the user's process, for objects that are filtered out as well.
#include <stddef.h>

void* tutti_absent_dlopen(const char* file, int mode);
void* tutti_absent_udev_new(void);
void* tutti_absent_udev_unref(void* udev);
void* tutti_absent_udev_device_new_from_subsystem_sysname(void* udev, const char* subsystem,
                                                          const char* sysname);
const char* tutti_absent_udev_device_get_property_value(void* device, const char* key);
void* tutti_absent_udev_device_unref(void* device);

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
