"""Programs that take turns: started once, asleep in a read until asked (the protocol stands in peer.h)."""
import os
import select
import signal
import subprocess
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent


class JobError(RuntimeError):
    pass


class Job:
    """All ranks of one program. `commands`: what to start, one launcher for all ranks or one process a rank."""

    def __init__(self, name, ranks, folder):
        self.name, self.ranks, self.folder = name, ranks, Path(folder)
        self.folder.mkdir()
        self.processes = []
        self.log = open(self.folder / "log", "w+b")
        paths = [self.folder / f"in.{rank}" for rank in range(ranks)] + [self.folder / "out"]
        for path in paths:
            os.mkfifo(path)
        # Open both ways: never blocks here; when this process dies, the ranks read an end of file and leave.
        self.fds = [os.open(path, os.O_RDWR) for path in paths]

    def start(self, commands, env):
        for command in commands:
            self.processes.append(subprocess.Popen(
                [str(word) for word in command], env={**os.environ, **env}, stdin=subprocess.DEVNULL, stdout=self.log,
                stderr=self.log, start_new_session=True))

    def explain(self, what):
        self.log.flush()
        text = Path(self.log.name).read_text(errors="replace").strip().splitlines()[-12:]
        return JobError(f"{self.name}: {what}" + "".join("\n    " + line for line in text))

    def answers(self, timeout=60):
        """One line of words from every rank, in rank order."""
        lines, text, end = {}, b"", time.monotonic() + timeout
        while len(lines) < self.ranks:
            if not select.select([self.fds[-1]], [], [], 0.5)[0]:
                if any(process.poll() is not None for process in self.processes):
                    raise self.explain("a process has ended")
                if time.monotonic() > end:
                    raise self.explain(f"no answer from {self.ranks - len(lines)} of {self.ranks} ranks in {timeout} s")
                continue
            text += os.read(self.fds[-1], 65536)
            *whole, text = text.split(b"\n")
            for line in whole:
                rank, *words = line.decode().split()
                lines[int(rank)] = words
        return [lines[rank] for rank in sorted(lines)]

    def ask(self, command):
        for fd in self.fds[:-1]:
            os.write(fd, (command + "\n").encode())
        return self.answers()

    def prepare(self, kind, size):
        for words in self.ask(f"prepare {kind} {size}"):
            if words != ["ready"]:
                raise self.explain(" ".join(words))

    def times(self, command):
        """Microseconds a call, of the slowest rank each time."""
        try:
            return [max(batch) for batch in zip(*[map(float, words) for words in self.ask(command)])]
        except ValueError:
            raise self.explain(f"no times came back from '{command}'") from None

    def stop(self):
        for fd in self.fds[:-1]:
            os.write(fd, b"quit\n")
        for process in self.processes:
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                pass
            try:
                os.killpg(process.pid, signal.SIGKILL)  # also what a launcher left behind
            except ProcessLookupError:
                pass
            process.wait()
        for fd in self.fds:
            os.close(fd)
        self.log.close()


class Hosts:
    """Hosts of their own network for as long as this object is not stopped (hosts.sh)."""

    def __init__(self, count, folder, congestion=None):
        self.names = [f"h{i + 1}" for i in range(count)]
        self.agent = f"{folder}/on"
        self.process = subprocess.Popen(["bash", HERE / "hosts.sh", str(count), folder], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, start_new_session=True,
                                        env={**os.environ, "CONGESTION": congestion or ""})
        if self.process.stdout.readline().strip() != "ready":
            raise JobError("no network namespaces here (they need root)")

    def on(self, index, command):
        return [self.agent, self.names[index], *command]

    def launch(self, command):
        return [self.agent, "h0", *command]

    @staticmethod
    def address(index):
        return f"10.99.0.{index + 1}"

    def stop(self):
        self.process.stdin.close()
        self.process.wait()


def launchers(ranks, hosts, programs):
    """name -> (program, function of the job's folder -> (commands, environment)); `hosts` None: this machine."""
    n = str(ranks)
    places = ",".join(hosts.names) if hosts else ""
    launch = hosts.launch if hosts else (lambda command: command)
    address = Hosts.address if hosts else (lambda index: "127.0.0.1")
    bin_folder = programs.parent / "bin"
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

    def openmpi(program, *settings):
        words = ["mpirun.openmpi" if _found("mpirun.openmpi") else "/usr/lib64/openmpi/bin/mpirun", "-n", n,
                 "--bind-to", "none", "--mca", "btl_base_warn_component_unused", "0"]
        words += ["--host", places, "--mca", "plm_rsh_agent", hosts.agent] if hosts else ["--oversubscribe"]
        if hosts and ranks > (os.cpu_count() or 1):  # which --oversubscribe finds out by itself
            words += ["--mca", "mpi_yield_when_idle", "1"]
        return lambda folder: ([launch([*words, *settings, programs / program, folder])], root)

    def mpich(folder):
        words = ["mpiexec.mpich" if _found("mpiexec.mpich") else "/usr/lib64/mpich/bin/mpiexec", "-n", n]
        words += ["-launcher", "rsh", "-launcher-exec", hosts.agent, "-hosts", places] if hosts else []
        return [launch([*words, programs / "peer_mpich", folder])], {}

    def each(program, count, *words):
        def commands(folder):
            every = [[programs / program, folder, rank, *[word(rank) if callable(word) else word for word in words]]
                     for rank in range(count)]
            return [hosts.on(rank, map(str, line)) if hosts else line for rank, line in enumerate(every)], {}
        return commands

    def ours(folder):
        return [[bin_folder / "thalweg-launch", "-n", n, "--no-bind", "--", programs / "peer_thalweg", folder]], {}

    ucx = ["--mca", "pml", "ucx", "--mca", "pml_ucx_tls", "any", "--mca", "pml_ucx_devices", "any"]
    ob1 = ["--mca", "pml", "ob1"]
    if hosts:
        ucx += ["-x", "UCX_TLS=tcp,self"]
        ob1 += ["--mca", "btl", "tcp,self"]
    return {
        # On hosts, Open MPI's mpirun is the PMIx server of our ranks, as Slurm is on a cluster.
        "ours": ("peer_thalweg", openmpi("peer_thalweg") if hosts else ours),
        "ompi-ob1": ("peer_openmpi", openmpi("peer_openmpi", *ob1)),
        "ompi-ucx": ("peer_openmpi", openmpi("peer_openmpi", *ucx)),
        "mpich": ("peer_mpich", mpich),
        "gloo": ("peer_gloo", each("peer_gloo", ranks, ranks, address)),
        "stream": ("peer_stream", each("peer_stream", 2, address(0), "one")),
        "duplex": ("peer_stream", each("peer_stream", 2, address(0), "both")),
        "c2c": ("c2c", lambda folder: ([[programs / "c2c", folder]], {})),
    }


def _found(program):
    return any(os.access(os.path.join(place, program), os.X_OK) for place in os.environ["PATH"].split(":"))
