"""Lets a script that was written for W&B report to Thalweg, without their service or package.

    THALWEG_WANDB=shim thalweg submit sweep.yaml        # or env: {THALWEG_WANDB: shim} in the file

puts this module in the way of `import wandb` in the sweep's trials. Numbers that the script logs are the
trial's metrics, nested ones under dotted names; wandb.config holds the trial's parameters over the script's
defaults. Pictures, tables, artifacts and watched models have no place in Thalweg: they are taken and dropped,
and said to be so once each. A function that would have to ask the service for something raises wandb.Error.
"""

import json
import numbers
import os
import time

import thalweg

__version__ = "0.0.0+thalweg"
__all__ = ["init", "log", "finish", "config", "run", "summary", "Error"]


class Error(Exception):
    """What only the service could do."""


class CommError(Error):
    pass


class UsageError(Error):
    pass


_dropped = set()


def _drop(what):
    """Once each: the script goes on, and its author knows."""
    if what not in _dropped:
        _dropped.add(what)
        if _active is not None:
            _active._run.note("wandb shim: %s is not recorded" % what)


class _Dropped:
    """Stands for an object that is only for showing."""

    def __init__(self, *args, **kwargs):
        _drop("wandb." + type(self).__name__)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args, **kwargs: self


class Image(_Dropped):
    pass


class Table(_Dropped):
    pass


class Histogram(_Dropped):
    pass


class Video(_Dropped):
    pass


class Audio(_Dropped):
    pass


class Html(_Dropped):
    pass


class Object3D(_Dropped):
    pass


class Molecule(_Dropped):
    pass


class Plotly(_Dropped):
    pass


class Artifact(_Dropped):
    pass


class Settings:
    def __init__(self, **settings):
        self.__dict__.update(settings)


class _Plots:
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args, **kwargs: _Dropped()


plot = _Plots()


class Config(thalweg.Config):
    """wandb.config: what the trial's parameters say is not changed by the script."""

    def __init__(self, values=(), fixed=()):
        super().__init__(values)
        object.__setattr__(self, "_fixed", set(fixed))

    def __setitem__(self, name, value):
        if name in getattr(self, "_fixed", ()):
            return
        super().__setitem__(name, value)

    def update(self, values=(), allow_val_change=None, **more):
        for name, value in dict(values, **more).items():
            self[name] = value

    def setdefaults(self, values):
        for name, value in dict(values).items():
            if name not in self:
                self[name] = value
        return self

    def as_dict(self):
        return dict(self)


class Summary(dict):
    """The last value of everything that was logged, and what the script puts in."""

    def __setitem__(self, name, value):
        super().__setitem__(name, value)
        number = _number(value)
        if _active is not None and number is not None and name not in _active._logged:
            _active._report({name: number}, _active.step)

    def update(self, values=(), **more):
        for name, value in dict(values, **more).items():
            self[name] = value


def _flat(values, prefix=""):
    for name, value in values.items():
        name = prefix + str(name)
        if isinstance(value, dict):
            yield from _flat(value, name + ".")
        else:
            yield name, value


def _number(value):
    """Also of a tensor or an array with one element; None where it is none."""
    if isinstance(value, (str, bytes, _Dropped)) or value is None:
        return None
    if isinstance(value, numbers.Number):
        return float(value) if not isinstance(value, complex) else None
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _parameters():
    """Names that the trial sets."""
    if not os.environ.get("THALWEG_CONFIG"):
        return ()
    with open(os.environ["THALWEG_CONFIG"], encoding="utf-8") as file:
        return json.load(file)


class Run:
    def __init__(self, config, name, project, entity, group, tags, notes):
        defaults = dict(config or {})
        self._run = thalweg.init(defaults)
        self.config = Config(self._run.config, _parameters())
        self._logged = set()
        self.summary = Summary()
        self.id = (self._run.attempt or "0").replace(".", "-")
        self.name = name or "trial " + (self._run.attempt or "0")
        self.project, self.entity, self.group = project or "", entity or "", group or ""
        self.tags, self.notes = tuple(tags or ()), notes or ""
        self.sweep_id = (self._run.attempt or "0").split(".")[0]
        self.dir = self._run.folder
        self.resumed = self._run.resume_from is not None
        # Counted from 0, as W&B does; a later attempt goes on behind its checkpoint.
        self.starting_step = self.step = self._run.resume_step + 1 if self.resumed else 0
        self.start_time = time.time()
        self.offline, self.disabled, self.url = True, False, None

    def _report(self, values, step):
        if values:
            self._run.log(values, step)

    def log(self, data, step=None, commit=None, sync=None):
        if not isinstance(data, dict):
            raise ValueError("wandb.log takes a dict, not %r" % type(data))
        if step is not None:
            if int(step) < self.step:
                return _drop("a step that is smaller than the one before")
            self.step = int(step)
        values = {}
        for name, value in _flat(data):
            number = _number(value)
            if number is None:
                _drop("%s (%s)" % (name, type(value).__name__))
            else:
                values[name] = number
            dict.__setitem__(self.summary, name, value if number is None else number)
        self._logged.update(values)
        # At once, also what W&B would hold back until the step is over.
        self._report(values, self.step)
        if commit or (commit is None and step is None):
            self.step += 1

    def finish(self, exit_code=None, quiet=None):
        global run, _active
        self._run.finish()
        if _active is self:
            _active = run = None

    join = finish

    def checkpoint(self, path, step=None):
        """Of Thalweg alone: what a later attempt goes on from."""
        self._run.checkpoint(path, step)

    def save(self, *args, **kwargs):
        _drop("wandb.save")

    def watch(self, *args, **kwargs):
        _drop("wandb.watch")

    unwatch = watch

    def define_metric(self, *args, **kwargs):
        """Steps are the trial's own here; summaries are what Thalweg's comparisons compute."""

    def log_artifact(self, *args, **kwargs):
        _drop("wandb.log_artifact")
        return _Dropped()

    log_model = log_code = upsert_artifact = log_artifact

    def use_artifact(self, *args, **kwargs):
        raise Error("use_artifact asks W&B's service; name the file in the sweep file instead")

    restore = use_model = use_artifact

    def alert(self, title="", text="", *args, **kwargs):
        self._run.note("%s: %s" % (title, text))

    def mark_preempting(self):
        """Thalweg is told by the scheduler."""

    def get_url(self):
        return None

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.finish()
        return False


_active = None
run = None


class _ConfigProxy:
    """wandb.config before and after init()."""

    _early = {}

    def _target(self):
        return _active.config if _active is not None else self._early

    def __getattr__(self, name):
        target = self._target()
        return target[name] if name in target else getattr(target, name)

    def __setattr__(self, name, value):
        self._target()[name] = value

    def __getitem__(self, name):
        return self._target()[name]

    def __setitem__(self, name, value):
        self._target()[name] = value

    def __contains__(self, name):
        return name in self._target()

    def __iter__(self):
        return iter(self._target())

    def __len__(self):
        return len(self._target())

    def keys(self):
        return self._target().keys()


class _SummaryProxy:
    def __getattr__(self, name):
        return getattr(_need().summary, name)

    def __getitem__(self, name):
        return _need().summary[name]

    def __setitem__(self, name, value):
        _need().summary[name] = value


config = _ConfigProxy()
summary = _SummaryProxy()


def _need():
    if _active is None:
        raise Error("You must call wandb.init() before this")
    return _active


def init(project=None, entity=None, config=None, name=None, group=None, tags=None, notes=None, **others):
    """Begins to report; a second call returns the same run. Other arguments change nothing here."""
    global run, _active
    if _active is None:
        if config is not None and not isinstance(config, dict):
            config = dict(vars(config))  # argparse's Namespace
        _active = run = Run(
            dict(_ConfigProxy._early, **(config or {})), name, project, entity, group, tags, notes
        )
    return _active


def log(data, step=None, commit=None, sync=None):
    _need().log(data, step=step, commit=commit, sync=sync)


def finish(exit_code=None, quiet=None):
    if _active is not None:
        _active.finish(exit_code, quiet)


def _on_run(name):
    def call(*args, **kwargs):
        return getattr(_need(), name)(*args, **kwargs)

    return call


save = _on_run("save")
watch = _on_run("watch")
unwatch = _on_run("unwatch")
alert = _on_run("alert")
define_metric = _on_run("define_metric")
log_artifact = _on_run("log_artifact")
log_model = _on_run("log_model")
use_artifact = _on_run("use_artifact")
restore = _on_run("restore")
mark_preempting = _on_run("mark_preempting")


def login(*args, **kwargs):
    return True


def setup(*args, **kwargs):
    return None


def termlog(text="", *args, **kwargs):
    print(text, flush=True)


termwarn = termerror = termlog


def sweep(*args, **kwargs):
    raise Error("sweeps are submitted here by: thalweg submit sweep.yaml")


def agent(*args, **kwargs):
    raise Error("trials are started by Thalweg: leave wandb.agent out and submit the sweep file")


def Api(*args, **kwargs):
    raise Error("W&B's service is not asked here; `thalweg query` and `thalweg compare` read the record")


def controller(*args, **kwargs):
    raise Error("thalwegd is the controller here")
