"""Data-parallel regression with PyTorch, for torchrun. Only rank 0 reports; thalweg sees to that."""

import argparse
import os

import thalweg
import torch
from torch.nn.parallel import DistributedDataParallel

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, required=True)
parser.add_argument("--optimizer", choices=["sgd", "adam"], default="sgd")
parser.add_argument("--steps", type=int, default=100)
arguments = parser.parse_args()

torch.distributed.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
rank, size = torch.distributed.get_rank(), torch.distributed.get_world_size()
run = thalweg.init()
torch.manual_seed(run.seed)
inputs = torch.randn(512, 8)
targets = inputs @ torch.linspace(-1, 1, 8).reshape(8, 1)
model = DistributedDataParallel(torch.nn.Linear(8, 1))
kind = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam}[arguments.optimizer]
optimizer = kind(model.parameters(), lr=arguments.lr)
first = 1
if run.resume_from:
    state = torch.load(run.resume_from)
    model.module.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    first = state["step"] + 1

for step in range(first, arguments.steps + 1):
    loss = torch.nn.functional.mse_loss(model(inputs[rank::size]), targets[rank::size])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        thalweg.log({"val/loss": torch.nn.functional.mse_loss(model.module(inputs), targets)}, step=step)
    # Ranks must agree on when to stop: rank 0 asks, all hear the answer.
    stop = torch.tensor([float(rank == 0 and thalweg.should_stop())])
    torch.distributed.all_reduce(stop)
    if rank == 0 and (step % 20 == 0 or stop > 0):
        path = os.path.join(run.checkpoints, "newest.pt")
        state = {"model": model.module.state_dict(), "optimizer": optimizer.state_dict(), "step": step}
        torch.save(state, path + ".new")
        os.replace(path + ".new", path)
        thalweg.checkpoint(path, step=step)
    if stop > 0:
        break
thalweg.finish()
torch.distributed.destroy_process_group()
