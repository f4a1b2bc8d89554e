"""Callbacks for Keras: `fit(callbacks=[WandbMetricsLogger()])`. Keras 3 or the one of TensorFlow."""

try:
    from keras import callbacks
except ImportError:
    from tensorflow.keras import callbacks

from wandb import _run
from wandb._dropped import note
from wandb._metrics import number_of
from wandb._rest import find


class WandbMetricsLogger(callbacks.Callback):
    """log_freq: "epoch", "batch", or each so many batches."""

    def __init__(self, log_freq="epoch", initial_global_step=0, *args, **kwargs):
        super().__init__(*args, **kwargs)
        run = _run.need("WandbMetricsLogger()")
        self.each = 1 if log_freq == "batch" else log_freq if isinstance(log_freq, int) else None
        self.global_step, self.global_batch = initial_global_step, 0
        kind = "epoch/epoch" if self.each is None else "batch/batch_step"
        run.define_metric(kind)
        run.define_metric(kind.partition("/")[0] + "/*", step_metric=kind)

    def _rate(self):
        rate = getattr(getattr(self.model, "optimizer", None), "learning_rate", None)
        number = number_of(rate.numpy()) if hasattr(rate, "numpy") else number_of(rate)
        if number is None and callable(rate):
            number = number_of(rate(self.global_step))
        return number

    def _log(self, kind, logs, position):
        values = {kind + "/" + name: value for name, value in (logs or {}).items()}
        values[position] = self.global_batch if kind == "batch" else self.epoch
        if self._rate() is not None:
            values[kind + "/learning_rate"] = self._rate()
        _run.need().log(values)

    def on_epoch_end(self, epoch, logs=None):
        self.epoch = epoch
        self._log("epoch", logs, "epoch/epoch")

    def on_train_batch_end(self, batch, logs=None):
        self.global_step += 1
        if self.each is not None and batch % self.each == 0:
            self._log("batch", logs, "batch/batch_step")
            self.global_batch += self.each


class WandbModelCheckpoint(callbacks.ModelCheckpoint):
    """Writes the files that Keras' own writes; they stay there."""

    def __init__(self, filepath, *args, **kwargs):
        _run.need("WandbModelCheckpoint()")
        super().__init__(filepath, *args, **kwargs)
        note("WandbModelCheckpoint keeps no artifacts: files stay where they are")


class WandbEvalCallback(callbacks.Callback):
    """Tables of predictions are for looking at: none are made."""

    def __init__(self, *args, **kwargs):
        super().__init__()
        note("WandbEvalCallback: tables of predictions are not recorded")


class WandbCallback(callbacks.Callback):
    """The older one: logs each epoch's values under Keras' own names, and the best of `monitor`."""

    def __init__(self, monitor="val_loss", verbose=0, mode="auto", save_model=True, log_batch_frequency=None, **others):
        super().__init__()
        _run.need("WandbCallback()")
        self.monitor, self.log_batch_frequency = monitor, log_batch_frequency
        self.more = mode == "max" or (mode == "auto" and "acc" in monitor)
        self.best = None
        for name in sorted(others):
            note("WandbCallback(%s=...) is not recorded" % name)
        if save_model:
            note("WandbCallback saves no model here: use Keras' ModelCheckpoint")

    def on_train_batch_end(self, batch, logs=None):
        if self.log_batch_frequency and batch % self.log_batch_frequency == 0:
            _run.need().log(dict(logs or {}))

    def on_epoch_end(self, epoch, logs=None):
        run = _run.need()
        value = (logs or {}).get(self.monitor)
        if value is not None and (self.best is None or (value > self.best if self.more else value < self.best)):
            self.best = value
            run.summary.update({"best_" + self.monitor: value, "best_epoch": epoch})
        run.log(dict(logs or {}, epoch=epoch))


def __getattr__(name):
    return find(__name__, name)
