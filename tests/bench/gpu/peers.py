"""PyTorch's rows: measured once for each kind of GPU, kept in tests/bench/results/peers-GPU.json. Also predictions, which
stand beside rows until they are measured."""
import json
import sys

from items import LIMITS, MODELS, TO_KNOW, WAYS
from session import EMULATED, HERE, KEPT, last_line, numbers, verdict

PREDICTIONS = HERE.parent / "results" / "predictions.json"


def load(session):
    """Those of this kind of GPU: kept with the sources, or carried with earlier results."""
    name = f"peers-{session.kept['machine']['short']}.json"
    session.peers = {}
    for place in (KEPT, session.earlier, session.results, session.out):
        if place and (place / name).exists():
            session.peers.update(json.loads((place / name).read_text()))


def ways_of(session, model):
    """Those to measure: what counts, and where that is known, what is only to know."""
    counted = [way for way in MODELS[model][1] if way not in TO_KNOW]
    return counted if any(way not in session.peers.get(model, {}) for way in counted) else MODELS[model][1]


def call(session, model, way, limit, log, seconds):
    device = ["device=cpu", "compile=no", "batch=2"] if EMULATED else []
    return session.call(log, sys.executable, HERE / "peer_pytorch.py", model, f"seconds={seconds}", *WAYS[way], *device,
                        limit=limit)


def compile_ahead(session, model, way):
    """Fills inductor's cache, so that run() takes seconds where it would take a minute."""
    if session.left() > LIMITS["peers"][1] and not EMULATED:  # which compiles nothing
        call(session, model, way, min(LIMITS["peers"][0], session.left()), log_of(model, way) + ".compiled", 0)


def log_of(model, way):
    return f"pytorch.{model}.{way.replace(' ', '-')}"


def run(session, model, way, limit, log):
    """Numbers of one way, or None and why."""
    _, text = call(session, model, way, limit, log, session.seconds)
    found = numbers(text)
    if "samples_per_s" not in found:
        return None, last_line(text)
    version = [word for word in text.split() if word.startswith("torch=")]
    return {**{key: found[key] for key in ("samples_per_s", "step_ms", "parameters", "peak_mib") if key in found},
            "torch": version[0][6:] if version else "unknown"}, ""


def peers(session, model, limit):
    """One model's ways, kept."""
    rows = []
    for way in ways_of(session, model):
        found, why = run(session, model, way, limit, log_of(model, way))
        if found is not None:
            session.peers.setdefault(model, {})[way] = found
        rows.append((f"PyTorch: {model}, {way}", f"{found['step_ms']:.3f} ms, {found['samples_per_s']:.1f} samples/s, "
                     f"torch {found['torch']}" if found else why, "", "-"))
    if session.peers and not session.real():
        (session.results / f"peers-{session.kept['machine']['short']}.json").write_text(json.dumps(session.peers, indent=1))
    return rows


def fastest(session, model):
    """(way, its numbers) of those that count; None where PyTorch was not measured on this kind of GPU."""
    counted = {way: found for way, found in session.peers.get(model, {}).items() if way not in TO_KNOW}
    return max(counted.items(), key=lambda entry: entry[1]["samples_per_s"]) if counted else None


def control(session, model, limit):
    """One model again, to see whether this machine is the one whose rows are kept."""
    what = f"PyTorch again: {model}"
    before = fastest(session, model)
    if before is None:
        return [(what, "no rows of PyTorch for this kind of GPU: run peers", "", "-")]
    way, kept = before
    found, why = run(session, model, way, limit, "pytorch.control")
    if found is None:
        return [(what, why, "", verdict(False))]
    ratio = found["samples_per_s"] / kept["samples_per_s"]
    same = found["torch"] == kept["torch"]
    return [(what, f"{ratio:.2f} of the row kept" + ("" if same else f", torch {found['torch']} and {kept['torch']}"),
             "0.9 to 1.1", verdict(0.9 <= ratio <= 1.1))]


def prediction(model):
    """What bench_predict says of a step on an H100, and what PyTorch is guessed to take: text, or ''."""
    try:
        row = json.loads(PREDICTIONS.read_text())["models"][model]
    except (OSError, KeyError, ValueError):
        return ""
    low, high = row["pytorch_ms_guess"]
    return (f"estimates for an H100: {row['step_ms']:.3g} ms ({row['step_ms_better']:.3g} to "
            f"{row['step_ms_worse']:.3g}), PyTorch {low:g} to {high:g}")
