#!/bin/sh
# engine_vs_pytorch.sh [TABLE...] [OPTIONS]: training steps of Thalweg and PyTorch (Debian's python3-torch, libopenblas0-pthread)
# by turns in one run, or of two builds of Thalweg (--before); --help says more. Build first:
# ninja -C build/release bench_step bench_optimizers.
case " $* " in
  *' --before'*) ;;
  *)
    /usr/bin/python3 -c 'import torch' 2>/dev/null || {
      echo "skipped: PyTorch is not installed (Debian: apt-get install python3-torch)" >&2
      exit 0
    }
    /usr/bin/python3 -c 'import sys, torch
sys.exit(not any(b in open("/proc/self/maps").read() for b in ("openblas", "mkl", "blis")))' ||
      echo "warning: PyTorch runs on the reference BLAS, some ten times slower (Debian: apt-get install libopenblas0-pthread)" >&2
    ;;
esac
exec /usr/bin/python3 "$(dirname "$0")/step/compare.py" "$@"
