"""Random calls of log, finish, init and define_metric against a plain model of which value stands at which step."""

import os
import random
import sys
import unittest

import harness

FIRST = int(os.environ.get("THALWEG_FUZZ_FIRST", "0"))
INPUTS = int(os.environ.get("THALWEG_FUZZ_INPUTS", "80"))
NAMES = ("loss", "val/loss", "val/acc", "epoch", "nested")


class Model:
    """W&B's rules: the step goes on with each call unless that gives one or holds back; what lies behind is lost.
    Runs of one process stand behind each other."""

    def __init__(self):
        self.values, self.base = {}, 0
        self.begin()

    def begin(self):
        self.base = 1 + max((step for at in self.values.values() for step in at), default=-1)
        self.step, self.begun, self.by_epoch, self.newest = 0, False, False, {}

    def put(self, name, value, step):
        self.values.setdefault(name, {})[self.base + step] = value
        self.newest[name] = value

    def log(self, data, step, commit):
        if step is not None:
            if self.begun and step < self.step:
                return
            self.step = step
        self.begun = True
        here = self.step
        if commit or (commit is None and step is None):
            self.step += 1
        flat = {"nested.a" if name == "nested" else name: float(value) for name, value in data.items()}
        epoch = flat.get("epoch", self.newest.get("epoch"))
        for name, value in flat.items():
            on_epochs = self.by_epoch and (name == "epoch" or name.startswith("val/")) and epoch is not None
            self.put(name, value, int(epoch) if on_epochs else here)


def script_of(seed):
    dice = random.Random(seed)
    model, lines = Model(), ["import wandb", "run = wandb.init()"]
    for _ in range(dice.randrange(1, 25)):
        kind = dice.random()
        if kind < 0.07:
            lines += ["run.finish()", "run = wandb.init()"]
            model.begin()
        elif kind < 0.14:
            lines.append("run.define_metric('val/*', step_metric='epoch')")
            model.by_epoch = True
        else:
            data = {name: dice.randrange(9) for name in dice.sample(NAMES, dice.randrange(0, 4))}
            step = dice.choice([None, None, None, max(model.step + dice.randrange(-2, 4), 0)])
            commit = dice.choice([None, None, True, False])
            model.log(data, step, commit)
            said = ", ".join("%r: %s" % (n, "{'a': %d}" % v if n == "nested" else v) for n, v in data.items())
            lines.append("wandb.log({%s}, step=%s, commit=%s)" % (said, step, commit))
    return "\n".join(lines), model


class Steps(unittest.TestCase):
    def test_as_the_model_has_them(self):
        longest = 0
        for seed in range(FIRST, FIRST + INPUTS):
            script, model = script_of(seed)
            longest = max(longest, len(model.values))
            with self.subTest(seed=seed):
                outcome = harness.run(script)
                self.assertEqual(outcome.code, 0, outcome.out)
                self.assertEqual(outcome.metrics, model.values, script)
        self.assertGreater(longest, 3, "the inputs are too small to mean anything")


if __name__ == "__main__":
    sys.exit(unittest.main())
