#!/usr/bin/python3
"""peer_pytorch.py FOLDER MODEL key=value ...: the models of tests/support/models.h in PyTorch, with bench_step's commands.

Keys: threads, optimizer (momentum, adamw), precision (fp32, bf16: autocast)."""
import contextlib
import math
import os
import statistics
import sys
import time

FOLDER, MODEL = sys.argv[1:3]
SETTINGS = {"threads": "1", "optimizer": "momentum", "precision": "fp32", **dict(a.split("=") for a in sys.argv[3:])}
THREADS = int(SETTINGS["threads"])
os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = str(THREADS)
import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

BATCHES = 4


def mlp():
    return nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))


def lenet():
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(3136, 128), nn.ReLU(), nn.Linear(128, 10))


class Block(nn.Module):
    def __init__(self, into, out, stride):
        super().__init__()
        self.branch = nn.Sequential(
            nn.Conv2d(into, out, 3, stride, 1, bias=False), nn.BatchNorm2d(out), nn.ReLU(inplace=True),
            nn.Conv2d(out, out, 3, 1, 1, bias=False), nn.BatchNorm2d(out))
        self.shortcut = nn.Sequential()
        if stride != 1 or into != out:
            self.shortcut = nn.Sequential(nn.Conv2d(into, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x):
        return F.relu(self.branch(x) + self.shortcut(x), inplace=True)


def resnet18():
    layers = [nn.Conv2d(1, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True)]
    into = 64
    for out, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        layers += [Block(into, out, stride), Block(out, out, 1)]
        into = out
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))


class Decoder(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x, mask):
        samples, positions, width = x.shape
        qkv = self.qkv(self.norm1(x)).view(samples, positions, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        looks = (q @ k.transpose(-2, -1) / math.sqrt(width // self.heads) + mask).softmax(-1)
        x = x + self.proj((looks @ v).transpose(1, 2).reshape(samples, positions, width))
        return x + self.mlp(self.norm2(x))


class Gpt(nn.Module):
    def __init__(self, layers=4, width=256, heads=4, positions=128, tokens=256):
        super().__init__()
        self.tokens = nn.Embedding(tokens, width)
        self.positions = nn.Parameter(0.02 * torch.randn(positions, width))
        self.blocks = nn.ModuleList(Decoder(width, heads) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, tokens, bias=False)
        self.register_buffer("mask", torch.full((positions, positions), -math.inf).triu(1))

    def forward(self, x):
        x = self.tokens(x) + self.positions
        for block in self.blocks:
            x = block(x, self.mask)
        return self.head(self.norm(x)).flatten(0, 1)


def cnn3d():
    layers, into = [], 4
    for out in (16, 32, 64, 128, 256):
        layers += [nn.Conv3d(into, out, 3, padding=1), nn.LeakyReLU(), nn.MaxPool3d(2)]
        into = out
    layers += [nn.Flatten(), nn.Linear(256, 128), nn.LeakyReLU(), nn.Linear(128, 64), nn.LeakyReLU(), nn.Linear(64, 4)]
    return nn.Sequential(*layers)


class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.head = nn.LSTM(64, 256, 2, batch_first=True), nn.Linear(256, 10)

    def forward(self, x):
        return self.head(self.lstm(x)[0][:, -1])


def images(*shape):
    return lambda batch: (torch.rand(batch, *shape) - 0.5, torch.randint(0, 10, (batch,)))


MODELS = {  # how to make it, samples of a batch, how to draw one
    "mlp": (mlp, 128, images(784)),
    "lenet": (lenet, 128, images(1, 28, 28)),
    "resnet18": (resnet18, 32, images(1, 32, 32)),
    "gpt": (Gpt, 16, lambda batch: (torch.randint(0, 256, (batch, 128)), torch.randint(0, 256, (batch * 128,)))),
    "cnn3d": (cnn3d, 4, lambda batch: (torch.rand(batch, 4, 32, 32, 32) - 0.5, torch.rand(batch, 4) - 0.5)),
    "lstm": (Lstm, 32, images(64, 64)),
}


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
        self.loss = F.mse_loss if MODEL == "cnn3d" else F.cross_entropy
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
