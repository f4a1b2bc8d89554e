#!/usr/bin/python3
"""fixtures_pytorch.py: writes pytorch/layers.json and pytorch/models.json from PyTorch 1.13 (Debian: python3-torch), in
float64; the rows of rms_norm, which 1.13 lacks, are from 2.15 (under which the others are the same to 2e-10). Needs 2.4 or
newer. PyTorch is not needed to run the tests. About two minutes."""
import json
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "pytorch"))
import torch  # noqa: E402

import draw  # noqa: E402
from cases import CASES, named  # noqa: E402
from families import FAMILIES  # noqa: E402
from graphs import LOSSES, Network  # noqa: E402

NORMS = (torch.nn.BatchNorm1d, torch.nn.BatchNorm2d, torch.nn.BatchNorm3d)
ALL_NORMS = NORMS + (torch.nn.LayerNorm, torch.nn.GroupNorm, torch.nn.RMSNorm)
SCALE = 0.125  # of the sum of losses, in layers.json
STEPS, BATCHES = 20, 4


def part(entry, tensor):
    """Of a parameter's value or gradient."""
    return tensor(entry[0])[entry[1]] if isinstance(entry, tuple) else tensor(entry)


def start(model, parameters):
    norms = {id(m.weight) for m in model.modules() if isinstance(m, ALL_NORMS)}
    for number, p in enumerate(parameters):
        with torch.no_grad():
            value = part(p, lambda tensor: tensor)
            value.copy_(torch.tensor(draw.parameter(number, tuple(value.shape), id(p) not in norms)))


def loss_of(model, data, batch, loss):
    inputs = torch.tensor(batch.inputs)
    outputs = model(inputs.long() if data["vocabulary"] else inputs)
    name = loss.get("name", "cross_entropy" if data["classes"] else "mse")
    return LOSSES[name](outputs, batch, {**loss, "classes": data["classes"]})


def measured(model):
    """Mean and biased variance of what enters each batch norm, in order, while the hooks are there."""
    found = []

    def hook(_, inputs):
        x = inputs[0].detach().transpose(0, 1).flatten(1)
        found.extend([x.mean(1), x.var(1, unbiased=False)])

    for module in model.modules():
        if isinstance(module, NORMS):
            module.register_forward_pre_hook(hook)
    return found


def evaluated(model, data, batch, loss):
    model.eval()
    number = 0
    for module in model.modules():
        if isinstance(module, NORMS):
            for statistic, is_variance in ((module.running_mean, False), (module.running_var, True)):
                statistic.copy_(torch.tensor(draw.statistic(number, len(statistic), is_variance)))
                number += 1
    with torch.no_grad():
        return loss_of(model, data, batch, loss).item()


def layer_fixture(name, data, samples, layers, loss=None):
    loss = loss or {}
    model = Network(named(layers), data).double()
    parameters = list(model.parameters())
    start(model, parameters)
    batch = draw.Batch(data, samples, 7)
    statistics = measured(model)
    total = loss_of(model, data, batch, loss)
    (SCALE * total).backward()
    row = {"name": name, "kinds": sorted({layer["kind"] for layer in layers}), "data": data, "samples": samples,
           "model": json.dumps({"name": "graph", "layers": layers}), "loss": json.dumps(loss) if loss else "",
           "loss_sum": draw.short(total.item()), "gradients": [draw.digest(p.grad) for p in parameters],
           "statistics": draw.digest(torch.cat(statistics)) if statistics else None}
    row["evaluated"] = draw.short(evaluated(model, data, batch, loss))
    return row


def optimizer_of(text, parameters, rate):
    if "adamw" in text:
        return torch.optim.AdamW(parameters, lr=rate, weight_decay=0.01)
    return torch.optim.SGD(parameters, lr=rate, momentum=0.9)


def model_fixture(name, model_text, data, samples, make, optimizer_text, rate, compared, cpu=(1e-5, 2e-6)):
    model = make().double()
    model.train()
    parameters = model.ours()
    owners = {id(p[0] if isinstance(p, tuple) else p) for p in parameters}
    assert owners == {id(p) for p in model.parameters()}, name
    start(model, parameters)
    optimizer = optimizer_of(optimizer_text, model.parameters(), rate)
    losses, gradients = [], None
    for step in range(STEPS):
        loss = loss_of(model, data, draw.Batch(data, samples, 100 + step % BATCHES), {})
        optimizer.zero_grad()
        (loss / samples).backward()
        gradients = gradients or [draw.digest(part(p, lambda tensor: tensor.grad)) for p in parameters]
        optimizer.step()
        losses.append(draw.short(loss.item()))
    print(f"{name}: {losses[0] / samples:.4f} -> {losses[-1] / samples:.4f}", file=sys.stderr)
    return {"name": name, "model": model_text, "data": data, "samples": samples, "optimizer": optimizer_text,
            "lr": rate, "reference": compared[0], "cpu": compared[1], "cpu_tolerances": cpu,
            "losses": losses, "gradients": gradients}


def write(path, rows):
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "pytorch", path), "w") as file:
        file.write("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")


torch.manual_seed(1)
torch.set_num_threads(1)
wanted = sys.argv[1:]
if not wanted or "layers" in wanted:
    write("layers.json", [layer_fixture(*case) for case in CASES])
if not wanted or "models" in wanted:
    write("models.json", [model_fixture(*family) for family in FAMILIES])
