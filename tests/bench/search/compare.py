"""compare.py BENCH_SEARCH [SEEDS [FIRST]]: regrets of Thalweg's `method: bayes` and of Optuna's samplers, one seed of each after
the other, from seed FIRST on. Prints a table; the bars stand beside the rows that have one."""
import statistics
import subprocess
import sys

import optuna

CONFIGURATIONS = 40
BOXES = {"branin": [(-5.0, 10.0), (0.0, 15.0)], "hartmann6": [(0.0, 1.0)] * 6}
# Of Thalweg's median, in parts of Optuna's: no worse than TPE, within twice its GP in six dimensions.
BARS = {("branin", "TPE"): 1, ("hartmann6", "TPE"): 1, ("hartmann6", "GP"): 2}
bench = sys.argv[1]
seeds = int(sys.argv[2]) if len(sys.argv) > 2 else 20
values = subprocess.Popen([bench, "values"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
first = int(sys.argv[3]) if len(sys.argv) > 3 else 1
optuna.logging.set_verbosity(optuna.logging.ERROR)


def value(problem, x=()):
    values.stdin.write(" ".join([problem, *(repr(each) for each in x)]) + "\n")
    values.stdin.flush()
    return float(values.stdout.readline())


def thalweg(parallel):
    def run(problem, seed):
        return float(subprocess.run([bench, problem, str(seed), str(parallel)], check=True, capture_output=True,
                                    text=True).stdout)
    return run


def optunas(sampler):
    def run(problem, seed):
        def objective(trial):
            return value(problem, [trial.suggest_float(f"x{i}", *ends) for i, ends in enumerate(BOXES[problem])])
        study = optuna.create_study(sampler=sampler(seed=seed))
        study.optimize(objective, n_trials=CONFIGURATIONS)
        return study.best_value - value(problem)
    return run


SEARCHES = {"random": thalweg(0), "TPE": optunas(optuna.samplers.TPESampler), "GP": optunas(optuna.samplers.GPSampler),
            "bayes, one at a time": thalweg(1), "bayes, four at a time": thalweg(4)}
NAMES = {"random": "random search", "TPE": "Optuna, TPE", "GP": "Optuna, GP"}


def main():
    print(f"Optuna {optuna.__version__}, seeds {first} to {first + seeds - 1}, {CONFIGURATIONS} configurations: median regret (quartiles)\n")
    print("| | " + " | ".join(BOXES) + " |\n" + "|---" * (1 + len(BOXES)) + "|")
    regrets = {(problem, name): [] for problem in BOXES for name in SEARCHES}
    for problem in BOXES:
        for seed in range(first, first + seeds):
            for name, search in SEARCHES.items():
                regrets[problem, name].append(search(problem, seed))
    medians = {key: statistics.median(found) for key, found in regrets.items()}
    for name in SEARCHES:
        cells = []
        for problem in BOXES:
            low, _, high = statistics.quantiles(regrets[problem, name], n=4)
            cells.append(f"{medians[problem, name]:.5f} ({low:.5f}, {high:.5f})")
        print(f"| {NAMES.get(name, name)} | " + " | ".join(cells) + " |")
    print()
    for (problem, peer), bar in BARS.items():
        ratio = medians[problem, "bayes, one at a time"] / medians[problem, peer]
        print(f"{problem}: {ratio:.3f} of Optuna's {peer}, bar {bar}: {'yes' if ratio <= bar else 'NO'}")


main()
