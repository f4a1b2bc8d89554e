"""The models of tests/support/models.h in PyTorch, for the peers: how to make one, samples of a batch, how to draw one."""
import functools
import math

import torch
from torch import nn
from torch.nn import functional as F


def mlp():
    return nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))


def lenet():
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(3136, 128), nn.ReLU(), nn.Linear(128, 10))


class BasicBlock(nn.Module):
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
        layers += [BasicBlock(into, out, stride), BasicBlock(out, out, 1)]
        into = out
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))


class Bottleneck(nn.Module):
    def __init__(self, into, inner, stride):
        super().__init__()
        out = 4 * inner
        self.branch = nn.Sequential(
            nn.Conv2d(into, inner, 1, bias=False), nn.BatchNorm2d(inner), nn.ReLU(inplace=True),
            nn.Conv2d(inner, inner, 3, stride, 1, bias=False), nn.BatchNorm2d(inner), nn.ReLU(inplace=True),
            nn.Conv2d(inner, out, 1, bias=False), nn.BatchNorm2d(out))
        self.shortcut = nn.Sequential()
        if stride != 1 or into != out:
            self.shortcut = nn.Sequential(nn.Conv2d(into, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x):
        return F.relu(self.branch(x) + self.shortcut(x), inplace=True)


def resnet50():
    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    into = 64
    for inner, blocks, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for i in range(blocks):
            layers.append(Bottleneck(into, inner, stride if i == 0 else 1))
            into = 4 * inner
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000))


def attention(q, k, v, causal):
    if hasattr(F, "scaled_dot_product_attention"):
        return F.scaled_dot_product_attention(q, k, v, is_causal=causal)
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])  # PyTorch 1
    if causal:
        scores = scores + mask_of(q.shape[-2]).to(scores.dtype)
    return scores.softmax(-1) @ v


@functools.lru_cache
def mask_of(positions):
    return torch.full((positions, positions), -math.inf).triu(1)


class Block(nn.Module):
    """Normalisation before each part (GPT-2) or after it (BERT)."""

    def __init__(self, width, heads, decoder):
        super().__init__()
        self.heads, self.decoder = heads, decoder
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def attend(self, x):
        samples, positions, width = x.shape
        q, k, v = self.qkv(x).view(samples, positions, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        y = attention(q, k, v, self.decoder)
        return self.proj(y.transpose(1, 2).reshape(samples, positions, width))

    def forward(self, x):
        if self.decoder:
            x = x + self.attend(self.norm1(x))
            return x + self.mlp(self.norm2(x))
        x = self.norm1(x + self.attend(x))
        return self.norm2(x + self.mlp(x))


class Transformer(nn.Module):
    def __init__(self, layers, heads, width, positions, tokens, decoder):
        super().__init__()
        self.tokens = nn.Embedding(tokens, width)
        self.positions = nn.Parameter(0.02 * torch.randn(positions, width))
        self.blocks = nn.ModuleList(Block(width, heads, decoder) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, tokens, bias=False)

    def forward(self, x):
        x = self.tokens(x) + self.positions
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)).flatten(0, 1)


class CosmoTanh(nn.Module):
    def forward(self, x):
        return 1.2 * torch.tanh(x)


def cosmoflow():
    layers, into = [], 4
    for out in (32, 64, 128, 256, 512):
        layers += [nn.Conv3d(into, out, 3, padding=1), nn.LeakyReLU(0.3), nn.MaxPool3d(2)]
        into = out
    layers += [nn.Flatten(), nn.Linear(512 * 64, 128), nn.LeakyReLU(0.3), nn.Linear(128, 64), nn.LeakyReLU(0.3),
               nn.Linear(64, 4), CosmoTanh()]
    return nn.Sequential(*layers)


def cnn3d():
    layers, into = [], 4
    for out in (16, 32, 64, 128, 256):
        layers += [nn.Conv3d(into, out, 3, padding=1), nn.LeakyReLU(), nn.MaxPool3d(2)]
        into = out
    layers += [nn.Flatten(), nn.Linear(256, 128), nn.LeakyReLU(), nn.Linear(128, 64), nn.LeakyReLU(), nn.Linear(64, 4)]
    return nn.Sequential(*layers)


class Unet3d(nn.Module):
    def __init__(self, classes=2, channels=(32, 64, 128)):
        super().__init__()

        def twice(into, first, second):
            return nn.Sequential(
                nn.Conv3d(into, first, 3, padding=1, bias=False), nn.BatchNorm3d(first), nn.ReLU(inplace=True),
                nn.Conv3d(first, second, 3, padding=1, bias=False), nn.BatchNorm3d(second), nn.ReLU(inplace=True))

        self.down, into = nn.ModuleList(), 1
        for c in channels:
            self.down.append(twice(into, c, 2 * c))
            into = 2 * c
        self.bottom = twice(into, into, 2 * into)
        self.rise, self.up, into = nn.ModuleList(), nn.ModuleList(), 2 * into
        for c in reversed(channels):
            self.rise.append(nn.ConvTranspose3d(into, 4 * c, 2, 2, bias=False))
            self.up.append(twice(6 * c, 2 * c, 2 * c))
            into = 2 * c
        self.out = nn.Conv3d(into, classes, 1)

    def forward(self, x):
        beside = []
        for down in self.down:
            beside.append(down(x))
            x = F.max_pool3d(beside[-1], 2)
        x = self.bottom(x)
        for rise, up in zip(self.rise, self.up):
            x = up(torch.cat([beside.pop(), rise(x)], 1))
        return self.out(x)


class Lstm(nn.Module):
    """The answer of the last position."""

    def __init__(self, features, width):
        super().__init__()
        self.lstm, self.head = nn.LSTM(features, width, 2, batch_first=True), nn.Linear(width, 10)

    def forward(self, x):
        return self.head(self.lstm(x)[0][:, -1])


def images(classes, *shape):
    return lambda batch: (torch.rand(batch, *shape) - 0.5, torch.randint(0, classes, (batch,)))


def text(positions, tokens):
    return lambda batch: (torch.randint(0, tokens, (batch, positions)), torch.randint(0, tokens, (batch * positions,)))


def volumes(channels, size):
    return lambda batch: (torch.rand(batch, channels, size, size, size) - 0.5, torch.rand(batch, 4) - 0.5)


MODELS = {
    "mlp": (mlp, 128, images(10, 784)),
    "lenet": (lenet, 128, images(10, 1, 28, 28)),
    "resnet18": (resnet18, 32, images(10, 1, 32, 32)),
    "gpt": (lambda: Transformer(4, 4, 256, 128, 256, True), 16, text(128, 256)),
    "cnn3d": (cnn3d, 4, volumes(4, 32)),
    "lstm": (lambda: Lstm(64, 256), 32, images(10, 64, 64)),
    # Those that fill a GPU.
    "resnet50": (resnet50, 256, images(1000, 3, 224, 224)),
    "gpt2": (lambda: Transformer(12, 12, 768, 1024, 50304, True), 16, text(1024, 50304)),
    "bert_large": (lambda: Transformer(24, 16, 1024, 512, 30528, False), 16, text(512, 30528)),
    "cosmoflow": (cosmoflow, 16, volumes(4, 128)),
    "unet3d": (Unet3d, 4, lambda batch: (torch.rand(batch, 1, 64, 64, 64) - 0.5,
                                         torch.randint(0, 2, (batch, 64, 64, 64)))),
    "lstm_large": (lambda: Lstm(256, 1024), 128, images(10, 128, 256)),
}


def loss_of(name):
    return F.mse_loss if name in ("cnn3d", "cosmoflow") else F.cross_entropy
