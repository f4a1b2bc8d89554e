#!/bin/sh
# allreduce_vs_peers.sh [RANKS] [node|tcp] [ROUNDS] [OPTIONS]: allreduce of Thalweg, Open MPI (ob1, ucx), MPICH and Gloo by
# turns in one run; --help says more. Build first: ninja -C build/release bench_peers.
exec python3 "$(dirname "$0")/allreduce/compare.py" "$@"
