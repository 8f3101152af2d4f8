# The check of a kernel, in the guest: what doctor says, and a netperf traced. What they write is judged outside.
now() { cut -d' ' -f1 /proc/uptime; }

netserver -4 -L 127.0.0.1 >/dev/null 2>&1 || { echo "netserver cannot be started"; exit 1; }

now >/out/doctor.from
tracer doctor --json >/out/doctor.json 2>/out/doctor.err
echo $? >/out/doctor.status

now >/out/run.from
tracer run --no-tui --json --verbose --audit 16 -- sh -c \
    "cut -d' ' -f1 /proc/uptime >/out/run.attached; exec netperf -4 -H 127.0.0.1 -t UDP_STREAM -l 2 -- -m 8192" \
    >/out/run.json 2>/out/run.err
echo $? >/out/run.status

cat /out/doctor.err /out/run.err

# Sockets and known numbers: datagrams of 16 KiB into a small receive buffer, TCP both ways, huge pages. Charges are
# counted by the kernel's own kprobes in the same window.
cat >/tmp/sockets.sh <<'END'
tracing=/sys/kernel/tracing
echo 'p:charge __sk_mem_raise_allocated' >>$tracing/kprobe_events
echo 'p:uncharge __sk_mem_reduce_allocated' >>$tracing/kprobe_events
echo 1 >$tracing/events/kprobes/enable
netperf -4 -H 127.0.0.1 -t UDP_STREAM -l 2 -- -m 16384 -S 32768
sleep 0.5
netperf -4 -H 127.0.0.1 -t TCP_STREAM -l 1 >/dev/null
sleep 0.5
echo 0 >$tracing/events/kprobes/enable
cat $tracing/kprobe_profile >/out/kprobes
cat /proc/sys/vm/nr_hugepages >/out/hugepages.from
echo 12 >/proc/sys/vm/nr_hugepages
cat /proc/sys/vm/nr_hugepages >/out/hugepages.to
END
tracer run --no-tui --json -- sh /tmp/sockets.sh >/out/sockets.json 2>/out/sockets.err
echo $? >/out/sockets.status
cat /out/sockets.err
