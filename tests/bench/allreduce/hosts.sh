#!/bin/bash
# hosts.sh N FOLDER: N hosts h1 ... hN on this machine that share cores and files, but no network, processes or memory:
# namespaces with cables to one switch, h0, from which jobs are launched. Prints "ready" and keeps them until its standard
# input ends. Needs root.
# FOLDER/on HOST COMMAND... runs COMMAND there, as ssh would (so it serves as the launch agent of mpirun on h0).
# CONGESTION: their TCP's congestion control instead of this machine's ("reno" is allowed everywhere).
# FOLDER/h0 ... are the pids of their first processes. Addresses: 10.99.0.1 ... of h1 ..., 10.99.0.254 of h0.
set -eu
PATH=$PATH:/usr/sbin:/sbin
me=$(readlink -f "$0")

if [ "${1:-}" = init ]; then # inside a host: init NAME FOLDER
  hostname "$2"
  [ "$2" = h0 ] || mount -t tmpfs -o mode=1777 shm /dev/shm
  mount --bind "$3/hosts" /etc/hosts
  ip link set lo up
  [ -z "${CONGESTION:-}" ] || echo "$CONGESTION" >/proc/sys/net/ipv4/tcp_congestion_control
  echo up >"$3/$2.up"
  exec sleep infinity
fi

if [ $# != 2 ] || ! [ "$1" -ge 1 ]; then
  echo "usage: hosts.sh N FOLDER" >&2
  exit 2
fi
n=$1
mkdir -p "$2"
folder=$(cd "$2" && pwd)
trap 'exit 1' INT TERM HUP
trap 'kill -KILL $(jobs -p) 2>/dev/null || true' EXIT
start="setpriv --pdeathsig KILL unshare --net --mount --uts" # dies with this script, and the host with it

up() { # up NAME: waits for it
  until [ -e "$folder/$1.up" ]; do
    kill -0 $! || exit 1
    sleep 0.01
  done
}

{
  echo '127.0.0.1 localhost'
  echo '10.99.0.254 h0'
  for i in $(seq "$n"); do echo "10.99.0.$i h$i"; done
} >"$folder/hosts"
cat >"$folder/on" <<END
#!/bin/sh
[ "\$1" = h0 ] || more="--ipc --pid"
pid=\$(cat "$folder/\$1") && shift && exec nsenter --net --mount --uts \$more -t "\$pid" --wd="\$PWD" sh -c "\$*"
END
chmod +x "$folder/on"

$start "$me" init h0 "$folder" &
switch=$!
echo $switch >"$folder/h0"
up h0
in_switch="nsenter --net -t $switch"
$in_switch ip link add br0 type bridge
$in_switch ip addr add 10.99.0.254/24 dev br0
$in_switch ip link set br0 up
for i in $(seq "$n"); do
  $start --ipc --pid --fork --kill-child --mount-proc "$me" init "h$i" "$folder" &
  up "h$i"
  pid=$(cat "/proc/$!/task/$!/children")
  pid=${pid%% *}
  echo "$pid" >"$folder/h$i"
  $in_switch ip link add "v$i" type veth peer name eth0 netns "$pid"
  $in_switch ip link set "v$i" master br0 up
  nsenter --net -t "$pid" ip addr add "10.99.0.$i/24" dev eth0
  nsenter --net -t "$pid" ip link set eth0 up
done
echo ready
cat >/dev/null
