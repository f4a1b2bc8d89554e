#!/usr/bin/python3
"""Allreduce (fp32 sum, in place): Thalweg and its peers by turns in one run. Run it by allreduce_vs_peers.sh."""
import argparse
import json
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

from jobs import Hosts, Job, JobError, launchers

KiB, MiB = 1 << 10, 1 << 20
SIZES = [4 * 4 ** i for i in range(14)]  # 4 B to 256 MiB
SHORT_SIZES = [4, KiB, 16 * KiB, 256 * KiB, MiB, 4 * MiB, 16 * MiB, 64 * MiB]
PEERS = ["ompi-ob1", "ompi-ucx", "mpich", "gloo"]
NEAR_NS = 120  # a cache line between the cores costs 50 to 100 ns while they are near, 200 and more when they are far
LINES = 20000  # that c2c moves each time


def bar(where, ranks, size, near=False):
    """The ratio (best peer's time / ours) that we want to reach; None: none is set."""
    if where == "tcp":
        return 1.2 if size >= 64 * KiB else 0.95
    if ranks == 2:
        rows = [(4 * KiB, 1.0), (256 * KiB, 1.25), (4 * MiB, 1.2 if near else 1.0), (16 * MiB, 1.3), (1 << 40, 3.5)]
    elif ranks == 4:
        rows = [(16 * KiB, 1.3), (64 * KiB, None), (1 << 40, 5.0)]
    else:
        return None
    return next(ratio for most, ratio in rows if size <= most)


PLAIN_BAR = {"node": 0.95, "tcp": None}
BEFORE_BAR = 0.98  # of another build's speed, with --before
STREAM_BAR = 0.85  # share of a plain TCP stream, 2 hosts, where bandwidth rules


def human(size):
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size} {unit}"
        size //= 1024
    return f"{size} GiB"


class Comparison:
    def __init__(self, options, jobs):
        self.options, self.jobs = options, jobs
        self.entries = {}  # row name -> (job, kind of memory)
        for name in ["ours", "before", *PEERS, "stream", "duplex"]:
            if name in jobs:
                self.entries[name] = (jobs[name], "group" if name in ("ours", "before") else "plain")
            if name in ("ours", "before") and name in jobs:
                self.entries[name + "-plain"] = (jobs[name], "plain")

    def prepare(self, size):
        """Buffers of this size everywhere, checked; how many calls fill a turn, by row."""
        calls = {}
        for name, (job, kind) in self.entries.items():
            job.prepare(kind, size)
            us = job.times(f"run {kind} 1 1 1")[0]
            few = max(1, min(500, int(2000 / max(us, 0.1))))
            us = min(us, job.times(f"run {kind} 1 {few} 0")[0])
            calls[name] = max(1, min(20000, int(self.options.turn_ms * 1000 / 3 / max(us, 0.05))))
        return calls

    def turn(self, name, calls):
        job, kind = self.entries[name]
        if self.options.touch:
            return statistics.median(job.times(f"touch {kind} {min(200, 3 * calls)} 1"))
        return statistics.median(job.times(f"run {kind} 3 {calls} {min(calls, 50)}"))

    def measure(self, size):
        calls = self.prepare(size)
        rounds = []
        for _ in range(self.options.rounds):
            line_ns = self.jobs["c2c"].times("run plain 1 1 0")[0] * 1000 / LINES
            rounds.append({"c2c_ns": line_ns, **{name: self.turn(name, calls[name]) for name in self.entries}})
        return {"bytes": size, "rounds": rounds, **self.judge(size, rounds)}

    def ratio(self, rounds, row):
        """The best peer, or the other build, and the median over rounds of its time / the row's."""
        peers = [name for name in PEERS if name in self.entries]
        if self.options.before:
            peers = [row.replace("ours", "before")]
        if not rounds or row not in self.entries or not peers:
            return None, None
        ratios = {peer: statistics.median(r[peer] / r[row] for r in rounds) for peer in peers}
        best = min(ratios, key=ratios.get)
        return best, ratios[best]

    def judge(self, size, rounds):
        where, ranks = self.options.where, self.options.ranks
        result = {"us": {name: statistics.median(r[name] for r in rounds) for name in self.entries},
                  "c2c_ns": statistics.median(r["c2c_ns"] for r in rounds)}
        near = [r for r in rounds if r["c2c_ns"] < NEAR_NS]
        far = [r for r in rounds if r["c2c_ns"] >= NEAR_NS]
        result["best"], result["ratio"] = self.ratio(rounds, "ours")
        result["near"], result["far"] = self.ratio(near, "ours")[1], self.ratio(far, "ours")[1]
        result["near_rounds"] = len(near)
        before = BEFORE_BAR if self.options.before else None
        result["bar"] = before or bar(where, ranks, size)
        result["near_bar"] = before or bar(where, ranks, size, near=True)
        result["plain_ratio"] = self.ratio(rounds, "ours-plain")[1]
        result["plain_bar"] = before or PLAIN_BAR[where]
        if "stream" in self.entries and "ours" in self.entries:
            # Bus bandwidth (2 (n-1)/n bytes a call) over that of one stream.
            moved = 2 * (ranks - 1) / ranks
            result["stream_share"] = statistics.median(r["stream"] / r["ours"] * moved for r in rounds)
            result["duplex_share"] = statistics.median(r["duplex"] / r["ours"] * moved for r in rounds)
            result["stream_bar"] = STREAM_BAR if ranks == 2 and size >= MiB else None
        return result

    def head(self):
        text = f"{'size':>8} {'c2c ns':>7}" + "".join(f" {name:>12}" for name in self.entries)
        text += f" | {'best':>8} {'ratio':>6} {'bar':>12} {'near':>6} {'far':>6} | {'plain':>6} {'bar':>12}"
        return text + (f" | {'/stream':>7} {'/duplex':>7} {'bar':>12}" if "stream" in self.entries else "")

    def line(self, result):
        number = lambda value: "-" if value is None else f"{value:.2f}"  # noqa: E731
        us = lambda value: f"{value:.2f}" if value < 100 else f"{value:.0f}"  # noqa: E731
        text = f"{human(result['bytes']):>8} {result['c2c_ns']:>7.0f}"
        text += "".join(f" {us(result['us'][name]):>12}" for name in self.entries)
        text += f" | {result['best'] or '-':>8} {number(result['ratio']):>6} {verdict(result['ratio'], result['bar'])}"
        text += f" {number(result['near']):>6} {number(result['far']):>6}"
        text += f" | {number(result['plain_ratio']):>6} {verdict(result['plain_ratio'], result['plain_bar'])}"
        if "stream_share" in result:
            text += f" | {result['stream_share']:>7.2f} {result['duplex_share']:>7.2f} "
            text += verdict(result["stream_share"], result["stream_bar"])
        return text


def verdict(value, wanted):
    if value is None or wanted is None:
        return f"{'-':>12}"
    return f"{wanted:>5.2f} {'met' if value >= wanted else 'MISSED':>6}"


def start(options, programs, folder, hosts):
    """The jobs that take part, running; those whose program is not there are named and left out."""
    table = launchers(options.ranks, hosts, programs)
    wanted = ["c2c", *options.only, *(["stream", "duplex"] if options.where == "tcp" else [])]
    if options.before:
        before = Path(options.before) / "bench"
        table["before"] = (before / "peer_thalweg", launchers(options.ranks, hosts, before)["ours"][1])
        wanted.append("before")
    jobs = {}
    for name in wanted:
        program, command = table[name]
        if not (programs / program).exists():
            print(f"{name} is left out: {programs / program} is not built", file=sys.stderr)
            continue
        ranks = {"c2c": 1, "stream": 2, "duplex": 2}.get(name, options.ranks)
        job = jobs[name] = Job(name, ranks, Path(folder) / name)
        try:
            job.start(*command(job.folder))
            job.answers()
        except JobError:
            stop(jobs.values())
            raise
    jobs["c2c"].prepare("plain", 4 * LINES)
    return jobs


def stop(jobs):
    for job in jobs:
        job.stop()


def arguments():
    parser = argparse.ArgumentParser(prog="allreduce_vs_peers.sh", description=__doc__)
    parser.add_argument("ranks", type=int, nargs="?", default=2)
    parser.add_argument("where", nargs="?", choices=["node", "tcp"], default="node",
                        help="node: this machine; tcp: one network-namespace host a rank (root)")
    parser.add_argument("rounds", type=int, nargs="?", default=5)
    parser.add_argument("--touch", action="store_true", help="rewrite the buffers before every call")
    parser.add_argument("--short", action="store_true", help="fewer sizes and shorter turns, without MPICH and Gloo")
    parser.add_argument("--sizes", help="bytes, comma-separated, K and M as units: 4,64K,16M")
    parser.add_argument("--only", help="who takes part, comma-separated: ours," + ",".join(PEERS))
    parser.add_argument("--turn-ms", type=float, help="how long a turn lasts (40; 15 with --short)")
    parser.add_argument("--json", metavar="FILE", help="write everything measured, every round")
    parser.add_argument("--congestion", metavar="NAME", help="TCP's congestion control on the hosts; default: as here")
    parser.add_argument("--before", metavar="BUILD", help="another build, whose allreduce ours is compared with instead")
    parser.add_argument("--build", default=str(Path(__file__).resolve().parents[3] / "build/release"))
    options = parser.parse_args()
    unit = {"K": KiB, "M": MiB}
    if options.sizes:
        options.sizes = [int(s.rstrip("KM")) * unit.get(s[-1], 1) for s in options.sizes.split(",")]
    else:
        options.sizes = SHORT_SIZES if options.short else SIZES
    peers = [] if options.before else PEERS[:2] if options.short else PEERS
    options.only = options.only.split(",") if options.only else ["ours", *peers]
    options.turn_ms = options.turn_ms or (15 if options.short else 40)
    if set(options.only) - {"ours", *PEERS}:
        parser.error("--only takes ours," + ",".join(PEERS))
    return options


def main():
    options = arguments()
    folder, hosts, jobs, results = tempfile.mkdtemp(prefix="thalweg-bench-"), None, {}, []
    try:
        if options.where == "tcp":
            hosts = Hosts(options.ranks, folder + "/hosts", options.congestion)
        jobs = start(options, Path(options.build) / "bench", folder, hosts)
        comparison = Comparison(options, jobs)
        print(f"allreduce, fp32 sum, in place: {options.ranks} ranks, {options.where}, "
              f"medians of {options.rounds} rounds in us"
              + (", buffers rewritten before each call" if options.touch else ""))
        print(comparison.head(), flush=True)
        for size in options.sizes:
            results.append(comparison.measure(size))
            print(comparison.line(results[-1]), flush=True)
    except JobError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        stop(jobs.values())
        if hosts:
            hosts.stop()
        shutil.rmtree(folder, ignore_errors=True)
        if options.json and results:
            Path(options.json).write_text(json.dumps({"ranks": options.ranks, "where": options.where,
                                                      "touch": options.touch, "results": results}, indent=1))


main()
