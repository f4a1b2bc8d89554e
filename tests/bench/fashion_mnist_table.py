"""fashion_mnist_table.py: reads CSV lines (optimizer, decay, validation error, training loss) from standard input and
prints their means beside the table."""
import csv
import sys

BAND = 0.008  # of accuracy
WIDER = {("lars", "constant"): 0.03}  # the spread of 36 independent runs
# Accuracy and training loss after 5 epochs, mean of 2 seeds, by a program of its own in PyTorch's arithmetic.
TABLE = {
    ("sgd", "constant"): (0.865, 0.297), ("momentum", "constant"): (0.872, 0.266),
    ("adam", "constant"): (0.876, 0.262), ("adamw", "constant"): (0.875, 0.262),
    ("adagrad", "constant"): (0.872, 0.297), ("rmsprop", "constant"): (0.869, 0.268),
    ("lion", "constant"): (0.878, 0.234), ("lamb", "constant"): (0.842, 0.372),
    ("schedule_free_adamw", "constant"): (0.884, 0.220), ("prodigy", "constant"): (0.874, 0.247),
    ("soap", "constant"): (0.884, 0.061), ("muon", "constant"): (0.889, 0.102),
    ("lars", "constant"): (0.76, None),
    ("momentum", "cosine"): (0.876, 0.277), ("adam", "cosine"): (0.874, 0.282), ("lion", "cosine"): (0.878, 0.256),
    ("soap", "cosine"): (0.894, 0.093), ("muon", "cosine"): (0.896, 0.116), ("prodigy", "cosine"): (0.881, 0.242),
    ("lamb", "cosine"): (0.8835, 0.228), ("lars", "cosine"): (0.880, 0.251),
}

runs = {}
for optimizer, decay, error, loss in list(csv.reader(sys.stdin))[1:]:
    runs.setdefault((optimizer, decay), []).append((1 - float(error), float(loss)))

print(f"{'optimizer':20} {'decay':9} {'seeds':>5}  {'accuracy':>8} {'table':>6} {'differs':>8}   {'train loss':>10} "
      f"{'table':>6}")
outside = missing = 0
for (optimizer, decay), (accuracy, loss) in TABLE.items():
    found = runs.get((optimizer, decay), [])
    if not found:
        missing += 1
        print(f"{optimizer:20} {decay:9} {0:5}  missing")
        continue
    ours, ours_loss = (sum(run[i] for run in found) / len(found) for i in (0, 1))
    out = abs(ours - accuracy) > WIDER.get((optimizer, decay), BAND)
    outside += out
    print(f"{optimizer:20} {decay:9} {len(found):5}  {ours:8.4f} {accuracy:6.4g} {ours - accuracy:+8.4f} "
          f"{'!' if out else ' '} {ours_loss:10.3f} {'' if loss is None else f'{loss:6.3f}'}")
print(f"{len(TABLE) - outside - missing} of {len(TABLE)} rows within {BAND} (lars at a constant rate: 0.03)" + (f", {missing} missing" if missing else ""))
