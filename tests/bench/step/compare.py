#!/usr/bin/python3
"""Training steps of Thalweg and PyTorch, or of two builds of Thalweg, by turns in one run, and what they take. Run it by
engine_vs_pytorch.sh."""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "allreduce"))
from jobs import Job, JobError  # noqa: E402

MODELS = ["mlp", "lenet", "resnet18", "gpt", "cnn3d", "lstm"]
# a row of its own in the table "steps" -> the model, settings of our side
VARIANTS = {"resnet18-direct": ("resnet18", {"model.convolution": "direct"})}

# table -> title, settings of both sides, bars of PyTorch's step time / ours
STEPS = {
    "steps": ("one thread, fp32, momentum", {},
              {"mlp": 1.3, "lenet": 2.0, "resnet18": 1.9, "resnet18-direct": 1.08, "gpt": 1.15, "cnn3d": 1.6,
               "lstm": 1.4}),
    "adamw": ("one thread, fp32, AdamW", {"optimizer": "adamw"}, {"mlp": 1.6}),
    "threads": ("two threads, fp32, momentum", {"threads": "2"},
                {"lenet": 2.7, "resnet18": 1.9, "gpt": 2.0, "lstm": 8.0}),
    "bf16": ("one thread, bf16, momentum", {"precision": "bf16"},
             {"mlp": 1.5, "lenet": 1.9, "resnet18": 1.1, "gpt": 1.1}),
}
BF16_BAR = 1.6  # our bf16 over our fp32
BF16_BAR_MODELS = ["mlp", "lenet", "cnn3d", "lstm", "gpt"]
BEFORE_BAR = 0.98  # of another build's rate, with --before
RANKS_BAR, RANKS_MODELS = 1.85, ["resnet18", "gpt", "lstm"]
ADAMW_BAR, MEMORY_LOOP_BAR = 4.0, 1.15
GROUPS = ["products", "onednn", "own", "loss", "sums", "update"]


def verdict(value, bar, at_most=False):
    if bar is None or value is None:
        return ""
    met = value <= bar if at_most else value >= bar
    return f"{'<=' if at_most else '>='} {bar:g} {'yes' if met else 'NO'}"


def disturbance(row):
    return f"   (others used {row['others']:.2f} cores)" if row.get("others", 0) > 0.1 else ""


def number(value, digits=2):
    return "-" if value is None else f"{value:.{digits}f}"


def median(values):
    return statistics.median(values) if values else None


class Others:
    """What processes that do not take part used of the machine's cores since this object was made."""

    def __init__(self, jobs):
        self.sessions = {process.pid for job in jobs for process in job.processes}
        self.start = self.now()

    def now(self):
        busy = sum(int(word) for i, word in enumerate(Path("/proc/stat").read_text().split("\n")[0].split()[1:9])
                   if i not in (3, 4))  # idle, waiting for disks
        ours = 0
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                words = stat.read_text().rpartition(")")[2].split()
            except OSError:
                continue  # it has ended
            if int(words[3]) in self.sessions:
                ours += int(words[11]) + int(words[12])
        return time.monotonic(), (busy - ours) / os.sysconf("SC_CLK_TCK")

    def cores(self):
        (t0, used0), (t1, used1) = self.start, self.now()
        return (used1 - used0) / (t1 - t0)


class Bench:
    def __init__(self, options, folder):
        self.options, self.folder, self.count = options, Path(folder), 0

    def start(self, name, command, ranks=1, cores=None):
        """`command`: of the job's folder. The job, or the reason why there is none."""
        self.count += 1
        job = Job(name, ranks, self.folder / f"{self.count}-{name}")
        cores = cores or str(self.options.core)
        try:
            job.start([["taskset", "-c", cores, *command(job.folder)]], {})
            job.answers(timeout=120)
        except JobError as error:
            job.stop()
            return None, str(error).strip().splitlines()[-1].strip().replace("bench_step: ", "")
        return job, None

    def ours(self, model, settings, ranks=1, core=None, programs=None):
        programs = programs or self.options.programs
        model, ours = VARIANTS.get(model, (model, {}))
        words = [*self.options.ours, *[f"{key}={value}" for key, value in {**settings, **ours}.items()]]
        program = programs / "bench_step"
        if ranks > 1:
            launch = [programs / "thalweg-launch", "-n", ranks, "--no-bind", "--"]
            return self.start("ours", lambda at: [*launch, program, model, "bind=0", f"serve={at}", *words], ranks,
                              ",".join(map(str, range(ranks))))
        return self.start("ours", lambda at: [program, model, f"serve={at}", *words],
                          cores=str(core) if core is not None else self.cores(settings))

    def peer(self, model, settings):
        """PyTorch, or the other build."""
        if self.options.before:
            return self.ours(model, settings, programs=self.options.before)
        model, _ = VARIANTS.get(model, (model, {}))
        words = [f"{key}={value}" for key, value in settings.items()]
        return self.start("pytorch", lambda at: ["/usr/bin/python3", HERE / "peer_pytorch.py", at, model, *words],
                          cores=self.cores(settings))

    def cores(self, settings):
        return None if settings.get("threads", "1") == "1" else f"0-{int(settings['threads']) - 1}"

    @staticmethod
    def ask(job, command):
        """Of rank 0, as numbers."""
        try:
            return {key: float(value) for key, value in (word.split("=") for word in job.ask(command)[0])}
        except ValueError:
            raise job.explain(f"no numbers came back from '{command}'") from None

    def turns(self, jobs):
        """name -> what each round measured, the jobs one after another in every round."""
        rounds = {name: [] for name in jobs}
        others = Others(jobs.values())
        for _ in range(self.options.rounds):
            for name, job in jobs.items():
                rounds[name].append(self.ask(job, f"run {self.options.seconds}"))
        self.disturbed = others.cores()
        return rounds

    def compare(self, model, settings):
        """Ours, the peer and, in bf16, our own fp32."""
        row = {"model": model}
        jobs = {}
        try:
            jobs["ours"], row["missing"] = self.ours(model, settings)
            jobs["peer"], row["peer_missing"] = self.peer(model, settings)
            if settings.get("precision") == "bf16" and jobs["ours"]:
                jobs["fp32"], _ = self.ours(model, {**settings, "precision": "fp32"})
            jobs = {name: job for name, job in jobs.items() if job}
            rounds = self.turns(jobs)
            row["others"] = self.disturbed
            for name, job in jobs.items():
                row[name] = median([r["samples_per_s"] for r in rounds[name]])
                memory = self.ask(job, "memory")
                row[f"{name}_mib"] = memory["peak_mib"] - (0 if self.options.before else memory["start_mib"])
            if "ours" in jobs:
                self.explain(row, jobs["ours"], rounds["ours"], settings)
                for name in set(jobs) - {"ours"}:
                    row[f"{name}_ratio"] = median([a["samples_per_s"] / b["samples_per_s"]
                                                   for a, b in zip(rounds["ours"], rounds[name])])
        except JobError as error:
            row["missing"] = row.get("missing") or str(error).splitlines()[0]
        finally:
            for job in jobs.values():
                if job:
                    job.stop()
        return row

    def explain(self, row, job, rounds, settings):
        """The share of the arithmetic limit, and of the step's other parts."""
        row["gflops_limit"] = self.ask(job, "limit")["gflops"]
        row["limit_share"] = median([r["gflop"] / row["gflops_limit"] * 1e3 / r["step_ms"] for r in rounds])
        parts = rounds[-1]
        if settings.get("threads", "1") == "1":
            parts = self.ask(job, f"split {self.options.seconds / 2}")
        row["parts"] = {part: parts[f"{part}_ms"] / parts["step_ms"] for part in GROUPS if f"{part}_ms" in parts}

    def at_once(self, jobs):
        """The same turn of several programs, started together."""
        for job in jobs:
            os.write(job.fds[0], f"run {self.options.seconds}\n".encode())
        return sum(float(word.split("=")[1]) for job in jobs for word in job.answers()[0]
                   if word.startswith("samples_per_s="))

    def two_ranks(self, model):
        row, jobs = {"model": model}, {}
        try:
            wanted = [("one", 1, 1, None), ("other", 1, 0, None), ("two", 2, None, None)]
            if self.options.before:
                wanted.append(("before", 2, None, self.options.before))
            for name, ranks, core, programs in wanted:
                jobs[name], row["missing"] = self.ours(model, {}, ranks, core, programs)
                if row["missing"]:
                    return row
            rounds, others = [], Others(jobs.values())
            for _ in range(self.options.rounds):
                one, two = (self.ask(jobs[name], f"run {self.options.seconds}") for name in ("one", "two"))
                rounds.append({"one": one, "two": two, "apart": self.at_once([jobs["one"], jobs["other"]])})
                if "before" in jobs:
                    rounds[-1]["before"] = self.ask(jobs["before"], f"run {self.options.seconds}")
            row["others"] = others.cores()
            for name in ("one", "two"):
                row[name] = median([r[name]["samples_per_s"] for r in rounds])
                for part in ("compute", "sums", "update"):
                    row[f"{name}_{part}_ms"] = median([r[name][f"{part}_ms"] for r in rounds])
            row["ratio"] = median([r["two"]["samples_per_s"] / r["one"]["samples_per_s"] for r in rounds])
            if "before" in jobs:
                row["before_ratio"] = median([r["two"]["samples_per_s"] / r["before"]["samples_per_s"] for r in rounds])
            row["apart_ratio"] = median([r["apart"] / r["one"]["samples_per_s"] for r in rounds])
        except JobError as error:
            row["missing"] = str(error).splitlines()[0]
        finally:
            for job in jobs.values():
                if job:
                    job.stop()
        return row


def print_steps(rows, bars, peer):
    print(f"{'model':<15} {'ours':>9} {peer:>9} {'ratio':>6} {'bar':>12} | {'limit':>6} |"
          + "".join(f"{group:>9}" for group in GROUPS) + f"{'rest':>7}   shares of the step")
    for row in rows:
        if row.get("missing"):
            print(f"{row['model']:<15} not available: {row['missing']}")
            continue
        parts = row["parts"]
        shares = "".join(f"{100 * parts[g]:>8.1f}%" if g in parts else f"{'-':>9}" for g in GROUPS)
        rest = f"{100 * (1 - sum(parts.values())):>6.1f}%" if "products" in parts else f"{'-':>7}"
        print(f"{row['model']:<15} {row['ours']:>9.1f} {number(row.get('peer'), 1):>9} "
              f"{number(row.get('peer_ratio')):>6} {verdict(row.get('peer_ratio'), bars.get(row['model'])):>12} | "
              f"{100 * row['limit_share']:>5.1f}% |{shares}{rest}"
              + (f"   {peer}: {row['peer_missing']}" if row.get("peer_missing") else "") + disturbance(row))


def print_own_fp32(rows):
    print(f"{'model':<15} {'bf16':>9} {'fp32':>9} {'ratio':>6} {'bar':>12}")
    for row in rows:
        if not row.get("missing"):
            bar = BF16_BAR if row["model"] in BF16_BAR_MODELS else None
            print(f"{row['model']:<15} {row['ours']:>9.1f} {number(row.get('fp32'), 1):>9} "
                  f"{number(row.get('fp32_ratio')):>6} {verdict(row.get('fp32_ratio'), bar):>12}")


def print_memory(tables, peer):
    print(f"\nPeak memory{'' if peer == 'before' else ' above that at the start'}, MiB (data included on both sides)")
    print(f"{'table':<9} {'model':<15} {'ours':>8} {peer:>8} {'ratio':>6} {'bar':>10}")
    for table, rows in tables.items():
        for row in rows:
            ours, theirs = row.get("ours_mib"), row.get("peer_mib")
            if ours and theirs:
                print(f"{table:<9} {row['model']:<15} {ours:>8.1f} {theirs:>8.1f} {ours / theirs:>6.2f} "
                      f"{verdict(ours / theirs, 1, at_most=True):>10}")


def print_ranks(rows):
    print("\nTwo ranks on two cores against one, a batch of the same size on each; apart: two processes that do not talk")
    print(f"{'model':<15} {'one':>9} {'two':>9} {'ratio':>6} {'bar':>12} {'apart':>6} | ms of one, of two:"
          + "".join(f"{part:>16}" for part in ("compute", "sums", "update")))
    for row in rows:
        if row.get("missing"):
            print(f"{row['model']:<15} not available: {row['missing']}")
            continue
        parts = "".join(f"{row[f'one_{p}_ms']:>8.2f}{row[f'two_{p}_ms']:>8.2f}" for p in ("compute", "sums", "update"))
        bar = RANKS_BAR if row["model"] in RANKS_MODELS else None
        print(f"{row['model']:<15} {row['one']:>9.1f} {row['two']:>9.1f} {row['ratio']:>6.2f} "
              f"{verdict(row['ratio'], bar):>12} {row['apart_ratio']:>6.2f} |{'':19}{parts}"
              + (f"   two / before's {row['before_ratio']:.2f} {verdict(row['before_ratio'], BEFORE_BAR)}"
                 if "before_ratio" in row else "") + disturbance(row))


def optimizers(options):
    """ms of a step over ResNet-50's parameters: name -> of each round; "NAME loop": memory alone."""
    rounds = {}
    pin = ["taskset", "-c", str(options.core)]
    ours = lambda programs: [programs / "bench_optimizers", f"seconds={options.seconds}"]  # noqa: E731
    theirs = ["/usr/bin/python3", HERE.parent / "optimizers_pytorch.py", str(options.seconds)]
    for _ in range(options.rounds):
        for side, command in (("", ours(options.programs)),
                              ("before ", ours(options.before)) if options.before else ("pytorch ", theirs)):
            done = subprocess.run([*pin, *map(str, command)], capture_output=True, text=True, check=True)
            for line in done.stdout.splitlines():
                name, *numbers = line.replace("{name: ", "").replace("}", "").split("=")
                numbers = [float(text.split()[0]) for text in numbers]
                rounds.setdefault(side + name.removesuffix("ms").strip(), []).append(numbers[0])
                if not side:
                    rounds.setdefault(name.removesuffix("ms").strip() + " loop", []).append(numbers[1])
    return rounds


def print_optimizers_before(rounds):
    print("\nOne optimizer step over 25.6 M parameters (ResNet-50), one thread, ms; another build's / ours")
    print(f"{'optimizer':<10} {'ours':>7} {'before':>7} {'ratio':>6} {'bar':>12}")
    for name in [name for name in rounds if f"before {name}" in rounds]:
        ratio = median([b / a for a, b in zip(rounds[name], rounds[f"before {name}"])])
        print(f"{name:<10} {median(rounds[name]):>7.2f} {median(rounds[f'before {name}']):>7.2f} {ratio:>6.2f} "
              f"{verdict(ratio, BEFORE_BAR):>12}")


def print_optimizers(rounds):
    print("\nOne optimizer step over 25.6 M parameters (ResNet-50), one thread, ms; memory: a loop that only reads and writes")
    print(f"{'optimizer':<10} {'ours':>7} {'memory':>7} {'ratio':>6} {'bar':>12} | {'foreach':>8} {'ratio':>6} {'bar':>10}")
    ratio = lambda a, b: median([x / y for x, y in zip(rounds[a], rounds[b])])  # noqa: E731
    for name in ("adamw", "momentum"):
        loop, foreach = f"{name} loop", f"pytorch {name} foreach"
        print(f"{name:<10} {median(rounds[name]):>7.2f} {median(rounds[loop]):>7.2f} {ratio(name, loop):>6.2f} "
              f"{verdict(ratio(name, loop), MEMORY_LOOP_BAR, at_most=True):>12} | {median(rounds[foreach]):>8.2f} "
              f"{ratio(foreach, name):>6.2f} {verdict(ratio(foreach, name), ADAMW_BAR if name == 'adamw' else None):>10}")


def parse():
    parser = argparse.ArgumentParser(prog="engine_vs_pytorch.sh", description=__doc__)
    parser.add_argument("tables", nargs="*", help="any of " + ", ".join([*STEPS, "optimizer", "ranks"]) + "; all")
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2, help="of a turn")
    parser.add_argument("--core", type=int, default=(os.cpu_count() or 1) - 1, help="for one thread")
    parser.add_argument("--programs", type=Path, default=HERE.parents[2] / "build/release/bin")
    parser.add_argument("--before", type=Path, metavar="PROGRAMS", help="those of another build, measured instead of PyTorch")
    parser.add_argument("--ours", nargs="*", default=[], metavar="KEY=VALUE", help="more settings for bench_step")
    parser.add_argument("--json", help="write everything that was measured to this file")
    options = parser.parse_args()
    options.tables = options.tables or [*STEPS, "optimizer", "ranks"]
    for name in options.tables:
        if name not in [*STEPS, "optimizer", "ranks"]:
            parser.error(f"no table '{name}'")
    options.models = options.models.split(",")
    for programs in filter(None, (options.programs, options.before)):
        if not (programs / "bench_step").exists():
            parser.error(f"{programs}/bench_step is not built: ninja -C {programs.parent} bench_step")
    return options


def main():
    options = parse()
    measured, peer = {}, "before" if options.before else "pytorch"
    for name in [name for name in os.environ if name.startswith("OPENBLAS_")]:
        print(f"{name}={os.environ.pop(name)} is not passed on: PyTorch's BLAS is to choose by itself")
    with tempfile.TemporaryDirectory(prefix="engine_vs_pytorch.") as folder:
        bench = Bench(options, folder)
        for table, (title, settings, bars) in STEPS.items():
            if table not in options.tables:
                continue
            models = [*options.models]
            if table == "steps":
                models += [name for name, (model, _) in VARIANTS.items() if model in models]
            rows = measured[table] = [bench.compare(model, settings) for model in models]
            print(f"\n{title}: samples/s, medians of {options.rounds} rounds by turns; {peer}'s step / ours")
            print_steps(rows, dict.fromkeys(models, BEFORE_BAR) if options.before else bars, peer)
            if table == "bf16":
                print("\nour bf16 against our fp32")
                print_own_fp32(rows)
            sys.stdout.flush()
        if measured:
            print_memory(measured, peer)
            sys.stdout.flush()
        if "optimizer" in options.tables:
            measured["optimizer"] = optimizers(options)
            (print_optimizers_before if options.before else print_optimizers)(measured["optimizer"])
        if "ranks" in options.tables:
            measured["ranks"] = [bench.two_ranks(model) for model in options.models]
            print_ranks(measured["ranks"])
    if options.json:
        Path(options.json).write_text(json.dumps(measured, indent=1) + "\n")


main()
