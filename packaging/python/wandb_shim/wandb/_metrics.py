"""Numbers of what is logged, what define_metric says of them, and the summary."""

import numbers

from wandb._dropped import Dropped, note

KINDS = ("min", "max", "mean", "first", "last", "best", "copy", "none")
CURVES = ("min", "max", "mean", "first", "best")  # of which the metric's own values are not enough


def flat(values, prefix=""):
    """Nested ones under dotted names."""
    for name, value in values.items():
        name = prefix + str(name)
        if isinstance(value, dict):
            yield from flat(value, name + ".")
        else:
            yield name, value


def number_of(value):
    """Also of a tensor or an array with one element; None where it is none."""
    if isinstance(value, (str, bytes, Dropped)) or value is None:
        return None
    try:
        # Not float(): of a tensor with a gradient that is a warning.
        if not isinstance(value, numbers.Number) and callable(getattr(value, "item", None)):
            value = value.item()
        return None if isinstance(value, (complex, str, bytes)) else float(value)
    except Exception:  # whatever an object of other people's raises: it is no number
        return None


class Metric:
    """What define_metric returns."""

    def __init__(self, name, step_metric, step_sync, summary, goal):
        self.name, self.step_metric, self.step_sync = name, step_metric, step_sync
        self.summary, self.goal = summary, goal


class Definitions:
    """By name, or by a beginning and `*`."""

    def __init__(self):
        self._by_name = {}
        self._axes = set()  # metrics that are the steps of others

    def add(self, name, step_metric=None, step_sync=None, summary=None, goal=None):
        name = getattr(name, "name", name)
        step_metric = getattr(step_metric, "name", step_metric)
        kinds = summary.split(",") if isinstance(summary, str) else list(summary or ())
        for kind in kinds:
            if kind not in KINDS:
                raise ValueError("define_metric: summary is of %s, not %r" % (", ".join(KINDS), kind))
        if step_metric is not None:
            self._axes.add(step_metric)
        sync = step_sync if step_sync is not None else step_metric is not None
        self._by_name[name] = Metric(name, step_metric, sync, tuple(kinds), goal)
        return self._by_name[name]

    def of(self, name):
        if name in self._by_name:
            return self._by_name[name]
        wide = [p for p in self._by_name if p.endswith("*") and name.startswith(p[:-1])]
        return self._by_name[max(wide, key=len)] if wide else None

    def step_of(self, name, values, known):
        """Where define_metric names another metric as the steps of this one; None: nowhere. `known`: newest values."""
        metric = self.of(name)
        axis = name if name in self._axes else metric and metric.step_metric
        if axis is None:
            return None
        step = values.get(axis)
        if step is None and metric.step_sync:
            step = known.get(axis)
        if step is None:
            return None
        if not (0 <= step < float("inf")) or step != int(step):
            note("%s as the steps of %s is not whole: the order of logging counts" % (axis, name))
            return None
        return int(step)


def _lower_is_better(metric):
    return not (metric.goal or "minimize").startswith("max")


class Summary(dict):
    """The last value of everything that was logged, and what the script puts in, which is reported."""

    def __init__(self, report, definitions):
        super().__init__()
        object.__setattr__(self, "_report", report)
        object.__setattr__(self, "_definitions", definitions)
        object.__setattr__(self, "_means", {})

    def keep(self, name, value):
        """Of a value that was logged. What define_metric wants beside the newest one, where it has changed: as loss.min."""
        metric = self._definitions.of(name)
        kinds = metric.summary if metric is not None else ()
        if not kinds or not isinstance(value, float):
            dict.__setitem__(self, name, value)
            return {}
        if kinds == ("none",):
            return {}
        held = dict.get(self, name)
        held = held if isinstance(held, dict) else {}
        kept = {kind: self._kept(kind, held, name, value, metric) for kind in kinds}
        dict.__setitem__(self, name, kept)
        return {"%s.%s" % (name, kind): kept[kind] for kind in kinds if kind in CURVES and held.get(kind) != kept[kind]}

    def _kept(self, kind, held, name, value, metric):
        if kind == "mean":
            total, count = self._means.get(name, (0.0, 0))
            self._means[name] = (total + value, count + 1)
            return (total + value) / (count + 1)
        before = held.get(kind)
        if kind in ("last", "copy", "none") or before is None or before != before:
            return value
        if kind == "first" or value != value:
            return before
        less = kind == "min" or (kind == "best" and _lower_is_better(metric))
        return min(before, value) if less else max(before, value)

    def __getattr__(self, name):
        if name.startswith("__") or name not in self:
            raise AttributeError("the summary has no %r" % name)
        return self[name]

    def __setattr__(self, name, value):
        self[name] = value

    def __missing__(self, name):
        outer, dot, rest = name.partition(".")
        if dot and isinstance(dict.get(self, outer), dict):
            return dict.get(self, outer)[rest]
        raise KeyError(name)

    def __setitem__(self, name, value):
        super().__setitem__(name, value)
        self._report(name, value)

    def update(self, values=(), **more):
        for name, value in dict(values, **more).items():
            self[name] = value
