#!/bin/busybox sh
# The first process of a guest. ttyS0 is the kernel's console, ttyS1 the command's output, ttyS2 takes the result:
# `start` and the uptime, then `end`, the command's status and the uptime, then a compressed archive of /out.
/bin/busybox --install -s /bin
export PATH=/bin HOME=/root

mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mount -t tmpfs tmpfs /tmp
mount -t tmpfs tmpfs /run
mount -t securityfs securityfs /sys/kernel/security
mount -t tracefs tracefs /sys/kernel/tracing
mount -t debugfs debugfs /sys/kernel/debug
mount -t bpf bpf /sys/fs/bpf
mount -t cgroup2 cgroup2 /sys/fs/cgroup
ln -s /proc/self/fd /dev/fd

hostname guest
ip link set lo up
# netperf asks for IPv4 addresses only if some interface has one, and 127.0.0.1 alone does not count.
ip addr add 127.0.0.2/8 dev lo

stty -F /dev/ttyS2 raw -echo
while read -r module; do
    insmod "/modules/$module.ko" || echo "module $module cannot be loaded" >/dev/ttyS1
done </modules/order

uptime() { cut -d' ' -f1 /proc/uptime; }
echo "start $(uptime)" >/dev/ttyS2
cd /root
if [ -e /job/interactive ]; then
    setsid -c sh /job/command <>/dev/ttyS1 >&0 2>&1
else
    stty -F /dev/ttyS1 raw -echo
    # Through a pipe: on a terminal programs colour what they say.
    set -o pipefail
    sh /job/command </dev/null 2>&1 | cat >/dev/ttyS1
fi
echo "end $? $(uptime)" >/dev/ttyS2
if [ -n "$(ls -A /out)" ]; then
    tar -C /out -cf - . | gzip -1 >/dev/ttyS2
fi
# Setting a line waits until it has taken everything: the power must not go before.
stty -F /dev/ttyS1 raw
stty -F /dev/ttyS2 raw
sleep 0.1
poweroff -f
