# SPDX-License-Identifier: BSD-3-Clause
# Host K: the name hK in a namespace for that, and the device rxeK on eK, whose other end pK is a
# port of one bridge. The stock driver knows one network namespace only, so all stand in that.
# shellcheck shell=bash disable=SC2154
conf=/proc/sys/net/ipv4/conf
for scope in all default; do
    # What comes from another host has an address of this machine.
    echo 1 >$conf/$scope/accept_local
    echo 0 >$conf/$scope/rp_filter
    echo 1 >$conf/$scope/arp_ignore
    echo 2 >$conf/$scope/arp_announce
done
# A link-local address, which is the first GID, is there at once.
echo 0 >/proc/sys/net/ipv6/conf/default/accept_dad
links="link set lo up
link add switch type bridge mcast_snooping 0
link set switch mtu $mtu up
"
devices="" losses=""
mkdir /run/hosts
for ((k = 0; k < hosts; ++k)); do
    links+="link add e$k mtu $mtu address 02:00:00:00:00:0$k type veth peer name p$k mtu $mtu
link set p$k master switch up
link set e$k up
addr add 10.78.0.$((k + 1))/24 dev e$k
"
    devices+="link add rxe$k type rxe netdev e$k
"
    losses+="qdisc add dev p$k root netem loss $loss%
"
    echo "10.78.0.$((k + 1)) h$k" >>/etc/hosts
    : >/run/hosts/h$k
    unshare --uts=/run/hosts/h$k bash -c "echo h$k >/proc/sys/kernel/hostname" || fail "no host h$k"
done
ip -batch - <<<"$links" || fail "cannot make the network"
rdma -b - <<<"$devices" || fail "cannot make the devices"
[ "$loss" = 0 ] || tc -batch - <<<"$losses" || fail "cannot make links lose"
unset conf links devices losses k
