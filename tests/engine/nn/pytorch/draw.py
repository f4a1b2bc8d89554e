"""What both sides draw by a formula instead of reading it: weights, inputs, labels, targets. As support.h and
engine/tensor/random.h: Philox4x32-10 (Salmon et al., SC 2011) with the stream `noise`."""
import numpy as np

NOISE = 6
MASK = np.uint64(0xFFFFFFFF)


def philox(seed, a, count):
    """128 random bits for each i < count, as four arrays of 32."""
    i = np.arange(count, dtype=np.uint64)
    c = [i & MASK, i >> np.uint64(32), np.full(count, a, np.uint64), np.full(count, NOISE, np.uint64)]
    k0, k1 = seed & 0xFFFFFFFF, seed >> 32
    for _ in range(10):
        p0, p1 = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [(p1 >> np.uint64(32)) ^ c[1] ^ np.uint64(k0), p1 & MASK,
             (p0 >> np.uint64(32)) ^ c[3] ^ np.uint64(k1), p0 & MASK]
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return c


def uniform01(bits):
    return (bits >> np.uint64(8)).astype(np.float32) * np.float32(2**-24)


def size(shape):
    return int(np.prod(shape, dtype=np.int64))


class Batch:
    """As Data in support.h: of several labels a sample, one in eight does not count (-1)."""

    def __init__(self, data, samples, seed):
        shape = (samples, *data["sample"])
        bits = philox(seed, 0, size(shape))
        u = [uniform01(b) for b in bits[:3]]
        inputs = u[0] + u[1] + u[2] - np.float32(1.5)
        if data["vocabulary"]:
            inputs = bits[0] % np.uint64(data["vocabulary"])
        self.inputs = inputs.astype(np.float64).reshape(shape)
        count = samples * data["labels"]
        labels = (philox(seed, 1, count)[0] % np.uint64(max(data["classes"], 1))).astype(np.int64)
        if data["labels"] > 1:
            labels[::8] = -1
        self.labels = labels.reshape(samples, data["labels"])
        self.targets = uniform01(philox(seed, 2, samples * data["targets"])[0]).astype(np.float64).reshape(samples, -1)


def parameter(number, shape, is_bias):
    """Start value of parameter `number` of a graph: uniform, matrices with variance 1 / fan_in, weights of norms
    around 1, biases around 0; rounded to float32."""
    u = uniform01(philox(5, 16 + number, size(shape))[0]).astype(np.float64)
    if len(shape) > 1:
        value = np.sqrt(3.0 / size(shape[1:])) * (2.0 * u - 1.0)
    else:
        value = 0.2 * u + (-0.1 if is_bias else 0.9)
    return value.astype(np.float32).astype(np.float64).reshape(shape)


def statistic(number, count, is_variance):
    """Running statistics that evaluation takes: means around 0, variances around 1."""
    return parameter(1000 + number, (count,), not is_variance)


# What is kept of a tensor: all of it, or where it is long, every so manyeth element and sums with drawn weights.
WHOLE = 16
SUMS = 3


def digest(tensor):
    values = np.asarray(tensor, np.float64).reshape(-1)
    norm = float(np.sqrt(np.sum(values * values)))
    if values.size <= WHOLE:
        return {"norm": short(norm), "some": [short(v) for v in values]}
    weights = [2.0 * uniform01(philox(3, k, values.size)[0]).astype(np.float64) - 1.0 for k in range(SUMS)]
    return {"norm": short(norm), "some": [short(v) for v in values[:: values.size // 8]],
            "sums": [short(float(np.sum(w * values))) for w in weights]}


def short(value):
    return float(f"{value:.13g}")
