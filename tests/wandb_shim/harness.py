"""Runs lines of a script under the shim, in a process of their own, and says what was reported."""

import json
import os
import shutil
import sys
import tempfile
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = os.path.join(HERE, os.pardir, os.pardir, "packaging", "python")
FAKES = os.path.join(HERE, "fakes")


class Outcome:
    def __init__(self, code, reports, out):
        self.code, self.reports, self.out = code, reports, out
        self.notes = [line["note"] for line in reports if "note" in line]
        self.metrics = {}
        for line in reports:
            for name, value in line.get("metrics", {}).items():
                self.metrics.setdefault(name, {})[line["step"]] = value

    def shim_notes(self):
        """Those of a script that never began a run are in its output."""
        mark = "wandb shim: "
        said = self.notes + self.out.splitlines()
        return [note[len(mark) :] for note in said if note.startswith(mark)]


def _child(script, folder, environment, arguments):
    out = os.open(os.path.join(folder, "out"), os.O_WRONLY | os.O_CREAT)
    os.dup2(out, 1)
    os.dup2(out, 2)
    os.chdir(folder)
    for name in [name for name in os.environ if name.startswith(("WANDB_", "THALWEG_", "RANK"))]:
        del os.environ[name]
    os.environ.update(environment)
    sys.dont_write_bytecode = True  # the checkout stays as it is
    sys.path[:0] = [os.path.join(PYTHON, "wandb_shim"), PYTHON, FAKES]
    sys.argv = ["train.py"] + list(arguments)
    code = 0
    try:
        exec(compile(script, "train.py", "exec"), {"__name__": "__main__"})
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    except BaseException:
        traceback.print_exc()
        code = 1
    import atexit

    atexit._run_exitfuncs()
    sys.stdout.flush()
    os._exit(code)


def run(script, config=None, arguments=(), stop=False, environment=None, files=None):
    """`config`: the trial's parameters. `stop`: whether Thalweg has asked it to stop from the beginning."""
    folder = tempfile.mkdtemp()  # no TemporaryDirectory: the child would remove it at its end
    try:
        return _run(script, folder, config, arguments, stop, environment or {}, files or {})
    finally:
        shutil.rmtree(folder)


def _run(script, folder, config, arguments, stop, environment, files):
    reports = os.path.join(folder, "reports")
    told = {"THALWEG_REPORTS": reports, "THALWEG_ATTEMPT": "12.3.1", "THALWEG_FOLDER": folder,
            "THALWEG_STOP": os.path.join(folder, "stop")}  # fmt: skip
    for name, text in files.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
    if config is not None:
        told["THALWEG_CONFIG"] = os.path.join(folder, "config.json")
        with open(told["THALWEG_CONFIG"], "w", encoding="utf-8") as file:
            json.dump(config, file)
    if stop:
        open(told["THALWEG_STOP"], "w", encoding="utf-8").close()
    told.update(environment)
    told = {name: value for name, value in told.items() if value is not None}
    pid = os.fork()
    if pid == 0:
        _child(script, folder, told, arguments)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    lines = []
    if os.path.exists(reports):
        with open(reports, encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
    with open(os.path.join(folder, "out"), encoding="utf-8") as file:
        return Outcome(code, lines, file.read())
