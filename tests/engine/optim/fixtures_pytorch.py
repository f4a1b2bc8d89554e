#!/usr/bin/python3
"""fixtures_pytorch.py: prints rows of vector_test.cpp for options that have no published numbers, from PyTorch 1.13
(Debian: python3-torch) in float64. PyTorch is not needed to run the tests."""
import torch
from torch import optim

GRADIENTS = ((0.1, -0.2, 0.3), (0.3, 0.1, -0.2), (-0.1, 0.4, 0.2))
ROWS = (
    ("{name: sgd, weight_decay: 0.1}", lambda p: optim.SGD(p, lr=0.1, weight_decay=0.1)),
    ("{name: momentum, dampening: 0.1, weight_decay: 0.1}",
     lambda p: optim.SGD(p, lr=0.1, momentum=0.9, dampening=0.1, weight_decay=0.1)),
    ("{name: adam, beta1: 0.5, beta2: 0.9, epsilon: 0.01}",
     lambda p: optim.Adam(p, lr=0.1, betas=(0.5, 0.9), eps=0.01)),
    ("{name: amsgrad, beta2: 0.5, weight_decay: 0.1}",
     lambda p: optim.Adam(p, lr=0.1, betas=(0.9, 0.5), weight_decay=0.1, amsgrad=True)),
    ("{name: adagrad, lr_decay: 0.1, initial: 0.2, weight_decay: 0.1}",
     lambda p: optim.Adagrad(p, lr=0.1, lr_decay=0.1, initial_accumulator_value=0.2, weight_decay=0.1)),
    ("{name: adadelta, rho: 0.5, epsilon: 0.001, weight_decay: 0.1}",
     lambda p: optim.Adadelta(p, lr=0.1, rho=0.5, eps=0.001, weight_decay=0.1)),
    ("{name: rmsprop, alpha: 0.9, momentum: 0.5, weight_decay: 0.1}",
     lambda p: optim.RMSprop(p, lr=0.1, alpha=0.9, momentum=0.5, weight_decay=0.1)),
    ("{name: rmsprop, alpha: 0.9, centered: true}",
     lambda p: optim.RMSprop(p, lr=0.1, alpha=0.9, centered=True)),
)

for options, make in ROWS:
    w = torch.nn.Parameter(torch.tensor([1.0, -2.0, 3.0], dtype=torch.float64))
    optimizer = make([w])
    after = []
    for gradient in GRADIENTS:
        w.grad = torch.tensor(gradient, dtype=torch.float64)
        optimizer.step()
        after.append("{" + ", ".join(f"{x:.12g}" for x in w.tolist()) + "}")
    print(f'    {{"{options}",\n     {{0.1, 0.1, 0.1}},\n     {{' + ",\n      ".join(after) + "},\n     {}},")
