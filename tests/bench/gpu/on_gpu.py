#!/usr/bin/env python3
"""Tests and measurements of the cuda device on this machine; run by tests/on_gpu.sh. Everything is tried, whatever fails before."""
import datetime
import glob
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
FOLDER = Path(sys.argv[1]).resolve()
RESULTS = FOLDER / "results"
SECONDS = os.environ.get("THALWEG_BENCH_SECONDS", "5")

# (model, bar of ours / PyTorch's samples/s)
MODELS = [("resnet50", 1.0), ("gpt2", 1.0), ("bert_large", 1.0), ("cosmoflow", 1.0), ("unet3d", 1.0), ("lstm_large", 1.0),
          ("lenet", 2.0), ("mlp", 2.0)]
COSMOFLOW_V100 = 39.7  # samples/s of one V100, MLPerf HPC's reference of 2020
OPTIMIZERS = ["momentum", "adamw", "lamb", "muon"]
OPTIMIZER_BAR = 0.85  # of the copy's bandwidth, where memory bounds it
SUITES = {  # program -> filter
    "gpu_test": "*", "nn_test": "*Cuda*:*OnGpu*", "optim_test": "*Gpu*", "sync_test": "Gpu*", "train_test": "*Gpu*"}
SANITIZED = {"gpu_test": "*", "nn_test": "Layers/Cuda*", "optim_test": "*Gpu*"}


def library_folders():
    """The carried libraries, and the CUDA libraries that python's packages bring."""
    folders = [str(FOLDER / "lib")]
    for root in sys.path:
        folders += sorted(glob.glob(f"{root}/nvidia/*/lib"))
    folders += sorted(glob.glob("/usr/local/cuda*/lib64")) + ["/usr/local/nvidia/lib64"]
    return [f for f in folders if Path(f).is_dir()]


ENVIRONMENT = {**os.environ, "LD_LIBRARY_PATH": ":".join([*library_folders(), os.environ.get("LD_LIBRARY_PATH", "")])}
ENVIRONMENT.pop("THALWEG_GPU", None)


def call(name, *words, timeout=900):
    """Exit status and output, also kept under results."""
    try:
        done = subprocess.run([str(w) for w in words], env=ENVIRONMENT, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=timeout)
        status, text = done.returncode, done.stdout
    except subprocess.TimeoutExpired as late:
        status, text = 124, (late.stdout or b"").decode(errors="replace") + "\ntimed out\n"
    except OSError as error:
        status, text = 127, f"{error}\n"
    (RESULTS / f"{name}.log").write_text(text)
    return status, text


def numbers(text):
    return {key: float(value) for key, value in re.findall(r"(\w+)=([-+\d.e]+)(?=\s|$)", text)}


def last_line(text):
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return lines[-1][:110] if lines else "no output"


def test(rows):
    for program, pattern in SUITES.items():
        report = RESULTS / f"{program}.json"
        status, text = call(program, FOLDER / "bin" / program, f"--gtest_filter={pattern}", f"--gtest_output=json:{report}")
        if not report.exists():
            rows.append((f"tests: {program}", last_line(text), "", "NO"))
            continue
        found = json.loads(report.read_text())
        skipped = sum(case.get("result") == "SKIPPED" for suite in found["testsuites"] for case in suite["testsuite"])
        passed = found["tests"] - found["failures"] - skipped
        rows.append((f"tests: {program}", f"{passed} passed, {found['failures']} failed, {skipped} skipped", "0 failed",
                     "yes" if status == 0 and passed > 0 else "NO"))


def sanitize(rows):
    if shutil.which("compute-sanitizer") is None:
        rows.append(("compute-sanitizer", "not installed", "", "-"))
        return
    for tool in ("memcheck", "racecheck"):
        for program, pattern in SANITIZED.items():
            status, text = call(f"{tool}.{program}", "compute-sanitizer", "--tool", tool, "--error-exitcode", "9",
                                FOLDER / "bin" / program, f"--gtest_filter={pattern}", timeout=600)
            summary = [line for line in text.splitlines() if "SUMMARY" in line]
            rows.append((f"{tool}: {program}", summary[-1].strip("= ") if summary else last_line(text), "0 errors",
                         "yes" if status == 0 else "NO"))


def limits(rows):
    _, text = call("limits", FOLDER / "bin/bench_gpu")
    found = numbers(text)
    rows.append(("copy, GB/s read and written", f"{found.get('copy_gb_s', 0):.0f}", "", "-"))
    rows.append(("bf16 product, TFLOP/s", f"{found.get('product_tflop_s', 0):.0f}", "", "-"))
    return found


def steps(rows, limit):
    for model, bar in MODELS:
        # By turns: ours, PyTorch's, ours again.
        ours = []
        for turn in (1, 2):
            _, text = call(f"ours.{model}.{turn}", FOLDER / "bin/bench_step", model, "device=cuda", "precision=bf16",
                           f"seconds={SECONDS}")
            ours.append(numbers(text))
            if turn == 1:
                _, other = call(f"pytorch.{model}", sys.executable, HERE / "peer_pytorch.py", model, f"seconds={SECONDS}")
        theirs = numbers(other)
        rate = max(o.get("samples_per_s", 0) for o in ours)
        if rate == 0 or "samples_per_s" not in theirs:
            rows.append((f"{model}: ours / PyTorch", last_line(text if rate == 0 else other), f">= {bar:g}", "NO"))
            continue
        ratio = rate / theirs["samples_per_s"]
        share = ours[-1].get("gflop", 0) / ours[-1]["step_ms"] / max(limit.get("product_tflop_s", 0), 1e-9)
        rows.append((f"{model}: ours / PyTorch", f"{rate:.1f} / {theirs['samples_per_s']:.1f} = {ratio:.2f}; "
                     f"{100 * share:.0f} % of the product's rate; {ours[-1].get('parameters', 0):.0f} and "
                     f"{theirs['parameters']:.0f} parameters", f">= {bar:g}", "yes" if ratio >= bar else "NO"))
        if model == "cosmoflow":
            rows.append(("cosmoflow / one V100", f"{rate / COSMOFLOW_V100:.2f}", ">= 5", "yes" if rate >= 5 * COSMOFLOW_V100 else "NO"))


def kernels(rows):
    """What choosing the libraries' kernels by measurement brings, and what a bound of workspace costs."""
    _, text = call("kernels", FOLDER / "bin/bench_kernels", "resnet50", "seconds=60")
    all_of, bounds = numbers(text), re.findall(r"bound_mib=(\d+) in_turn_ms=([\d.]+) side_by_side_ms=([\d.]+|none)", text)
    if "first_ms" not in all_of or not bounds:
        rows.append(("kernels of resnet50", last_line(text), "", "-"))
        return
    rows.append(("kernels of resnet50, ms of a step", f"{all_of['first_ms']:.2f} as the libraries think best, "
                 f"{all_of['best_ms']:.2f} fastest", "", "-"))
    for bound, in_turn, apart in bounds:
        rows.append((f"  within {bound} MiB of workspace", f"{in_turn} for all, {apart} one for each call", "", "-"))


def optimizers(rows):
    for name in OPTIMIZERS:
        _, text = call(f"optimizer.{name}", FOLDER / "bin/bench_optimizers", "gpu", f"seconds={SECONDS}", f"{{name: {name}}}")
        ms, share = re.search(r"ms=\s*([\d.]+)", text), re.search(r"of that=([\d.]+)", text)
        if ms is None:
            rows.append((f"step of {name}", last_line(text), "", "NO"))
            continue
        bound = share is not None  # by memory
        rows.append((f"step of {name}, 25.6 M parameters",
                     f"{ms[1]} ms" + (f", {100 * float(share[1]):.0f} % of the copy" if bound else ""),
                     ">= 85 %" if bound else "",
                     ("yes" if float(share[1]) >= OPTIMIZER_BAR else "NO") if bound else "-"))


def machine():
    status, text = call("nvidia-smi", "nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader")
    gpu = text.strip() if status == 0 else "no nvidia-smi"
    _, versions = call("versions", sys.executable, "-c",
                       "import torch; print('PyTorch', torch.__version__, 'CUDA', torch.version.cuda, "
                       "'cuDNN', torch.backends.cudnn.version())")
    return f"{datetime.date.today()}  {gpu}  {last_line(versions)}"


def main():
    RESULTS.mkdir(parents=True, exist_ok=True)
    rows = []
    title = machine()
    test(rows)
    limit = limits(rows)
    kernels(rows)
    steps(rows, limit)
    optimizers(rows)
    sanitize(rows)
    width = max(len(row[0]) for row in rows)
    table = "\n".join([title, ""] + [f"{name:<{width}}  {bar:<9} {met:<4} {value}" for name, value, bar, met in rows])
    (RESULTS / "table.txt").write_text(table + "\n")
    print(table)
    sys.exit(any(met == "NO" for *_, met in rows))


main()
