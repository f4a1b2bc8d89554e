#!/usr/bin/env python3
"""What a trial that does nothing costs: /bin/true, 200 times, on this machine's cores.

  python3 tests/bench/short_trials.py build/release/bin [--before OTHER/build/release/bin] [--rounds 5]

By turns in one run; medians of milliseconds a trial, from the command to its end, a controller's
start included. Peers, where they are installed: HyperQueue (PyPI: hyperqueue; its server and worker
start before the clock does), GNU parallel and xargs, which keep no record.
"""
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import training

TRIALS = 200
SWEEP = """name: nothing
command: [/bin/true]
metric: {name: loss, goal: minimize}
method: grid
parameters: {x: {values: %s}}
""" % list(range(TRIALS))


def timed(command, **options):
    begin = time.monotonic()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)
    return time.monotonic() - begin


def thalweg(programs):
    """Each time in a home of its own."""
    with tempfile.TemporaryDirectory() as home:
        environment = dict(os.environ, THALWEG_HOME=home + "/home")
        with open(home + "/sweep.yaml", "w", encoding="utf-8") as file:
            file.write(SWEEP)
        cli = str(programs) + "/thalweg"
        took = timed([cli, "run", home + "/sweep.yaml", "--backend", "local"], env=environment)
        said = subprocess.run([cli, "query", "--csv", "select count(*) from trials where state = 'finished'"],
                              env=environment, capture_output=True, text=True)
        timed([cli, "daemon", "stop"], env=environment)
        if said.stdout.split()[-1:] != [str(TRIALS)]:
            sys.exit("not all trials finished: " + said.stdout + said.stderr)
        return took


def hyperqueue():
    from hyperqueue import Job, LocalCluster
    from hyperqueue.cluster import WorkerConfig
    # It writes a file for each stream of each task.
    with tempfile.TemporaryDirectory() as folder, LocalCluster() as cluster:
        cluster.start_worker(WorkerConfig(cores=os.cpu_count()))
        client = cluster.client()
        begin = time.monotonic()
        job = Job()
        for _ in range(TRIALS):
            job.program(["/bin/true"], cwd=folder)
        client.wait_for_jobs([client.submit(job)])
        return time.monotonic() - begin


def peers():
    numbers = "\n".join(map(str, range(TRIALS)))
    cores = str(os.cpu_count())
    found = {}
    try:
        import hyperqueue as module
        found["HyperQueue " + getattr(module, "__version__", "")] = hyperqueue
    except ImportError:
        pass
    if shutil.which("parallel"):
        found["GNU parallel"] = lambda: timed(["parallel", "-j" + cores, "/bin/true"], input=numbers, text=True)
    found["xargs"] = lambda: timed(["xargs", "-n1", "-P" + cores, "/bin/true"], input=numbers, text=True)
    return found


def main():
    given = training.options(rounds=5)
    seconds = {}
    for turn in range(given.rounds + 1):
        for build, programs in given.builds.items():
            took = thalweg(programs)
            if turn > 0:  # the first round warms up
                seconds.setdefault("Thalweg " + build, []).append(took)
        for name, run in peers().items():
            took = run()
            if turn > 0:
                seconds.setdefault(name, []).append(took)
    print(f"{'':24}{'ms a trial':>12}{'least':>8}{'most':>8}")
    for name, times in seconds.items():
        each = [1000 * t / TRIALS for t in times]
        print(f"{name:24}{statistics.median(each):12.1f}{min(each):8.1f}{max(each):8.1f}")


main()
