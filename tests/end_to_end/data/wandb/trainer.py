"""A small regression by gradient descent, with nothing but the standard library, as a W&B script: the
configuration comes by arguments and by wandb.config, and both must say the same.

The first argument may be style=NAME: how the sweep file's command passes the parameters.
"""

import ast
import json
import math
import os
import random
import sys

import wandb


def flat(tree, prefix=""):
    for name, value in tree.items():
        if isinstance(value, dict):
            yield from flat(value, prefix + name + ".")
        else:
            yield prefix + name, value


def value_of(text):
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def parse(style, words):
    if style == "json":
        return dict(flat(json.loads(words[0])))
    if style == "json_file":
        with open(words[0], encoding="utf-8") as file:
            return dict(flat(json.load(file)))
    if style == "no_equals":
        return {words[i][2:]: value_of(words[i + 1]) for i in range(0, len(words), 2)}
    found = {}
    prefix = {"no_hyphens": "", "append": "+", "override": "++"}.get(style, "--")
    for word in words:
        assert word.startswith(prefix), word
        name, equals, text = word[len(prefix) :].partition("=")
        found[name] = value_of(text) if equals else True
    return found


def main():
    words = sys.argv[1:]
    style = "args"
    if words and words[0].startswith("style="):
        style = words.pop(0)[len("style=") :]
    run = wandb.init(project="regression", config={"epochs": 6, "seed": 0})
    config = wandb.config
    given = parse(style, words)
    known = dict(flat(config))
    for name, value in given.items():
        assert known[name] == value or math.isclose(known[name], value), (name, value, known[name])
    if style != "no_boolean_flags":
        missing = set(known) - set(given) - {"epochs", "seed"}
        assert not missing, missing

    rate = known.get("lr", known.get("learning_rate", known.get("optimizer.lr", 0.1)))
    dice = random.Random(known["seed"])
    points = [(x, 3 * x + 1) for x in (dice.uniform(-1, 1) for _ in range(64))]
    state = run.dir + "/../weights.json"
    weight, bias, first = 0.0, 0.0, 0
    if run.resumed:
        with open(state, encoding="utf-8") as file:
            weight, bias, first = json.load(file)
    for epoch in range(first, known["epochs"]):
        for x, y in points:
            error = weight * x + bias - y
            weight -= rate * error * x
            bias -= rate * error
        loss = sum((weight * x + bias - y) ** 2 for x, y in points) / len(points)
        # Another process that reads the file must never see half of it.
        with open(state + ".new", "w", encoding="utf-8") as file:
            json.dump([weight, bias, epoch + 1], file)
        os.replace(state + ".new", state)
        if loss != loss or loss > 1e12:
            sys.exit("the loss has no end")
        wandb.log({"loss": loss, "val": {"loss": loss, "accuracy": 1 / (1 + loss)}, "epoch": epoch})
        run.checkpoint(state)
        if os.environ.get("DIE_ONCE") and epoch == 2 and not run.resumed:
            os.kill(os.getpid(), 9)
    wandb.summary["best"] = loss
    run.finish()


main()
