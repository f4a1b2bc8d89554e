#!/usr/bin/env python3
"""peer_pytorch.py MODEL [key=value ...]: training steps of the models in tests/support/models.h on a GPU in PyTorch, as its
users run them fast; one line "key=value ...". It has been written for 2.11, and takes 2.3 or newer.

Keys: seconds (5; 0: only compiles, which later runs find in inductor's cache), batch (the model's), precision (bf16,
all-bf16, tf32, fp32), compile (default, reduce-overhead: CUDA graphs, max-autotune, no), device (cuda; cpu: to try this program).

bf16 is autocast over floats for parameters, as Thalweg's; all-bf16 has parameters in bf16 too, which is less work. Images and
volumes lie channels last. Forward and loss are compiled as one (inductor joins the loss to the last product), SGD with
momentum is fused, attention is what scaled_dot_product_attention finds (flash), cuDNN's ways are measured (benchmark). The
samples lie on the GPU before it begins (Thalweg copies them there in every step). Ten steps or more warm up; time is taken over
steps that follow each other without a wait, about a fifth of a second of them, and nothing is read back meanwhile."""
import contextlib
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "step"))
import torch  # noqa: E402
from models_pytorch import MODELS, loss_of  # noqa: E402
from torch import nn  # noqa: E402

MODEL = sys.argv[1]
SETTINGS = {"seconds": "5", "batch": "0", "precision": "bf16", "compile": "default", "device": "cuda",
            **dict(a.split("=") for a in sys.argv[2:])}
DEVICE = SETTINGS["device"]
ALL_BF16 = SETTINGS["precision"] == "all-bf16"
BATCHES = 4  # different ones, taken in turn, as in bench_step
WARM_STEPS = 10
CHUNK_SECONDS = 0.2


def formats(dimensions):
    return {4: torch.channels_last, 5: torch.channels_last_3d}.get(dimensions, torch.contiguous_format)


def there(tensor):
    tensor = tensor.to(DEVICE)
    if ALL_BF16 and tensor.is_floating_point():
        tensor = tensor.bfloat16()
    return tensor.contiguous(memory_format=formats(tensor.dim())) if tensor.is_floating_point() else tensor


class WithLoss(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model, self.loss = model, loss_of(MODEL)

    def forward(self, inputs, answers):
        return self.loss(self.model(inputs), answers)  # autocast computes losses in floats


def wait():
    if DEVICE == "cuda":
        torch.cuda.synchronize()


def main():
    torch.manual_seed(1)
    make, batch, draw = MODELS[MODEL]
    batch = int(SETTINGS["batch"]) or batch
    bf16 = SETTINGS["precision"] == "bf16"
    torch.set_float32_matmul_precision("highest" if SETTINGS["precision"] == "fp32" else "high")
    torch.backends.cudnn.allow_tf32 = SETTINGS["precision"] != "fp32"
    torch.backends.cudnn.benchmark = True
    model = make().to(DEVICE)
    for dimensions, kind in ((4, nn.Conv2d), (5, nn.Conv3d)):
        if any(isinstance(m, kind) for m in model.modules()):
            model = model.to(memory_format=formats(dimensions))
    if ALL_BF16:
        model = model.bfloat16()
    parameters = sum(p.numel() for p in model.parameters())
    fused = {"fused": True} if DEVICE == "cuda" else {}
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, **fused)
    data = [tuple(there(t) for t in draw(batch)) for _ in range(BATCHES)]
    forward = WithLoss(model)
    if SETTINGS["compile"] != "no":
        forward = torch.compile(forward, mode=SETTINGS["compile"])
    number = 0

    def steps(count):
        nonlocal number
        for _ in range(count):
            optimizer.zero_grad(set_to_none=True)
            if SETTINGS["compile"] == "reduce-overhead":
                torch.compiler.cudagraph_mark_step_begin()
            with torch.autocast(DEVICE, torch.bfloat16) if bf16 else contextlib.nullcontext():
                loss = forward(*data[number % BATCHES])
            loss.backward()
            optimizer.step()
            number += 1
        wait()

    def timed(count):
        start = time.perf_counter()
        steps(count)
        return time.perf_counter() - start

    seconds = float(SETTINGS["seconds"])
    steps(WARM_STEPS)
    if seconds == 0:
        return
    chunk = max(1, int(CHUNK_SECONDS / (timed(3) / 3)))
    warm = time.perf_counter()
    while time.perf_counter() - warm < 0.15 * seconds:
        steps(min(chunk, 10))
    took, done = 0.0, 0
    while took < seconds:
        took += timed(chunk)
        done += chunk
    peak = torch.cuda.max_memory_allocated() / 2**20 if DEVICE == "cuda" else 0
    print(f"samples_per_s={batch * done / took:.2f} step_ms={1e3 * took / done:.4f} parameters={parameters} "
          f"peak_mib={peak:.0f} torch={torch.__version__}")


if __name__ == "__main__":
    main()
