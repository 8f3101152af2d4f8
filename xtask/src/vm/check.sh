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
