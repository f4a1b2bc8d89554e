# What one user of a site may do to it, all at once: each function goes on until it is killed, or
# does its harm once.
import http.client
import json
import os
import signal
import socket
import time
from pathlib import Path

from world import Connection

SLEEP = ("name: hostile\ncommand: [sleep, '600']\nmetric: {name: loss}\nseeds: 4\n"
         "resources: {nodes: 1, time: '00:20:00'}\n")


def again(work, pause=0.0):
    while True:
        try:
            work()
        except (OSError, http.client.HTTPException, ValueError):
            pass
        time.sleep(pause)


def queries(site):
    endless = ("WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM t) "
               "SELECT count(*) FROM t")
    again(lambda: site.ask("POST", "/v1/query", {"sql": endless}))


def sweep_files(site):
    text = ("name: huge\nmethod: grid\nparameters:\n"
            "  a: {min: 1, max: 1000}\n  b: {min: 1, max: 1000}\ncommand: [echo, '${args}']\n"
            "metric: {name: loss}\n")
    body = {"text": text, "file_name": "huge.yaml", "dry_run": True, "checked": True}
    again(lambda: site.ask("POST", "/v1/sweeps", body))


def imports(site):
    points = [[i, 0.5] for i in range(200_000)]
    body = {"name": "imported", "metric": "loss", "trials": [
        {"source": f"run{i}", "parameters": {"a": i}, "metrics": {"loss": points}} for i in range(3)]}
    again(lambda: site.ask("POST", "/v1/import", body))


def watchers(site, sweep):
    held = []

    def watch():
        connection = Connection(site.home / "controller.sock", 5)
        connection.request("GET", f"/v1/watch?id={sweep}")
        held.append(connection)
        if len(held) > 100:
            held.pop(0).close()

    again(watch, 0.01)


def names(site, sweep):
    long = {"id": sweep, "name": "n" * 200, "comment": "c" * 4000}
    tags = [0]

    def label():
        tags[0] += 1
        site.ask("POST", "/v1/label", long | {"add_tags": [f"t{tags[0]}"]})

    again(label, 0.01)


def stops(uid):
    """Every process that the agent has as him, as soon as it is seen."""
    def look():
        for entry in os.scandir("/proc"):
            if not entry.name.isdigit():
                continue
            try:
                if entry.stat().st_uid in (uid, 0) and "thalweg-slurm" in Path(
                        entry.path, "comm").read_text():
                    os.kill(int(entry.name), signal.SIGSTOP)
            except OSError:
                continue

    again(look, 0.005)


def flood_journal(folder, most=1 << 30):
    with open(folder / "journal.jsonl", "ab") as journal:
        line = 0
        while journal.tell() < most:
            journal.write(b"".join(b'{"n":%d,"t":1,"type":"note","text":"%s"}\n' % (line + i, b"x" * 200)
                                   for i in range(1000)))
            line += 1000
            time.sleep(0.005)


def flood_names(folder):
    with open(folder / "journal.jsonl", "ab") as journal:
        for i in range(60_000):
            points = json.dumps([[f"metric{i}", 1, 0.5]])
            journal.write(b'{"n":%d,"t":1,"type":"metrics","points":%s}\n' % (2 * i, points.encode()))
            journal.write(b'{"n":%d,"t":1,"type":"note","text":"note %d"}\n' % (2 * i + 1, i))


def fill(folder):
    """Deep, wide, closed, and full of failures."""
    at = os.open(folder, os.O_RDONLY)
    for _ in range(20_000):
        os.mkdir("deeper", 0o700, dir_fd=at)
        below = os.open("deeper", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = below
    os.close(at)
    failure = folder / "failure.rank0.json"
    failure.write_text(json.dumps({"time": 1, "rank": 0, "reason": "x" * 1_000_000}))
    for i in range(1, 4000):
        os.link(failure, folder / f"failure.rank{i}.json")
    wide = folder / "closed"
    wide.mkdir()
    for i in range(100_000):
        os.close(os.open(wide / str(i), os.O_CREAT | os.O_WRONLY))
    wide.chmod(0o500)


def folders(site, sweep):
    """Those of his four attempts, when they run."""
    found = {}
    while len(found) < 4:
        for trial in range(1, 5):
            status, attempt = site.get(f"/v1/attempts/{sweep}.{trial}.1")
            if status == 200 and attempt.get("state") == "running":
                found[trial] = Path(attempt["folder"])
        time.sleep(0.5)
    return [found[trial] for trial in sorted(found)]


def attempts(site, sweep):
    endless, sparse, filled, named = folders(site, sweep)
    with open(sparse / "journal.jsonl", "ab") as journal:
        journal.truncate(8 << 40)
    flood_names(named)
    fill(filled)
    site.ask("POST", "/v1/cancel", {"id": f"{sweep}.3"})
    flood_journal(endless)
    site.ask("POST", "/v1/cancel", {"id": str(sweep)})
    again(lambda: site.ask("POST", "/v1/remove", {"id": str(sweep)}), 2)


def requests(site):
    again(lambda: site.get("/v1/sweeps"))


def silent(site):
    """Connections that say nothing."""
    held = []

    def connect():
        one = socket.socket(socket.AF_UNIX)
        one.connect(str(site.home / "controller.sock"))
        held.append(one)
        if len(held) > 200:
            held.pop(0).close()

    again(connect, 0.02)
