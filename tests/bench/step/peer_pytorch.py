#!/usr/bin/python3
"""peer_pytorch.py FOLDER MODEL key=value ...: the models of tests/support/models.h in PyTorch, with bench_step's commands.

Keys: threads, optimizer (momentum, adamw), precision (fp32, bf16: autocast)."""
import contextlib
import os
import statistics
import sys
import time

FOLDER, MODEL = sys.argv[1:3]
SETTINGS = {"threads": "1", "optimizer": "momentum", "precision": "fp32", **dict(a.split("=") for a in sys.argv[3:])}
THREADS = int(SETTINGS["threads"])
os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = str(THREADS)
import torch  # noqa: E402
from models_pytorch import MODELS, loss_of  # noqa: E402

BATCHES = 4


def memory_mib(field):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(field + ":")) / 1024


class Trainer:
    def __init__(self):
        make, self.batch, draw = MODELS[MODEL]
        self.model = make()
        parameters = self.model.parameters()
        if SETTINGS["optimizer"] == "adamw":
            self.optimizer = torch.optim.AdamW(parameters, lr=0.001)
        else:
            self.optimizer = torch.optim.SGD(parameters, lr=0.01, momentum=0.9)
        self.loss = loss_of(MODEL)
        self.data = [draw(self.batch) for _ in range(BATCHES)]
        self.number = 0

    def step(self):
        inputs, answers = self.data[self.number % BATCHES]
        self.number += 1
        self.optimizer.zero_grad(set_to_none=True)
        bf16 = SETTINGS["precision"] == "bf16"
        with torch.autocast("cpu", torch.bfloat16) if bf16 else contextlib.nullcontext():
            outputs = self.model(inputs)
        self.loss(outputs.float() if bf16 else outputs, answers).backward()
        self.optimizer.step()

    def run(self, seconds):
        start = time.perf_counter()
        while time.perf_counter() - start < 0.15 * seconds:
            self.step()
        times, start = [], time.perf_counter()
        while not times or time.perf_counter() - start < seconds:
            before = time.perf_counter()
            self.step()
            times.append(time.perf_counter() - before)
        median = statistics.median(times)
        count = sum(p.numel() for p in self.model.parameters())
        return f"samples_per_s={self.batch / median:.2f} step_ms={1e3 * median:.4f} parameters={count}"


def main():
    torch.set_num_threads(THREADS)
    torch.manual_seed(1)
    at_start = memory_mib("VmRSS")
    trainer = Trainer()
    with open(f"{FOLDER}/in.0") as commands:
        text = "ready"
        while True:
            with open(f"{FOLDER}/out", "w") as out:
                out.write(f"0 {text}\n")
            command, *words = (commands.readline() or "quit").split()
            if command == "quit":
                return
            text = ""
            if command == "run":
                text = trainer.run(float(words[0]))
            elif command == "memory":
                text = f"peak_mib={memory_mib('VmHWM'):.1f} start_mib={at_start:.1f}"


main()
