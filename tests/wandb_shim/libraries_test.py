"""Callbacks and loggers of other people's libraries: they start, and what they report is there, at their steps."""

import sys
import unittest

import harness


class Libraries(unittest.TestCase):
    def expect(self, script, metrics, notes, config=None):
        outcome = harness.run("import wandb\n" + script, config)
        self.assertEqual(outcome.code, 0, outcome.out)
        self.assertEqual(outcome.metrics, metrics)
        self.assertEqual(sorted(outcome.shim_notes()), sorted(notes))

    def test_keras_by_epochs(self):
        self.expect(
            "import keras\nfrom wandb.integration.keras import WandbMetricsLogger, WandbModelCheckpoint\nwandb.init()\n"
            "keras.Sequential().fit(2, 3, [WandbMetricsLogger(), WandbModelCheckpoint('m.keras', save_best_only=True)])\n"
            "import os\nassert os.path.exists('m.keras')",
            {"epoch/loss": {0: 0.0, 1: 10.0}, "epoch/val_loss": {0: 4.0, 1: 3.0}, "epoch/epoch": {0: 0.0, 1: 1.0},
             "epoch/learning_rate": {0: 0.5, 1: 0.5}},
            ["WandbModelCheckpoint keeps no artifacts: files stay where they are"],
        )  # fmt: skip

    def test_keras_by_batches(self):
        rate = {"batch/learning_rate": {at: 0.5 for at in (0, 2, 4, 6)}}
        self.expect(
            "import keras\nfrom wandb.keras import WandbMetricsLogger\nwandb.init()\n"
            "m = WandbMetricsLogger(log_freq=2)\nm.on_epoch_end = lambda epoch, logs=None: None\n"
            "keras.Sequential().fit(2, 4, [m])",
            dict({"batch/loss": {0: 0.0, 2: 2.0, 4: 10.0, 6: 12.0}, "batch/batch_step": {at: float(at) for at in (0, 2, 4, 6)}},
                 **rate),
            [],
        )  # fmt: skip

    def test_keras_as_it_was(self):
        self.expect(
            "import keras\nfrom wandb.keras import WandbCallback\nwandb.init()\n"
            "keras.Sequential().fit(2, 1, [WandbCallback(log_weights=True)])\nassert wandb.run.summary['best_epoch'] == 1",
            {"loss": {0: 0.0, 1: 10.0}, "val_loss": {0: 4.0, 1: 3.0}, "epoch": {0: 0.0, 1: 1.0},
             "best_val_loss": {0: 3.0}, "best_epoch": {0: 1.0}},
            ["WandbCallback(log_weights=...) is not recorded", "WandbCallback saves no model here: use Keras' ModelCheckpoint"],
        )  # fmt: skip

    def test_a_callback_without_a_run(self):
        outcome = harness.run("from wandb.keras import WandbMetricsLogger\nWandbMetricsLogger()")
        self.assertIn("You must call wandb.init() before WandbMetricsLogger()", outcome.out)

    def test_xgboost(self):
        metrics = {"train-rmse": {0: 1.0, 1: 0.5}, "val-rmse": {0: 1.0, 1: 0.5}, "epoch": {0: 0.0, 1: 1.0},
                   "best_score": {2: 0.25}, "best_iteration": {2: 1.0}}  # fmt: skip
        for cv in ("False", "True"):
            self.expect(
                "import xgboost\nfrom wandb.integration.xgboost import WandbCallback\nwandb.init()\n"
                "xgboost.train(2, [WandbCallback(log_model=True)], cv=%s)\n"
                "assert wandb.config['learner']['objective']['name'] == 'reg:squarederror'" % cv,
                metrics,
                ["WandbCallback(log_model=True) keeps no model: save it yourself",
                 "WandbCallback: the importance of features is not recorded"],
            )  # fmt: skip

    def test_lightgbm(self):
        for old in ("False", "True"):
            self.expect(
                "import lightgbm\nfrom wandb.lightgbm import wandb_callback, log_summary\nwandb.init()\n"
                "model = lightgbm.train(2, [wandb_callback()], old=%s)\nlog_summary(model, save_model_checkpoint=True)\n"
                "assert wandb.config.objective == 'regression'" % old,
                {"validation_l2": {0: 1.0, 1: 0.5}, "iteration": {0: 0.0, 1: 1.0}, "best_iteration": {1: 1.0},
                 "best_score.validation.l2": {1: 0.25}},
                ["log_summary: the importance of features is not recorded",
                 "log_summary(save_model_checkpoint=True) keeps no model: save it yourself"],
            )  # fmt: skip
            self.expect(
                "import lightgbm\nfrom wandb.integration.lightgbm import wandb_callback\nwandb.init()\n"
                "lightgbm.cv(1, [wandb_callback(log_params=False)], old=%s)" % old,
                {"valid_l2-mean": {0: 1.0}, "valid_l2-stdv": {0: 0.5}, "iteration": {0: 0.0}},
                [],
            )

    def test_catboost(self):
        # CatBoost 1.2, catboost/core.py: after_iteration(info) with info.iteration and info.metrics.
        self.expect(
            "from types import SimpleNamespace as S\nfrom wandb.catboost import WandbCallback\nwandb.init()\n"
            "c = WandbCallback(metric_period=2)\nfor i, seen in enumerate(([1.0], [1.0], [1.0, 0.5])):\n"
            "    assert c.after_iteration(S(iteration=i + 1, metrics={'learn': {'RMSE': seen}}))",
            {"learn-RMSE": {0: 1.0, 1: 0.5}, "iteration@metric-period-2": {0: 1.0, 1: 3.0}},
            [],
        )

    def test_stable_baselines(self):
        self.expect(
            "from stable_baselines3.common.callbacks import A2C\nfrom wandb.integration.sb3 import WandbCallback\n"
            "run = wandb.init(sync_tensorboard=True, monitor_gym=True)\n"
            "A2C('runs/' + run.id).learn(2, WandbCallback(gradient_save_freq=100, model_save_path='models', verbose=2))\n"
            "import os\nassert os.path.exists('models/model.zip')\n"
            "assert run.config.gamma == 0.99 and run.config.algo == 'A2C'",
            {"rollout/ep_rew_mean": {1: 10.0, 2: 20.0}, "train/loss": {1: 1.0, 2: 0.5}},
            ["monitor_gym: videos are not recorded", "wandb.watch is not recorded"],
        )

    def test_tensorboard(self):
        """Steps that go back, two kinds of scalars, folders inside of the first one, and what is no scalar."""
        self.expect(
            "wandb.tensorboard.patch(root_logdir='logs')\nwandb.init()\n"
            "from tensorboard.summary.writer.event_file_writer import EventFileWriter, scalar, tensor, histogram\n"
            "from tensorboardX.event_file_writer import EventFileWriter as X\n"
            "w, v = EventFileWriter('logs'), X('logs/val')\n"
            "w.add_event(scalar('a', 1, 7)); w.add_event(scalar('a', 2, 3)); w.add_event(tensor('b', 5, 1))\n"
            "v.add_event(scalar('a', 9, 1)); w.add_event(histogram('h', 1)); w.add_event(tensor('t', 1, 1, 'text'))\n"
            "assert wandb.summary['val/a'] == 9 and len(w.written) == 5",
            {"a": {7: 1.0, 3: 2.0}, "b": {1: 5.0}, "val/a": {1: 9.0}},
            ["TensorBoard's h is not recorded", "TensorBoard's t is not recorded"],
        )

    def test_tensorboard_that_nobody_writes(self):
        self.expect(
            "wandb.init(sync_tensorboard=True)",
            {},
            ["sync_tensorboard: neither PyTorch nor tensorboardX wrote a scalar; what TensorFlow writes is read where the "
             "sweep file says `tensorboard: FOLDER`"],
        )  # fmt: skip

    def test_lightning(self):
        for script, more in (
            ("callers.lightning(2)", []),
            ("callers.lightning(2, log_model=True)",
             ["wandb.Artifact is not recorded", "wandb.log_artifact keeps nothing: files stay where they are"]),
        ):  # fmt: skip
            steps = {float(step): float(step) for step in (4, 9, 14, 19)}
            self.expect(
                "import callers\n" + script + "\nassert wandb.config.width == 3",
                {"train/loss": {step: 1.0 / step for step in (4, 9, 14, 19)}, "trainer/global_step": steps,
                 "val/loss": {9: 2.0 / 9, 19: 2.0 / 19}, "epoch": {4: 0.0, 9: 0.0, 14: 1.0, 19: 1.0}},
                ["wandb.watch is not recorded", "wandb.Image is not recorded", "samples (list) is not recorded"] + more,
            )  # fmt: skip

    def test_transformers(self):
        self.expect(
            "import callers\ncallers.transformers(4)\nassert wandb.config['model/num_parameters'] == 4922\n"
            "assert wandb.config.learning_rate == 0.5",
            {"train/loss": {2: 0.5, 4: 0.25}, "eval/loss": {4: 0.5}, "train/epoch": {2: 0.5, 4: 1.0},
             "train/global_step": {2: 2.0, 4: 4.0}, "train_runtime": {4: 0.5}, "train_loss": {4: 0.25},
             "test/loss": {4: 0.125}},
            ["config.learning_rate stays what the sweep says", "wandb.Artifact is not recorded",
             "wandb.log_artifact keeps nothing: files stay where they are"],
            config={"learning_rate": 0.5},
        )  # fmt: skip

    def test_accelerate(self):
        self.expect("import callers\ncallers.accelerate(2)", {"loss": {0: 1.0, 1: 0.5}}, [])


if __name__ == "__main__":
    sys.exit(unittest.main())
