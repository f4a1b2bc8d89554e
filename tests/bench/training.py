"""Builds of thalweg-train beside each other: what benches that train by it have in common."""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time


def options(rounds):
    """Of the command line; `builds` has the folders of programs by name."""
    parser = argparse.ArgumentParser()
    parser.add_argument("programs")
    parser.add_argument("--before", help="programs of another build")
    parser.add_argument("--rounds", type=int, default=rounds)
    given = parser.parse_args()
    given.builds = {"this build": given.programs}
    if given.before:
        given.builds["before"] = given.before
    return given


def journal_of(programs, train, **environment):
    """When the trial was started, and the records of its journal; one rank, one thread."""
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "trial.yaml")
        with open(file, "w") as out:  # JSON is YAML
            json.dump({"train": train}, out)
        start = time.time()
        run = subprocess.run([os.path.join(programs, "thalweg-train"), file], capture_output=True,
                             text=True, env=dict(os.environ, OMP_NUM_THREADS="1", **environment))
        if run.returncode != 0:
            sys.exit(run.stdout + run.stderr)
        with open(os.path.join(folder, "journal.jsonl")) as journal:
            return start, [json.loads(line) for line in journal]
