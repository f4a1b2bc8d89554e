#!/usr/bin/env python3
"""on_gpu.py with programs that only pretend: what it keeps, repeats, gives up and carries back."""
import io
import json
import math
import os
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import checks  # noqa: E402
import items  # noqa: E402

BENCH_GPU = "echo libraries: cuBLASLt 1, cuDNN 2\necho copy_gb_s=2000 product_tflop_s=700\n"
# Writes the report that gtest would: $1 is the filter, $2 the report.
PASSES = """for word in "$@"; do case $word in --gtest_output=json:*) file=${word#*json:} ;; esac; done
echo '{"testsuites": [{"name": "S", "testsuite": [
 {"name": "A", "status": "RUN", "result": "COMPLETED", "distance": "2e-6", "allowed": "1e-5"},
 {"name": "B", "status": "RUN", "result": "COMPLETED", "distance": "3e-5", "allowed": "1e-5", "failures": [{}]}]}]}' >"$file"
"""
HANGS = """echo '[ RUN      ] S.Good'; echo '[       OK ] S.Good (1 ms)'; echo '[ RUN      ] S.Hangs/cuda'
echo 'E! error: CUDNN_STATUS_EXECUTION_FAILED; Reason: no kernel' >"$CUDNN_LOGDEST_DBG"
exec sleep 600
"""
STEP = ("echo 'fallback: attention 5x5: no engine'\n"
        "echo samples_per_s=1000 step_ms=0.128 compute_ms=0 sums_ms=0 update_ms=0 loss=1 gflop=1 gbyte=0.1 "
        "parameters=100\n")



def slowdown():
    """As of tests/support/deadline.h: limits in seconds of wall time are so many times longer."""
    runnable = int(Path("/proc/loadavg").read_text().split()[3].split("/")[0])
    return float(os.environ.get("THALWEG_TEST_SLOWNESS", "1")) * max(1, runnable / os.cpu_count())


class OnGpu(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.root = Path(self.temporary.name)
        (self.root / "on_gpu/bin").mkdir(parents=True)
        (self.root / "kept").mkdir()
        self.program("bench_gpu", BENCH_GPU)
        (self.root / "path").mkdir()
        smi = self.root / "path/nvidia-smi"
        smi.write_text("#!/bin/sh\necho NVIDIA H100 80GB HBM3, 580.1, 81559 MiB\n")
        smi.chmod(0o755)

    def tearDown(self):
        self.temporary.cleanup()

    def program(self, name, text):
        file = self.root / "on_gpu/bin" / name
        file.write_text("#!/bin/sh\n" + text)
        file.chmod(0o755)

    def environment(self, more=None):
        kept = {key: value for key, value in os.environ.items() if key not in ("THALWEG_GPU", "RESULTS", "OUT")}
        return {**kept, "KEPT": str(self.root / "kept"), "PATH": f"{self.root}/path:{os.environ['PATH']}", **(more or {})}

    def run_items(self, *words, **environment):
        done = subprocess.run([sys.executable, HERE / "on_gpu.py", self.root / "on_gpu", *words], text=True, timeout=600,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=self.environment(environment))
        return done.returncode, done.stdout

    def rows(self, item, results="on_gpu/results"):
        return json.loads((self.root / results / "rows.json").read_text())[item]["rows"]

    def test_distances_of_tests_are_told(self):
        self.program("gpu_test", PASSES)
        status, text = self.run_items("tests:machine")
        self.assertEqual(status, 1, text)
        told = "\n".join(f"{row[0]}: {row[1]}" for row in self.rows("tests:machine"))
        self.assertIn("1 passed, 1 failed, 0 skipped: B", told)
        self.assertIn("S.B: 3.0e-05, allowed 1.0e-05", told)

    def test_a_hanging_test_is_named_with_what_cudnn_said(self):
        self.program("gpu_test", HANGS)
        limit = math.ceil(slowdown())
        status, text = self.run_items("tests:attention", f"limit={limit}")
        self.assertEqual(status, 1, text)
        what, value, _, met = self.rows("tests:attention")[0]
        self.assertEqual((what, met), ("tests: attention", "NO"))
        self.assertIn(f"no end within {limit} s, in S.Hangs/cuda; cuDNN: E! error: CUDNN_STATUS_EXECUTION_FAILED", value)

    def test_rows_belong_to_the_program_that_made_them(self):
        self.program("gpu_test", PASSES)
        self.run_items("tests:machine", "tests:loops")
        said = []
        for build in (PASSES, PASSES + "# another\n"):
            self.program("gpu_test", build)
            said.append(self.run_items("tests", "limit=0.1")[1])
        self.assertNotIn("] tests:machine", said[0])
        self.assertIn("] tests:machine", said[1])
        self.program("gpu_test", PASSES)
        self.assertRegex(self.run_items("ranks:gpt")[1], "tests: machine .* ~\n")

    def test_what_was_measured_is_carried_back_after_every_item(self):
        self.program("gpu_test", PASSES)
        self.program("nn_test", HANGS)
        child = subprocess.Popen([sys.executable, HERE / "on_gpu.py", self.root / "on_gpu", "tests:machine", "tests:nn_test"],
                                 stdout=subprocess.DEVNULL, env=self.environment({"OUT": str(self.root / "out")}))
        end = time.monotonic() + 30 * slowdown()
        log = self.root / "on_gpu/results/logs/nn_test.3.log"
        while not (log.exists() and "Hangs" in log.read_text()) and time.monotonic() < end:
            time.sleep(0.05)
        kept = json.loads((self.root / "out/rows.json").read_text())
        self.assertIn("tests:machine", kept)  # while another item is under way
        child.send_signal(signal.SIGINT)
        self.assertEqual(child.wait(20 * slowdown()), 130)
        self.assertNotIn("tests:nn_test", json.loads((self.root / "out/rows.json").read_text()))
        with tarfile.open(fileobj=io.BytesIO((self.root / "out/logs.tar.gz").read_bytes())) as logs:
            self.assertIn("logs/machine.0.json", logs.getnames())
        table = (self.root / "out/table.txt").read_text()
        self.assertIn("tests: machine", table)
        self.assertEqual(table, next((self.root / "kept").glob("*-H100-80GB-HBM3.txt")).read_text())

    def test_what_measures_no_times_is_done_at_once_and_what_does_alone(self):
        # Each test program ends when the other one has begun.
        for name, other in (("gpu_test", "optim_test"), ("optim_test", "gpu_test")):
            begun = f'touch "{self.root}/{name}"; until [ -e "{self.root}/{other}" ]; do sleep 0.01; done\n'
            self.program(name, begun + PASSES)
        self.program("bench_step", f'rm "{self.root}/gpu_test" || exit\n' + STEP)
        status, text = self.run_items("steps:lenet", "tests:machine", "tests:optim_test", "at_once=2",
                                      "limit=600")
        self.assertIn("1 passed", self.rows("tests:machine")[0][1], text)
        self.assertIn("1 passed", self.rows("tests:optim_test")[0][1], text)
        self.assertIn("1000.0 / ", self.rows("steps:lenet")[0][1], text)

    def test_pytorch_is_compiled_ahead(self):
        python = self.root / "path/python-of-peers"
        python.write_text(f'#!/bin/sh\ncase $* in *peer_pytorch*) echo "$*" >>"{self.root}/peers" ;; '
                          f'*) exec {sys.executable} "$@" ;; esac\necho samples_per_s=5 step_ms=1 parameters=1 torch=2\n')
        python.chmod(0o755)
        starter = f"import sys; sys.executable = '{python}'; sys.argv = sys.argv[1:]; import runpy; " \
                  f"sys.path.insert(0, '{HERE}'); runpy.run_path(sys.argv[0], run_name='__main__')"
        subprocess.run([sys.executable, "-c", starter, HERE / "on_gpu.py", self.root / "on_gpu", "peers:lenet",
                        "peers:gpt2"], timeout=600, stdout=subprocess.DEVNULL, env=self.environment())
        calls = (self.root / "peers").read_text().splitlines()
        seconds = [word for call in calls for word in call.split() if word.startswith("seconds=")]
        self.assertEqual(seconds, 3 * ["seconds=0"] + 3 * ["seconds=4"])  # what is only to know comes another time

    def test_goes_on_from_carried_rows_of_the_same_gpu_only(self):
        self.program("gpu_test", PASSES)
        self.run_items("tests:machine")
        (self.root / "on_gpu/results").rename(self.root / "carried")
        _, text = self.run_items("smoke", "limit=0.1", RESULTS=str(self.root / "carried"))
        self.assertNotIn("] tests:machine", text)
        self.assertIn("] tests:loops", text)
        (self.root / "path/nvidia-smi").write_text("#!/bin/sh\necho NVIDIA B200, 1, 1\n")
        status, text = self.run_items("smoke", RESULTS=str(self.root / "carried"))
        self.assertEqual(status, 2, text)

    def test_steps_stand_beside_pytorch_kept_for_this_kind_of_gpu(self):
        self.program("bench_step", STEP)
        self.run_items("steps:lenet")
        self.assertIn("not measured on this kind of GPU", self.rows("steps:lenet")[0][1])
        kept = {"lenet": {"default": {"samples_per_s": 400.0, "step_ms": 1, "parameters": 100, "torch": "2.11"}}}
        (self.root / "kept/peers-H100-80GB-HBM3.json").write_text(json.dumps(kept))
        self.run_items("steps:lenet")
        what, value, bar, met = self.rows("steps:lenet")[0]
        self.assertEqual((what, bar, met), ("lenet: ours / PyTorch", ">= 2", "yes"))
        self.assertIn(["  fallback", "attention 5x5: no engine", "", "-"], self.rows("steps:lenet"))
        self.assertIn("1000.0 / 400.0 (default, torch 2.11) = 2.50", value)
        # All that was kept is known: only what is missing is asked for.
        self.assertNotIn("] peers:lenet", self.run_items("peers", "limit=0.1")[1])

    def test_estimates_stand_where_nothing_was_measured(self):
        self.program("bench_step", STEP)
        _, text = self.run_items("steps:mlp")
        self.assertIn("expected before it was measured", text)
        self.assertRegex(text, "  resnet50: estimates for an H100: .* ms .*, PyTorch 75 to 85")

    def test_calls_end_in_time(self):
        self.program("gpu_test", "exec sleep 600\n")
        self.assertRegex(self.run_items("smoke", "limit=0.01")[1], r"\] tests:machine, 3[56]\d s left")
        self.assertRegex(self.run_items("tests:machine", "limit=0.01")[1], r"\] tests:machine, 5[34]\d s left")
        _, text = self.run_items("tests:machine", "minutes=0.4")
        self.assertIn("the call's minutes are over", text)

    def test_nothing_host_only_is_run(self):
        for _, pattern, _ in items.SUITES.values():
            self.assertNotIn("emulated", pattern)
            self.assertNotIn("radient.", pattern)
        positive = items.SUITES["gpu_test"][1].split("-")[0]
        self.assertTrue(all(part.endswith("/cuda") or part == "Nccl.*" for part in positive.split(":")))

    def test_items_are_short(self):
        for item in items.order()[2:]:
            self.assertLessEqual(items.limit_of(item), 90, item)
        self.assertEqual(len(items.smoke()), len(set(items.smoke())))
        self.assertLessEqual(set(items.smoke()), set(items.order()))

    def test_memcheck_looks_at_own_kernels_and_not_at_errors_made_on_purpose(self):
        words = checks.sanitizer_words("compute-sanitizer", "memcheck", "nn_test", "*")
        self.assertIn("--kernel-name kns=thalweg", " ".join(words))
        self.assertIn("--report-api-errors no", " ".join(words))


if __name__ == "__main__":
    unittest.main()
