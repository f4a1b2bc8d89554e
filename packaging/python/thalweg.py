"""Reports from a training program to Thalweg, in one file without dependencies.

    import thalweg

    run = thalweg.init(lr=0.1, epochs=10)          # defaults; Thalweg's parameters replace them
    for step in range(start, run.config.epochs):
        ...
        thalweg.log({"val/loss": loss}, step=step)
        thalweg.checkpoint("model.pt", step=step)   # after the file is written
        if thalweg.should_stop():
            break
    thalweg.finish()

`run.resume_from` is the checkpoint to go on from (None on a fresh start), `run.resume_step` its step.
Outside of Thalweg everything works as well: the defaults are the configuration, and log() prints.
Of several processes only rank 0 (RANK, or what MPI and Slurm say) reports; the others' calls do
nothing. Functions may be called from any thread.

What is written: one JSON object a line, appended to the file that THALWEG_REPORTS names.

For notebooks, where pandas is installed:

    thalweg.frame(12)                       # a row for each trial: parameters, newest metrics
    thalweg.frame(12, metric="val/error")   # a row for each point of a curve

They read the record (thalweg.db in THALWEG_HOME), also while sweeps run.
"""

import json
import os
import threading
import time

__version__ = "0.1"
__all__ = ["Config", "Run", "init", "log", "checkpoint", "should_stop", "note", "finish", "frame"]

_LOOK_S = 0.2  # between two looks at the file that says stop


class Config(dict):
    """A dict whose keys are attributes, too; nested ones by a dotted name: config["model.depth"]."""

    def __init__(self, values=()):
        super().__init__()
        for key, value in dict(values).items():
            super().__setitem__(key, Config(value) if isinstance(value, dict) else value)

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError("the configuration has no %r" % name) from None

    def __setattr__(self, name, value):
        self[name] = value

    def __missing__(self, name):
        outer, dot, rest = name.partition(".") if isinstance(name, str) else ("", "", "")
        if dot and isinstance(dict.get(self, outer), dict):
            return self[outer][rest]
        raise KeyError(name)


def _merged(defaults, values):
    merged = dict(defaults)
    for key, value in values.items():
        both = isinstance(value, dict) and isinstance(merged.get(key), dict)
        merged[key] = _merged(merged[key], value) if both else value
    return merged


def _to_number(values, path):
    """JSON has no number for infinity and NaN: the file holds their names."""
    for key in path[:-1]:
        values = values[key]
    values[path[-1]] = float(values[path[-1]])


def _number_of(value):
    """Also of a tensor or an array with one element; torch warns of float() where it has a gradient."""
    detach = getattr(value, "detach", None)
    return float(detach() if callable(detach) else value)


def _own_rank():
    # A launcher that the program itself started knows more than who started that launcher.
    for name in ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "RANK", "SLURM_PROCID"):
        text = os.environ.get(name, "")
        if text.isdigit():
            return int(text)
    return 0


class Run:
    """What init() returns. Attributes: config, seed, rank, folder, resume_from, resume_step, attempt."""

    def __init__(self, defaults):
        environment = os.environ
        values = {}
        if environment.get("THALWEG_CONFIG"):
            with open(environment["THALWEG_CONFIG"], encoding="utf-8") as file:
                values = json.load(file)
        for path in json.loads(environment.get("THALWEG_NOT_FINITE", "[]")):
            _to_number(values, path)
        self.config = Config(_merged(defaults, values))
        self.seed = int(environment.get("THALWEG_SEED", "1"))
        self.rank = _own_rank()
        self.attempt = environment.get("THALWEG_ATTEMPT") or None
        self.folder = environment.get("THALWEG_FOLDER") or os.getcwd()
        self.checkpoints = environment.get("THALWEG_CHECKPOINTS") or os.path.join(
            self.folder, "checkpoints"
        )
        self.resume_from = environment.get("THALWEG_RESUME_FROM") or None
        self.resume_step = int(environment.get("THALWEG_RESUME_STEP", "0"))
        self._reports = environment.get("THALWEG_REPORTS") if self.rank == 0 else None
        self._stop = environment.get("THALWEG_STOP")
        self._lock = threading.Lock()
        self._file = None
        self._whole = True  # the last line was written to its end
        self._step = self.resume_step
        self._looked = 0.0
        self._stopping = False
        self._asks = False
        self._complained = False
        self._dropped = set()  # what was said once
        self._write({"hello": "python " + __version__})

    def _write(self, report):
        if not self._reports:
            return
        line = (json.dumps(report) + "\n").encode()
        with self._lock:
            try:
                if self._file is None:
                    self._file = os.open(
                        self._reports, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600
                    )
                if not self._whole:
                    line = b"\n" + line
                self._whole = os.write(self._file, line) == len(line)
            except OSError as error:  # a full disk is no reason to end a training
                if not self._complained:
                    print("thalweg: reports are lost: %s" % error, flush=True)
                self._complained = True

    def log(self, metrics, step=None):
        """Numbers by name, measured after `step` steps; without it, one more than the last time.

        Steps are whole: of 2.5 the 2 counts, and a note says so once. What is no number (None, a dict, a picture) is left out, and said to be so once: a logger does
        not end a training.
        """
        values = {}
        for name, value in metrics.items():
            try:
                number = _number_of(value)
            except Exception:  # whatever a library's own type raises
                kind = "None" if value is None else "a " + type(value).__name__
                self._say_once(name, "the metric %r is %s, no number: it is left out" % (name, kind))
                continue
            finite = number - number == 0
            values[str(name)] = number if finite else repr(number)
        if step is None:
            step = self._step + 1
        self._step = int(step)
        if self._step != step:
            self._say_once("step", "step %r is taken for %d" % (step, self._step))
        if values:
            self._write({"metrics": values, "step": self._step})
        if values and self.rank == 0 and not self._reports:
            print("step %d: %s" % (self._step, " ".join("%s=%s" % item for item in values.items())))

    def _say_once(self, key, text):
        if self.rank == 0 and key not in self._dropped:
            self._dropped.add(key)
            if self._reports:
                self.note(text)
            else:
                print("thalweg: " + text)

    def checkpoint(self, path, step=None, seconds=None):
        """A file or folder that a later attempt can go on from; call it once it is written."""
        report = {"checkpoint": os.path.abspath(path)}
        report["step"] = self._step if step is None else int(step)
        if seconds is not None:
            report["seconds"] = float(seconds)
        self._write(report)

    def should_stop(self):
        """Whether to write a checkpoint and end: the time is nearly over, or the goal is reached.

        Ranks may learn it at different steps: where they exchange data, ask on rank 0 and broadcast
        the answer.
        """
        self._asks = True
        return self._told_to_stop()

    def _told_to_stop(self):
        now = time.monotonic()
        if not self._stopping and self._stop and now - self._looked >= _LOOK_S:
            self._looked = now
            self._stopping = os.path.exists(self._stop)
            if self._stopping:
                self._write({"stopping": True})
        return self._stopping

    def note(self, text):
        """A line in the trial's events."""
        self._write({"note": str(text)})

    def finish(self):
        """Nothing is reported after it."""
        with self._lock:
            if self._file is not None:
                os.close(self._file)
            self._file = self._reports = None

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.finish()


_run = None


def init(defaults=None, **more):
    """Begins to report; a second call returns the same run. See Run."""
    global _run
    if _run is None:
        _run = Run(_merged(defaults or {}, more))
    return _run


def log(metrics, step=None):
    init().log(metrics, step)


def checkpoint(path, step=None, seconds=None):
    init().checkpoint(path, step, seconds)


def should_stop():
    return init().should_stop()


def note(text):
    init().note(text)


def finish():
    init().finish()


def _open_record(home):
    import sqlite3
    import urllib.parse

    if home is None:
        state = os.environ.get("XDG_STATE_HOME", "")
        if not os.path.isabs(state):
            state = os.path.expanduser("~/.local/state")
        home = os.environ.get("THALWEG_HOME") or os.path.join(state, "thalweg")
    file = os.path.join(home, "thalweg.db")
    if not os.path.exists(file):
        raise FileNotFoundError("there is no record %s: set THALWEG_HOME, or give home=" % file)
    return sqlite3.connect("file:%s?mode=ro" % urllib.parse.quote(file), uri=True)


def _sweep_number(record, sweep):
    """Of a number, or of a name: the newest sweep that has it."""
    if isinstance(sweep, str) and not sweep.isdigit():
        sql, value = "SELECT max(sweep) FROM sweeps WHERE name = ?", sweep
    else:
        sql, value = "SELECT max(sweep) FROM sweeps WHERE sweep = ?", int(sweep)
    number = record.execute(sql, (value,)).fetchone()[0]
    if number is None:
        raise KeyError("there is no sweep %r" % sweep)
    return number


def frame(sweep, metric=None, home=None):
    """A pandas DataFrame of a sweep (its number or name).

    Without `metric` a row for each trial, by its id: configuration, seed, state, the parameters
    under their dotted names, and the newest value of every metric. With it a row for each point of
    that metric's curves: id, step, the metric, time (Unix seconds), and the trial's parameters. What
    a resume or a later report of the same step has replaced is not among them.
    """
    import pandas

    record = _open_record(home)
    try:
        number = _sweep_number(record, sweep)
        trials = {}
        for identity, trial, configuration, seed, state, parameters in record.execute(
            "SELECT id, trial, configuration, seed, state, parameters FROM trials"
            " WHERE sweep = ? ORDER BY trial",
            (number,),
        ):
            trials[trial] = {"id": identity, "configuration": configuration, "seed": seed,
                             "state": state, "parameters": json.loads(parameters)}
        if metric is None:
            rows = {trial: _trial_row(values) for trial, values in trials.items()}
            for trial, name, value in record.execute(
                "SELECT trial, metric, value FROM latest_metrics WHERE sweep = ?", (number,)
            ):
                rows[trial][name] = value
            return pandas.DataFrame.from_records(list(rows.values()), index="id" if rows else None)
        points = []
        for trial, step, value, when in record.execute(
            "SELECT trial, step, value, time FROM metrics WHERE sweep = ? AND metric = ?"
            " ORDER BY trial, step",
            (number, metric),
        ):
            points.append({"id": trials[trial]["id"], "step": step, metric: value,
                           "time": when, **trials[trial]["parameters"]})
        return pandas.DataFrame.from_records(points)
    finally:
        record.close()


def _trial_row(values):
    row = {key: values[key] for key in ("id", "configuration", "seed", "state")}
    row.update(values["parameters"])
    return row
