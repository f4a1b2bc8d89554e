"""Fits a + b x + c x^2 to noisy points by gradient descent. `thalweg` needs no installation: Thalweg
puts it in the way of `import`. Outside of Thalweg the program runs as well: python3 fit.py --lr 0.3"""

import argparse
import json
import os
import random

try:
    import thalweg
except ImportError:
    raise SystemExit("set PYTHONPATH to the folder of thalweg.py")

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, required=True)
parser.add_argument("--steps", type=int, default=100)
parser.add_argument("--seed", type=int, default=1)
arguments = parser.parse_args()

run = thalweg.init()
random.seed(arguments.seed)
xs = [random.uniform(-1, 1) for _ in range(200)]
points = [(x, 0.5 - x + 2 * x * x + random.gauss(0, 0.1)) for x in xs]
training, validation = points[:150], points[150:]
weights, first = [0.0, 0.0, 0.0], 1
if run.resume_from:  # killed, preempted or out of time: another attempt goes on
    with open(run.resume_from) as file:
        state = json.load(file)
    weights, first = state["weights"], state["step"] + 1


def error(x, y):
    return weights[0] + weights[1] * x + weights[2] * x * x - y


for step in range(first, arguments.steps + 1):
    gradient = [0.0, 0.0, 0.0]
    for x, y in training:
        for i in range(3):
            gradient[i] += error(x, y) * x**i / len(training)
    weights = [w - arguments.lr * g for w, g in zip(weights, gradient)]
    loss = sum(error(x, y) ** 2 for x, y in validation) / len(validation)
    thalweg.log({"val/loss": loss}, step=step)
    stop = thalweg.should_stop()
    if step % 50 == 0 or stop:
        os.makedirs(run.checkpoints, exist_ok=True)
        path = os.path.join(run.checkpoints, "newest.json")
        with open(path + ".new", "w") as file:
            json.dump({"weights": weights, "step": step}, file)
        os.replace(path + ".new", path)
        thalweg.checkpoint(path, step=step)
    if stop:
        break
thalweg.finish()
