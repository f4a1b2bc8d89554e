#!/usr/bin/env python3
"""Tests and measurements of the cuda device on this machine; run by tests/on_gpu.sh, which says what words it takes.

Every item (a test program, a model, an optimizer) is one entry of FOLDER/results/rows.json, written as soon as it is known, so
that what is cut off goes on where it was in a later call. FOLDER/results/table.txt is the table so far, logs/ what was said."""
import datetime
import glob
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "allreduce"))
from jobs import Job, JobError  # noqa: E402

KEPT = HERE.parent / "results"

# (model, bar of ours / PyTorch's samples/s, ways to run it in PyTorch: the fastest of those that count)
WAYS = {"default": ["compile=default"], "reduce-overhead": ["compile=reduce-overhead"],
        "parameters in bf16": ["compile=default", "precision=all-bf16"]}
TO_KNOW = ["parameters in bf16"]  # less work than ours, which has them in floats
LARGE, SMALL, TRANSFORMER = ["default"], ["default", "reduce-overhead"], ["default", "parameters in bf16"]
MODELS = [("resnet50", 1.0, LARGE), ("gpt2", 1.0, TRANSFORMER), ("bert_large", 1.0, TRANSFORMER), ("cosmoflow", 1.0, LARGE),
          ("unet3d", 1.0, LARGE), ("lstm_large", 1.0, LARGE), ("lenet", 2.0, SMALL), ("mlp", 2.0, SMALL)]
COSMOFLOW_V100 = 39.7  # samples/s of one V100, MLPerf HPC's reference of 2020
OPTIMIZERS = ["momentum", "adamw", "lamb", "muon"]
OPTIMIZER_BAR = 0.85  # of the copy's bandwidth, where memory bounds it

# program -> filter, parts that run at the same time
SUITES = {"gpu_test": ("*", 1), "nn_test": ("*Cuda*:*OnGpu*:*SecondWays*:MeasuredCalls*:TimedWays*", 4),
          "optim_test": ("*Gpu*:GradientSums*:Clip*", 1), "sync_test": ("Gpu*:*Exchange*", 1),
          "train_test": ("*Gpu*:Kernels*", 1), "curves_test": ("*", 3)}
GRADIENTS = ("nn_test", "*Gradient.*")  # of the reference device, with which the cuda device is compared

# tool -> program -> filter, parts one after another. Races are looked for in loops of our own only, in which threads of a team
# share memory: rows, sums, norms, losses, pools, lstms.
OWN_KERNELS = ["--kernel-name", "kns=thalweg"]
SANITIZED = {
    "memcheck": {"gpu_test": ("*/cuda", 1), "nn_test": ("Layers/*Cuda*:*CudaLosses*", 4), "optim_test": ("*OnGpu*", 2)},
    "racecheck": {"gpu_test": ("*Loops*/cuda", 1), "nn_test": ("Layers/Cuda.*:*CudaLosses*", 4),
                  "optim_test": ("*OnGpu.UpdatesAsTheHostDoes*", 1)}}

RANKS = [1, 2, 4]
RANK_TRIALS = {  # model and data of a real GPU, and of the emulated one
    "resnet18": ("{name: resnet, stem: cifar}", "{name: shapes, samples: 12000, size: 32}",
                 "{name: lenet}", "{name: shapes, samples: 640, size: 8, channels: 1, classes: 4}"),
    "gpt": ("{name: gpt, layers: 4, heads: 4, width: 256}", "{name: copy, samples: 20000, words: 32}",
            "{name: gpt, layers: 2, heads: 2, width: 16}", "{name: copy, samples: 640, words: 4, symbols: 12}")}
RANK_TRIAL = """format: 1
seed: 7
train:
  model: {model}
  data: {data}
  batch: {{global: {batch}, shards: 4}}
  steps: {steps}
  optimizer: {{name: adamw, lr: 0.001}}
  log: {{every: 1}}
  checkpoint: {{every: 0}}
  kernels: {{measure: never}}
  device: cuda
"""

EMULATED = os.environ.get("THALWEG_GPU") == "emulated"
if EMULATED:
    MODELS = [("gpt", 1.0, TRANSFORMER), MODELS[-1]]  # the others would take it hours
KERNELS_OF = "lenet" if EMULATED else "resnet50"

# seconds that an item is given, and those that must be left for it to begin
LIMITS = {"tests": (480, 120), "steps": (330, 150), "kernels": (150, 90), "optimizers": (60, 20), "ranks": (120, 60),
          "sanitize": (240, 90)}
PARTS = list(LIMITS)
NO_GPU = "no GPU: not run"


class OutOfTime(Exception):
    """The call's minutes are over."""


def library_folders(folder):
    """The carried libraries, and the CUDA libraries that python's packages bring."""
    folders = [str(folder / "lib")]
    for root in sys.path:
        folders += sorted(glob.glob(f"{root}/nvidia/*/lib"))
    folders += sorted(glob.glob("/usr/local/cuda*/lib64")) + ["/usr/local/nvidia/lib64"]
    return [f for f in folders if Path(f).is_dir()]


def numbers(text):
    return {key: float(value) for key, value in re.findall(r"(\w+)=([-+\d.e]+)(?=\s|$)", text)}


def last_line(text):
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return lines[-1][:110] if lines else "no output"


def verdict(met):
    """What a row says of its bar. Nothing that the emulated GPU did counts."""
    return "emul." if EMULATED else "yes" if met else "NO"


class Run:
    def __init__(self, folder, minutes, seconds):
        self.folder, self.seconds = folder, seconds
        self.end = time.monotonic() + 60 * minutes if minutes else None
        self.results = folder / "results"
        (self.results / "logs").mkdir(parents=True, exist_ok=True)
        self.file = self.results / "rows.json"
        self.kept = json.loads(self.file.read_text()) if self.file.exists() else {}
        self.environment = {  # of our programs; the machine's own could not do with what was carried here
            **os.environ,
            "LD_LIBRARY_PATH": ":".join([*library_folders(folder), os.environ.get("LD_LIBRARY_PATH", "")]),
            # UCX's parts beside the carried library, which are none: those of the machine belong to its own UCX.
            "UCX_MODULE_DIR": str(folder / "lib/ucx"), "PMIX_MCA_pcompress_base_silence_warning": "1"}
        self.children = []

    def left(self):
        return float("inf") if self.end is None else self.end - time.monotonic()

    def start(self, name, words, environment=None):
        words = [str(w) for w in words]
        ours = any(w.startswith(str(self.folder / "bin")) for w in words)
        with open(self.results / "logs" / f"{name}.log", "w") as log:
            child = subprocess.Popen(words, env={**(self.environment if ours else os.environ), **(environment or {})},
                                     stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True)
        self.children.append(child)
        return child

    def finish(self, children, limit):
        """Their exit statuses; 124 for what the limit ended."""
        end = time.monotonic() + min(limit, self.left())
        statuses = []
        for child in children:
            try:
                statuses.append(child.wait(max(0, end - time.monotonic())))
            except subprocess.TimeoutExpired:
                self.kill(child)
                statuses.append(124)
        self.children = [child for child in self.children if child.poll() is None]
        return statuses

    @staticmethod
    def kill(child):
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        child.wait()

    def call(self, name, *words, limit=900):
        """Exit status and output of a program."""
        try:
            status = self.finish([self.start(name, words)], limit)[0]
        except OSError as error:
            return 127, f"{error}\n"
        return status, self.log(name) + ("\ntimed out" if status == 124 else "")

    def log(self, name):
        return (self.results / "logs" / f"{name}.log").read_text(errors="replace")

    def program(self, name):
        return self.folder / "bin" / name

    def keep(self, item, rows, more=None):
        """`rows`: (what, value, bar, met)."""
        self.kept[item] = {"rows": rows, **(more or {})}
        aside = self.file.with_suffix(".new")
        aside.write_text(json.dumps(self.kept, indent=1) + "\n")
        aside.replace(self.file)
        for what, value, _, met in rows:
            print(f"  {met:<5} {what}: {value}", flush=True)
        self.write_table()

    def number(self, item, key):
        return self.kept.get(item, {}).get(key, 0)

    def write_table(self):
        rows = [row for item in order() for row in self.kept.get(item, {}).get("rows", [])]
        missing = [item for item in order() if item not in self.kept]
        width = max([len(row[0]) for row in rows], default=0)
        title = self.kept.get("machine", {}).get("title", "")
        lines = [title, ""] + [f"{what:<{width}}  {bar:<9} {met:<5} {value}" for what, value, bar, met in rows]
        if missing:
            counts = {part: sum(item.startswith(part + ":") for item in missing) for part in PARTS}
            lines += ["", "not measured yet: " + ", ".join(f"{part} ({count})" for part, count in counts.items() if count)]
        text = "\n".join(lines) + "\n"
        (self.results / "table.txt").write_text(text)
        if self.kept.get("machine", {}).get("real"):
            KEPT.mkdir(exist_ok=True)
            (KEPT / f"{self.kept['machine']['name']}.txt").write_text(text)
        return text


def order():
    """All items, as the table has them."""
    items = ["machine", "limits"]
    items += [f"tests:{name}" for name in [*SUITES, "gradients"]]
    items += [f"steps:{model}" for model, *_ in MODELS]
    items += [f"kernels:{KERNELS_OF}"]
    items += [f"optimizers:{name}" for name in OPTIMIZERS]
    items += [f"ranks:{name}" for name in RANK_TRIALS]
    return items + [f"sanitize:{tool}.{program}.{part}" for tool, programs in SANITIZED.items()
                    for program, (_, parts) in programs.items() for part in range(1, parts + 1)]


def look_at_machine(run):
    """What there is here; always looked at anew, so that a table never mixes two machines unseen."""
    status, text = run.call("nvidia-smi", "nvidia-smi", "--query-gpu=name,driver_version,memory.total",
                            "--format=csv,noheader")
    gpu = text.strip().splitlines()[0] if status == 0 and text.strip() else "no nvidia-smi"
    gpu = "emulated GPU" if EMULATED else gpu
    _, versions = run.call("versions", sys.executable, "-c",
                           "import torch; print('PyTorch', torch.__version__, 'CUDA', torch.version.cuda, "
                           "'cuDNN', torch.backends.cudnn.version())")
    status, text = run.call("limits", run.program("bench_gpu"), limit=120)
    found = numbers(text)
    commit = (run.folder / "commit").read_text().strip() if (run.folder / "commit").exists() else "unknown"
    before = run.kept.get("machine", {})
    real = "copy_gb_s" in found and not EMULATED
    short = re.sub(r"[^A-Za-z0-9]+", "-", gpu.split(",")[0]).strip("-")
    same = before.get("gpu") == gpu and before.get("commit") == commit
    if before and not same:
        print(f"These results were measured on {before.get('gpu')} with {before.get('commit')}, here it is {gpu} with {commit}: "
              f"move {run.results} away to begin anew", file=sys.stderr)
        sys.exit(2)
    name = before.get("name") or f"{datetime.date.today()}-{short}"
    kind = gpu + (", to try this script: nothing below is a result" if EMULATED else "")
    title = f"{name[:10]}  {kind}  {last_line(versions)}  Thalweg {commit}"
    run.keep("machine", [], {"gpu": gpu, "commit": commit, "real": real, "name": name, "title": title})
    if "copy_gb_s" not in found:
        run.keep("limits", [("this machine", NO_GPU + " (" + last_line(text).replace("skipped: ", "") + ")", "", "-")])
        return False
    run.keep("limits", [("copy, GB/s read and written", f"{found['copy_gb_s']:.0f}", "", "-"),
                        ("bf16 product, TFLOP/s", f"{found['product_tflop_s']:.0f}", "", "-")], found)
    return True


def tests(run, name, limit):
    program, (pattern, parts) = (name, SUITES[name]) if name in SUITES else (GRADIENTS[0], (GRADIENTS[1], 1))
    reports = [run.results / "logs" / f"{name}.{part}.json" for part in range(parts)]
    children = []
    for part, report in enumerate(reports):
        report.unlink(missing_ok=True)
        shards = {"GTEST_TOTAL_SHARDS": str(parts), "GTEST_SHARD_INDEX": str(part)} if parts > 1 else {}
        children.append(run.start(f"{name}.{part}", [run.program(program), f"--gtest_filter={pattern}",
                                                     f"--gtest_output=json:{report}"], shards))
    statuses = run.finish(children, limit)
    if 124 in statuses and run.left() < 1:
        raise OutOfTime
    broken = [part for part, report in enumerate(reports) if not report.exists()]
    what = "gradients by finite differences (host)" if name == "gradients" else f"tests: {name}"
    if broken:
        return [(what, last_line(run.log(f"{name}.{broken[0]}")), "0 failed", verdict(False))]
    cases = [(suite, case) for report in reports for suite in json.loads(report.read_text())["testsuites"]
             for case in suite["testsuite"] if case.get("status") == "RUN"]
    failed = [case["name"] for _, case in cases if case.get("failures")]
    skipped = sum(case.get("result") == "SKIPPED" for _, case in cases)
    passed = len(cases) - len(failed) - skipped
    value = f"{passed} passed, {len(failed)} failed, {skipped} skipped" + (f": {', '.join(failed)}"[:80] if failed else "")
    rows = [(what, value, "0 failed", verdict(not any(statuses) and passed > 0 and not failed))]
    for _, case in cases:  # curves_test says how far the curves are apart
        if "apart" in case:
            rows.append((f"  200 steps of {case['name'].rpartition('/')[2]}, from the cpu's", case["apart"], "", "-"))
    return rows


def sanitizer():
    places = [shutil.which("compute-sanitizer"), *sorted(glob.glob("/usr/local/cuda*/bin/compute-sanitizer")),
              *sorted(glob.glob("/opt/nvidia/**/compute-sanitizer", recursive=True))]
    return next((place for place in places if place and os.access(place, os.X_OK) and Path(place).is_file()), None)


def sanitize(run, name, limit):
    tool, program, part = name.split(".")
    pattern, parts = SANITIZED[tool][program]
    what = f"{tool}: {program}" + (f", part {part} of {parts}" if parts > 1 else "")
    found = sanitizer()
    if found is None:
        return [(what, "compute-sanitizer is not installed", "0 errors", "-")]
    shard = {"GTEST_TOTAL_SHARDS": str(parts), "GTEST_SHARD_INDEX": str(int(part) - 1)}
    child = run.start(name, [found, "--tool", tool, "--error-exitcode", "9",
                             *(OWN_KERNELS if tool == "racecheck" else []), run.program(program),
                             f"--gtest_filter={pattern}"], shard)
    status = run.finish([child], limit)[0]
    if status == 124 and run.left() < 1:
        raise OutOfTime
    text = run.log(name)
    summary = [line.strip("= ") for line in text.splitlines() if "SUMMARY" in line]
    passed = re.findall(r"\[  PASSED  \] (\d+) test", text)
    value = summary[-1] if summary else f"no end within {limit:.0f} s" if status == 124 else last_line(text)
    if passed:
        value += f"; {passed[-1]} tests"
    return [(what, value, "0 errors", verdict(status == 0 and bool(summary) and bool(passed)))]


def steps(run, model, limit):
    bar, ways = next((bar, ways) for name, bar, ways in MODELS if name == model)
    what = f"{model}: ours / PyTorch"
    small = ["batch=2"] if EMULATED else []
    end = time.monotonic() + limit
    folder = run.results / "logs" / f"ours.{model}"
    shutil.rmtree(folder, ignore_errors=True)
    job = Job("ours", 1, folder)
    theirs, failed = {}, {}

    def ask():
        return {key: float(value) for key, value in (word.split("=") for word in job.ask(f"run {run.seconds}")[0])}

    try:
        job.start([[run.program("bench_step"), model, "device=cuda", "precision=bf16", f"serve={folder}", *small]],
                  run.environment)
        run.children += job.processes
        job.answers(timeout=limit)
        ours = [ask()]
        for way in ways:  # by turns: ours, PyTorch's, ours again
            device = ["device=cpu", "compile=no"] if EMULATED else []
            _, text = run.call(f"pytorch.{model}.{way.replace(' ', '-')}", sys.executable, HERE / "peer_pytorch.py", model,
                               f"seconds={run.seconds}", *WAYS[way], *device, *small, limit=max(1, end - time.monotonic()))
            found = numbers(text)
            if "samples_per_s" in found:
                theirs[way] = found
            else:
                failed[way] = last_line(text)
        ours.append(ask())
    except JobError as error:
        ours, said = [], last_line(str(error))
    finally:
        job.stop()
    if run.left() < 1:
        raise OutOfTime
    if not ours:
        return [(what, f"ours: {said}", f">= {bar:g}", verdict(False))]
    rate = statistics.mean(o["samples_per_s"] for o in ours)
    ms = statistics.mean(o["step_ms"] for o in ours)
    share = 100 * ours[0]["gflop"] / ms / (run.number("limits", "product_tflop_s") or float("nan"))
    moved = 100 * ours[0]["gbyte"] * 1e3 / ms / (run.number("limits", "copy_gb_s") or float("nan"))
    shares = f"{ms:.3f} ms; {share:.0f} % of the product's rate, at least {moved:.0f} % of the copy's"
    rows = []
    counted = {way: found["samples_per_s"] for way, found in theirs.items() if way not in TO_KNOW}
    if not counted:
        rows.append((what, f"{rate:.1f} / none; {shares}", f">= {bar:g}", verdict(False)))
    else:
        way = max(counted, key=counted.get)
        ratio = rate / counted[way]
        rows.append((what, f"{rate:.1f} / {counted[way]:.1f} ({way}) = {ratio:.2f}; {shares}; "
                     f"{ours[0]['parameters']:.0f} and {theirs[way]['parameters']:.0f} parameters", f">= {bar:g}",
                     verdict(ratio >= bar)))
        rows += [(f"  PyTorch, {w}", f"{t['samples_per_s']:.1f}, ours / that = {rate / t['samples_per_s']:.2f}", "", "-")
                 for w, t in theirs.items() if w != way]
    rows += [(f"  PyTorch, {w}", said, "", "-") for w, said in failed.items()]
    if model == "cosmoflow":
        rows.append(("cosmoflow / one V100", f"{rate / COSMOFLOW_V100:.2f}", ">= 5", verdict(rate >= 5 * COSMOFLOW_V100)))
    return rows


def kernels(run, model, limit):
    """What choosing the libraries' kernels by measurement brings, and what a bound of workspace costs."""
    status, text = run.call("kernels", run.program("bench_kernels"), model, "seconds=60", *(["batch=2"] if EMULATED else []),
                            limit=limit)
    if status == 124 and run.left() < 1:
        raise OutOfTime
    all_of, bounds = numbers(text), re.findall(r"bound_mib=(\d+) in_turn_ms=([\d.]+) side_by_side_ms=([\d.]+|none)", text)
    if "first_ms" not in all_of or not bounds:
        return [(f"kernels of {model}", last_line(text), "", verdict(False))]
    rows = [(f"kernels of {model}, ms of a step", f"{all_of['first_ms']:.2f} as the libraries think best, "
             f"{all_of['best_ms']:.2f} fastest", "", "-")]
    return rows + [(f"  within {bound} MiB of workspace", f"{in_turn} for all, {apart} one for each call", "", "-")
                   for bound, in_turn, apart in bounds]


def optimizers(run, name, limit):
    what = f"step of {name}, 25.6 M parameters"
    status, text = run.call(f"optimizer.{name}", run.program("bench_optimizers"), "gpu", f"seconds={run.seconds}",
                            f"{{name: {name}}}", limit=limit)
    if status == 124 and run.left() < 1:
        raise OutOfTime
    ms, share = re.search(r"ms=\s*([\d.]+)", text), re.search(r"of that=([\d.]+)", text)
    if ms is None:
        return [(what, last_line(text), "", verdict(False))]
    if share is None:  # bound by its products
        return [(what, f"{ms[1]} ms", "", "-")]
    return [(what, f"{ms[1]} ms, {100 * float(share[1]):.0f} % of the copy", ">= 85 %",
             verdict(float(share[1]) >= OPTIMIZER_BAR))]


def journal(folder):
    """(metric, step) -> value as it is written; the medians' sources of perf/ apart."""
    points, perf = {}, {}
    for line in (folder / "journal.jsonl").read_text().splitlines():
        for name, step, value, *_ in json.loads(line).get("points", []):
            if name.startswith("perf/"):
                perf.setdefault(name, []).append(value)
            else:
                points[name, step] = value
    return points, perf


def ranks(run, name, limit):
    model, data = RANK_TRIALS[name][2:] if EMULATED else RANK_TRIALS[name][:2]
    rows, curve = [], None
    end = time.monotonic() + limit
    for count in RANKS:
        what = f"{name}, fp32: {count} rank{'s' if count > 1 else ''} on one GPU"
        folder = run.results / "logs" / f"ranks.{name}.{count}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        (folder / "trial.yaml").write_text(RANK_TRIAL.format(model=model, data=data, batch=16 if EMULATED else 128,
                                                             steps=20 if EMULATED else 200))
        status, text = run.call(f"ranks.{name}.{count}", run.program("thalweg-launch"), "-n", count, "--",
                                run.program("thalweg-train"), folder / "trial.yaml", limit=end - time.monotonic())
        if status == 124 and run.left() < 1:
            raise OutOfTime
        if status != 0:
            rows.append((what, last_line(text), "same bits", verdict(False)))
            continue
        points, perf = journal(folder)
        losses = [value for (metric, _), value in sorted(points.items(), key=lambda p: p[0][1]) if metric == "train/loss"]
        rate = statistics.median(perf.get("perf/samples_per_s", [0]))
        value = f"{len(points)} numbers, loss {losses[0]:.4f} to {losses[-1]:.4f}, {rate:.0f} samples/s"
        if count == 1:
            curve = points
            rows.append((what, value, "", "-"))
            continue
        differ = sum(points.get(key) != curve[key] for key in curve) if curve else -1
        overlap = perf.get("perf/overlap")
        hidden = f"; {100 * statistics.median(overlap):.0f} % of the sums hidden" if overlap else ""
        rows.append((what, value + (f"; {differ} differ from one rank's" if curve else "; one rank's run failed") + hidden,
                     "same bits", verdict(differ == 0 and points.keys() == curve.keys())))
    return rows


def compile_ahead(run, todo):
    """PyTorch's models compiled while tests run, which measure nothing; in any case ended with them."""
    models = [(name, ways) for name, _, ways in MODELS if f"steps:{name}" in todo]
    if EMULATED or not models or not any(item.startswith("tests:") for item in todo):
        return None
    lines = [f"'{sys.executable}' '{HERE / 'peer_pytorch.py'}' {name} seconds=0 {' '.join(WAYS[way])}" for name, ways in models
             for way in ways]
    return run.start("compile", ["sh", "-c", "\n".join(lines)])


WORK = {"tests": tests, "sanitize": sanitize, "steps": steps, "kernels": kernels, "optimizers": optimizers, "ranks": ranks}


def wanted(words, kept):
    """Items to measure: of every part named those that are not known yet, and every item named."""
    todo = []
    for word in words or PARTS:
        if word in PARTS:
            todo += [item for item in order() if item.startswith(word + ":") and item not in kept]
        elif word in order():
            todo.append(word)
        else:
            sys.exit(f"on_gpu.sh: no part or item '{word}': there are {' '.join(PARTS)}, and " + " ".join(order()[2:]))
    return todo


def main():
    folder = Path(sys.argv[1]).resolve()
    settings = dict(word.split("=") for word in sys.argv[2:] if "=" in word)
    words = [word for word in sys.argv[2:] if "=" not in word]
    minutes = float(settings.get("minutes", 9 if words else 0))
    run = Run(folder, minutes, settings.get("seconds", "0.2" if EMULATED else "4"))

    def interrupted(number, _):
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupted)
    status = 0
    try:
        todo = wanted(words, run.kept)
        if not look_at_machine(run):
            for item in todo:
                run.keep(item, [(item.replace(":", ": "), NO_GPU, "", "-")])
            run.file.unlink()  # these are no results
            todo = []
            status = 77
        ahead = compile_ahead(run, todo)
        for number, item in enumerate(todo, 1):
            part, name = item.split(":")
            if ahead is not None and part != "tests":
                run.kill(ahead)
                ahead = None
            limit, least = LIMITS[part]
            if run.left() < least:
                print(f"{len(todo) - number + 1} of {len(todo)} items are left; the same command goes on with them")
                break
            print(f"[{number}/{len(todo)}] {item}" + (f", {run.left():.0f} s left" if minutes else ""), flush=True)
            start = time.monotonic()
            try:
                rows = WORK[part](run, name, min(limit, run.left()))
            except (OSError, ValueError, LookupError) as error:  # of a program that is missing or says something else
                rows = [(item.replace(":", ": "), f"{type(error).__name__}: {error}"[:110], "", verdict(False))]
            run.keep(item, rows, {"seconds": round(time.monotonic() - start, 1)})
    except OutOfTime:
        print("the call's minutes are over; the same command goes on with the item that was cut off")
    except KeyboardInterrupt:
        print("interrupted; the same command goes on")
        status = 130
    finally:
        for child in run.children:
            run.kill(child)
    print("\n" + run.write_table(), end="")
    sys.exit(status or any(row[3] == "NO" for entry in run.kept.values() for row in entry["rows"]))


if __name__ == "__main__":
    main()
