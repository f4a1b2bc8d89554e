"""The model families, written as one writes them in PyTorch. `ours` lists parameters in the order of our layers where
PyTorch's own order is another; (parameter, slice) where PyTorch holds two of them in one."""
import torch
from torch import nn

from cases import data
from graphs import Apply


def stack(*modules):
    return nn.Sequential(*modules)


class Family(nn.Module):
    """`body` with its parameters in PyTorch's order."""

    def __init__(self, body):
        super().__init__()
        self.body = body

    def forward(self, x):
        return self.body(x)

    def ours(self):
        return list(self.parameters())


def mlp(sizes, batch_norm=False):
    layers = [nn.Flatten()]
    for features, outputs in zip(sizes, sizes[1:-1]):
        layers += [nn.Linear(features, outputs, bias=not batch_norm)]
        layers += [nn.BatchNorm1d(outputs)] if batch_norm else []
        layers += [nn.ReLU()]
    return Family(stack(*layers, nn.Linear(sizes[-2], sizes[-1])))


def lenet(side, channels, classes, batch_norm=False):
    def block(inputs, outputs):
        norm = [nn.BatchNorm2d(outputs)] if batch_norm else []
        return [nn.Conv2d(inputs, outputs, 3, padding=1, bias=not batch_norm), *norm, nn.ReLU(), nn.MaxPool2d(2)]

    norm = [nn.BatchNorm1d(128)] if batch_norm else []
    return Family(stack(*block(channels, 32), *block(32, 64), nn.Flatten(),
                        nn.Linear(64 * (side // 4) ** 2, 128, bias=not batch_norm), *norm, nn.ReLU(),
                        nn.Linear(128, classes)))


def simple_cnn(side, channels, classes):
    return Family(stack(nn.Conv2d(channels, 32, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
                        nn.Conv2d(32, 64, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                        nn.Linear(64 * (side // 4) ** 2, 1024), nn.ReLU(), nn.Linear(1024, classes)))


class Block(nn.Module):
    """Basic (two convolutions) or bottleneck (three, the last four times as wide)."""

    def __init__(self, inputs, width, stride, bottleneck):
        super().__init__()
        outputs = 4 * width if bottleneck else width
        sizes = [(inputs, width, 1, 1), (width, width, 3, stride), (width, outputs, 1, 1)] if bottleneck else \
                [(inputs, width, 3, stride), (width, outputs, 3, 1)]
        branch = []
        for a, b, kernel, step in sizes:
            branch += [nn.Conv2d(a, b, kernel, step, kernel // 2, bias=False), nn.BatchNorm2d(b), nn.ReLU()]
        self.branch = stack(*branch[:-1])
        self.shortcut = stack()
        if stride != 1 or inputs != outputs:
            self.shortcut = stack(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        return torch.relu(self.branch(x) + self.shortcut(x))


def resnet(depth, channels, classes, imagenet=False):
    blocks, bottleneck = {18: ((2, 2, 2, 2), False), 34: ((3, 4, 6, 3), False), 50: ((3, 4, 6, 3), True)}[depth]
    layers = [nn.Conv2d(channels, 64, 7, 2, 3, bias=False) if imagenet else
              nn.Conv2d(channels, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU()]
    layers += [nn.MaxPool2d(3, 2, 1)] if imagenet else []
    inputs = 64
    for stage, count in enumerate(blocks):
        for i in range(count):
            layers.append(Block(inputs, 64 << stage, 2 if stage and not i else 1, bottleneck))
            inputs = (64 << stage) * (4 if bottleneck else 1)
    return Family(stack(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, classes)))


def cosmoflow(channels, inputs, targets):
    layers = []
    for i in range(5):
        layers += [nn.Conv3d(inputs, channels << i, 3, padding=1), nn.LeakyReLU(0.3), nn.MaxPool3d(2)]
        inputs = channels << i
    return Family(stack(*layers, nn.Flatten(), nn.Linear(inputs, 128), nn.LeakyReLU(0.3), nn.Linear(128, 64),
                        nn.LeakyReLU(0.3), nn.Linear(64, targets), Apply(lambda x: 1.2 * torch.tanh(x))))


def attention_parameters(a):
    return [a.in_proj_weight, a.in_proj_bias, *a.out_proj.parameters()]


class Transformer(nn.Module):
    """Of PyTorch's own encoder layers; causal with normalisation first: gpt, else bert."""

    def __init__(self, vocabulary, positions, layers, heads, width, causal):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Parameter(torch.zeros(positions, width))
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(width, heads, 4 * width, 0.0, "gelu", batch_first=True, norm_first=causal)
            for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.causal = causal
        self.head = nn.Linear(width, vocabulary, bias=not causal)
        if not causal:
            self.transform = stack(nn.Linear(width, width), nn.GELU(), nn.LayerNorm(width))

    def forward(self, tokens):
        x = self.tokens(tokens) + self.positions
        if not self.causal:
            x = self.norm(x)
        count = tokens.shape[1]
        mask = torch.ones(count, count).triu(1).bool() if self.causal else None
        for block in self.blocks:
            x = block(x, mask)
        return self.head(self.norm(x) if self.causal else self.transform(x))

    def ours(self):
        norm = list(self.norm.parameters())
        parameters = [self.tokens.weight, self.positions] + ([] if self.causal else norm)
        for b in self.blocks:
            attend = attention_parameters(b.self_attn)
            think = [*b.linear1.parameters(), *b.linear2.parameters()]
            n1, n2 = list(b.norm1.parameters()), list(b.norm2.parameters())
            parameters += n1 + attend + n2 + think if self.causal else attend + n1 + think + n2
        parameters += norm if self.causal else list(self.transform.parameters())
        return parameters + list(self.head.parameters())


class Translator(nn.Module):
    """PyTorch's own Transformer over a source and a target that stand one after the other; zeros for the source."""

    def __init__(self, vocabulary, positions, source, layers, heads, width):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Parameter(torch.zeros(positions, width))
        self.both = nn.Transformer(width, heads, layers, layers, 4 * width, 0.0, batch_first=True)
        self.head = nn.Linear(width, vocabulary)
        self.source, self.width = source, width

    def forward(self, tokens):
        x = self.tokens(tokens) + self.positions
        source, target = x[:, : self.source], x[:, self.source :]
        count = target.shape[1]
        y = self.head(self.both(source, target, tgt_mask=torch.ones(count, count).triu(1).bool()))
        return torch.cat([torch.zeros(len(y), self.source, y.shape[2], dtype=y.dtype), y], 1)

    def ours(self):
        q, kv = slice(0, self.width), slice(self.width, None)
        parameters = [self.tokens.weight, self.positions]
        for b in self.both.encoder.layers:
            parameters += [*attention_parameters(b.self_attn), *b.norm1.parameters(), *b.linear1.parameters(),
                           *b.linear2.parameters(), *b.norm2.parameters()]
        parameters += list(self.both.encoder.norm.parameters())
        for b in self.both.decoder.layers:
            weight, bias, *out = attention_parameters(b.multihead_attn)
            parameters += [*attention_parameters(b.self_attn), *b.norm1.parameters(), (weight, q), (bias, q),
                           (weight, kv), (bias, kv), *out, *b.norm2.parameters(), *b.linear1.parameters(),
                           *b.linear2.parameters(), *b.norm3.parameters()]
        return parameters + [*self.both.decoder.norm.parameters(), *self.head.parameters()]


class Unet(nn.Module):
    def __init__(self, d, inputs, outputs, depth, channels, doubling_within, batch_norm):
        super().__init__()
        conv, norm = getattr(nn, f"Conv{d}d"), getattr(nn, f"BatchNorm{d}d")
        pool, grow = getattr(nn, f"MaxPool{d}d"), getattr(nn, f"ConvTranspose{d}d")
        factor = 2 if doubling_within else 1

        def twice(a, b, c):
            layers = []
            for i, o in ((a, b), (b, c)):
                layers += [conv(i, o, 3, padding=1, bias=not batch_norm)] + ([norm(o)] if batch_norm else [])
                layers += [nn.ReLU()]
            return stack(*layers)

        self.down, self.up, self.grow = nn.ModuleList(), nn.ModuleList(), nn.ModuleList()
        for level in range(depth + 1):
            width = channels << level
            self.down.append(twice(inputs, width, factor * width))
            inputs = factor * width
        for level in reversed(range(depth)):
            width = channels << level
            grown = 2 * factor * width if doubling_within else width
            self.grow.append(grow(inputs, grown, 2, 2, bias=not doubling_within))
            self.up.append(twice(grown + factor * width, factor * width, factor * width))
            inputs = factor * width
        self.pool = pool(2)
        self.out = conv(inputs, outputs, 1)

    def forward(self, x):
        beside = []
        for level, down in enumerate(self.down):
            x = down(self.pool(x) if level else x)
            beside.append(x)
        for grow, up, left in zip(self.grow, self.up, beside[-2::-1]):
            x = up(torch.cat([left, grow(x)], 1))
        return self.out(x)

    def ours(self):
        parameters = [p for module in self.down for p in module.parameters()]
        for grow, up in zip(self.grow, self.up):
            parameters += [*grow.parameters(), *up.parameters()]
        return parameters + list(self.out.parameters())


class FloodFilling(Family):
    def __init__(self, inputs, outputs, modules, channels):
        nn.Module.__init__(self)
        self.first = stack(nn.Conv3d(inputs, channels, 3, padding=1), nn.ReLU(),
                           nn.Conv3d(channels, channels, 3, padding=1))
        self.modules_ = nn.ModuleList(
            stack(nn.ReLU(), nn.Conv3d(channels, channels, 3, padding=1), nn.ReLU(),
                  nn.Conv3d(channels, channels, 3, padding=1)) for _ in range(modules))
        self.out = nn.Conv3d(channels, outputs, 1)

    def forward(self, x):
        x = self.first(x)
        for module in self.modules_:
            x = x + module(x)
        return self.out(torch.relu(x))


class Lstm(Family):
    """Over tokens, or over features; the answer to the last position or to each."""

    def __init__(self, features, outputs, layers, width, vocabulary=0, last=False):
        nn.Module.__init__(self)
        self.tokens = nn.Embedding(vocabulary, width) if vocabulary else stack()
        self.lstm = nn.LSTM(width if vocabulary else features, width, layers, batch_first=True)
        self.head = nn.Linear(width, outputs)
        self.last = last

    def forward(self, x):
        y = self.lstm(self.tokens(x))[0]
        return self.head(y[:, -1] if self.last else y)


class ConvLstm(Family):
    def __init__(self, inputs, side, targets, layers, width, channels, embedding):
        nn.Module.__init__(self)
        sizes = (inputs, channels, channels, 2 * channels, 2 * channels)
        convs = [stack(nn.Conv3d(a, b, 3, padding=1), nn.ReLU()) for a, b in zip(sizes, sizes[1:])]
        self.read = stack(*convs[:2], nn.MaxPool3d(2), *convs[2:], nn.MaxPool3d(2), nn.Flatten(),
                          nn.Linear(2 * channels * (side // 4) ** 3, embedding), nn.ReLU())
        self.addresses = nn.Parameter(torch.zeros(targets, embedding))
        self.lstm = nn.LSTM(embedding, width, layers, batch_first=True)
        self.head = nn.Linear(width, 1)

    def forward(self, x):
        x = self.read(x).unsqueeze(1) + self.addresses
        return self.head(self.lstm(x)[0]).squeeze(2)

    def ours(self):
        return [*self.read.parameters(), self.addresses, *self.lstm.parameters(), *self.head.parameters()]


MOMENTUM, ADAMW = "{name: momentum, momentum: 0.9}", "{name: adamw, weight_decay: 0.01}"


def tokens(positions, vocabulary):
    return data((positions,), vocabulary, labels=positions, vocabulary=vocabulary)


# name, our model, data, samples, PyTorch's model, optimizer, learning rate, how many of the 20 losses are compared on
# the reference device (slow) and on the cpu device[, tolerances of the cpu device: gradients, first loss].
# Deep networks: where an activation lies so near 0 that float32 puts it on the other side, gradients before it are off
# by 1e-3 and more (PyTorch's float32 against its float64: resnet18 9e-4, resnet50 9e-3), and small batches under batch
# norm magnify that from step to step; a small rate keeps resnet18 together for 20 steps. Winograd's convolutions, which
# round more, take the first loss of resnet50 2e-5 off.
FAMILIES = [
    ("mlp", "{name: mlp, hidden: [24, 16]}", data((1, 6, 6), 7), 8, lambda: mlp((36, 24, 16, 7)), MOMENTUM, 0.05, (20, 20)),
    ("mlp_batch_norm", "{name: mlp, hidden: [24, 16], batch_norm: true}", data((1, 6, 6), 7), 16,
     lambda: mlp((36, 24, 16, 7), True), MOMENTUM, 0.05, (20, 20)),
    ("lenet", "{name: lenet}", data((1, 8, 8), 10), 4, lambda: lenet(8, 1, 10), MOMENTUM, 0.02, (20, 20)),
    ("lenet_batch_norm", "{name: lenet, batch_norm: true}", data((3, 8, 8), 10), 8,
     lambda: lenet(8, 3, 10, True), MOMENTUM, 0.02, (20, 20)),
    ("simple_cnn", "{name: simple_cnn}", data((1, 8, 8), 10), 4, lambda: simple_cnn(8, 1, 10), MOMENTUM, 0.02, (5, 20)),
    ("resnet18", "{name: resnet, depth: 18}", data((3, 32, 32), 10), 8, lambda: resnet(18, 3, 10),
     MOMENTUM, 0.0001, (0, 20), (2e-2, 2e-5)),
    ("resnet18_small", "{name: resnet, depth: 18}", data((3, 8, 8), 10), 4, lambda: resnet(18, 3, 10),
     MOMENTUM, 0.01, (3, 0)),
    ("resnet50", "{name: resnet, depth: 50, stem: imagenet}", data((3, 64, 64), 5), 4,
     lambda: resnet(50, 3, 5, True), MOMENTUM, 0.001, (0, 1), (1e-1, 1e-4)),
    ("cosmoflow", "{name: cosmoflow, channels: 2}", data((2, 32, 32, 32), targets=4), 2,
     lambda: cosmoflow(2, 2, 4), MOMENTUM, 0.02, (3, 20)),
    ("gpt", "{name: gpt, layers: 2, heads: 2, width: 16}", tokens(8, 13), 4,
     lambda: Transformer(13, 8, 2, 2, 16, True), MOMENTUM, 0.05, (20, 20)),
    ("gpt_adamw", "{name: gpt, layers: 2, heads: 2, width: 16}", tokens(8, 13), 4,
     lambda: Transformer(13, 8, 2, 2, 16, True), ADAMW, 0.003, (20, 20)),
    ("bert", "{name: bert, layers: 2, heads: 4, width: 16}", tokens(8, 13), 4,
     lambda: Transformer(13, 8, 2, 4, 16, False), MOMENTUM, 0.05, (20, 20)),
    ("bert_adamw", "{name: bert, layers: 2, heads: 4, width: 16}", tokens(8, 13), 4,
     lambda: Transformer(13, 8, 2, 4, 16, False), ADAMW, 0.003, (20, 20)),
    ("encoder_decoder", "{name: encoder_decoder, layers: 2, heads: 2, width: 16, source: 5}", tokens(9, 11), 4,
     lambda: Translator(11, 9, 5, 2, 2, 16), MOMENTUM, 0.05, (20, 20)),
    ("encoder_decoder_adamw", "{name: encoder_decoder, layers: 2, heads: 2, width: 16}", tokens(8, 11), 4,
     lambda: Translator(11, 8, 4, 2, 2, 16), ADAMW, 0.003, (20, 20)),
    ("unet2d", "{name: unet, depth: 2, channels: 4}", data((2, 8, 12), 3, labels=96), 3,
     lambda: Unet(2, 2, 3, 2, 4, False, True), MOMENTUM, 0.05, (20, 20)),
    ("unet2d_no_norm", "{name: unet, depth: 2, channels: 4, batch_norm: false}", data((2, 8, 12), 3, labels=96), 3,
     lambda: Unet(2, 2, 3, 2, 4, False, False), MOMENTUM, 0.3, (20, 20)),
    ("unet3d", "{name: unet, depth: 2, channels: 3}", data((1, 4, 8, 4), 2, labels=128), 3,
     lambda: Unet(3, 1, 2, 2, 3, True, True), MOMENTUM, 0.05, (10, 20)),
    ("flood_filling", "{name: flood_filling, modules: 3, channels: 4}", data((2, 5, 6, 4), targets=120), 3,
     lambda: FloodFilling(2, 1, 3, 4), MOMENTUM, 0.05, (10, 20)),
    ("lstm_lm", "{name: lstm_lm, layers: 2, width: 12}", tokens(9, 11), 4,
     lambda: Lstm(0, 11, 2, 12, 11), MOMENTUM, 0.5, (20, 20)),
    ("lstm_lm_adamw", "{name: lstm_lm, layers: 2, width: 12}", tokens(9, 11), 4,
     lambda: Lstm(0, 11, 2, 12, 11), ADAMW, 0.01, (20, 20)),
    ("lstm", "{name: lstm, layers: 2, width: 12}", data((7, 5), 6), 5,
     lambda: Lstm(5, 6, 2, 12, last=True), MOMENTUM, 0.1, (20, 20)),
    ("lstm_each_position", "{name: lstm, layers: 1, width: 12}", data((7, 5), 6, labels=7), 5,
     lambda: Lstm(5, 6, 1, 12), MOMENTUM, 0.5, (20, 20)),
    ("conv_lstm", "{name: conv_lstm, layers: 2, width: 12, channels: 3, embedding: 10}",
     data((1, 8, 8, 8), targets=5), 3, lambda: ConvLstm(1, 8, 5, 2, 12, 3, 10), MOMENTUM, 0.1, (5, 20)),
]
