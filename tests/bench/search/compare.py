"""compare.py BENCH_SEARCH [SEEDS [FIRST]]: regrets of Thalweg's search methods and of Optuna's samplers, one seed of each after
the other, from seed FIRST on; of the sine half as many seeds. Prints tables; the bars stand below them."""
import statistics
import subprocess
import sys

import optuna

CONFIGURATIONS = {"branin": 40, "hartmann6": 40, "sine": 130}
BOXES = {"branin": [(-5.0, 10.0), (0.0, 15.0)], "hartmann6": [(0.0, 1.0)] * 6, "sine": [(-1.0, 1.0)] * 7}
# Medians, in parts of the peer's.
BARS = [("branin", "bayes", "Optuna, TPE", 1), ("hartmann6", "bayes", "Optuna, TPE", 1), ("hartmann6", "bayes", "Optuna, GP", 2)]
BARS += [(problem, method, peer, 1) for problem in BOXES for method, peer in (("bayes", "Optuna, GP"), ("tpe", "Optuna, TPE"))]
# In how many of all seeds each method that learns has to be better than random search.
WINS = 0.8
bench = sys.argv[1]
seeds = int(sys.argv[2]) if len(sys.argv) > 2 else 20
values = subprocess.Popen([bench, "values"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
first = int(sys.argv[3]) if len(sys.argv) > 3 else 1
optuna.logging.set_verbosity(optuna.logging.ERROR)


def value(problem, x=()):
    values.stdin.write(" ".join([problem, *(repr(each) for each in x)]) + "\n")
    values.stdin.flush()
    return float(values.stdout.readline())


def thalweg(method, parallel):
    def run(problem, seed):
        return float(subprocess.run([bench, problem, str(seed), str(parallel), method], check=True, capture_output=True,
                                    text=True).stdout)
    return run


def optunas(sampler):
    def run(problem, seed):
        def objective(trial):
            return value(problem, [trial.suggest_float(f"x{i}", *ends) for i, ends in enumerate(BOXES[problem])])
        study = optuna.create_study(sampler=sampler(seed=seed))
        study.optimize(objective, n_trials=CONFIGURATIONS[problem])
        return study.best_value - value(problem)
    return run


def searches():
    learning, drawing = subprocess.run([bench, "methods"], check=True, capture_output=True, text=True).stdout.splitlines()
    found = {method: thalweg(method, 0) for method in drawing.split()}
    found.update({"Optuna, TPE": optunas(optuna.samplers.TPESampler), "Optuna, GP": optunas(optuna.samplers.GPSampler)})
    for method in learning.split():
        found[method] = thalweg(method, 1)
        found[method + ", four at a time"] = thalweg(method, 4)
    return found, learning.split()


def measure(found):
    regrets = {}
    for problem in BOXES:
        count = seeds // 2 if problem == "sine" else seeds
        for seed in range(first, first + count):
            for name, search in found.items():
                regrets.setdefault((problem, name), []).append(search(problem, seed))
            print(problem, seed, file=sys.stderr, flush=True)
    return regrets


def table(found, regrets):
    print(f"Optuna {optuna.__version__}, from seed {first} on: median regret (quartiles)\n")
    heads = [f"{problem}, {CONFIGURATIONS[problem]} configurations, {len(regrets[problem, 'random'])} seeds" for problem in BOXES]
    print("| | " + " | ".join(heads) + " |\n" + "|---" * (1 + len(BOXES)) + "|")
    for name in found:
        cells = []
        for problem in BOXES:
            low, middle, high = statistics.quantiles(regrets[problem, name], n=4)
            cells.append(f"{middle:.5f} ({low:.5f}, {high:.5f})")
        print(f"| {name} | " + " | ".join(cells) + " |")


def main():
    found, learning = searches()
    regrets = measure(found)
    table(found, regrets)
    print("\n| bar | | |\n|---|---|---|")
    for problem in BOXES:
        drawn = regrets[problem, "random"]
        for method in learning:
            wins = sum(a < b for a, b in zip(regrets[problem, method], drawn))
            print(f"| {problem}: {method} better than random search in {WINS:.0%} of the seeds | {wins} of {len(drawn)} | "
                  f"{'met' if wins >= WINS * len(drawn) else 'MISSED'} |")
    for problem, method, peer, bar in BARS:
        ratio = statistics.median(regrets[problem, method]) / statistics.median(regrets[problem, peer])
        print(f"| {problem}: median of {method} at most {bar} of {peer}'s | {ratio:.3f} | {'met' if ratio <= bar else 'MISSED'} |")


main()
