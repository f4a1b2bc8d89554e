"""Many short trials in few jobs of Slurm (slurm.pack), on a cluster of network namespaces (tests/cluster). Root.

    python3 tests/bench/pack.py build/release/bin [trials=1000] [seconds=5] [nodes=8] [kills=N] [slurmctld=0] [seed=1]

Prints which share of the jobs' core-seconds the trials' programs ran, and how many jobs there were. With
kills, so many disturbances come meanwhile, in turn: a node is switched off and on again, a trial's
processes are killed, the controller is killed and, with slurmctld=1, slurmctld, which then forgets that steps
have ended. The table says how many trials finished, and whether one did twice; nothing is asserted."""
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CLUSTER = Path(__file__).resolve().parents[1] / "cluster"
CORES_OF_NODE = 2
PROGRAM = "pack_bench_trial"

SWEEP = """name: pack-bench
command: [bash, -c, 'echo loss=1; date +%s.%N >> {log}.b; bash -c "exec -a {program} sleep {seconds}" || exit 1; date +%s.%N >> {log}.e; echo loss=0.5']
method: grid
metric: {{name: loss}}
metric_pattern: "loss=(?<loss>[0-9.]+)"
parameters: {{x: {{values: [{values}]}}}}
resources: {{nodes: 1, time: "00:02:00"}}
slurm: {{pack: {{trials: {places}, time_limit: "{limit}"}}}}
limits: {{max_retries: 20}}
"""


def arguments(words):
    asked = {"trials": 1000, "seconds": 5, "nodes": 8, "kills": 0, "slurmctld": 0, "seed": 1}
    for word in words:
        name, _, value = word.partition("=")
        asked[name] = int(value)
    return asked


def output(*words, check=True):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if check and done.returncode != 0:
        raise SystemExit(f"{words}: {done.stdout}{done.stderr}")
    return done.stdout


class Home:
    def __init__(self, programs, folder):
        self.program, self.folder = Path(programs).resolve() / "thalweg", folder
        os.environ["THALWEG_HOME"] = str(folder / "home")

    def thalweg(self, *words, check=True):
        return output(self.program, *words, check=check)

    def query(self, sql):
        return json.loads(self.thalweg("query", "--json", sql) or "{}")["rows"]

    def controller(self):
        mine = f"THALWEG_HOME={self.folder}/home".encode()
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if (process / "cmdline").read_bytes().split(b"\0")[0].endswith(b"/thalwegd"):
                    if mine in (process / "environ").read_bytes().split(b"\0"):
                        return int(process.name)
            except OSError:
                pass
        return None


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except (ProcessLookupError, TypeError):
        pass


def trial_processes():
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cmdline").read_bytes().split(b"\0")[0] == PROGRAM.encode():
                found.append(int(process.name))
        except OSError:
            pass
    return found


class Disturbances:
    """One after the other; each is over before the next."""

    def __init__(self, home, asked):
        self.home, self.nodes, self.dice = home, asked["nodes"], random.Random(asked["seed"])
        self.kinds = [self.step, self.controller, self.node] + [self.slurmctld] * asked["slurmctld"]
        self.done = []

    def step(self):
        running = trial_processes()
        if running:
            kill(self.dice.choice(running))

    def controller(self):
        kill(self.home.controller())
        self.home.thalweg("daemon", "start", check=False)

    def node(self):
        victim = self.dice.randint(2, self.nodes)  # the first one has the batch script
        output(CLUSTER / "kill-node", victim, check=False)
        time.sleep(40)  # noticed after THALWEG_CLUSTER_SLURMD_TIMEOUT
        output(CLUSTER / "start-node", victim, check=False)

    def slurmctld(self):
        output(CLUSTER / "restart-controller", check=False)

    def next(self):
        kind = self.kinds[len(self.done) % len(self.kinds)]
        kind()
        self.done.append(kind.__name__)


def jobs_of(folder):
    """Seconds of each job that ran, by Slurm's own times, and its places."""
    jobs = []
    for line in output("scontrol", "-o", "show", "job").splitlines():
        facts = dict(re.findall(r"(\w+)=(\S+)", line))
        if not facts.get("WorkDir", "").startswith(str(folder)):
            continue
        hours, minutes, seconds = facts["RunTime"].rsplit("-", 1)[-1].split(":")
        jobs.append((facts["JobId"], facts["JobState"], int(hours) * 3600 + int(minutes) * 60 + int(seconds)))
    return jobs


def times_of(log):
    """When programs began and came to their end, Unix seconds."""
    begins = [float(line) for line in Path(f"{log}.b").read_text().split()]
    ends = [float(line) for line in Path(f"{log}.e").read_text().split()]
    return begins, ends


def run(programs, asked):
    folder = Path(tempfile.mkdtemp(prefix="thalweg-pack-", dir="/tmp"))
    home = Home(programs, folder)
    places = asked["nodes"] * CORES_OF_NODE
    least_s = asked["trials"] * asked["seconds"] / places
    limit_s = int(2 * least_s) + 600
    text = SWEEP.format(log=folder / "log", program=PROGRAM, seconds=asked["seconds"], places=places,
                        values=", ".join(str(i) for i in range(asked["trials"])),
                        limit=f"{limit_s // 3600:02}:{limit_s // 60 % 60:02}:{limit_s % 60:02}")
    (folder / "sweep.yaml").write_text(text)
    home.thalweg("submit", folder / "sweep.yaml", "--backend", "slurm")
    begun = time.monotonic()
    disturbances = Disturbances(home, asked)
    between = least_s / (asked["kills"] + 1)
    while True:
        rows = home.query("SELECT state, count(*) FROM trials GROUP BY state") or []
        states = dict(rows)
        if sum(states.values()) == asked["trials"] and not set(states) - {"finished", "failed", "cancelled"}:
            break
        if len(disturbances.done) < asked["kills"] and time.monotonic() - begun > between * (len(disturbances.done) + 1):
            disturbances.next()
        time.sleep(1)
    took = time.monotonic() - begun
    time.sleep(25)  # the last job ends when it was idle
    report(home, asked, places, took, states, disturbances.done)
    home.thalweg("daemon", "stop", check=False)
    shutil.rmtree(folder, ignore_errors=True)


def report(home, asked, places, took, states, disturbed):
    jobs = jobs_of(home.folder)
    available = places * sum(seconds for _, _, seconds in jobs)
    begins, ends = times_of(home.folder / "log")
    trained, span = len(ends) * asked["seconds"], max(ends) - min(begins)
    attempts = home.query("SELECT count(*), sum(ended - started), avg(started), avg(ended) FROM attempts WHERE started > 0")[0]
    doubled = home.query("SELECT count(*) FROM (SELECT trial FROM attempts WHERE state = 'finished' GROUP BY trial HAVING count(*) > 1)")
    print(f"trials            {states}, programs begun {len(begins)}, come to their end {len(ends)}")
    print(f"finished twice    {doubled[0][0]}")
    print(f"disturbances      {', '.join(disturbed) or 'none'}")
    print(f"jobs              {len(jobs)}: " + ", ".join(f"{job} {state} {seconds} s" for job, state, seconds in jobs))
    print(f"core-seconds      {available} in jobs, {trained} of programs that came to their end: {100 * trained / available:.1f} %")
    print(f"                  {attempts[1]:.0f} in steps: {100 * attempts[1] / available:.1f} %; while there was work to do "
          f"({span:.0f} s): {100 * trained / (places * span):.1f} %")
    if len(begins) == len(ends) == attempts[0]:
        before = sum(begins) / len(begins) - attempts[2]
        after = attempts[3] - sum(ends) / len(ends)
        print(f"a trial's         step begins {1000 * before:.0f} ms before its program, ends {1000 * after:.0f} ms after it (means)")
    print(f"attempts          {attempts[0]}; from submission to the last end {took:.0f} s")


def main():
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    asked = arguments(sys.argv[2:])
    os.environ.update(THALWEG_CLUSTER_NAME=f"pack{os.getpid()}", THALWEG_CLUSTER_DIR=f"/tmp/tpk{os.getpid()}",
                      THALWEG_CLUSTER_CPUS=str(CORES_OF_NODE), THALWEG_CLUSTER_MIN_JOB_AGE="7200",
                      THALWEG_CLUSTER_SLURMD_TIMEOUT="10")
    up = output(CLUSTER / "up", asked["nodes"])
    os.environ["SLURM_CONF"] = up.split("=", 1)[1].split("\n")[0]
    try:
        run(sys.argv[1], asked)
    finally:
        output(CLUSTER / "down", check=False)


main()
