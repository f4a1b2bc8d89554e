"""Stable-Baselines3 2.9.2, stable_baselines3/common/callbacks.py and logger.py (TensorBoardOutputFormat)."""

from tensorboard.summary.writer.event_file_writer import EventFileWriter, scalar


class BaseCallback:
    def __init__(self, verbose=0):
        self.verbose, self.n_calls = verbose, 0

    def init_callback(self, model):
        self.model = model
        self._init_callback()

    def on_step(self):
        self.n_calls += 1
        return self._on_step()

    def on_training_end(self):
        self._on_training_end()


class A2C:
    def __init__(self, tensorboard_log):
        self.gamma, self.policy, self.verbose, self.device = 0.99, object(), 0, "cpu"
        self._folder = tensorboard_log

    def learn(self, total_timesteps, callback):
        callback.init_callback(self)
        writer = EventFileWriter(self._folder + "/A2C_1")
        for step in range(1, total_timesteps + 1):
            assert callback.on_step()
            writer.add_event(scalar("rollout/ep_rew_mean", 10.0 * step, step))
            writer.add_event(scalar("train/loss", 1.0 / step, step))
        callback.on_training_end()

    def save(self, path):
        open(path, "w").close()
