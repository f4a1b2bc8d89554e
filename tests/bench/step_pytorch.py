#!/usr/bin/python3
"""step_pytorch.py mlp|lenet [seconds] [batch]: samples/s of the models of bench_step in PyTorch, one thread, momentum SGD."""
import os
import statistics
import sys
import time

os.environ["OMP_NUM_THREADS"] = "1"
import torch  # noqa: E402
from torch import nn  # noqa: E402

BATCHES = 16


def mlp():
    return nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))


def lenet():
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(3136, 128), nn.ReLU(), nn.Linear(128, 10))


def main():
    name = sys.argv[1]
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 3
    batch = int(sys.argv[3]) if len(sys.argv) > 3 else 128
    torch.set_num_threads(1)
    torch.manual_seed(1)
    model, shape = (mlp(), (784,)) if name == "mlp" else (lenet(), (1, 28, 28))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    inputs = [torch.rand(batch, *shape) - 0.5 for _ in range(BATCHES)]
    labels = [torch.randint(0, 10, (batch,)) for _ in range(BATCHES)]

    def step(number):
        optimizer.zero_grad(set_to_none=True)
        loss = criterion(model(inputs[number % BATCHES]), labels[number % BATCHES])
        loss.backward()
        optimizer.step()
        return loss

    for number in range(10):
        step(number)
    times = []
    start = time.perf_counter()
    while time.perf_counter() - start < seconds:
        before = time.perf_counter()
        step(len(times))
        times.append(time.perf_counter() - before)
    median = statistics.median(times)
    count = sum(p.numel() for p in model.parameters())
    print(f"{name} parameters={count} batch={batch} torch={torch.__version__} "
          f"step_ms={median * 1e3:.3f} samples/s={batch / median:.0f}")


main()
