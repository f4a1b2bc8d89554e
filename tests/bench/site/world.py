# A site on this machine: users of its own (in a mount namespace of this process), a Slurm cluster
# (tests/cluster) with its munged, the agent with its two capabilities, and `thalwegd --site`. Root.
import ctypes
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

SOURCES = Path(__file__).resolve().parents[3]
PROGRAMS = ["thalweg", "thalwegd", "thalweg-train", "thalweg-launch", "thalweg-slurm-agent"]
AGENT, SERVICE, FIRST_USER = 61303, 61304, 61401


def own_users(folder, count):
    """/etc/passwd and /etc/group with more users, for this process and all that it starts."""
    users = [("thalweg-agent", AGENT), ("thalweg", SERVICE)]
    users += [(f"user{i + 1}", FIRST_USER + i) for i in range(count)]
    passwd = "".join(f"{name}:x:{uid}:{uid}::/nonexistent:/bin/sh\n" for name, uid in users)
    group = "".join(f"{name}:x:{uid}:\n" for name, uid in users)
    libc = ctypes.CDLL(None, use_errno=True)
    clone_newns, ms_rec_private, ms_bind = 0x20000, 0x4000 | 1 << 18, 4096
    if libc.unshare(clone_newns) or libc.mount(None, b"/", None, ms_rec_private, None):
        raise OSError(ctypes.get_errno(), "no mount namespace")
    for name, text in [("passwd", passwd), ("group", group)]:
        file = folder / name
        file.write_text(Path("/etc", name).read_text() + text)
        if libc.mount(bytes(file), f"/etc/{name}".encode(), None, ms_bind, None):
            raise OSError(ctypes.get_errno(), f"cannot mount {file}")


def become(uid):
    os.setgroups([])
    os.setgid(uid)
    os.setuid(uid)


def as_user(uid, work):
    """A process of that user; returns its number."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setsid()
            become(uid)
            work()
            code = 0
        finally:
            os._exit(code)
    return child


class Connection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self.path))


class Site:
    def __init__(self, programs, users, nodes):
        self.folder = Path(tempfile.mkdtemp(prefix="thalweg-site-", dir="/tmp"))
        self.folder.chmod(0o755)
        own_users(self.folder, users)
        self.bin = self.folder / "bin"
        self.bin.mkdir(mode=0o755)
        for name in PROGRAMS:  # others may not enter the folder that they were built in
            shutil.copy(Path(programs) / name, self.bin / name)
        self.processes = []
        self.cluster(nodes)
        self.agent()
        self.controller()

    def cluster(self, nodes):
        os.environ["THALWEG_CLUSTER_NAME"] = f"site{os.getpid()}"
        os.environ["THALWEG_CLUSTER_DIR"] = f"/tmp/tsu{os.getpid()}"
        os.environ["THALWEG_CLUSTER_CPUS"] = "8"
        up = subprocess.run([SOURCES / "tests/cluster/up", str(nodes)], capture_output=True, text=True)
        if up.returncode != 0:
            raise SystemExit(up.stdout + up.stderr)
        os.environ["SLURM_CONF"] = up.stdout.split("=", 1)[1].split("\n")[0]
        self.munge = os.environ["THALWEG_CLUSTER_DIR"] + "/munge/socket"

    def own_folder(self, name, uid, mode):
        folder = self.folder / name
        folder.mkdir()
        os.chown(folder, uid, uid)
        folder.chmod(mode)
        return folder

    def agent(self):
        place = self.own_folder("agent", AGENT, 0o755)
        self.sweeps = self.own_folder("sweeps", SERVICE, 0o2771)
        caps = "-all,+setuid,+setgid"
        self.start("agent", [
            "setpriv", f"--reuid={AGENT}", f"--regid={AGENT}", f"--groups={SERVICE}",
            f"--inh-caps={caps}", f"--ambient-caps={caps}", f"--bounding-set={caps}",
            "--no-new-privs", self.bin / "thalweg-slurm-agent", "--site", "--socket",
            place / "socket", "--state", place / "state", "--runs", self.sweeps,
            "--munge-socket", self.munge])

    def controller(self):
        self.home = self.own_folder("home", SERVICE, 0o711)
        (self.home / "config.yaml").write_text(
            f"site: {{agent_socket: {self.folder}/agent/socket, munge_socket: {self.munge}}}\n"
            f"runs: {self.sweeps}\n"
            f"slurm: {{poll_interval: 1, file_lag: 0, engine_program: {self.bin}/thalweg-train}}\n")
        time.sleep(1)  # the agent listens
        self.start("thalwegd", ["setpriv", f"--reuid={SERVICE}", f"--regid={SERVICE}", "--clear-groups",
                                "--no-new-privs", "--bounding-set=-all", self.bin / "thalwegd", "--site",
                                "--foreground", "--home", self.home])
        for _ in range(120):
            try:
                if self.get("/v1/ping")[1]["site"].get("credential_reader") == AGENT:
                    return
            except (OSError, KeyError, TypeError):
                pass
            time.sleep(0.5)
        raise SystemExit(f"no controller: {(self.folder / 'thalwegd.log').read_text()[-2000:]}")

    def start(self, name, command):
        with open(self.folder / f"{name}.log", "ab") as log:
            self.processes.append(subprocess.Popen([str(w) for w in command], stderr=log, stdout=log))

    def ask(self, method, path, body=None, timeout=60):
        connection = Connection(self.home / "controller.sock", timeout)
        connection.request(method, path, None if body is None else json.dumps(body),
                           {"Content-Type": "application/json"})
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        return answer.status, json.loads(text) if text[:1] in b"{[" else text

    def get(self, path, timeout=60):
        return self.ask("GET", path, timeout=timeout)

    def command(self, *words):
        """`thalweg WORDS`, as the user who calls."""
        environment = {"THALWEG_HOME": str(self.home), "THALWEG_MUNGE_SOCKET": self.munge,
                       "HOME": "/nonexistent", "PATH": "/usr/bin:/bin"}
        return subprocess.run([self.bin / "thalweg", *words], env=environment, capture_output=True,
                              text=True, timeout=300)

    def end(self):
        for process in reversed(self.processes):
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
        subprocess.run([SOURCES / "tests/cluster/down"], capture_output=True)
        # 20,000 folders in each other are too deep for shutil.rmtree.
        subprocess.run(["rm", "-rf", self.folder], capture_output=True)
