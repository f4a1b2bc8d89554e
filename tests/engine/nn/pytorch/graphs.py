"""The kinds of layers and losses as PyTorch has them, and networks of them from a list of layers."""
import torch
from torch import nn
from torch.nn import functional as F


class Positions(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(shape))

    def forward(self, x):
        return x + self.weight


class Apply(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *x):
        return self.function(*x)


class Lstm(nn.Module):
    def __init__(self, features, width, last):
        super().__init__()
        self.lstm = nn.LSTM(features, width, batch_first=True)
        self.last = last

    def forward(self, x):
        y = self.lstm(x)[0]
        return y[:, -1] if self.last else y


def heads_of(x, heads):
    return x.reshape(x.shape[0], x.shape[1], heads, -1).transpose(1, 2)


def attend(q, k, v, heads, causal):
    """Without torch.nn.MultiheadAttention's own projections: those are linear layers here."""
    y = F.scaled_dot_product_attention(*(heads_of(x, heads) for x in (q, k, v)), is_causal=causal)
    return y.transpose(1, 2).reshape(q.shape)


def attention(heads, causal):
    return Apply(lambda x: attend(*x.chunk(3, 2), heads, causal))


def cross_attention(heads):
    return Apply(lambda q, kv: attend(q, *kv.chunk(2, 2), heads, False))


def norm(features, shape, epsilon, momentum):
    kinds = {1: nn.BatchNorm1d, 3: nn.BatchNorm2d, 4: nn.BatchNorm3d}
    return kinds[len(shape)](features, eps=epsilon, momentum=momentum)


def window(o, stride):
    return {"kernel_size": o["kernel"], "stride": o.get("stride", stride) or o["kernel"], "padding": o.get("padding", 0)}


def convolution(kind, shape, o, stride):
    return kind(shape[0], o["channels"], bias=o.get("bias", True), **window(o, stride))


def pool(kind, o, **more):
    return kind(**window(o, 0), **more)


# kind: (shape of a sample, options) -> module. Parameters stand in the order in which our layers have them.
LAYERS = {
    "linear": lambda s, o: nn.Linear(s[-1], o["outputs"], bias=o.get("bias", True)),
    "conv2d": lambda s, o: convolution(nn.Conv2d, s, o, 1),
    "conv3d": lambda s, o: convolution(nn.Conv3d, s, o, 1),
    "conv_transpose2d": lambda s, o: convolution(nn.ConvTranspose2d, s, o, 0),
    "conv_transpose3d": lambda s, o: convolution(nn.ConvTranspose3d, s, o, 0),
    "max_pool2d": lambda s, o: pool(nn.MaxPool2d, o),
    "max_pool3d": lambda s, o: pool(nn.MaxPool3d, o),
    "avg_pool2d": lambda s, o: pool(nn.AvgPool2d, o, count_include_pad=False),
    "avg_pool3d": lambda s, o: pool(nn.AvgPool3d, o, count_include_pad=False),
    "relu": lambda s, o: nn.ReLU(),
    "leaky_relu": lambda s, o: nn.LeakyReLU(o.get("slope", 0.01)),
    "tanh": lambda s, o: Apply(lambda x: o.get("scale", 1.0) * torch.tanh(x)),
    "sigmoid": lambda s, o: nn.Sigmoid(),
    "gelu": lambda s, o: nn.GELU(),
    "silu": lambda s, o: nn.SiLU(),
    "global_avg_pool": lambda s, o: Apply(lambda x: x.flatten(2).mean(2)),
    "batch_norm": lambda s, o: norm(s[0], s, o.get("epsilon", 1e-5), o.get("momentum", 0.1)),
    "group_norm": lambda s, o: nn.GroupNorm(o["groups"], s[0], eps=o.get("epsilon", 1e-5)),
    "flatten": lambda s, o: nn.Flatten(),
    "embedding": lambda s, o: nn.Embedding(o["tokens"], o["width"]),
    "positions": lambda s, o: Positions(s),
    "layer_norm": lambda s, o: nn.LayerNorm(s[-1], eps=o.get("epsilon", 1e-5)),
    "rms_norm": lambda s, o: nn.RMSNorm(s[-1], eps=o.get("epsilon", 1e-5)),
    "attention": lambda s, o: attention(o["heads"], o.get("causal", False)),
    "cross_attention": lambda s, o: cross_attention(o["heads"]),
    "slice": lambda s, o: Apply(lambda x: x[:, o.get("first", 0) :][:, : o["count"]]),
    "pad": lambda s, o: nn.ConstantPad2d((0, 0, o.get("before", 0), o.get("after", 0)), 0.0),
    "lstm": lambda s, o: Lstm(s[-1], o["width"], o.get("last", False)),
    "repeat": lambda s, o: Apply(lambda x: x.unsqueeze(1).expand(-1, o["positions"], -1)),
    "add": lambda s, o: Apply(lambda *x: sum(x)),
    "concat": lambda s, o: Apply(lambda *x: torch.cat(x, 1 if len(s) > 2 else -1)),
    "upsample": lambda s, o: nn.Upsample(scale_factor=o.get("factor", 2), mode="nearest"),
}


class Network(nn.Module):
    """Of layers as `model: {name: graph}` takes them."""

    def __init__(self, layers, data):
        super().__init__()
        self.layers = layers
        x = torch.zeros(2, *data["sample"], dtype=torch.float64)
        if data["vocabulary"]:
            x = x.long()
        self.built = nn.ModuleList()
        values = {"input": x}
        for layer in layers:
            inputs = [values[name] for name in self.inputs(layer, values)]
            self.built.append(LAYERS[layer["kind"]](tuple(inputs[0].shape[1:]), layer).double())
            values[layer["name"]] = self.built[-1](*inputs)

    @staticmethod
    def inputs(layer, values):
        names = layer.get("inputs", list(values)[-1])
        return names if isinstance(names, list) else [names]

    def forward(self, x):
        values = {"input": x}
        for layer, built in zip(self.layers, self.built):
            values[layer["name"]] = built(*[values[name] for name in self.inputs(layer, values)])
        return values[self.layers[-1]["name"]]


def labelled(per_position):
    """The loss of a sample: the mean over its labels that count."""

    def loss(outputs, batch, o):
        labels = torch.tensor(batch.labels)
        counted = (labels >= 0).sum(1).double()
        logits = outputs.reshape(len(labels), outputs.shape[1], -1)
        if labels.shape[1] > 1 and tuple(outputs.shape[1:]) == (labels.shape[1], o["classes"]):
            logits = outputs.transpose(1, 2)
        return per_position(logits, labels, counted, o)

    return loss


def cross_entropy(logits, labels, counted, o):
    weights = torch.tensor(o["class_weights"], dtype=torch.float64) if o.get("class_weights") else None
    each = F.cross_entropy(logits, labels, weights, ignore_index=-1, reduction="none",
                           label_smoothing=o.get("smoothing", 0.0))
    return (each.sum(1) / counted).sum()


def dice(logits, labels, counted, o):
    """The formula, of PyTorch's softmax and one_hot; its gradient is autograd's."""
    counts = (labels >= 0).unsqueeze(1).double()
    predicted = logits.softmax(1) * counts
    truth = F.one_hot(labels.clamp(min=0), o["classes"]).transpose(1, 2).double() * counts
    e = o.get("epsilon", 1.0)
    both, all_of_them = (predicted * truth).sum(2), predicted.sum(2) + truth.sum(2)
    return (1 - ((2 * both + e) / (all_of_them + e)).mean(1)).sum()


def targeted(function):
    def loss(outputs, batch, o):
        targets = torch.tensor(batch.targets)
        return function(outputs.flatten(1), targets, reduction="none").mean(1).sum()

    return loss


LOSSES = {
    "cross_entropy": labelled(cross_entropy),
    "dice": labelled(dice),
    "mse": targeted(F.mse_loss),
    "l1": targeted(F.l1_loss),
    "bce": targeted(F.binary_cross_entropy_with_logits),
}
