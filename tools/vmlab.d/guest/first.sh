#!/bin/busybox sh
# SPDX-License-Identifier: BSD-3-Clause
# Process 1 of the guest's first root: makes the machine's files, read-only, under a layer of memory
# the root, and goes on there.
b=/bin/busybox
fail() {
    echo "vmlab: $1"
    $b poweroff -f
}
$b mount -t proc proc /proc
$b mount -t sysfs sys /sys
$b mount -t devtmpfs dev /dev
for module in /mod/*.ko; do $b insmod "$module" || fail "insmod $module failed"; done
options=trans=virtio,version=9p2000.L,msize=512000
$b mount -t 9p -o ro,cache=loose,$options machine /low || fail "cannot reach the machine's files"
$b mount -t tmpfs -o size=70% memory /high
$b mkdir /high/upper /high/work
$b mount -t overlay -o lowerdir=/low,upperdir=/high/upper,workdir=/high/work root /new ||
    fail "no layer over the machine's files"
for folder in proc sys dev; do
    $b mkdir -p /new/$folder
    $b mount --move /$folder /new/$folder
done
$b mount -t tmpfs memory /new/run
$b mkdir /new/run/vmlab
$b mount -t 9p -o $options share /new/run/vmlab || fail "cannot reach the orders"
exec $b switch_root /new /bin/bash /run/vmlab/second.sh
