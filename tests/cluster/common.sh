# shellcheck shell=bash
# What every script of the test cluster shares: settings, the state folder, and processes remembered by pid and
# start time (so that a reused pid is never mistaken for ours). Sourced, not run.
set -u

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
name=${THALWEG_CLUSTER_NAME:-default}
dir=${THALWEG_CLUSTER_DIR:-${TMPDIR:-/tmp}/thalweg-cluster-$name}
conf=$dir/slurm.conf
deadline_s=${THALWEG_CLUSTER_DEADLINE:-180}
shared=/run/thalweg-clusters # who needs the host-wide settings; gone with the last cluster
PATH=$PATH:/usr/sbin:/sbin

say() { echo "cluster $name: $*" >&2; }
die() {
  say "$*"
  exit 1
}

# One change at a time per cluster. Daemons are started with fd 9 closed, so that they do not keep the lock.
lock() {
  local file=$shared/$name.lock
  while :; do
    mkdir -p "$shared" && exec 9>"$file" || die "cannot write $file"
    flock -w "$deadline_s" 9 || die "another up or down of this cluster has been running for $deadline_s s"
    [ "$file" -ef /proc/self/fd/9 ] && return 0 # else: that file has been removed by a `down` in the meantime
  done
}

# --- processes -------------------------------------------------------------------------------------------------
start_time() { # of a living pid, in ticks since boot; the command name may hold spaces and brackets
  local stat
  stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
  # shellcheck disable=SC2086
  set -- ${stat##*) }
  [ "$1" != Z ] && echo "${20}"
}

remember() { echo "$2 $(start_time "$2")" >"$dir/pid/$1"; } # remember NAME PID

pid_of() { # prints the pid if the process remembered under this name still lives
  local pid start
  read -r pid start 2>/dev/null <"$dir/pid/$1" || return 1
  [ -n "$start" ] && [ "$(start_time "$pid")" = "$start" ] && echo "$pid"
}

# Limits count looks and not seconds: on a busy machine they take longer.
wait_gone() { # wait_gone PID SECONDS
  local looks=$(($2 * 20))
  while start_time "$1" >/dev/null; do
    [ $((looks -= 1)) -gt 0 ] || return 1
    sleep 0.05
  done
}

stop() { # stop NAME [SIGNAL]: ends the process and does not return before it is gone
  local pid
  if pid=$(pid_of "$1"); then
    kill "-${2:-TERM}" "$pid"
    wait_gone "$pid" 10 || { kill -9 "$pid" && wait_gone "$pid" 10; } || say "$1 (pid $pid) does not die"
  fi
  rm -f "$dir/pid/$1"
}

# --- the parts -------------------------------------------------------------------------------------------------
nodes=0 number=0 cpus=2 memory=2000 min_job_age=300 slurmd_timeout=30 extra=
# Reads number (of this cluster: bridge twN, subnet 10.213.N.0/24, ports), nodes and the other settings of `up`.
load() {
  [ -e "$dir/settings" ] || return 1
  # shellcheck disable=SC1091
  . "$dir/settings"
  net=10.213.$number
  bridge=tw$number
}
require() { load || die "is not up (no $dir/settings)"; }

tail_log() { # tail_log FILE LINES: part of an explanation
  [ -s "$1" ] || return 0
  echo "--- last lines of $1" >&2
  tail -n "$2" "$1" >&2
}

start_munge() {
  pid_of munged >/dev/null && return 0
  # munged refuses folders that other people may write to, and runs as its own user.
  setpriv --reuid=munge --regid=munge --clear-groups munged --foreground --key-file="$dir/munge/key" \
    --socket="$dir/munge/socket" --pid-file="$dir/munge/pid" --log-file="$dir/munge/log" \
    --seed-file="$dir/munge/seed" </dev/null >>"$dir/log/munged.out" 2>&1 9>&- &
  remember munged $!
}

start_controller() {
  pid_of slurmctld >/dev/null && return 0
  setsid slurmctld -D -f "$conf" </dev/null >>"$dir/log/slurmctld.out" 2>&1 9>&- &
  remember slurmctld $!
}

# A node is one `unshare` and the pid namespace below it: its init is node-init. Killing the unshare kills all of it
# at once, network included, as a power cut would.
start_node() {
  local i=$1 looks=$((deadline_s * 50)) pid
  pid_of "n$i" >/dev/null && return 0
  mkdir -p "$dir/spool/n$i"
  setsid unshare --net --mount --uts --ipc --pid --fork --kill-child --mount-proc \
    "$here/node-init" "n$i" "$net.$((10 + i))" "$conf" </dev/null >>"$dir/log/node-n$i.out" 2>&1 9>&- &
  pid=$!
  remember "n$i" "$pid"
  until [ "$(readlink "/proc/$pid/ns/net")" != "$(readlink /proc/self/ns/net)" ] && [ -e "/proc/$pid/ns/net" ]; do
    pid_of "n$i" >/dev/null && [ $((looks -= 1)) -gt 0 ] || die "node n$i did not start: $(tail -n 3 "$dir/log/node-n$i.out")"
    sleep 0.02
  done
  # A namespace is taken apart some time after its last process: the old cable may still hang on the bridge.
  ip link del "${bridge}v$i" 2>/dev/null
  ip link add "${bridge}v$i" type veth peer name eth0 netns "$pid" 9>&- &&
    ip link set "${bridge}v$i" master "$bridge" up || die "cannot plug node n$i into $bridge"
}

stop_node() {
  stop "n$1" KILL
  ip link del "${bridge}v$1" 2>/dev/null
  return 0
}

# Nodes that answer and take jobs: idle, or busy where `up` only repairs.
ready_nodes() { SLURM_CONF=$conf sinfo -h -r -N -p main -t idle,mix,alloc -o %N 2>/dev/null | wc -l; }

# Waits until the controller answers and $1 nodes are ready; explains what is wrong when they are not.
wait_ready() {
  local looks=$((deadline_s * 10)) i ready
  while ready=$(ready_nodes); [ "$ready" != "$1" ]; do
    pid_of munged >/dev/null || { tail_log "$dir/munge/log" 5; tail_log "$dir/log/munged.out" 5; die "munged ended"; }
    pid_of slurmctld >/dev/null || { tail_log "$dir/log/slurmctld.out" 5; tail_log "$dir/log/slurmctld.log" 15; die "slurmctld ended"; }
    if [ $((looks -= 1)) -le 0 ]; then
      say "only $ready of $1 nodes ready after $((deadline_s * 10)) looks"
      SLURM_CONF=$conf sinfo -N -o '%N %T %E' >&2
      tail_log "$dir/log/slurmctld.log" 20
      for i in $(seq "$nodes"); do
        pid_of "n$i" >/dev/null || say "node n$i is dead"
      done
      tail_log "$dir/log/slurmd-n1.log" 15
      tail_log "$dir/log/node-n1.out" 5
      return 1
    fi
    sleep 0.1
  done
}
