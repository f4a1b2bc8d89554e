"""Tests and compute-sanitizer on the GPU."""
import glob
import json
import os
import re
import shutil
from pathlib import Path

from items import SANITIZED, SUITES
from session import last_line, verdict

OWN_KERNELS = ["--kernel-name", "kns=thalweg"]  # instrumented libraries take 10 to 100 times as long
# Tests make calls that CUDA refuses, and look at what it says: memcheck would count them.
API_ERRORS = ["--report-api-errors", "no"]


def last_test(text):
    """The one that was under way when the log ended."""
    begun = re.findall(r"\[ RUN      \] (\S+)", text)
    ended = set(re.findall(r"\[(?:       OK|  FAILED|  SKIPPED) ?\] (\S+)", text))
    return begun[-1] if begun and begun[-1] not in ended else ""


def ended_early(session, name, status, limit):
    """Why a test program left no report."""
    text = session.log(name)
    test, reason = last_test(text), session.reasons(name)
    what = f"no end within {limit:.0f} s" if status == 124 else f"ended with {status}: {last_line(text)}"
    return what + (f", in {test}" if test else "") + (f"; cuDNN: {reason}" if reason else "")


def distances(cases):
    """How far the numbers of tests that tell it (property "distance") are from what they should be."""
    told = [(float(case["distance"]), float(case["allowed"]), f"{suite}.{case['name']}")
            for suite, case in cases if "distance" in case and "allowed" in case]
    failed = {f"{suite}.{case['name']}" for suite, case in cases if case.get("failures")}
    rows = [(f"  {test}", f"{distance:.1e}, allowed {allowed:.1e}", "", "-")
            for distance, allowed, test in told if test in failed]
    if told:
        distance, allowed, test = max(told, key=lambda entry: entry[0] / entry[1])
        rows.append(("  largest distance beside what is allowed", f"{distance:.1e} of {allowed:.1e}, {test}", "", "-"))
    return rows


def tests(session, name, limit):
    program, pattern, parts = SUITES[name]
    environment = {"THALWEG_CPU_CURVES": str(session.folder / "cpu_curves")} if program == "curves_test" else {}
    reports = [session.logs / f"{name}.{part}.json" for part in range(parts)]
    children = []
    for part, report in enumerate(reports):
        report.unlink(missing_ok=True)
        shards = {"GTEST_TOTAL_SHARDS": str(parts), "GTEST_SHARD_INDEX": str(part)} if parts > 1 else {}
        words = [session.program(program), f"--gtest_filter={pattern}", f"--gtest_output=json:{report}"]
        children.append(session.start(f"{name}.{part}", words, {**environment, **shards}))
    statuses = session.finish(children, limit)
    what = f"tests: {name}"
    rows = []
    for part, report in enumerate(reports):
        if not report.exists():
            rows.append((what, ended_early(session, f"{name}.{part}", statuses[part], limit), "0 failed", verdict(False)))
    cases = [(suite, case) for report in reports if report.exists()
             for group in json.loads(report.read_text())["testsuites"]
             for suite, case in [(group["name"], case) for case in group["testsuite"]] if case.get("status") == "RUN"]
    failed = [case["name"] for _, case in cases if case.get("failures")]
    skipped = sum(case.get("result") == "SKIPPED" for _, case in cases)
    passed = len(cases) - len(failed) - skipped
    value = f"{passed} passed, {len(failed)} failed, {skipped} skipped" + (f": {', '.join(failed)}"[:80] if failed else "")
    if cases or not rows:
        met = not any(statuses) and passed > 0 and not failed
        rows.insert(0, (what, value, "0 failed", verdict(met)))
    reason = next((r for r in (session.reasons(f"{name}.{part}") for part in range(parts)) if r and failed), "")
    if reason:
        rows.append(("  cuDNN said", reason, "", "-"))
    rows += distances(cases)
    for _, case in cases:  # curves_test says how far the curves are apart
        if "apart" in case:
            rows.append((f"  200 steps of {case['name'].rpartition('/')[2]}, from the cpu's", case["apart"], "", "-"))
    return rows


def sanitizer():
    places = [shutil.which("compute-sanitizer"), *sorted(glob.glob("/usr/local/cuda*/bin/compute-sanitizer")),
              *sorted(glob.glob("/opt/nvidia/**/compute-sanitizer", recursive=True))]
    return next((place for place in places if place and os.access(place, os.X_OK) and Path(place).is_file()), None)


def sanitizer_words(found, tool, program, pattern):
    return [found, "--tool", tool, "--error-exitcode", "9", *OWN_KERNELS, *(API_ERRORS if tool == "memcheck" else []),
            program, f"--gtest_filter={pattern}"]


def sanitize(session, name, limit):
    tool, program, part = name.split(".")
    pattern, parts = SANITIZED[tool][program]
    what = f"{tool}: {program}" + (f", part {part} of {parts}" if parts > 1 else "")
    found = sanitizer()
    if found is None:
        return [(what, "compute-sanitizer is not installed", "0 errors", "-")]
    shard = {"GTEST_TOTAL_SHARDS": str(parts), "GTEST_SHARD_INDEX": str(int(part) - 1)}
    child = session.start(name, sanitizer_words(found, tool, session.program(program), pattern), shard)
    status = session.finish([child], limit)[0]
    text = session.log(name)
    summary = [line.strip("= ") for line in text.splitlines() if "SUMMARY" in line]
    passed = re.findall(r"\[  PASSED  \] (\d+) test", text)
    value = summary[-1] if summary else ended_early(session, name, status, limit)
    if passed:
        value += f"; {passed[-1]} tests"
    return [(what, value, "0 errors", verdict(status == 0 and bool(summary) and bool(passed)))]
