# Sixteen users of one controller, one of whom does all that he may to its harm (hostile.py): how long
# the others' `thalweg ls` takes and whether their trials start, without him and beside him.
#     python3 tests/bench/site/users.py [--programs build/release/bin] [--users 16] [--seconds 120]
# Needs root and what tests/cluster needs. Ends with 1 where a bar is missed: the others' median and
# slowest `ls` (0.5 s), and every trial of theirs finishes.
import argparse
import json
import os
import signal
import statistics
import subprocess
import time

import hostile
import world

BAR_S = 0.5
SWEEP = ("name: polite\ncommand: [sh, -c, 'echo loss=1']\nmetric: {name: loss}\n"
         "metric_pattern: 'loss=(?<loss>[0-9.]+)'\nseeds: 1\n"
         "resources: {nodes: 1, time: '00:05:00'}\n")


def polite(site, file, results, until):
    """Looks every two seconds; submits a sweep when the last one has ended."""
    out = open(results, "a", buffering=1)

    def note(what, began, **more):
        out.write(json.dumps({"what": what, "at": began, "s": time.time() - began} | more) + "\n")

    sweep, submitted = None, 0.0
    while time.time() < until or sweep:
        began = time.time()
        listed = site.command("ls")
        note("ls", began, code=listed.returncode)
        asked = time.time()
        try:
            site.get("/v1/sweeps")
            note("list", asked)
            if sweep:
                state = site.get(f"/v1/sweeps/{sweep}")[1].get("state", "active")
                if state != "active":
                    note("sweep", submitted, state=state)
                    sweep = None
            elif time.time() < until:
                submitted = asked
                said = site.command("submit", file, "--json")
                if said.returncode == 0:
                    sweep = json.loads(said.stdout)["id"]
                note("submit", submitted, code=said.returncode, err=said.stderr[-300:])
            else:
                break
        except (OSError, ValueError, AttributeError) as error:
            note("error", asked, err=repr(error))
        if time.time() > until + 300:
            note("sweep", submitted, state="never ended")
            break
        time.sleep(max(0.0, began + 2 - time.time()))


def attack(site, uid, sweep):
    works = [lambda: hostile.queries(site), lambda: hostile.sweep_files(site),
             lambda: hostile.imports(site), lambda: hostile.watchers(site, sweep),
             lambda: hostile.names(site, sweep), lambda: hostile.stops(uid),
             lambda: hostile.attempts(site, sweep), lambda: hostile.requests(site),
             lambda: hostile.silent(site)]

    def gently(work):
        os.nice(19)  # his programs' own time is not the controller's: on a site they run elsewhere
        work()

    return [world.as_user(uid, lambda: gently(work)) for work in works]


def hostile_sweep(site, uid):
    """His sweep of four trials that do nothing for long, submitted before he begins."""
    file, answer = site.folder / "hostile.yaml", site.folder / "hostile.id"
    file.write_text(hostile.SLEEP)
    answer.touch()
    os.chown(answer, uid, uid)
    os.waitpid(world.as_user(uid, lambda: answer.write_text(
        site.command("submit", str(file), "--json").stdout)), 0)
    return json.loads(answer.read_text())["id"]


def of(rows, what, begin, end):
    return [row for row in rows if row["what"] == what and begin <= row["at"] < end]


def spread(name, seconds):
    seconds = sorted(seconds)
    return (f"{len(seconds)} {name}: median {statistics.median(seconds):.3f} s, "
            f"p99 {seconds[int(0.99 * (len(seconds) - 1))]:.3f}, max {seconds[-1]:.3f}")


def tell(name, rows, begin, end):
    looks = sorted(row["s"] for row in of(rows, "ls", begin, end))
    lists = [row["s"] for row in of(rows, "list", begin, end)]
    sweeps = of(rows, "sweep", begin, end)
    done = [row["s"] for row in sweeps if row["state"] == "finished"]
    bad = len(sweeps) - len(done)
    refused = [row for row in of(rows, "submit", begin, end) if row["code"] != 0]
    print(f"{name}: {spread('ls', looks)}; {spread('lists over HTTP', lists)}; {len(done)} sweeps finished, median {statistics.median(done):.1f} s "
          f"from submission to end, max {max(done):.1f}; {bad} did not finish, "
          f"{len(refused)} submissions refused {refused[0]['err'] if refused else ''}", flush=True)
    return statistics.median(looks) < BAR_S and looks[-1] < BAR_S and bad == 0 and not refused


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", default=str(world.SOURCES / "build/release/bin"))
    parser.add_argument("--users", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--nodes", type=int, default=4)
    parser.add_argument("--log", type=int, default=0, help="bytes of the controller's and the agent's")
    asked = parser.parse_args()
    site = world.Site(asked.programs, asked.users, asked.nodes)
    children = []
    try:
        file = site.folder / "polite.yaml"
        file.write_text(SWEEP)
        bad_user = world.FIRST_USER + asked.users - 1
        sweep = hostile_sweep(site, bad_user)
        quiet = time.time()
        until = quiet + 1.5 * asked.seconds
        results = []
        for i in range(asked.users - 1):
            results.append(site.folder / f"results{i}")
            results[-1].touch()
            os.chown(results[-1], world.FIRST_USER + i, world.FIRST_USER + i)
            children.append(world.as_user(world.FIRST_USER + i, lambda: polite(
                site, str(file), results[-1], until)))
            time.sleep(0.13)
        time.sleep(max(0.0, quiet + 0.5 * asked.seconds - time.time()))
        begun = time.time()
        attackers = attack(site, bad_user, sweep)
        for child in children:
            os.waitpid(child, 0)
        children = attackers
        rows = [json.loads(line) for file in results for line in file.read_text().splitlines()]
        for row in rows:
            if row["what"] == "error":
                print(row)
        tell("without him", rows, quiet, begun)
        good = tell("beside him ", rows, begun, until)
        if asked.log:
            for log in ("home/controller.log", "agent.log"):
                print((site.folder / log).read_text(errors="replace")[-asked.log:])
        print(subprocess.run(["ps", "-o", "rss=,time=,args=", "-p", str(site.processes[1].pid)],
                             capture_output=True, text=True).stdout.strip())
        return 0 if good else 1
    finally:
        for child in children:
            for each in (child, -child):
                try:
                    os.kill(each, signal.SIGKILL)
                except OSError:
                    pass
        site.end()


if __name__ == "__main__":
    raise SystemExit(main())
