"""LightGBM 4.7.0, lightgbm/engine.py (train, cv) and lightgbm/callback.py; `old`: the tuples of 4.6 and before."""

import collections

CallbackEnv = collections.namedtuple(
    "CallbackEnv", "model params iteration begin_iteration end_iteration evaluation_result_list"
)


class _EvalResult(collections.namedtuple("EvalResult", "dataset metric value maximize deviation")):
    def __len__(self):
        return 4 if self.deviation is None else 5


class Booster:
    best_iteration = 1
    best_score = collections.defaultdict(collections.OrderedDict, {"validation": {"l2": 0.25}})


def _run(rounds, callbacks, result):
    before = sorted((c for c in callbacks if getattr(c, "before_iteration", False)), key=lambda c: c.order)
    after = sorted((c for c in callbacks if not getattr(c, "before_iteration", False)), key=lambda c: c.order)
    for i in range(rounds):
        for c in before:
            c(CallbackEnv(None, {"objective": "regression"}, i, 0, rounds, None))
        for c in after:
            c(CallbackEnv(None, {"objective": "regression"}, i, 0, rounds, [result(1.0 / (i + 1))]))
    return Booster()


def train(rounds, callbacks, old=False):
    new = lambda value: _EvalResult("validation", "l2", value, False, None)  # noqa: E731
    return _run(rounds, callbacks, (lambda value: ("validation", "l2", value, False)) if old else new)


def cv(rounds, callbacks, old=False):
    new = lambda value: _EvalResult("valid", "l2", value, False, 0.5)  # noqa: E731
    return _run(rounds, callbacks, (lambda value: ("cv_agg", "valid l2", value, False, 0.5)) if old else new)
