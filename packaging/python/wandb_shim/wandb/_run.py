"""Runs: each reports to the trial that the process is an attempt of."""

import copy
import glob
import os
import threading
import time

import thalweg
from wandb import _dropped, _media
from wandb._config import Config, as_dict, parameters
from wandb._dropped import Error, drop, note, nothing
from wandb._metrics import Definitions, Summary, flat, number_of

STOPPED = 75  # the exit code that means: go on later, or not at all, but nothing is wrong


class Settings:
    """Any; none means anything here."""

    def __init__(self, **settings):
        self.__dict__.update(settings)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return None

    def update(self, *others, **settings):
        for other in others:
            self.__dict__.update(as_dict(other))
        self.__dict__.update(settings)


class _Trial:
    """What all runs of the process share. The trial is one, so runs come one behind the other on its steps."""

    def __init__(self):
        self.run = thalweg.init()
        self.parameters = parameters()
        self.last = {}  # of each metric the step of its newest value
        self.newest = {}  # and that value
        self.end = -1  # the largest of the steps
        self.runs = {}
        attempt = self.run.attempt or "0"
        self.id = attempt.rpartition(".")[0] if attempt.count(".") > 1 else attempt
        self.sweep = attempt.partition(".")[0]
        _dropped.tell_by(self.note)

    def note(self, text):
        self.run.note(text)
        if self.run.rank == 0 and not os.environ.get("THALWEG_REPORTS"):
            print(text, flush=True)

    def report(self, values, step):
        if values:
            self.run.log(values, step)
            self.end = max(self.end, step)
            for name, value in values.items():
                self.last[name], self.newest[name] = step, value

    def stop_if_told(self):
        """A script that never asks ends here, rather than by a signal much later."""
        if self.run._asks or threading.current_thread() is not threading.main_thread():
            return
        if self.run._told_to_stop():
            print("wandb shim: Thalweg asked to stop, so the script ends here", flush=True)
            raise SystemExit(STOPPED)


_trial = None


def trial():
    global _trial
    if _trial is None:
        _trial = _Trial()
    return _trial


class Run:
    def __init__(self, config, name=None, project=None, entity=None, group=None, tags=None, notes=None,
                 id=None, job_type=None, mode=None, settings=None):  # fmt: skip
        self._trial = trial()
        shared = self._trial.run
        self.config = Config(config, self._trial.parameters)
        self._definitions = Definitions()
        self.summary = Summary(self._summarise, self._definitions)
        self.id = id or os.environ.get("WANDB_RUN_ID") or self._trial.id.replace(".", "-")
        self.name = name or os.environ.get("WANDB_NAME") or "trial-" + self._trial.id
        self.project = project or os.environ.get("WANDB_PROJECT") or "uncategorized"
        self.entity, self.group, self.job_type = entity or "", group or "", job_type
        self.tags, self.notes = tuple(tags or ()), notes
        self.sweep_id = self._trial.sweep
        self.dir = self.sync_dir = shared.folder
        self.resumed = shared.resume_from is not None
        self.start_time = time.time()
        self.offline, self.disabled, self.mode = True, mode == "disabled", mode or "offline"
        self.settings = settings if isinstance(settings, Settings) else Settings(**as_dict(settings))
        self.url = self.project_url = self.sweep_url = None
        self._base = 0
        self._begun = False  # the script may begin where its own checkpoint says
        # Counted from 0, as W&B does; a later attempt goes on behind its checkpoint.
        self.starting_step = shared.resume_step + 1 if self.resumed else 0
        before = self._trial.runs.get(id)
        self._trial.runs[self.id] = self
        if before is not None:  # the script goes on with a run that it has finished
            self._base, self.starting_step, self.resumed = before._base, before.step, True
        elif self._trial.end >= 0:
            self._base, self.starting_step = self._trial.end + 1, 0
            note(
                "%s reports to the same trial as the run before: its steps count on from %d"
                % (self.name, self._base)
            )
        self.step = self.starting_step
        self._logged = {}  # the newest value of each that this run logged

    @property
    def path(self):
        return "/".join(part for part in (self.entity, self.project, self.id) if part)

    def _summarise(self, name, value):
        """What the script puts into the summary is a value of the metric, behind those that it logged."""
        for name, value in flat({name: value}):
            number = number_of(value)
            if number is None:
                drop("summary %s (%s)" % (name, type(value).__name__))
                continue
            step = max(self._trial.end, self._base)
            if name in self._trial.last and name in self._logged:
                if self._trial.newest[name] == number:
                    continue
                step = self._trial.last[name] + 1
                note("what is put into summary[%r] is a value of it behind the last one logged" % name)
            self._trial.report({name: number}, step)

    def _next(self, step, commit):
        """The step of this call; None where it lies behind."""
        if step is not None:
            step = int(step)
            if self._begun and step < self.step:
                return None
            self.step = step
        self._begun = True
        now = self.step
        if commit or (commit is None and step is None):
            self.step += 1
        return now

    def log(self, data, step=None, commit=None, sync=None):
        if not hasattr(data, "keys"):
            raise TypeError("wandb.log takes a dict, not %r" % type(data))
        step = self._next(step, commit)
        if step is None:
            return drop("a step that is smaller than the one before")
        values, kept = {}, {}
        for name, value in flat(as_dict(data)):
            number = number_of(value)
            if number is None:
                drop("%s (%s)" % (name, type(value).__name__))
            else:
                values[name] = number
            kept[name] = self.summary.keep(name, value if number is None else number)
        self._logged.update(values)
        # At once, also what W&B would hold back until the step is over.
        for at, part in self._by_step(values, kept, step).items():
            self._trial.report(part, self._base + at)
        self._trial.stop_if_told()

    def _by_step(self, values, kept, step):
        parts = {}
        for name, value in values.items():
            defined = self._definitions.step_of(name, values, self._logged)
            again = defined is not None and self._trial.last.get(name) == self._base + defined
            if again and self._trial.newest[name] != value:
                note("%s has several values at one step of define_metric: the last one counts" % name)
            parts.setdefault(step if defined is None else defined, {}).update({name: value, **kept[name]})
        return parts

    def report_at(self, values, step):
        """Numbers that bring steps of their own: TensorBoard's."""
        reported = dict(values)
        for name, value in values.items():
            reported.update(self.summary.keep(name, value))
        self._logged.update(values)
        self._trial.report(reported, self._base + step)
        self._trial.stop_if_told()

    def define_metric(self, name, step_metric=None, step_sync=None, hidden=None, summary=None,
                      goal=None, overwrite=None, **others):  # fmt: skip
        return self._definitions.add(name, step_metric, step_sync, summary, goal)

    def finish(self, exit_code=None, quiet=None):
        if exit_code:
            note("finish(exit_code=%s) is for W&B: here the program's own exit code counts" % exit_code)
        if active is self:
            show(None)

    join = finish

    def checkpoint(self, path, step=None):
        """Of Thalweg alone: what a later attempt goes on from."""
        self._trial.run.checkpoint(path, step)
        self._trial.stop_if_told()

    def save(self, glob_str=None, *args, **kwargs):
        if glob_str is None:  # how a changed name used to be sent
            return True
        note("wandb.save copies nothing: files stay where they are")
        return sorted(glob.glob(os.fspath(glob_str)))

    def restore(self, name, *args, **kwargs):
        for folder in (self.dir, os.getcwd()):
            path = os.path.join(folder, name)
            if os.path.isfile(path):
                return open(path, encoding="utf-8")
        raise Error("restore: there is no file %s here, and W&B's service is not asked" % name)

    def watch(self, *args, **kwargs):
        drop("wandb.watch")

    def unwatch(self, *args, **kwargs):
        pass

    def log_artifact(self, artifact_or_path=None, name=None, type=None, *args, **kwargs):
        note("wandb.log_artifact keeps nothing: files stay where they are")
        if isinstance(artifact_or_path, _media.Artifact):
            return artifact_or_path
        return _media.Artifact(name or os.path.basename(os.fspath(artifact_or_path)), type or "unspecified")

    upsert_artifact = finish_artifact = log_artifact

    def log_model(self, path, name=None, aliases=None):
        return self.log_artifact(path, name, "model")

    def log_code(self, *args, **kwargs):
        drop("wandb.log_code")

    def link_artifact(self, *args, **kwargs):
        drop("wandb.link_artifact")

    link_model = link_artifact

    def use_artifact(self, *args, **kwargs):
        raise Error("use_artifact asks W&B's service; name the file in the sweep file instead")

    use_model = use_artifact

    def alert(self, title="", text="", *args, **kwargs):
        self._trial.run.note("%s: %s" % (title, text))

    def mark_preempting(self):
        """Thalweg is told by the scheduler."""

    def get_url(self):
        return None

    get_project_url = get_sweep_url = get_url

    def project_name(self):
        return self.project

    def display(self, *args, **kwargs):
        return False

    def to_html(self, *args, **kwargs):
        return ""

    def status(self):
        return None

    def _label(self, *args, **kwargs):
        """Where W&B counts its users."""

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        drop("run." + name)
        return nothing()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.finish()
        return False


active = None


def show(run):
    """wandb.run, and the names that a script may have replaced."""
    import wandb

    global active
    active = wandb.run = run
    wandb.config, wandb.summary = config, summary


def need(what="this"):
    if active is None:
        raise Error("You must call wandb.init() before %s" % what)
    return active


class _ConfigProxy:
    """wandb.config before and after init()."""

    _early = Config()

    def _target(self):
        return active.config if active is not None else self._early

    def __getattr__(self, name):
        return getattr(self._target(), name)

    def __setattr__(self, name, value):
        self._target()[name] = value

    def __getitem__(self, name):
        return self._target()[name]

    def __setitem__(self, name, value):
        self._target()[name] = value

    def __contains__(self, name):
        return name in self._target()

    def __iter__(self):
        return iter(self._target())

    def __len__(self):
        return len(self._target())

    def __repr__(self):
        return repr(self._target())

    def __deepcopy__(self, memo):
        return copy.deepcopy(self._target(), memo)

    def keys(self):
        return self._target().keys()


class _SummaryProxy:
    def __getattr__(self, name):
        return getattr(need("wandb.summary").summary, name)

    def __setattr__(self, name, value):
        need("wandb.summary").summary[name] = value

    def __getitem__(self, name):
        return need("wandb.summary").summary[name]

    def __setitem__(self, name, value):
        need("wandb.summary").summary[name] = value

    def __contains__(self, name):
        return name in need("wandb.summary").summary

    def __iter__(self):
        return iter(need("wandb.summary").summary)

    def keys(self):
        return need("wandb.summary").summary.keys()


config = _ConfigProxy()
summary = _SummaryProxy()
