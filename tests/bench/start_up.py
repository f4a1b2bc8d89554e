#!/usr/bin/env python3
"""Start-up of thalweg-train: seconds from the start of the process to the end of the first step.

  python3 tests/bench/start_up.py build/release/bin [--before OTHER/build/release/bin] [--rounds 9]

By turns in one run; medians. `copies off`: compressed data are unpacked each time
(THALWEG_CACHE=off). PyTorch, where it is installed: constructing and initializing a model of as
many weights, in one thread, without Python's own start.
"""
import statistics
import subprocess
import sys

import training

LENET = {"model": {"name": "lenet"}, "data": {"name": "fashion-mnist"}, "batch": {"global": 128},
         "optimizer": {"name": "momentum", "lr": 0.05}}
# 20 million weights in four square matrices
WIDE = {"model": {"name": "mlp", "hidden": [2240, 2240, 2240, 2240]},
        "data": {"name": "synthetic", "samples": 256, "shape": [784], "classes": 10},
        "batch": {"global": 4, "shards": 1}, "optimizer": {"name": "sgd", "lr": 0.01}}
CASES = {"lenet on fashion-mnist": (LENET, {}),
         "lenet on fashion-mnist, copies off": (LENET, {"THALWEG_CACHE": "off"}),
         "20 M weights": (WIDE, {})}
TORCH = """
import time, torch
torch.set_num_threads(1)
def model():
    sizes = [784, 2240, 2240, 2240, 2240, 10]
    return torch.nn.Sequential(*[torch.nn.Linear(a, b) for a, b in zip(sizes, sizes[1:])])
model()
start = time.time(); model(); print(time.time() - start)
"""


def first_step(programs, train, environment):
    """Seconds to the end of the first step, which the journal notes."""
    start, records = training.journal_of(programs, dict(train, steps=1), **environment)
    for record in records:
        if record["type"] == "metrics":
            return record["t"] - start
    sys.exit("no metrics in the journal")


def main():
    given = training.options(rounds=9)
    builds = given.builds
    seconds = {}
    for turn in range(given.rounds + 1):
        for case, (train, environment) in CASES.items():
            for build, programs in builds.items():
                took = first_step(programs, train, environment)
                if turn > 0:  # the first round warms up
                    seconds.setdefault((case, build), []).append(took)
        if turn > 0:
            torch = subprocess.run([sys.executable, "-c", TORCH], capture_output=True, text=True)
            if torch.returncode == 0:
                seconds.setdefault(("PyTorch's Linear layers, 20 M weights", "PyTorch"), []).append(
                    float(torch.stdout))
    print(f"{'':40}{'':12}{'median s':>10}{'least':>8}")
    for (case, build), all_ in seconds.items():
        print(f"{case:40}{build:12}{statistics.median(all_):10.3f}{min(all_):8.3f}")


if __name__ == "__main__":
    main()
