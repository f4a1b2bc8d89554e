#!/usr/bin/env python3
"""Makes the recordings of data/records anew: trains the examples and keeps what the claims need.

python3 tests/end_to_end/record.py [--runs FOLDER] [EXAMPLE...]

A recording is the record of one finished sweep as SQL: all its events, trials and attempts, and the
points of the metric that the example is about (and samples, where the batch grows). What started
each rank, its environment and secrets are left out; the run folder's path is /recorded. With --runs
the run folders stay in FOLDER, and what has finished there is not run again.
"""
import argparse
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
RECORDS = HERE / "data/records"
CLAIMED = ["critical-batch", "asynchronous", "gradient-lag", "warm-up", "adasum", "growing-batch"]

# What fills pages or tells of the machine, and no claim is about. Events stay: the controller's
# state is made of them.
THIN = """
DELETE FROM attempt_start;
DELETE FROM sweep_environment;
DELETE FROM metric_replaced;
DELETE FROM metric_chunk WHERE metric NOT IN
  (SELECT id FROM metric_name WHERE name IN ('batch/samples', (SELECT metric FROM sweep)));
DELETE FROM metric_latest WHERE metric NOT IN (SELECT metric FROM metric_chunk);
DELETE FROM metric_name WHERE id NOT IN (SELECT metric FROM metric_chunk);
UPDATE event SET data = json_set(data, '$.push_secret', 'left out ' || number)
  WHERE kind = 'launching';
UPDATE event SET data = replace(data, '{folder}', '/recorded');
UPDATE attempt SET folder = replace(folder, '{folder}', '/recorded');
"""


def train(example, folder):
    """Runs the example to its end in the folder, as a person would; leaves backup.db there."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(SOURCE / "jobspec/examples", folder)
    environment = dict(os.environ, THALWEG_HOME=str(folder / "home"))
    environment["PATH"] = f"{SOURCE}/build/release/bin:{environment['PATH']}"

    def thalweg(*words):
        subprocess.run(["thalweg", *words], cwd=folder, env=environment, check=True)

    try:
        thalweg("run", f"{example}.yaml", "--backend", "local")
        thalweg("backup", str(folder / "backup.db"))
    finally:
        thalweg("daemon", "stop")


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        models = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return f"{os.cpu_count()} cores of {models[0] if models else os.uname().machine}"


def header(example, database):
    """First lines of a recording: what made it."""
    (start,) = database.execute("SELECT record FROM attempt_start LIMIT 1").fetchone()
    submitted, ended = database.execute("SELECT submitted, ended FROM sweep").fetchone()
    date = time.strftime("%Y-%m-%d", time.gmtime(submitted))
    return (f"-- thalweg run {example}.yaml --backend local\n"
            f"-- commit {json.loads(start)['commit']}, {date}, {ended - submitted:.0f} s on {machine()}\n"
            f"-- made by tests/end_to_end/record.py {example}\n")


def write_recording(example, folder):
    copy = folder / "thinned.db"
    shutil.copy(folder / "backup.db", copy)
    database = sqlite3.connect(copy)
    unfinished = database.execute("SELECT count(*) FROM trial WHERE state <> 'finished'").fetchone()[0]
    if unfinished:
        sys.exit(f"{example}: {unfinished} trials have not finished")
    first_lines = header(example, database)
    database.executescript(THIN.replace("{folder}", str(folder)))
    with open(RECORDS / f"{example}.sql", "w", encoding="utf-8") as out:
        out.write(first_lines)
        # Not part of a dump; by the first a file is known as a record, by the second its age.
        for pragma in ("application_id", "user_version"):
            out.write(f"PRAGMA {pragma} = {database.execute('PRAGMA ' + pragma).fetchone()[0]};\n")
        for line in database.iterdump():
            out.write(line + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=Path, help="folder for the runs, which stay there")
    parser.add_argument("examples", nargs="*", default=CLAIMED)
    arguments = parser.parse_args()
    RECORDS.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        for example in arguments.examples:
            folder = (arguments.runs or Path(temporary)).absolute() / example
            if not (folder / "backup.db").exists():
                train(example, folder)
            write_recording(example, folder)


if __name__ == "__main__":
    main()
