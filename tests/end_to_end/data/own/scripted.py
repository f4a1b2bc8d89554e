"""Reports what a plan says, attempt by attempt: {"1": [{"reports": [[metric, step, value], ...], "checkpoint": 5}, ...]}
for each trial; an attempt that is not the last one is killed."""

import json
import os
import signal

import thalweg

run = thalweg.init()
with open(run.config["plan"]) as file:
    attempts = json.load(file)[str(run.config["t"])]
count = "%s.%s" % (run.config["plan"], run.config["t"])
number = os.path.getsize(count) if os.path.exists(count) else 0
with open(count, "a") as file:
    file.write("x")
attempt = attempts[number]
assert run.resume_step == attempt["resumed"], (run.resume_step, attempt["resumed"])
for metric, step, value in attempt["reports"]:
    thalweg.log({metric: float(value)}, step=step)
if number + 1 < len(attempts):
    if attempt["checkpoint"] is not None:
        path = os.path.join(run.checkpoints, "c")
        with open(path, "w") as file:
            file.write("x")
        thalweg.checkpoint(path, step=attempt["checkpoint"])
    os.kill(os.getpid(), signal.SIGKILL)
