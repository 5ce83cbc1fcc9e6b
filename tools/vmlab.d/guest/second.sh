#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Process 1 of the guest: makes its hosts, then runs what is ordered. Starting a process takes 0.1 s
# in emulation, so the shell does itself what it can.
vmlab=/run/vmlab
. $vmlab/settings.sh
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb
fail() {
    echo "$1" >$vmlab/failed
    echo o >/proc/sysrq-trigger
    sleep 60
}
mkdir -p /dev/pts /dev/shm "/lib/modules/$release" "${writable[@]}"
mount -t devpts devpts /dev/pts
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
mount -t cgroup2 groups /sys/fs/cgroup
mount --bind "$modules" "/lib/modules/$release" || fail "no kernel modules"
ln -s /proc/self/fd /dev/fd
ln -s fd/0 /dev/stdin
ln -s fd/1 /dev/stdout
ln -s fd/2 /dev/stderr
for i in "${!writable[@]}"; do
    mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000,cache=mmap "writable$i" "${writable[i]}" ||
        fail "cannot mount ${writable[i]}"
done
echo vmlab >/proc/sys/kernel/hostname
echo 1 >/proc/sys/kernel/printk
ulimit -l unlimited
modprobe -a virtio_console rdma_rxe rdma_ucm veth bridge sch_netem || fail "modules are missing"
. "$guest/hosts.sh"

# Runs an order in a group of its own, so that nothing of it is left when it ends or is called off.
serve() {
    local order=$vmlab/orders/$1 group=/sys/fs/cgroup/$1 status lines
    (
        echo $BASHPID >"$group/cgroup.procs"
        exec bash "$order/script" </dev/null >>"$order/out" 2>>"$order/err"
    )
    status=$?
    echo 1 >"$group/cgroup.kill"
    while mapfile -t lines <"$group/cgroup.events" && [[ ${lines[*]} == *"populated 1"* ]]; do
        sleep 0.05
    done
    rmdir "$group"
    echo $status >"$order/status"
}

for port in /sys/class/virtio-ports/*; do
    [ "$(<"$port/name")" = door ] && door=/dev/${port##*/}
done
exec 3<"$door" || fail "no door"
echo up >$vmlab/ready
while read -r word order <&3; do
    case $word in
        run)
            # Here, so that whoever calls it off at once finds it.
            mkdir "/sys/fs/cgroup/$order"
            serve "$order" &
            ;;
        end) [ -d "/sys/fs/cgroup/$order" ] && echo 1 >"/sys/fs/cgroup/$order/cgroup.kill" ;;
    esac
done
fail "the door is closed"
