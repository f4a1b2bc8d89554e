"""One call of on_gpu.sh: its time, its programs, its rows and the files that they are kept in."""
import glob
import hashlib
import io
import json
import os
import re
import signal
import subprocess
import sys
import tarfile
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
EMULATED = os.environ.get("THALWEG_GPU") == "emulated"
KEPT = Path(os.environ.get("KEPT", HERE.parent / "results"))  # tables and peers of real GPUs
MOST_OF_A_LOG = 1 << 20  # bytes that are carried back, of its end


class OutOfTime(Exception):
    """The call's minutes are over."""


def library_folders(folder):
    """The carried libraries, and the CUDA libraries that python's packages bring."""
    folders = [str(folder / "lib")]
    for root in sys.path:
        folders += sorted(glob.glob(f"{root}/nvidia/*/lib"))
    folders += sorted(glob.glob("/usr/local/cuda*/lib64")) + ["/usr/local/nvidia/lib64"]
    return [f for f in folders if Path(f).is_dir()]


def numbers(text):
    return {key: float(value) for key, value in re.findall(r"(\w+)=([-+\d.e]+)(?=\s|$)", text)}


def last_line(text):
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return lines[-1][:110] if lines else "no output"


def verdict(met):
    """What a row says of its bar. Nothing that the emulated GPU did counts."""
    return "emul." if EMULATED else "yes" if met else "NO"


def write_aside(file, content):
    aside = file.with_name(file.name + ".new")
    aside.write_bytes(content if isinstance(content, bytes) else content.encode())
    aside.replace(file)


class Session:
    """`table`: makes the table's text of a session. Rows are tuples (what, value, bar, met)."""

    def __init__(self, folder, minutes, seconds, table):
        self.folder, self.seconds, self.table = folder, seconds, table
        self.end = time.monotonic() + 60 * minutes if minutes else None
        self.results = folder / "results"
        self.earlier = Path(os.environ["RESULTS"]).resolve() if os.environ.get("RESULTS") else None
        self.out = Path(os.environ["OUT"]).resolve() if os.environ.get("OUT") else None
        self.logs = self.results / "logs"
        self.logs.mkdir(parents=True, exist_ok=True)
        self.file = self.results / "rows.json"
        self.kept = {}
        for file in [self.earlier / "rows.json"] if self.earlier else []:  # carried from another machine of the kind
            self.kept = json.loads(file.read_text())
            times = file.with_name("kernels.json")
            if times.exists() and not (self.results / times.name).exists():
                write_aside(self.results / times.name, times.read_bytes())
        if self.file.exists():
            self.kept = json.loads(self.file.read_text())
        self.peers = {}  # set by peers.py
        self.environment = {  # of our programs; the machine's own could not do with what was carried here
            **os.environ,
            "LD_LIBRARY_PATH": ":".join([*library_folders(folder), os.environ.get("LD_LIBRARY_PATH", "")]),
            # UCX's parts beside the carried library, which are none: those of the machine belong to its own UCX.
            "UCX_MODULE_DIR": str(folder / "lib/ucx"), "PMIX_MCA_pcompress_base_silence_warning": "1",
            "CUDNN_LOGERR_DBG": "1"}  # cuDNN's reasons, to the file that start() names
        self.children, self.hashes, self.stopped = [], {}, False
        self.lock = threading.RLock()  # of what several items at a time change: children, kept, files, lines

    def left(self):
        return float("inf") if self.end is None else self.end - time.monotonic()

    def program(self, name):
        return self.folder / "bin" / name

    def identity(self, programs):
        """Of rows that these programs make: another build is another one."""
        all_of = hashlib.sha256()
        for name in programs:
            if name not in self.hashes:
                file = self.program(name)
                self.hashes[name] = hashlib.sha256(file.read_bytes()).hexdigest() if file.exists() else "none"
            all_of.update(self.hashes[name].encode())
        return all_of.hexdigest()[:12]

    def stop(self):
        """Ends every program; whoever waits for one throws OutOfTime."""
        with self.lock:
            self.stopped = True
            for child in self.children:
                self.kill(child)

    def start(self, name, words, environment=None):
        words = [str(w) for w in words]
        ours = any(w.startswith(str(self.folder / "bin")) for w in words)
        said = self.logs / f"{name}.cudnn.log"
        said.unlink(missing_ok=True)
        with open(self.logs / f"{name}.log", "w") as log, self.lock:
            if self.stopped:
                raise OutOfTime
            child = subprocess.Popen(
                words, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True,
                env={**(self.environment if ours else os.environ), "CUDNN_LOGDEST_DBG": str(said), **(environment or {})})
            self.children.append(child)
        return child

    def finish(self, children, limit):
        """Their exit statuses; 124 for what the limit ended. Throws OutOfTime where that is the call's."""
        end = time.monotonic() + min(limit, max(0, self.left()))
        statuses = []
        for child in children:
            try:
                statuses.append(child.wait(max(0, end - time.monotonic())))
            except subprocess.TimeoutExpired:
                self.kill(child)
                statuses.append(124)
        with self.lock:
            self.children = [child for child in self.children if child not in children]
        if self.stopped or (124 in statuses and self.left() < 1):
            raise OutOfTime
        return statuses

    @staticmethod
    def kill(child):
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        child.wait()

    def call(self, name, *words, limit=90, environment=None):
        """Exit status and output of a program."""
        try:
            status = self.finish([self.start(name, words, environment)], limit)[0]
        except OSError as error:
            return 127, f"{error}\n"
        return status, self.log(name) + (f"\nno end within {limit:.0f} s" if status == 124 else "")

    def log(self, name):
        return (self.logs / f"{name}.log").read_text(errors="replace")

    def reasons(self, name):
        """What cuDNN complained of last; empty: nothing."""
        file = self.logs / f"{name}.cudnn.log"
        text = file.read_text(errors="replace") if file.exists() else ""
        lines = [line.strip() for line in text.splitlines() if "rror" in line or "CUDNN_STATUS" in line]
        return lines[-1][:160] if lines else ""

    def keep(self, item, rows, more=None):
        with self.lock:
            self.kept[item] = {"rows": rows, **(more or {})}
            for what, value, _, met in rows:
                print(f"  {met:<5} {what}: {value}", flush=True)
            self.save()

    def number(self, item, key):
        return self.kept.get(item, {}).get(key, 0)

    def real(self):
        return self.kept.get("machine", {}).get("real", False)

    def save(self):
        """All files, also where they are carried back from."""
        rows, text = json.dumps(self.kept, indent=1) + "\n", self.table(self)
        write_aside(self.file, rows)
        write_aside(self.results / "table.txt", text)
        machine = self.kept.get("machine", {})
        places = [KEPT] if self.real() else []
        if self.out:
            self.out.mkdir(parents=True, exist_ok=True)
            write_aside(self.out / "rows.json", rows)
            write_aside(self.out / "table.txt", text)
            write_aside(self.out / "logs.tar.gz", self.packed_logs())
            if (self.results / "kernels.json").exists():
                write_aside(self.out / "kernels.json", (self.results / "kernels.json").read_bytes())
            places.append(self.out)
        for place in places:
            place.mkdir(parents=True, exist_ok=True)
            if place == KEPT:
                write_aside(place / f"{machine['name']}.txt", text)
            if self.peers:
                write_aside(place / f"peers-{machine['short']}.json", json.dumps(self.peers, indent=1) + "\n")
        return text

    def packed_logs(self):
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w:gz", compresslevel=1) as archive:
            for file in sorted(self.logs.rglob("*")):
                if not file.is_file() or file.suffix not in (".log", ".json", ".jsonl", ".txt", ".yaml"):
                    continue
                content = file.read_bytes()[-MOST_OF_A_LOG:]
                entry = tarfile.TarInfo(str(file.relative_to(self.results)))
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))
        return packed.getvalue()
