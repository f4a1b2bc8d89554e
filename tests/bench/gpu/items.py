"""What on_gpu.sh can do: every item, its program, its limit, and the orders in which items are done."""
from session import EMULATED

# (model, bar of ours / PyTorch's samples/s, ways to run it in PyTorch: the fastest of those that count)
WAYS = {"default": ["compile=default"], "reduce-overhead": ["compile=reduce-overhead"],
        "parameters in bf16": ["compile=default", "precision=all-bf16"]}
TO_KNOW = ["parameters in bf16"]  # less work than ours, which has them in floats
LARGE, SMALL, TRANSFORMER = ["default"], ["default", "reduce-overhead"], ["default", "parameters in bf16"]
MODELS = {"resnet50": (1.0, LARGE), "gpt2": (1.0, TRANSFORMER), "bert_large": (1.0, TRANSFORMER),
          "cosmoflow": (1.0, LARGE), "unet3d": (1.0, LARGE), "lstm_large": (1.0, LARGE),
          "lenet": (2.0, SMALL), "mlp": (2.0, SMALL)}
LOOPS = ["resnet50", "gpt2", "cosmoflow"]
KERNELS_OF, CONTROL = "resnet50", "lenet"
if EMULATED:  # the others would take it hours
    MODELS = {"gpt": (1.0, TRANSFORMER), "mlp": MODELS["mlp"]}
    LOOPS, KERNELS_OF, CONTROL = ["mlp"], "lenet", "mlp"
OPTIMIZERS = ["momentum", "adamw", "lamb", "muon"]
RANKS = ["resnet18", "gpt"]

# name -> program, filter, processes at the same time. Nothing that needs no GPU: the emulated one, plans for a GPU
# that is only described, gradients by differences are tested where the programs are built.
LIBRARY = {"machine": "*/Machine.*/cuda", "loops": "*/Loops.*/cuda", "products": "*LibraryCalls.*Products*/cuda",
           "convolutions": "*LibraryCalls.*Convolution*/cuda", "attention": "*LibraryCalls.*Attention*/cuda",
           "recurrence": "*LibraryRecurrence.*/cuda"}
SUITES = {**{name: ("gpu_test", pattern, 1) for name, pattern in LIBRARY.items()},
          "gpu_test": ("gpu_test", "*/cuda:Nccl.*-" + ":".join(LIBRARY.values()), 1),
          "nn_test": ("nn_test", "*Cuda*:*OnGpu*:*SecondWays*:MeasuredCalls*:TimedWays*", 8),
          "optim_test": ("optim_test", "*Gpu*:GradientSums*:Clip*", 1),
          "sync_test": ("sync_test", "Gpu*:*Exchange*", 1),
          "train_test": ("train_test", "*Gpu*:Kernels*", 1),
          "curves_test": ("curves_test", "*GpuCurves*", 3)}

# tool -> program -> filter, parts one after another. Races are looked for in loops of our own only, in which threads
# of a block share memory: rows, sums, norms, losses, pools, lstms.
SANITIZED = {
    "memcheck": {"nn_test": ("Layers/Cuda.*", 4), "gpu_test": ("*/cuda", 1), "optim_test": ("*OnGpu*", 2)},
    "racecheck": {"gpu_test": ("*Loops*/cuda", 1), "nn_test": ("Layers/Cuda.*:*CudaLosses*", 4),
                  "optim_test": ("*OnGpu.UpdatesAsTheHostDoes*", 1)}}

# seconds that an item is given, and those that must be left for it to begin
LIMITS = {"tests": (90, 20), "first": (60, 15), "loops": (60, 15), "profile": (60, 15), "steps": (90, 40),
          "peers": (90, 60), "kernels": (90, 60), "optimizers": (60, 15), "ranks": (90, 30), "sanitize": (90, 30)}
PARTS = list(LIMITS)
# Parts that compare numbers and measure no times are done several items at a time: of those that need little of a GPU's
# memory, and of those that train a whole model, PyTorch's compilations among them, of which 80 GB hold four.
LIGHT, HEAVY = 8, 4
AT_ONCE = {"tests": LIGHT, "sanitize": LIGHT, "first": HEAVY}
SHORT = {f"tests:{name}": 45 for name in LIBRARY}  # one that hangs must not take the rest's time

PROGRAMS = {"first": ["bench_step"], "loops": ["bench_step"], "profile": ["bench_step"], "steps": ["bench_step"],
            "kernels": ["bench_kernels"], "optimizers": ["bench_optimizers"],
            "ranks": ["thalweg-launch", "thalweg-train"]}


def of_part(part):
    """Its items, in the order of the table."""
    names = {"tests": SUITES, "first": MODELS, "loops": LOOPS, "profile": MODELS, "steps": [*MODELS, "control"],
             "peers": MODELS, "kernels": [KERNELS_OF], "optimizers": OPTIMIZERS, "ranks": RANKS,
             "sanitize": [f"{tool}.{program}.{number}" for tool, programs in SANITIZED.items()
                          for program, (_, parts) in programs.items() for number in range(1, parts + 1)]}[part]
    return [f"{part}:{name}" for name in names]


def order():
    return ["machine", "limits"] + [item for part in PARTS for item in of_part(part)]


def smoke():
    """The first contact with a GPU: what is most likely to fail, and what explains slow kernels, in six minutes."""
    tests = [f"tests:{name}" for name in LIBRARY]
    rest = [f"tests:{name}" for name in ("gpu_test", "nn_test", "optim_test", "sync_test", "train_test")]
    memory = [item for item in of_part("sanitize") if item.startswith("sanitize:memcheck.nn_test.")]
    return tests + of_part("first") + of_part("loops") + of_part("profile") + rest + memory


def programs_of(item):
    """Whose rows it makes: those of another build are not its."""
    part, _, name = item.partition(":")
    if part == "tests":
        return [SUITES[name][0]]
    if part == "sanitize":
        return [name.split(".")[1]]
    return PROGRAMS.get(part, ["bench_gpu"])


def limit_of(item):
    return SHORT.get(item, LIMITS[item.partition(":")[0]][0])
