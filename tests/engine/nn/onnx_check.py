# Runs the .onnx files of a folder by onnxruntime and compares with what the engine put out; onnx_test.cpp writes the files:
# NAME.onnx, NAME.in and NAME.out (floats, or whole numbers of 8 bytes where the input is tokens). The largest difference, of
# the largest number of the model's output, is printed for each; exit code 1 where one is above 1e-5. Where Python has onnx, its
# checker looks at each file, too.
import pathlib
import sys

import numpy as np
import onnxruntime

try:
    import onnx
except ImportError:
    onnx = None

bad = 0
for file in sorted(pathlib.Path(sys.argv[1]).glob("*.onnx")):
    if onnx:
        onnx.checker.check_model(str(file), full_check=True)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
    given = session.get_inputs()[0]
    kind = np.int64 if given.type == "tensor(int64)" else np.float32
    x = np.fromfile(file.with_suffix(".in"), kind).reshape([-1] + given.shape[1:])
    expected = np.fromfile(file.with_suffix(".out"), np.float32).reshape([-1] + session.get_outputs()[0].shape[1:])
    apart = 0.0
    for count in (len(x), 1):  # the batch may have any size
        y = session.run(None, {given.name: x[:count]})[0]
        apart = max(apart, float(np.abs(y - expected[:count]).max() / np.abs(expected).max()))
    print(f"{file.stem:40} {apart:.1e}")
    bad += not apart <= 1e-5
sys.exit(bad > 0)
