"""Lets a script that was written for W&B report to Thalweg, without their service or package.

    THALWEG_WANDB=shim thalweg submit sweep.yaml        # or env: {THALWEG_WANDB: shim} in the file

puts this package in the way of `import wandb` in the sweep's trials. Numbers that the script logs are the
trial's metrics, nested ones under dotted names; wandb.config holds the trial's parameters over the script's
defaults. Pictures, tables, artifacts and watched models have no place in Thalweg: they are taken and dropped,
and said to be so once each, as is whatever this package has no name for. A function that would have to ask the
service for something raises wandb.Error. A script that is to stop ends at its next log().
"""

import atexit
import os

from wandb import _dropped, _rest, _run
from wandb._config import Config, as_dict, defaults
from wandb._dropped import AlertLevel, CommError, Error, UsageError, note
from wandb._media import Api, Artifact, Table, shown
from wandb._run import Run, Settings, config, summary

_rest.install()
globals().update(shown)
atexit.register(_dropped.say_the_rest)

__version__ = "0.99.0+thalweg"
__all__ = ["init", "log", "finish", "config", "run", "summary", "Error"]

run = None

_HELD = (None, False, "default", "return_previous")  # values of reinit that begin nothing


def init(entity=None, project=None, dir=None, id=None, name=None, notes=None, tags=None, config=None,
         config_exclude_keys=None, config_include_keys=None, allow_val_change=None, group=None, job_type=None,
         mode=None, force=None, anonymous=None, reinit=None, resume=None, resume_from=None, fork_from=None,
         save_code=None, tensorboard=None, sync_tensorboard=None, monitor_gym=None, settings=None,
         magic=None, **others):  # fmt: skip
    """Begins to report; a second call returns the same run, until that is finished."""
    settings = settings if isinstance(settings, Settings) else Settings(**as_dict(settings))
    reinit = reinit if reinit is not None else settings.reinit
    if _run.active is not None and reinit in _HELD:
        return _run.active
    for unknown in sorted(others):
        note("wandb.init(%s=...) means nothing here" % unknown)
    if resume_from or fork_from:
        note("resume_from and fork_from mean nothing here: thalweg goes on from the trial's own checkpoint")
    if monitor_gym:
        note("monitor_gym: videos are not recorded")
    if _run.active is not None and reinit != "create_new":
        _run.active.finish()
    values = dict(defaults(), **dict(_run._ConfigProxy._early))
    values.update(as_dict(config))
    left = set(config_exclude_keys or ())
    if config_include_keys:
        left |= set(values) - set(config_include_keys)
    begun = Run({key: value for key, value in values.items() if key not in left},
                name=name or settings.run_name, project=project or settings.project, entity=entity, group=group,
                tags=tags, notes=notes, id=id or settings.run_id, job_type=job_type, mode=mode or settings.mode,
                settings=settings)  # fmt: skip
    if _run.active is None:
        _run.show(begun)
    if sync_tensorboard or tensorboard:
        from wandb import tensorboard as boards

        boards.patch()
    return begun


def log(data, step=None, commit=None, sync=None):
    _run.need("wandb.log()").log(data, step=step, commit=commit, sync=sync)


def finish(exit_code=None, quiet=None):
    if _run.active is not None:
        _run.active.finish(exit_code, quiet)


join = finish


def _on_run(name):
    def call(*args, **kwargs):
        return getattr(_run.need("wandb.%s()" % name), name)(*args, **kwargs)

    call.__name__ = name
    return call


for _name in ("alert", "checkpoint", "define_metric", "link_artifact", "link_model", "log_artifact", "log_code",
              "log_model", "mark_preempting", "restore", "save", "unwatch", "upsert_artifact", "use_artifact",
              "use_model", "watch"):  # fmt: skip
    globals()[_name] = _on_run(_name)


def login(*args, **kwargs):
    return True


def setup(*args, **kwargs):
    return None


teardown = require = ensure_configured = setup


_termed = set()


def termlog(text="", *args, repeat=True, **kwargs):
    if repeat or text not in _termed:
        print(text, flush=True)
    _termed.add(text)


termwarn = termerror = termlog


def sweep(sweep=None, *args, **kwargs):
    """The sweep that the process belongs to."""
    if not os.environ.get("THALWEG_ATTEMPT"):
        raise Error("sweeps are submitted here by: thalweg submit sweep.yaml")
    note("wandb.sweep: the sweep file says which trials there are, not what is passed here")
    return os.environ["THALWEG_ATTEMPT"].partition(".")[0]


def agent(sweep_id=None, function=None, entity=None, project=None, count=None, forward_signals=False):
    """Thalweg is the agent: the function is called once, for the trial of this process."""
    if function is None:
        raise Error("trials are started by Thalweg: leave wandb.agent out and submit the sweep file")
    note("wandb.agent calls the function once: Thalweg starts a process for each configuration")
    function()
    finish()


def controller(*args, **kwargs):
    raise Error("thalwegd is the controller here")


def __getattr__(name):
    return _rest.find("wandb", name)
