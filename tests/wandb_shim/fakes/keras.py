"""Keras 3.15.1, keras/src/callbacks/callback_list.py and keras/src/backend/torch/trainer.py."""


class _Callbacks:
    class Callback:
        def set_params(self, params):
            self.params = params

        def set_model(self, model):
            self._model = model

        @property
        def model(self):
            return self._model

        def on_train_begin(self, logs=None):
            pass

        on_train_end = on_train_begin

        def on_epoch_begin(self, epoch, logs=None):
            pass

        on_epoch_end = on_train_batch_begin = on_train_batch_end = on_epoch_begin

    class ModelCheckpoint(Callback):
        def __init__(self, filepath, monitor="val_loss", save_best_only=False):
            self.filepath = filepath

        def on_epoch_end(self, epoch, logs=None):
            open(self.filepath, "w").close()


callbacks = _Callbacks


class _Variable:
    def numpy(self):
        return 0.5


class _Optimizer:
    learning_rate = _Variable()


class Sequential:
    optimizer = _Optimizer()

    def fit(self, epochs, batches, callbacks):
        for callback in callbacks:
            callback.set_params({"epochs": epochs})
            callback.set_model(self)
        each = lambda name, *args: [getattr(callback, name)(*args) for callback in callbacks]  # noqa: E731
        each("on_train_begin")
        for epoch in range(epochs):
            each("on_epoch_begin", epoch)
            for batch in range(batches):
                each("on_train_batch_begin", batch)
                each("on_train_batch_end", batch, {"loss": 10.0 * epoch + batch})
            each("on_epoch_end", epoch, {"loss": 10.0 * epoch, "val_loss": 4.0 - epoch})
        each("on_train_end", {"loss": 0.0})
