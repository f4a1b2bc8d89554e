"""TensorBoard 2.21.0, tensorboard/summary/writer/event_file_writer.py, as PyTorch 2.15.0 calls it
(torch/utils/tensorboard/writer.py, FileWriter). Its events are protocol buffers, here with the fields that are read."""

from types import SimpleNamespace


class _Value:
    def __init__(self, tag, kind, plugin="", **fields):
        self.tag, self._kind = tag, kind
        self.metadata = SimpleNamespace(plugin_data=SimpleNamespace(plugin_name=plugin))
        self.__dict__.update(fields)

    def WhichOneof(self, group):
        assert group == "value"
        return self._kind


def _event(value, step):
    return SimpleNamespace(step=step, summary=SimpleNamespace(value=[value]))


def scalar(tag, x, step):
    return _event(_Value(tag, "simple_value", simple_value=x), step)


def tensor(tag, x, step, plugin="scalars"):
    """add_scalar(new_style=True), and text."""
    held = SimpleNamespace(float_val=[x], double_val=[], int_val=[], int64_val=[])
    return _event(_Value(tag, "tensor", plugin, tensor=held), step)


def histogram(tag, step):
    return _event(_Value(tag, "histo"), step)


class EventFileWriter:
    def __init__(self, logdir, max_queue_size=10, flush_secs=120, filename_suffix=""):
        self._logdir = logdir
        self.written = []

    def get_logdir(self):
        return self._logdir

    def add_event(self, event):
        self.written.append(event)
