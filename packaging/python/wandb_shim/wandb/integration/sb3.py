"""A callback for Stable-Baselines3. Its numbers come by TensorBoard: wandb.init(sync_tensorboard=True)."""

import os

from stable_baselines3.common.callbacks import BaseCallback

from wandb import _run


class WandbCallback(BaseCallback):
    def __init__(self, verbose=0, model_save_path=None, model_save_freq=0, gradient_save_freq=0, log="all"):
        super().__init__(verbose)
        _run.need("WandbCallback()")
        if model_save_freq > 0 and model_save_path is None:
            raise ValueError("model_save_freq says how often, so give model_save_path, too")
        self.model_save_path, self.model_save_freq = model_save_path, model_save_freq
        self.gradient_save_freq = gradient_save_freq

    def _init_callback(self):
        plain = {name: x for name, x in vars(self.model).items() if isinstance(x, (bool, int, float, str))}
        run = _run.need()
        run.config.setdefaults(dict(plain, algo=type(self.model).__name__))
        if self.gradient_save_freq > 0:
            run.watch(self.model.policy)

    def _on_step(self):
        if self.model_save_freq > 0 and self.n_calls % self.model_save_freq == 0:
            self.save_model()
        return True

    def _on_training_end(self):
        if self.model_save_path is not None:
            self.save_model()

    def save_model(self):
        os.makedirs(self.model_save_path, exist_ok=True)
        self.model.save(os.path.join(self.model_save_path, "model.zip"))
