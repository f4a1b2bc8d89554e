#!/usr/bin/python3
"""optimizers_pytorch.py [seconds] [gpt]: ms of one step of PyTorch's AdamW and momentum SGD, foreach and not, over the
161 tensors of ResNet-50, one thread. gpt: of its Muon, over the hidden matrices of bench_optimizers gpt (PyTorch 2.9)."""
import os
import statistics
import sys
import time

os.environ["OMP_NUM_THREADS"] = "1"
import torch  # noqa: E402


def resnet50():
    shapes = []

    def convolution(out, into, kernel):
        shapes.extend([(out, into, kernel, kernel), (out,), (out,)])

    convolution(64, 3, 7)
    into = 64
    for stage, blocks in enumerate((3, 4, 6, 3)):
        width = 64 << stage
        for block in range(blocks):
            convolution(width, into, 1)
            convolution(width, width, 3)
            convolution(4 * width, width, 1)
            if block == 0:
                convolution(4 * width, into, 1)
            into = 4 * width
    return shapes + [(1000, 2048), (1000,)]


def gpt():
    return 4 * [(768, 256), (256, 256), (1024, 256), (256, 1024)]


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 2
    torch.set_num_threads(1)
    shapes, rows = resnet50(), (
        ("adamw foreach", lambda p: torch.optim.AdamW(p, lr=1e-4, foreach=True)),
        ("adamw", lambda p: torch.optim.AdamW(p, lr=1e-4, foreach=False)),
        ("momentum foreach", lambda p: torch.optim.SGD(p, lr=1e-4, momentum=0.9, foreach=True)),
    )
    if sys.argv[2:] == ["gpt"]:
        shapes, rows = gpt(), (("muon", lambda p: torch.optim.Muon(p, lr=1e-4)),)
    for name, make in rows:
        parameters = [torch.nn.Parameter(torch.rand(s) - 0.5) for s in shapes]
        for p in parameters:
            p.grad = 0.01 * (torch.rand_like(p) - 0.5)
        optimizer = make(parameters)
        optimizer.step()
        times, end = [], time.perf_counter() + seconds
        while len(times) < 3 or time.perf_counter() < end:
            start = time.perf_counter()
            optimizer.step()
            times.append(1e3 * (time.perf_counter() - start))
        print(f"{name:20} ms={statistics.median(times):8.2f}", flush=True)


main()
