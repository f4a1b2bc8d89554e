"""Small networks that show every layer and loss with its options. Parameters before a layer see the gradient that it
passes down, those after it see what it puts out."""


def data(sample, classes=0, labels=None, targets=0, vocabulary=0):
    labels = (1 if classes else 0) if labels is None else labels
    return {"sample": list(sample), "classes": classes, "labels": labels, "targets": targets, "vocabulary": vocabulary}


def linear(outputs, **o):
    return {"kind": "linear", "outputs": outputs, **o}


def conv(d, channels, kernel, **o):
    return {"kind": f"conv{d}d", "channels": channels, "kernel": kernel, **o}


def up(d, channels, kernel, **o):
    return {"kind": f"conv_transpose{d}d", "channels": channels, "kernel": kernel, **o}


def layer(kind, **o):
    return {"kind": kind, **o}


FLAT = layer("flatten")
RELU = layer("relu")
IMAGES, VOLUMES = data((3, 7, 8), 4), data((2, 5, 6, 4), 4)
FEATURES, POSITIONS = data((6,), 4), data((5, 6), 4, labels=5)


def images(*middle, classes=4, d=2, channels=5):
    """A convolution before, a linear layer after."""
    return [conv(d, channels, 3, padding=1), *middle, FLAT, linear(classes)]


def features(*middle):
    return [linear(8), *middle, linear(4)]


# name, data, samples, layers[, loss]
CASES = [
    ("linear", FEATURES, 5, [linear(7), linear(4)]),
    ("linear_without_bias", FEATURES, 5, [linear(7, bias=False), linear(4, bias=False)]),
    ("linear_of_positions", POSITIONS, 3, [linear(7), linear(4)]),
    ("linear_wide", data((300,), 10), 33, [linear(257), RELU, linear(10)]),
    ("conv2d", IMAGES, 3, images(conv(2, 6, 3))),
    ("conv2d_padding", IMAGES, 3, images(conv(2, 6, 3, padding=1))),
    ("conv2d_stride", IMAGES, 3, images(conv(2, 6, 3, stride=2, padding=1))),
    ("conv2d_kernel_5_stride_3", IMAGES, 2, images(conv(2, 4, 5, stride=3, padding=2, bias=False))),
    ("conv2d_stride_of_the_kernel", IMAGES, 2, images(conv(2, 4, 2, stride=0))),
    ("conv2d_pointwise", IMAGES, 2, images(conv(2, 9, 1))),
    ("conv2d_many_channels", data((16, 14, 14), 10), 4,
     [conv(2, 32, 3, padding=1), RELU, conv(2, 64, 3, padding=1), RELU, FLAT, linear(10)]),
    ("conv3d", VOLUMES, 2, images(conv(3, 3, 3), d=3, channels=3)),
    ("conv3d_padding", VOLUMES, 2, images(conv(3, 3, 3, padding=1), d=3, channels=3)),
    ("conv3d_stride", VOLUMES, 2, images(conv(3, 3, 2, stride=2, bias=False), d=3, channels=3)),
    ("conv_transpose2d", IMAGES, 2, images(up(2, 3, 2))),
    ("conv_transpose2d_padding", IMAGES, 2, images(up(2, 3, 3, stride=2, padding=1))),
    ("conv_transpose2d_stride_1", IMAGES, 2, images(up(2, 3, 3, stride=1, bias=False))),
    ("conv_transpose2d_stride_3", IMAGES, 2, images(up(2, 3, 2, stride=3))),
    ("conv_transpose3d", data((2, 2, 3, 2), 4), 2, images(up(3, 3, 2), d=3, channels=3)),
    ("conv_transpose3d_padding", data((2, 3, 2, 3), 4), 2,
     images(up(3, 2, 3, stride=2, padding=1, bias=False), d=3, channels=3)),
    ("max_pool2d", IMAGES, 2, images(layer("max_pool2d", kernel=2))),
    ("max_pool2d_overlapping", IMAGES, 2, images(layer("max_pool2d", kernel=3, stride=2, padding=1))),
    ("max_pool2d_stride_1", IMAGES, 2, images(RELU, layer("max_pool2d", kernel=3, stride=1))),
    ("max_pool3d", VOLUMES, 2, images(layer("max_pool3d", kernel=2), d=3)),
    ("max_pool3d_overlapping", VOLUMES, 2, images(layer("max_pool3d", kernel=3, stride=2, padding=1), d=3)),
    ("avg_pool2d", IMAGES, 2, images(layer("avg_pool2d", kernel=2))),
    ("avg_pool2d_padded", IMAGES, 2, images(layer("avg_pool2d", kernel=3, stride=2, padding=1))),
    ("avg_pool3d", VOLUMES, 2, images(layer("avg_pool3d", kernel=2), d=3)),
    ("avg_pool3d_padded", VOLUMES, 2, images(layer("avg_pool3d", kernel=3, stride=2, padding=1), d=3)),
    ("relu", FEATURES, 5, features(RELU)),
    ("relu_of_images", IMAGES, 2, images(RELU)),
    ("leaky_relu", FEATURES, 5, features(layer("leaky_relu"))),
    ("leaky_relu_slope", FEATURES, 5, features(layer("leaky_relu", slope=0.3))),
    ("leaky_relu_of_images", IMAGES, 2, images(layer("leaky_relu", slope=0.3))),
    ("tanh", FEATURES, 5, features(layer("tanh"))),
    ("tanh_scale", FEATURES, 5, features(layer("tanh", scale=1.2))),
    ("sigmoid", FEATURES, 5, features(layer("sigmoid"))),
    ("gelu", FEATURES, 5, features(layer("gelu"))),
    ("gelu_of_images", IMAGES, 2, images(layer("gelu"))),
    ("silu", FEATURES, 5, features(layer("silu"))),
    ("silu_of_images", IMAGES, 2, images(layer("silu"))),
    ("global_avg_pool", IMAGES, 3, [conv(2, 5, 3), layer("global_avg_pool"), linear(4)]),
    ("global_avg_pool_of_volumes", VOLUMES, 3, [conv(3, 5, 3), layer("global_avg_pool"), linear(4)]),
    ("batch_norm_of_features", FEATURES, 7, features(layer("batch_norm"))),
    ("batch_norm_of_images", IMAGES, 3, images(layer("batch_norm"))),
    ("batch_norm_relu", IMAGES, 3, images(layer("batch_norm"), RELU)),
    ("batch_norm_of_volumes", VOLUMES, 3, images(layer("batch_norm"), d=3)),
    ("batch_norm_epsilon", FEATURES, 7, features(layer("batch_norm", epsilon=0.1, zero_weight=True))),
    ("group_norm_of_features", FEATURES, 3, features(layer("group_norm", groups=2))),
    ("group_norm_of_images", IMAGES, 3, images(layer("group_norm", groups=3), channels=6)),
    ("group_norm_one_group", IMAGES, 3, images(layer("group_norm", groups=1, epsilon=0.01))),
    ("group_norm_of_volumes", VOLUMES, 2, images(layer("group_norm", groups=6), d=3, channels=6)),
    ("layer_norm", FEATURES, 5, features(layer("layer_norm"))),
    ("layer_norm_of_positions", POSITIONS, 3, features(layer("layer_norm", epsilon=0.01))),
    ("rms_norm", FEATURES, 5, features(layer("rms_norm"))),
    ("rms_norm_of_positions", POSITIONS, 3, features(layer("rms_norm", epsilon=0.01))),
    ("flatten", IMAGES, 3, [conv(2, 3, 3), FLAT, linear(4)]),
    ("flatten_of_volumes", VOLUMES, 3, [conv(3, 3, 3), FLAT, linear(4)]),
    ("embedding_and_positions", data((6,), 4, labels=6, vocabulary=7), 3,
     [layer("embedding", tokens=7, width=5), layer("positions"), linear(4)]),
    ("attention", POSITIONS, 3, [linear(24), layer("attention", heads=2), linear(4)]),
    ("attention_causal", POSITIONS, 3, [linear(24), layer("attention", heads=4, causal=True), linear(4)]),
    ("attention_one_head", POSITIONS, 3, [linear(15), layer("attention", heads=1), linear(4)]),
    ("attention_many_positions", data((33, 8), 5, labels=33), 2,
     [linear(96), layer("attention", heads=2, causal=True), linear(5)]),
    ("cross_attention", data((5, 6), 4, labels=3), 3,
     [linear(8), layer("slice", count=3), layer("slice", first=1, count=4, inputs="linear1"), linear(16),
      layer("cross_attention", heads=2, inputs=["slice2", "linear4"]), linear(4)]),
    ("slice_and_pad", data((5, 6), 4, labels=7), 3,
     [linear(8), layer("slice", first=2, count=2), linear(5), layer("pad", before=3, after=2), linear(4)]),
    ("lstm", POSITIONS, 3, [linear(7), layer("lstm", width=5), linear(4)]),
    ("lstm_last", data((5, 6), 4), 3, [linear(7), layer("lstm", width=5, last=True), linear(4)]),
    ("lstm_over_lstm", POSITIONS, 3, [layer("lstm", width=7), layer("lstm", width=3), linear(4)]),
    ("lstm_wide", data((12, 40), 10), 16, [layer("lstm", width=64), layer("lstm", width=33, last=True), linear(10)]),
    ("repeat", data((6,), 4, labels=3), 3,
     [linear(5), layer("repeat", positions=3), layer("positions"), layer("lstm", width=4), linear(4)]),
    ("add", FEATURES, 5,
     [linear(6), layer("tanh"), layer("add", inputs=["linear1", "tanh2", "input", "linear1"]), linear(4)]),
    ("add_images", IMAGES, 2,
     [conv(2, 4, 3, padding=1), RELU, conv(2, 4, 3, padding=1), layer("add", inputs=["conv2d1", "conv2d3"]), RELU,
      FLAT, linear(4)]),
    ("concat_features", FEATURES, 5,
     [linear(5), layer("tanh"), layer("concat", inputs=["tanh2", "input", "linear1"]), linear(4)]),
    ("concat_images", IMAGES, 2,
     [conv(2, 5, 3, padding=1), RELU, layer("concat", inputs=["relu2", "input", "conv2d1"]), conv(2, 3, 3), FLAT,
      linear(4)]),
    ("concat_volumes", VOLUMES, 2,
     [conv(3, 3, 3, padding=1), RELU, layer("concat", inputs=["relu2", "input"]), conv(3, 2, 3), FLAT, linear(4)]),
    ("concat_positions", POSITIONS, 3, [linear(5), layer("concat", inputs=["linear1", "input"]), linear(4)]),
    ("upsample", IMAGES, 2, images(layer("upsample"), conv(2, 2, 3))),
    ("upsample_factor", VOLUMES, 2, images(layer("upsample", factor=3), conv(3, 2, 3, stride=2), d=3, channels=2)),
    # Losses.
    ("cross_entropy_smoothing", FEATURES, 5, features(layer("tanh")), {"name": "cross_entropy", "smoothing": 0.1}),
    ("cross_entropy_class_weights", FEATURES, 7, features(layer("tanh")),
     {"name": "cross_entropy", "class_weights": [0.5, 1, 2, 0]}),
    ("cross_entropy_smoothing_class_weights", FEATURES, 7, features(layer("tanh")),
     {"name": "cross_entropy", "smoothing": 0.2, "class_weights": [0.5, 1, 2, 0]}),
    ("cross_entropy_of_positions", POSITIONS, 3, features(layer("gelu")),
     {"name": "cross_entropy", "smoothing": 0.1, "class_weights": [0.5, 1, 2, 3]}),
    ("cross_entropy_of_pixels", data((2, 4, 5), 3, labels=20), 3, [conv(2, 3, 3, padding=1)]),
    ("cross_entropy_of_weighted_pixels", data((2, 4, 5), 3, labels=20), 3, [conv(2, 3, 3, padding=1)],
     {"name": "cross_entropy", "smoothing": 0.1, "class_weights": [0.5, 1, 2]}),
    ("dice_of_pixels", data((2, 4, 5), 3, labels=20), 3, [conv(2, 3, 3, padding=1)], {"name": "dice"}),
    ("dice_of_voxels", data((2, 4, 5, 3), 2, labels=60), 2, [conv(3, 2, 3, padding=1)],
     {"name": "dice", "epsilon": 0.1}),
    ("mse", data((6,), targets=4), 5, features(layer("tanh"))),
    ("mse_of_pixels", data((2, 4, 5), targets=40), 3, [conv(2, 2, 3, padding=1)], {"name": "mse"}),
    ("l1", data((6,), targets=4), 5, features(layer("tanh")), {"name": "l1"}),
    ("bce", data((6,), targets=4), 5, features(layer("tanh")), {"name": "bce"}),
    ("bce_of_voxels", data((2, 4, 5, 3), targets=60), 2, [conv(3, 1, 3, padding=1)], {"name": "bce"}),
]


def named(layers):
    """With the names that `model: {name: graph}` gives."""
    return [{"name": f"{layer['kind']}{i + 1}", **layer} for i, layer in enumerate(layers)]
