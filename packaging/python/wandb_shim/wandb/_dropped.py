"""What W&B shows and Thalweg does not record: taken, noted once in the trial's events, and dropped."""

import enum
import sys

MOST_NOTES = 50  # of one process: a key of its own for each picture must not flood the events

_said = set()
_waiting = []  # notes from before there was a run
_tell = None


class Error(Exception):
    """What only W&B's service could do, or a call that W&B refuses, too."""


class CommError(Error):
    pass


class UsageError(Error):
    pass


class AlertLevel(enum.Enum):
    INFO = "INFO"
    WARN = "WARN"
    ERROR = "ERROR"


def note(text):
    """Once each: the script goes on, and its author knows."""
    if text in _said or len(_said) > MOST_NOTES:
        return
    _said.add(text)
    if len(_said) > MOST_NOTES:
        text = "more of what is not recorded is not said"
    text = "wandb shim: " + text
    if _tell is None:
        _waiting.append(text)
    else:
        _tell(text)


def drop(what):
    note(what + " is not recorded")


def tell_by(tell):
    """`tell` takes a note's text; notes that came before are told now."""
    global _tell
    _tell = tell
    while _waiting:
        tell(_waiting.pop(0))


def say_the_rest():
    """At the end of a process that never began a run."""
    while _waiting:
        print(_waiting.pop(0), file=sys.stderr)


class Dropped:
    """Stands for an object that is only for showing: everything may be done with it, nothing comes of it."""

    def __init__(self, *args, **kwargs):
        drop("wandb." + type(self).__name__)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *args, **kwargs):
        return self

    def __getitem__(self, key):
        return self

    def __setitem__(self, key, value):
        pass

    def __iter__(self):
        return iter(())

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        return False


class _Said(Dropped):
    """What a dropped call returns: the note has named the call."""

    def __init__(self):
        pass


def nothing():
    return _Said()


def dropped_class(name, module="wandb"):
    """A class of that name; a name of an error can be raised and caught."""
    base = Error if name.endswith(("Error", "Exception", "Warning")) else Dropped
    return type(name, (base,), {"__module__": module})
