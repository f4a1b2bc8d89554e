"""asha.py BIN [SEEDS]: what asha saves on real trainings. For each seed a random search of 162 draws (MLPs on a tenth of Fashion-MNIST,
27 epochs) and asha of the same draws, by the programs in BIN on this machine; then Optuna's SuccessiveHalvingPruner over the curves of
the random search. What they are compared with is random search of half as many, the first 81. Costs are epochs trained, so a busy
machine changes nothing. Prints a table; needs Optuna."""
import json
import os
import statistics
import subprocess
import sys
import tempfile

import optuna

RANDOM, CONFIGURATIONS, EPOCHS, FACTOR = 81, 162, 27, 3
SWEEP = """name: {method}
method: {method}
seed: {seed}
run_cap: {configurations}
{options}metric: {{name: val/error, goal: minimize}}
parameters:
  optimizer.name: {{values: [sgd, momentum, adamw]}}
  optimizer.lr: {{distribution: log_uniform_values, min: 1.0e-4, max: 1.0}}
  batch.global: {{values: [16, 32, 64, 128]}}
  model.dropout: {{distribution: uniform, min: 0, max: 0.5}}
train:
  model: {{name: mlp, hidden: [32]}}
  data: {{name: fashion-mnist, fraction: 0.1}}
  checkpoint: {{keep: 1}}
  epochs: {epochs}
"""


class Home:
    def __init__(self, programs, folder):
        self.programs, self.folder = programs, folder
        self.environment = dict(os.environ, THALWEG_HOME=os.path.join(folder, "home"))

    def thalweg(self, *words):
        program = os.path.join(self.programs, "thalweg")
        done = subprocess.run([program, *words], env=self.environment, cwd=self.folder, capture_output=True, text=True)
        some_failed = 1  # of a run: trials that diverge are a part of any search
        if done.returncode != 0 and (words[0], done.returncode) != ("run", some_failed):
            sys.exit(f"thalweg {' '.join(words)}: {done.stderr[-2000:]}")
        return done.stdout

    def curves(self, method, seed):
        """One validation an epoch: (time, trial, value), by time."""
        options = f"asha: {{min_epochs: 1, reduction_factor: {FACTOR}}}\n" if method == "asha" else ""
        with open(os.path.join(self.folder, "sweep.yaml"), "w") as file:
            file.write(SWEEP.format(method=method, seed=seed, configurations=CONFIGURATIONS, options=options, epochs=EPOCHS))
        sweep = json.loads(self.thalweg("run", "sweep.yaml", "--backend", "local", "--json"))["submitted"]["id"]
        lines = self.thalweg("export", sweep, "--format", "jsonl", "--metric", "val/error").splitlines()
        points = [json.loads(line) for line in lines]
        self.thalweg("prune", sweep, "--keep", "none")
        return sorted((p["time"], p["trial"], float(p["value"])) for p in points if p["kind"] == "point")


def best(points):
    return min(value for _, _, value in points)


def cost_until(points, value):
    """Epochs until a value as good was seen; None: never."""
    for number, (_, _, seen) in enumerate(points, 1):
        if seen <= value:
            return number
    return None


def pruned(points):
    """What Optuna's pruner sees of the same curves, one trial after the other."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(pruner=optuna.pruners.SuccessiveHalvingPruner(min_resource=1, reduction_factor=FACTOR))
    seen = []
    for number in sorted({trial for _, trial, _ in points}):
        trial = study.ask()
        for epoch, value in enumerate([v for _, t, v in points if t == number], 1):
            seen.append(value)
            trial.report(value, epoch)
            if trial.should_prune():
                study.tell(trial, state=optuna.trial.TrialState.PRUNED)
                break
        else:
            study.tell(trial, seen[-1])
    return seen


def main():
    programs, seeds = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 10
    print("| seed | random: best | its epochs | asha: best | its epochs | share | random's best after | Optuna's pruner: best | its epochs |")
    print("|---|---|---|---|---|---|---|---|---|")
    shares, reached, lost, lost_optuna, shares_optuna = [], 0, [], [], []
    for seed in range(1, seeds + 1):
        with tempfile.TemporaryDirectory() as folder:
            home = Home(programs, folder)
            try:
                table, asha = home.curves("random", seed), home.curves("asha", seed)
            finally:
                subprocess.run([os.path.join(programs, "thalweg"), "daemon", "stop"], env=home.environment, capture_output=True)
        random = [point for point in table if point[1] <= RANDOM]
        optunas = pruned(table)
        when = cost_until(asha, best(random))
        shares.append(len(asha) / len(random))
        shares_optuna.append(len(optunas) / len(random))
        reached += when is not None and when <= len(random) / 3
        lost.append(best(asha) - best(random))
        lost_optuna.append(min(optunas) - best(random))
        after = f"{when} ({when / len(random):.2f})" if when else "never"
        print(f"| {seed} | {best(random):.4f} | {len(random)} | {best(asha):.4f} | {len(asha)} | {shares[-1]:.2f} | {after} | "
              f"{min(optunas):.4f} | {len(optunas)} |", flush=True)
    print(f"\nasha has random's best at a third of its cost or less in {reached} of {seeds}; in the median it trains "
          f"{statistics.median(shares):.2f} of the epochs and is {statistics.median(lost):.4f} behind "
          f"(Optuna's pruner: {statistics.median(shares_optuna):.2f} and {statistics.median(lost_optuna):.4f}).")


if __name__ == "__main__":
    main()
