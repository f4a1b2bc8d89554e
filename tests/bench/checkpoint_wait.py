#!/usr/bin/env python3
"""How long training waits for a checkpoint, which is written behind it.

  python3 tests/bench/checkpoint_wait.py build/release/bin [--before OTHER/build/release/bin]

20 million weights with two states of Adam: 240 MB. By turns in one run; medians over the
checkpoints of all rounds. torch.save, where PyTorch is installed, copies and writes the same
bytes before it returns.
"""
import statistics
import subprocess
import sys

import training

TRAIN = {"model": {"name": "mlp", "hidden": [2240, 2240, 2240, 2240]},
         "data": {"name": "synthetic", "samples": 256, "shape": [784], "classes": 10},
         "batch": {"global": 4, "shards": 1}, "steps": 120, "checkpoint": {"every": 60},
         "optimizer": {"name": "adamw", "lr": 0.001}}
TORCH = """
import os, tempfile, time, torch
torch.set_num_threads(1)
tensors = [torch.randn(20_000_000) for _ in range(3)]
with tempfile.TemporaryDirectory() as folder:
    for i in range(4):
        start = time.time(); torch.save(tensors, os.path.join(folder, str(i))); print(time.time() - start)
"""


def waits(programs):
    """Seconds that training waited for each checkpoint, as its journal has them."""
    _, records = training.journal_of(programs, TRAIN)
    return [r["seconds"] for r in records if r["type"] == "checkpoint"]


def main():
    given = training.options(rounds=5)
    builds = given.builds
    first, later, torch = {}, {}, []
    for _ in range(given.rounds):
        for build, programs in builds.items():
            took = waits(programs)
            first.setdefault(build, []).append(took[0])
            later.setdefault(build, []).extend(took[1:])
        run = subprocess.run([sys.executable, "-c", TORCH], capture_output=True, text=True)
        if run.returncode == 0:
            torch.extend(map(float, run.stdout.split()))
    print(f"{'':12}{'first, ms':>12}{'later, ms':>12}")
    for build in builds:
        print(f"{build:12}{1e3 * statistics.median(first[build]):12.0f}{1e3 * statistics.median(later[build]):12.0f}")
    if torch:
        print(f"{'torch.save':24}{1e3 * statistics.median(torch):12.0f}")


if __name__ == "__main__":
    main()
