"""Loggers that import wandb themselves: what they call, in their order."""

import importlib.metadata
import importlib.util
import os
import tempfile


def lightning(epochs, log_model=False):
    """Lightning 2.6.6, lightning/pytorch/loggers/wandb.py (WandbLogger), with a checkpoint at the end."""
    installed = [int(part) for part in importlib.metadata.version("wandb").split(".")]
    assert installed >= [0, 12, 10]  # RequirementCache("wandb>=0.12.10")
    import wandb
    from wandb import Artifact
    from wandb.sdk.lib import RunDisabled
    from wandb.wandb_run import Run

    wandb.require("service")
    assert wandb.run is None and not hasattr(wandb, "_attach")
    experiment = wandb.init(
        name=None, project="lightning_logs", dir=".", id=None, resume="allow", anonymous=None
    )
    assert isinstance(experiment, (Run, RunDisabled)) and getattr(experiment, "define_metric", None)
    experiment.define_metric("trainer/global_step")
    experiment.define_metric("*", step_metric="trainer/global_step", step_sync=True)
    experiment.watch(object(), log="gradients", log_freq=100, log_graph=True)
    experiment.config.update({"width": 3}, allow_val_change=True)
    for epoch in range(epochs):
        for step in (10 * epoch + 4, 10 * epoch + 9):
            experiment.log(dict({"train/loss": 1.0 / step, "epoch": epoch}, **{"trainer/global_step": step}))
        step = 10 * epoch + 9
        experiment.log(dict({"val/loss": 2.0 / step, "epoch": epoch}, **{"trainer/global_step": step}))
    experiment.log(dict({"samples": [wandb.Image(None)]}, **{"trainer/global_step": step}))
    if log_model:
        open("epoch=1.ckpt", "w").close()
        artifact = wandb.Artifact(name="model-" + experiment.id, type="model", metadata={"score": 1})
        assert isinstance(artifact, Artifact)
        artifact.add_file("epoch=1.ckpt", name="model.ckpt")
        experiment.log_artifact(artifact, aliases=["latest", "best"])


def transformers(steps):
    """Transformers 5.24.0, transformers/integrations/integration_utils.py (WandbCallback), WANDB_LOG_MODEL=end."""
    assert importlib.util.find_spec("wandb") is not None
    import wandb

    assert hasattr(wandb, "run")
    from wandb.sdk.lib.config_util import ConfigError

    wandb.termwarn("the run_name", repeat=False)
    if wandb.run is None:
        wandb.init(project=os.getenv("WANDB_PROJECT", "huggingface"), name="out")
    wandb.config.update({"learning_rate": 5e-5, "per_device": None}, allow_val_change=True)
    if getattr(wandb, "define_metric", None):
        wandb.define_metric("train/global_step")
        wandb.define_metric("*", step_metric="train/global_step", step_sync=True)
    wandb.run._label(code="transformers_trainer")
    try:
        wandb.config["model/num_parameters"] = 4922
    except ConfigError:
        raise AssertionError from None
    for step in range(2, steps + 1, 2):
        wandb.log({"train/loss": 1.0 / step, "train/epoch": step / 4, "train/global_step": step})
        if step % 4 == 0:
            wandb.log({"eval/loss": 2.0 / step, "train/epoch": step / 4, "train/global_step": step})
    for name, value in {"train_runtime": 0.5, "train_loss": 0.25}.items():
        wandb.run.summary[name] = value
    wandb.log({"train/epoch": steps / 4, "train/global_step": steps})
    kept = {k: v for k, v in dict(wandb.summary).items() if isinstance(v, float) and not k.startswith("_")}
    assert kept["train_loss"] == 0.25
    artifact = wandb.Artifact(name="model-" + wandb.run.name, type="model", metadata=kept)
    with tempfile.TemporaryDirectory():
        with artifact.new_file("model.bin", mode="wb") as file:
            file.write(b"x")
    wandb.run.log_artifact(artifact, aliases=["final_model"])
    wandb.log({"test/loss": 0.125})


def accelerate(steps):
    """Accelerate 1.15.0, accelerate/tracking.py (WandBTracker)."""
    import wandb

    run = wandb.init(project="p", tags=["a"])
    wandb.config.update({"lr": 0.1}, allow_val_change=True)
    for step in range(steps):
        run.log({"loss": 1.0 / (step + 1)}, step=step)
    run.finish()
