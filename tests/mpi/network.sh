#!/usr/bin/env bash
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# Ranks on separate "machines": each in a network namespace, over veth and a switch that delays every frame and
# loses some (the kernel's netem, or link.py where it has none). mpirun reaches them as it would by ssh.
#
#   slow   PROGRAM runs to its end, while a random rank's link goes down every now and then, for a second.
# cut PROGRAM is tests/mpi/killed.c's: the link of a random rank goes down at a random moment and stays down, and each
#          other one says in time that this rank is lost. RUNS times.
#
# TDM_TEST_SEED repeats a run. Where namespaces may not be made it says so, and exits 77.
# Usage: network.sh slow|cut openmpi|mpich MPIRUN RANKS MILLISECONDS PERCENT RUNS PROGRAM
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
if [ -z "${TDM_TEST_APART:-}" ]; then
    if ! command -v ip >/dev/null; then
        echo "skipped: ip, of the package iproute2, is not installed"
        exit 77
    fi
    # With namespaces of processes and mounts, all ends with the first process. Users who are not root get both by a
    # namespace of users.
    apart=(unshare --net --pid --fork --kill-child --mount-proc)
    makes=(ip link add port0 type veth peer name port1)
    "${apart[@]}" "${makes[@]}" 2>/dev/null || apart+=(--map-root-user)
    if ! why=$("${apart[@]}" "${makes[@]}" 2>&1); then
        echo "skipped: no network namespaces with veth may be made here: $why"
        exit 77
    fi
    TDM_TEST_APART=1 exec "${apart[@]}" "$0" "$@"
fi

how=$1
mpi=$2
mpirun=$3
ranks=$4
delay=$5
loss=$6
runs=$7
program=$8
seed=${TDM_TEST_SEED:-$(date +%s)}
RANDOM=$((seed % 32768))
work=$(mktemp -d)
export TDM_TEST_NETWORK=$work
export TMPDIR=$work # Open MPI has a folder there for each machine's name
trap 'rm -rf "$work"' EXIT

hosts=()
ports=()
for ((i = 0; i < ranks; i++)); do
    unshare --net --uts sleep infinity &
    pid=$!
    until [ "$(cat /proc/$pid/comm)" = sleep ]; do sleep 0.01; done
    hosts+=("10.231.0.$((i + 1))")
    ports+=("port$i")
    echo $pid >"$work/${hosts[i]}"
    ip link add "port$i" type veth peer name eth0 netns $pid
    ip link set "port$i" up
    nsenter -t $pid --net --uts bash -c "hostname machine$i; ip address add ${hosts[i]}/24 dev eth0
        ip link set eth0 up; ip link set lo up"
done
await_links() { # until the kernel has seen that they are up, which may take a second; before, no host is reached
    local host
    for host in "${hosts[@]}"; do
        until nsenter -t "$(cat "$work/$host")" --net ip -o link show eth0 | grep 'state UP' >/dev/null; do
            sleep 0.05
        done
        nsenter -t "$(cat "$work/$host")" --net ip neighbour flush dev eth0 # those that were out of reach
    done
}
await_links
link="netem"
if tc qdisc add dev port0 root netem delay "${delay}ms" loss "$loss%" 2>/dev/null; then
    ip link add switch type bridge
    ip link set switch up
    for port in "${ports[@]}"; do
        ip link set "$port" master switch
        tc qdisc replace dev "$port" root netem delay "${delay}ms" loss "$loss%"
    done
else
    link=link.py
    python3 "$here/link.py" "$delay" "$loss" "$seed" "${ports[@]}" >"$work/link" &
    until [ -s "$work/link" ]; do sleep 0.01; done
fi
echo "seed $seed, $ranks ranks, $delay ms and $loss % by $link"

# As ssh is called: options, the host, and words for a shell there.
cat >"$work/agent" <<'END'
#!/bin/bash
while [[ $1 == -* ]]; do shift; done
host=$1
shift
exec nsenter -t "$(cat "$TDM_TEST_NETWORK/$host")" --net --uts sh -c "$*"
END
cat >"$work/rank" <<'END'
#!/bin/bash
exec "$@" >"$TDM_TEST_NETWORK/said.$(hostname)" 2>&1
END
chmod +x "$work/agent" "$work/rank"

begin() { # ARGUMENT...: mpirun, on the first machine, in the background
    local list options
    list=$(IFS=, && echo "${hosts[*]}")
    rm -f "$work"/said.*
    if [ "$mpi" = openmpi ]; then
        options=(--enable-recovery --mca plm_rsh_agent "$work/agent" --mca btl "tcp,self" --mca pml ob1
            -x TDM_TEST_NETWORK)
    else
        options=(-disable-auto-cleanup -launcher ssh -launcher-exec "$work/agent" -localhost "${hosts[0]}")
        export UCX_TLS=tcp,self UCX_NET_DEVICES=eth0
    fi
    nsenter -t "$(cat "$work/${hosts[0]}")" --net --uts \
        "$mpirun" "${options[@]}" --host "$list" -n "$ranks" "$work/rank" "$program" "$@" </dev/null >"$work/mpirun" 2>&1 &
    job=$!
}
tell() { # SENTENCE: and all that was said
    echo "$1"
    tail -n +1 "$work"/said.* "$work/mpirun"
    exit 1
}
said() { # PATTERN: how many machines said it
    { grep -l "$1" "$work"/said.* 2>/dev/null || true; } | grep -c .
}
await() { # COUNT PATTERN SECONDS
    local end=$((SECONDS + $3))
    while [ "$(said "$2")" -lt "$1" ]; do
        [ $SECONDS -lt $end ] || tell "not all said '$2' within $3 s"
        sleep 0.05
    done
}

if [ "$how" = slow ]; then
    begin
    while sleep 4 && kill -0 $job 2>/dev/null; do
        port=${ports[RANDOM % ranks]}
        ip link set "$port" down
        sleep 1
        ip link set "$port" up
        echo "$port was down"
    done
    status=0
    wait $job || status=$?
    cat "$work"/said.*
    [ $status = 0 ] || tell "mpirun ended with $status"
    [ "$(said ' checks, 0 failed$')" = 1 ] || tell "checks failed" # which Open MPI's mpirun does not say
    exit
fi
for ((run = 0; run < runs; run++)); do
    victim=$((RANDOM % ranks))
    begin $((seed + run)) $victim
    await "$ranks" '^ready' 60
    sleep "0.$((100 + RANDOM % 900))"
    ip link set "port$victim" down
    rm "$work/said.machine$victim" # whom it takes for lost, with all others out of reach, is no matter
    await $((ranks - 1)) '^survived\|^wrong' 30
    [ "$(said '^survived')" = $((ranks - 1)) ] || tell "seed $((seed + run)), without rank $victim:"
    cat "$work"/said.*
    # mpirun waits for the machine that is out of reach
    kill -KILL $job 2>/dev/null || true
    { wait $job || true; } 2>/dev/null
    for host in "${hosts[@]}"; do
        pid=$(cat "$work/$host")
        for other in /proc/[0-9]*; do
            [ "$(readlink "$other/ns/net")" = "$(readlink "/proc/$pid/ns/net")" ] || continue
            [ "${other#/proc/}" = "$pid" ] || kill -KILL "${other#/proc/}" 2>/dev/null || true
        done
    done
    ip link set "port$victim" up
    await_links
done
