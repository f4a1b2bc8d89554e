"""Measurements on the GPU: first steps, single operations, whole steps, kernels, optimizers, ranks."""
import json
import re
import shutil
import statistics

import peers
from items import CONTROL, MODELS, TO_KNOW
from session import EMULATED, last_line, numbers, verdict

COSMOFLOW_V100 = 39.7  # samples/s of one V100, MLPerf HPC's reference of 2020
OPTIMIZER_BAR = 0.85  # of the copy's bandwidth, where memory bounds it
MOST_LINES = 20  # of a model's operations in the table
SMALL = ["batch=2"] if EMULATED else []

RANK_COUNTS = [1, 2, 4]
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


def times_file(session):
    """What the algorithms of libraries' calls took on such a GPU, kept from call to call."""
    return session.results / "kernels.json"


def bench_step(session, log, limit, *words):
    return session.call(log, session.program("bench_step"), *words, "device=cuda", *SMALL, limit=limit)


def fallbacks(text):
    """What a library would not do, and why: something slower was done instead."""
    return [("  fallback", line.partition(": ")[2][:160], "", "-") for line in text.splitlines()
            if line.startswith("fallback: ")]


def first(session, model, limit):
    """Twenty steps with the libraries' first algorithms: the loss is finite and falls, and is the same bits again."""
    rows = []
    for precision in ("fp32", "bf16"):
        what = f"20 first steps of {model}, {precision}"
        _, text = bench_step(session, f"first.{model}.{precision}", limit / 2, model, "first=20", "kernels=first",
                             f"precision={precision}")
        found = numbers(text)
        if "loss_last" not in found:
            rows.append((what, last_line(text), "finite, falls", verdict(False)))
            continue
        good = found["finite"] and found["falls"] and found["same_bits"]
        value = (f"loss {found['loss_first']:.4f} to {found['loss_last']:.4f}, {found['kinds']:.0f} kinds of calls, "
                 + ("same bits again" if found["same_bits"] else "OTHER BITS AGAIN"))
        rows.append((what, value, "finite, falls", verdict(good)))
        rows += fallbacks(text)
    return rows


def operations(session, item, limit, *words):
    """The first lines of bench_step, which ends with a line of numbers, as rows; all stand in the log."""
    status, text = bench_step(session, item, limit, *words, f"seconds={min(float(session.seconds), 2)}")
    lines = [line.split(" | ") for line in text.splitlines() if " | " in line]
    rows = [(f"  {what}", ", ".join(word.strip() for word in rest), "", "-") for what, *rest in lines[:MOST_LINES]]
    found = numbers(text)
    return rows, found, "" if status == 0 and found else last_line(text)


def loops(session, model, limit):
    """Every loop of our own that differs, beside the copy."""
    what = f"own loops of {model}"
    rows, found, why = operations(session, f"loops.{model}", limit, model, "precision=bf16", "loops=1", "top=1000")
    if why:
        return [(what, why, "", verdict(False))]
    copy = session.number("limits", "copy_gb_s") or found["copy_gb_s"]
    value = (f"{found['sum_ms']:.3f} ms, {found['gbyte']:.2f} GB of tensors, {found['gb_s']:.0f} GB/s = "
             f"{100 * found['gb_s'] / copy:.0f} % of the copy")
    return [(what, value, "", "-")] + rows


def profile(session, model, limit):
    """The operations of a training pass that take longest."""
    what = f"operations of {model}, forward and backward"
    known = session.number(f"steps:{model}", "ours")  # its algorithms have been measured
    ways = [f"times={times_file(session)}"] if known else ["kernels=first"]
    rows, found, why = operations(session, f"profile.{model}", limit, model, "precision=bf16", "profile=1", *ways)
    if why:
        return [(what, why, "", verdict(False))]
    value = (f"{found['pass_ms']:.3f} ms, {'fastest' if known else 'first'} algorithms; one by one "
             f"{found['sum_ms']:.3f}: own loops {found['loops_ms']:.3f} ({found['loops_gb_s']:.0f} GB/s), "
             f"calls {found['calls_ms']:.3f} ({found['calls_tflop_s']:.0f} TFLOP/s)")
    return [(what, value, "", "-")] + rows


def steps(session, model, limit):
    if model == "control":
        return peers.control(session, CONTROL, limit)
    status, text = bench_step(session, f"steps.{model}", limit, model, "precision=bf16", f"seconds={session.seconds}",
                              f"times={times_file(session)}")
    ours = numbers(text)
    if "samples_per_s" not in ours:
        return [(f"{model}: ours / PyTorch", f"ours: {last_line(text)}", f">= {MODELS[model][0]:g}", verdict(False))]
    rows, more = step_rows(session, model, ours)
    return rows + fallbacks(text), more


def step_rows(session, model, ours):
    bar, what = MODELS[model][0], f"{model}: ours / PyTorch"
    rate, ms = ours["samples_per_s"], ours["step_ms"]
    share = 100 * ours["gflop"] / ms / (session.number("limits", "product_tflop_s") or float("nan"))
    moved = 100 * ours["gbyte"] * 1e3 / ms / (session.number("limits", "copy_gb_s") or float("nan"))
    shares = f"{ms:.3f} ms; {share:.0f} % of the product's rate, at least {moved:.0f} % of the copy's"
    estimates = peers.prediction(model)
    rows, best = [], peers.fastest(session, model)
    if best is None:
        rows.append((what, f"{rate:.1f} / not measured on this kind of GPU (run peers); {shares}", f">= {bar:g}",
                     "emul." if EMULATED else "-"))
    else:
        way, found = best
        ratio = rate / found["samples_per_s"]
        rows.append((what, f"{rate:.1f} / {found['samples_per_s']:.1f} ({way}, torch {found['torch']}) = {ratio:.2f}; "
                     f"{shares}; {ours['parameters']:.0f} and {found['parameters']:.0f} parameters", f">= {bar:g}",
                     verdict(ratio >= bar)))
        rows += [(f"  PyTorch, {w}", f"{t['samples_per_s']:.1f}, ours / that = {rate / t['samples_per_s']:.2f}"
                  + (", less work" if w in TO_KNOW else ""), "", "-")
                 for w, t in session.peers[model].items() if w != way]
    if estimates:
        rows.append(("  expected before it was measured", estimates, "", "-"))
    if model == "cosmoflow":
        rows.append(("cosmoflow / one V100", f"{rate / COSMOFLOW_V100:.2f}", ">= 5", verdict(rate >= 5 * COSMOFLOW_V100)))
    return rows, {"ours": ours}


def measure_peers(session, model, limit):
    rows = peers.peers(session, model, limit)
    ours = session.kept.get(f"steps:{model}", {}).get("ours")
    if ours:  # measured before: its ratio is known now
        made, more = step_rows(session, model, ours)
        session.kept[f"steps:{model}"] = {**session.kept[f"steps:{model}"], "rows": made, **more}
    return rows


def kernels(session, model, limit):
    """What choosing the libraries' kernels by measurement brings, and what a bound of workspace costs."""
    _, text = session.call("kernels", session.program("bench_kernels"), model, "seconds=40", *SMALL, limit=limit)
    all_of, bounds = numbers(text), re.findall(r"bound_mib=(\d+) \w*ms=([\d.]+)", text)
    if "first_ms" not in all_of or not bounds:
        return [(f"kernels of {model}", last_line(text), "", verdict(False))]
    rows = [(f"kernels of {model}, ms of a step", f"{all_of['first_ms']:.2f} as the libraries think best, "
             f"{all_of['best_ms']:.2f} fastest", "", "-")]
    return rows + [(f"  within {bound} MiB of workspace", ms, "", "-") for bound, ms in bounds]


def optimizers(session, name, limit):
    what = f"step of {name}, 25.6 M parameters"
    _, text = session.call(f"optimizer.{name}", session.program("bench_optimizers"), "gpu", f"seconds={session.seconds}",
                           f"{{name: {name}}}", limit=limit)
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


def ranks(session, name, limit):
    model, data = RANK_TRIALS[name][2:] if EMULATED else RANK_TRIALS[name][:2]
    rows, curve = [], None
    for count in RANK_COUNTS:
        what = f"{name}, fp32: {count} rank{'s' if count > 1 else ''} on one GPU"
        folder = session.logs / f"ranks.{name}.{count}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        (folder / "trial.yaml").write_text(RANK_TRIAL.format(model=model, data=data, batch=16 if EMULATED else 128,
                                                             steps=20 if EMULATED else 200))
        status, text = session.call(f"ranks.{name}.{count}", session.program("thalweg-launch"), "-n", count, "--",
                                    session.program("thalweg-train"), folder / "trial.yaml", limit=limit / 3)
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
