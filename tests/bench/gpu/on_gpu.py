#!/usr/bin/env python3
"""Tests and measurements of the cuda device on this machine; run by tests/on_gpu.sh, which says what words it takes.

Every item (a test program, a model, an optimizer) is one entry of rows.json, written as soon as it is known together with the
hash of the programs that made it, so that what is cut off goes on where it was in a later call, and another build measures
anew. table.txt is the table so far, logs/ what was said. What compares numbers comes first, several items at a time, for a
GPU's minutes are dear; what measures times then runs alone."""
import concurrent.futures
import datetime
import os
import re
import signal
import sys
import time
from pathlib import Path

import checks
import measure
import peers
from items import AT_ONCE, HEAVY, LIGHT, LIMITS, MODELS, PARTS, limit_of, of_part, order, programs_of, smoke
from session import EMULATED, OutOfTime, Session, last_line, numbers, verdict

NO_GPU = "no GPU: not run"
WORK = {"tests": checks.tests, "sanitize": checks.sanitize, "first": measure.first, "loops": measure.loops,
        "profile": measure.profile, "steps": measure.steps, "peers": measure.measure_peers, "kernels": measure.kernels,
        "optimizers": measure.optimizers, "ranks": measure.ranks}
MINUTES, SMOKE_MINUTES = 9, 6


def table(session):
    """What is known, in the order of the parts; rows of another build are marked with a tilde."""
    lines = []
    for item in order():
        entry = session.kept.get(item, {})
        old = item != "machine" and entry.get("by") not in (None, identity(session, item))
        lines += [(what, value + (" ~" if old else ""), bar, met) for what, value, bar, met in entry.get("rows", [])]
    width = max([len(row[0]) for row in lines], default=0)
    text = [session.kept.get("machine", {}).get("title", ""), ""]
    text += [f"{what:<{width}}  {bar:<13} {met:<5} {value}" for what, value, bar, met in lines]
    if any(value.endswith(" ~") for _, value, _, _ in lines):
        text += ["", "~ by another build than this one"]
    missing = [item for item in order() if item not in session.kept]
    if missing:
        counts = {part: sum(item.startswith(part + ":") for item in missing) for part in PARTS}
        text += ["", "not measured yet: " + ", ".join(f"{part} ({count})" for part, count in counts.items() if count)]
        text += [f"  {model}: {peers.prediction(model)}" for model in MODELS
                 if f"steps:{model}" in missing and peers.prediction(model)]
    return "\n".join(text) + "\n"


def identity(session, item):
    if item.startswith("peers:") or item == "steps:control":
        return "PyTorch"
    return session.identity(programs_of(item))


def look_at_machine(session):
    """What there is here; always looked at anew, so that a table never mixes two machines unseen."""
    status, text = session.call("nvidia-smi", "nvidia-smi", "--query-gpu=name,driver_version,memory.total",
                                "--format=csv,noheader")
    gpu = text.strip().splitlines()[0] if status == 0 and text.strip() else "no nvidia-smi"
    gpu = "emulated GPU" if EMULATED else gpu
    status, text = session.call("limits", session.program("bench_gpu"), limit=90)
    found = numbers(text)
    libraries = re.search(r"^libraries: (.*)$", text, re.M)
    commit = (session.folder / "commit").read_text().strip() if (session.folder / "commit").exists() else "unknown"
    before = session.kept.get("machine", {})
    if before and before.get("gpu") != gpu:
        print(f"These results were measured on {before.get('gpu')}, here it is {gpu}: move {session.results} away to begin anew",
              file=sys.stderr)
        sys.exit(2)
    kind = gpu + (", to try this script: nothing below is a result" if EMULATED else "")
    short = re.sub(r"[^A-Za-z0-9]+", "-", gpu.split(",")[0].replace("NVIDIA", "")).strip("-")
    name = before.get("name") or f"{datetime.date.today()}-{short}"
    title = f"{name[:10]}  {kind}  {libraries[1] if libraries else 'libraries unknown'}  Thalweg {commit}"
    session.kept["machine"] = {"rows": [], "gpu": gpu, "commit": commit, "name": name, "short": short, "title": title,
                               "real": "copy_gb_s" in found and not EMULATED}
    peers.load(session)
    if "copy_gb_s" not in found:
        why = last_line(text).replace("skipped: ", "")
        session.keep("limits", [("this machine", f"{NO_GPU} ({why})", "", "-")])
        return False
    session.keep("limits", [("copy, GB/s read and written", f"{found['copy_gb_s']:.0f}", "", "-"),
                            ("bf16 product, TFLOP/s", f"{found['product_tflop_s']:.0f}", "", "-")],
                 {**found, "by": identity(session, "limits")})
    return True


def known(session, item):
    """By this build, PyTorch's rows by any."""
    entry = session.kept.get(item)
    return entry is not None and entry.get("by") == identity(session, item)


def wanted(words, session):
    """Items to measure: of every part named those that are not known yet, and every item named. All but `peers`, which
    are measured where there are none, and again where they are named one by one."""
    todo = []
    for word in words or [part for part in PARTS if part != "peers"]:
        if word == "smoke":
            todo += [item for item in smoke() if not known(session, item)]
        elif word == "peers":
            todo += [item for item in of_part(word) if item.partition(":")[2] not in session.peers]
        elif word in PARTS:
            todo += [item for item in of_part(word) if not known(session, item)]
        elif word in order()[2:]:
            todo.append(word)
        else:
            sys.exit(f"on_gpu.sh: no part or item '{word}': there are smoke {' '.join(PARTS)}, and " + " ".join(order()[2:]))
    return list(dict.fromkeys(todo))


def measure_item(session, item, limit):
    part, name = item.split(":")
    start = time.monotonic()
    more = {}
    try:
        rows = WORK[part](session, name, min(limit_of(item), limit, session.left()))
        if isinstance(rows, tuple):
            rows, more = rows
    except (OSError, ValueError, LookupError) as error:  # of a program that is missing or says something else
        rows = [(item.replace(":", ": "), f"{type(error).__name__}: {error}"[:110], "", verdict(False))]
    session.keep(item, rows, {**more, "by": identity(session, item), "seconds": round(time.monotonic() - start, 1)})


def do_item(session, item, todo, limit):
    """Whether there was time to begin it."""
    if session.left() < LIMITS[item.split(":")[0]][1]:
        return False
    left = f", {session.left():.0f} s left" if session.end else ""
    sys.stdout.write(f"[{todo.index(item) + 1}/{len(todo)}] {item}{left}\n")
    sys.stdout.flush()
    measure_item(session, item, limit)
    return True


def do_at_once(session, todo, limit, count):
    """The items of `todo` that measure no times, and PyTorch's compilations of the models that it is measured with.
    Returns the items that there was no time for."""
    ways = [(item.partition(":")[2], way) for item in todo if item.startswith("peers:")
            for way in peers.ways_of(session, item.partition(":")[2])]
    pools = {most: concurrent.futures.ThreadPoolExecutor(min(most, count)) for most in (LIGHT, HEAVY)}
    begun = {pools[AT_ONCE[part]].submit(do_item, session, item, todo, limit): item
             for item in todo for part in [item.split(":")[0]] if part in AT_ONCE}
    others = [pools[HEAVY].submit(peers.compile_ahead, session, model, way) for model, way in ways]
    pending = {*begun, *others}
    try:
        while pending:  # a signal that another thread takes is heard when this one wakes
            done, pending = concurrent.futures.wait(pending, timeout=0.5, return_when=concurrent.futures.FIRST_COMPLETED)
            for future in done:
                future.result()
    except BaseException:
        for pool in pools.values():
            pool.shutdown(wait=False, cancel_futures=True)
        session.stop()
        raise
    return [item for future, item in begun.items() if not future.result()]


def measure_all(session, words, limit, at_once):
    """Exit status. `limit`: seconds of an item at most; `at_once`: items at a time at most."""
    here = look_at_machine(session)
    todo = wanted(words, session)
    if not here:
        for item in todo:
            session.keep(item, [(item.replace(":", ": "), NO_GPU, "", "-")])
        session.file.unlink()  # these are no results
        return 77
    left = do_at_once(session, todo, limit, at_once)
    alone = [item for item in todo if item.split(":")[0] not in AT_ONCE]
    while alone and do_item(session, alone[0], todo, limit):
        del alone[0]
    left += alone
    if left:
        print(f"{len(left)} of {len(todo)} items are left; the same command goes on with them")
    return 0


def main():
    settings = dict(word.split("=") for word in sys.argv[2:] if "=" in word)
    words = [word for word in sys.argv[2:] if "=" not in word]
    minutes = float(settings.get("minutes", SMOKE_MINUTES if words == ["smoke"] else MINUTES))
    session = Session(Path(sys.argv[1]).resolve(), minutes, settings.get("seconds", "0.2" if EMULATED else "4"), table)

    def interrupted(number, _):
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupted)
    status = 0
    try:
        status = measure_all(session, words, float(settings.get("limit", "inf")),
                             int(settings.get("at_once", max(1, (os.cpu_count() or 1) // 2))))
    except OutOfTime:
        print("the call's minutes are over; the same command goes on with the item that was cut off")
    except KeyboardInterrupt:
        print("interrupted; the same command goes on")
        status = 130
    finally:
        session.stop()
    print("\n" + table(session), end="")
    sys.exit(status or any(row[3] == "NO" for entry in session.kept.values() for row in entry["rows"]))


if __name__ == "__main__":
    main()
