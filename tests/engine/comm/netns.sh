#!/bin/bash
# "Hosts" on one machine: network namespaces joined by a bridge, with names, addresses and IPC of their own, so that
# ranks in different hosts reach each other over TCP only.
#   netns.sh N COMMAND...      runs COMMAND beside N hosts h0 ... h(N-1); nothing is left behind
#   netns.sh check             exit 0: it can run here; 77: it cannot, and one line says why
#   netns.sh rank COMMAND...   (inside) runs COMMAND in the host of this rank: number rank % N
#   netns.sh on K COMMAND...   (inside) runs COMMAND in host K
# Launchers run outside the hosts and reach into them:
#   netns.sh 2 thalweg-launch -n 2 -- tests/engine/comm/netns.sh rank rank_program collectives
# Needs root and iproute2, util-linux.
set -u
self=$(readlink -f "$0")
net=10.213.255 # seen nowhere but inside
PATH=$PATH:/usr/sbin:/sbin

die() {
  echo "netns.sh: $*" >&2
  exit 1
}

# Hosts enter the namespaces of a process that holds them; no fork, so that the pid stays the one the launcher knows.
enter() {
  local k=$1 pids
  shift
  read -ra pids <<<"${THALWEG_HOSTS:-}"
  [ ${#pids[@]} -gt 0 ] || die "not inside 'netns.sh N COMMAND'"
  exec nsenter --target "${pids[k % ${#pids[@]}]}" --net --uts --ipc -- "$@"
}

# PMIx servers listen on 127.0.0.1 and cannot be told otherwise: in a host this address leads outside, to the launcher.
loopback_leads_out() { # loopback_leads_out INTERFACE
  echo 1 >"/proc/sys/net/ipv4/conf/$1/route_localnet"
  echo 0 >"/proc/sys/net/ipv4/conf/$1/rp_filter"
  echo 0 >/proc/sys/net/ipv4/conf/all/rp_filter
}

host() { # in a host: host ADDRESS GATEWAY
  ip link set lo up && ip addr add "$1/24" dev eth0 && ip link set eth0 up && loopback_leads_out eth0 &&
    ip addr del 127.0.0.1/8 dev lo && ip route add 127.0.0.1 via "$2" dev eth0 src "$1"
}

start_hosts() { # start_hosts N: sets THALWEG_HOSTS
  local k pid pids=()
  ip link set lo up && ip link add hosts type bridge && ip addr add "$net.1/24" dev hosts && ip link set hosts up ||
    die "cannot make a bridge"
  loopback_leads_out hosts
  for ((k = 0; k < $1; k++)); do
    unshare --net --uts --ipc sh -c "hostname h$k; touch '$scratch/$k'; exec sleep infinity" &
    pid=$!
    until [ -e "$scratch/$k" ]; do
      kill -0 "$pid" 2>/dev/null || die "host $k did not start"
      sleep 0.01
    done
    ip link add "h$k" type veth peer name eth0 netns "$pid" && ip link set "h$k" master hosts up &&
      nsenter --target "$pid" --net "$self" host "$net.$((k + 10))" "$net.1" || die "cannot plug in host $k"
    pids+=("$pid")
  done
  export THALWEG_HOSTS="${pids[*]}"
}

inside() { # the first process of a pid namespace of our own: when it ends, everything in there does
  local n=$1 rc
  shift
  scratch=$(mktemp -d) || die "mktemp"
  trap 'rm -rf "$scratch"' EXIT
  start_hosts "$n"
  "$@"
  rc=$?
  rm -rf "$scratch"
  exit $rc
}

case ${1:-} in
  rank)
    shift
    rank=${PMIX_RANK:-${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-${RANK:-}}}}
    [ -n "$rank" ] || die "no launcher told the rank (PMIX_RANK, OMPI_COMM_WORLD_RANK, PMI_RANK, RANK)"
    enter "$rank" "$@"
    ;;
  on) enter "${@:2}" ;;
  host) host "${@:2}" ;;
  inside) inside "${@:2}" ;;
  check)
    reason=$("$self" 1 "$self" on 0 true 2>&1) && exit 0
    echo "no network namespaces here: ${reason##*$'\n'}"
    exit 77
    ;;
  [1-9]*)
    [ $# -ge 2 ] || die "what shall run?"
    exec unshare --net --pid --fork --kill-child --mount-proc "$self" inside "$@"
    ;;
  *)
    sed -n '2,11s/^# \{0,1\}//p' "$self" >&2
    exit 2
    ;;
esac
