"""sync_tensorboard: scalars that the script writes to TensorBoard are the trial's metrics, at their own steps.

They are taken where the writers of TensorBoard (so PyTorch's, too) and tensorboardX take them, in this process.
TensorFlow writes its files itself: for them the sweep file has the key `tensorboard`.
"""

import atexit
import functools
import importlib
import os

from wandb import _run
from wandb._dropped import drop, note
from wandb._metrics import number_of
from wandb._rest import find

WRITERS = ("tensorboard.summary.writer.event_file_writer", "tensorboardX.event_file_writer")

_root = None  # the folder of the first writer: names of others' scalars begin with theirs
_seen = False
_patched = set()


def _scalar(value):
    """Of an event's value; None where it is none."""
    kind = value.WhichOneof("value")
    if kind == "simple_value":
        return value.simple_value
    if kind != "tensor" or value.metadata.plugin_data.plugin_name not in ("", "scalars"):
        return None
    tensor = value.tensor
    for field in (tensor.float_val, tensor.double_val, tensor.int_val, tensor.int64_val):
        if len(field) == 1:
            return number_of(field[0])
    return None


def _prefix(folder):
    global _root
    folder = os.path.abspath(folder)
    _root = _root or folder
    if folder == _root:
        return ""
    inside = folder.startswith(os.path.join(_root, ""))
    return (os.path.relpath(folder, _root) if inside else os.path.basename(folder)) + "/"


def _report(event, folder):
    global _seen
    if _run.active is None:
        return note("TensorBoard's scalars from outside of a run are not recorded")
    values = {}
    for value in event.summary.value:
        number = _scalar(value)
        if number is not None:
            values[_prefix(folder) + value.tag] = number
        elif value.metadata.plugin_data.plugin_name != "hparams":
            drop("TensorBoard's %s" % value.tag)
    if values:
        _seen = True
        _run.active.report_at(values, max(int(event.step), 0))


def _watch(writer):
    add = writer.add_event

    @functools.wraps(add)
    def add_event(self, event, *args, **kwargs):
        add(self, event, *args, **kwargs)
        _report(event, self.get_logdir())

    writer.add_event = add_event


def _say_what_is_missing():
    if not _seen:
        note(
            "sync_tensorboard: neither PyTorch nor tensorboardX wrote a scalar; what TensorFlow writes is read "
            "where the sweep file says `tensorboard: FOLDER`"
        )


def patch(save=None, tensorboardX=None, pytorch=None, root_logdir="", **others):
    global _root
    if root_logdir:
        _root = os.path.abspath(root_logdir)
    if not _patched:
        atexit.register(_say_what_is_missing)
        _patched.add("")
    for name in WRITERS:
        if name in _patched:
            continue
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        _patched.add(name)
        _watch(module.EventFileWriter)


def unpatch(*args, **kwargs):
    """What has been patched goes on reporting: W&B stops copying files here."""


def log(summary, step=None, **others):
    """Of a summary that is already TensorBoard's."""
    run = _run.need("wandb.tensorboard.log()")
    values = {value.tag: _scalar(value) for value in summary.value}
    run.log({tag: number for tag, number in values.items() if number is not None}, step=step)


def __getattr__(name):
    return find(__name__, name)
