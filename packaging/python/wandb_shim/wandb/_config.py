"""wandb.config: the trial's parameters over what the script says."""

import json
import os
from collections.abc import Mapping

import thalweg
from wandb._dropped import Error, note

DEFAULTS_FILE = "config-defaults.yaml"


def parameters():
    """What the trial sets."""
    if not os.environ.get("THALWEG_CONFIG"):
        return {}
    with open(os.environ["THALWEG_CONFIG"], encoding="utf-8") as file:
        values = json.load(file)
    for path in json.loads(os.environ.get("THALWEG_NOT_FINITE", "[]")):
        thalweg._to_number(values, path)
    return values


def yaml_config(path):
    """A file of `name: value` or, as W&B has it, `name: {value: ..., desc: ...}`."""
    try:
        import yaml
    except ImportError:
        raise Error("%s: to read it install PyYAML, or give wandb.init a dict" % path) from None
    with open(path, encoding="utf-8") as file:
        values = yaml.safe_load(file) or {}
    if not isinstance(values, dict):
        raise Error("%s: expected names with values" % path)
    values.pop("wandb_version", None)
    return {
        name: value["value"] if isinstance(value, dict) and "value" in value else value
        for name, value in values.items()
    }


def as_dict(values):
    """Of a dict, argparse's Namespace, a dataclass, absl's FLAGS, a YAML file's name."""
    if values is None:
        return {}
    if isinstance(values, (str, os.PathLike)):
        return yaml_config(values)
    if isinstance(values, Mapping) or hasattr(values, "keys"):
        return {name: values[name] for name in values.keys()}
    if hasattr(values, "flag_values_dict"):
        return values.flag_values_dict()
    if hasattr(values, "__dict__"):
        return dict(vars(values))
    raise TypeError("a configuration is a dict or has attributes, not %r" % type(values))


def defaults():
    return yaml_config(DEFAULTS_FILE) if os.path.exists(DEFAULTS_FILE) else {}


def _same(one, other):
    try:
        return bool(one == other)
    except (TypeError, ValueError):  # arrays
        return False


def _plain(values):
    return {name: _plain(value) if isinstance(value, dict) else value for name, value in values.items()}


class Config(thalweg.Config):
    """A dict with attributes. `fixed`: what the trial sets and the script cannot change."""

    def __init__(self, values=(), fixed=()):
        super().__init__()
        object.__setattr__(self, "_fixed", thalweg.Config(fixed))
        for name, value in dict(values).items():
            self._put(name, value)  # other values are usual here: they are defaults
        for name, value in self._fixed.items():
            if not dict.__contains__(self, name):
                self._put(name, value)

    def _put(self, name, value):
        """Whether it is there now, or stood there before."""
        fixed = getattr(self, "_fixed", {})
        try:
            held = fixed[name]
        except KeyError:
            held = value
        else:
            if isinstance(value, dict) and isinstance(held, dict):
                value = held = thalweg._merged(value, held)
            if name not in fixed:  # opt.lr of a trial that has it as {opt: {lr: ...}}
                return _same(value, held)
        super().__setitem__(name, Config(held) if isinstance(held, dict) else held)
        return _same(value, held)

    def __setitem__(self, name, value):
        if not self._put(name, value):
            note("config.%s stays what the sweep says" % name)

    def __contains__(self, name):
        try:
            self[name]
        except KeyError:
            return False
        return True

    def get(self, name, default=None):
        return self[name] if name in self else default

    def update(self, values=None, allow_val_change=None, **more):
        for name, value in dict(as_dict(values), **more).items():
            self[name] = value

    def setdefaults(self, values):
        for name, value in as_dict(values).items():
            if name not in self:
                self[name] = value
        return self

    def setdefault(self, name, value=None):
        self.setdefaults({name: value})
        return self[name]

    def as_dict(self):
        return _plain(self)

    def persist(self):
        """Kept as it is."""
