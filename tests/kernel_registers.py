#!/usr/bin/env python3
"""Registers, stack, spills and shared memory of every kernel of our own, as ptxas tells them.

  tests/kernel_registers.py [FOLDER] [WORD...]   FOLDER: a build with nvcc (build/cuda); WORD: only files with it in their path

Compiles every file anew, which needs neither a GPU nor a built tree: about half a minute a file and processor. Ends with 1 where a
kernel spills registers or keeps a stack frame.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor


def commands(folder, words):
    """(file, command without its output and ccache) of the files that nvcc compiles."""
    with open(os.path.join(folder, "compile_commands.json")) as f:
        for entry in json.load(f):
            command = entry["command"]
            if " -x cu " not in command or (words and not any(w in entry["file"] for w in words)):
                continue
            command = re.sub(r"^\S*ccache ", "", command)
            command = re.sub(r" -M[DTF]( \S*\.o(\.d)?)?", "", command)
            yield entry["file"], re.sub(r" -o \S+", "", command), entry["directory"]


def short(name):
    """A kernel's name without namespaces, return type and arguments."""
    name = re.sub(r"\(anonymous namespace\)::|_NV_ANON_NAMESPACE::|_GLOBAL__N_\w*::", "", name)
    name = re.sub(r"\b(?:thalweg|engine|gpu|cuda|optim|columns|kernels|pool)::", "", name)
    name = re.sub(r"^void ", "", name)
    depth = 0
    for i, c in enumerate(name):
        depth += (c == "<") - (c == ">")
        if c == "(" and depth == 0:
            return name[:i]
    return name


def kernels_of(job):
    file, command, directory = job
    with tempfile.TemporaryDirectory() as temporary:
        done = subprocess.run(f"{command} -Xptxas -v -o {temporary}/kernel.o", shell=True, cwd=directory, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        sys.exit(f"{file}\n{done.stdout}")
    rows = []
    for text in done.stdout.split("Compiling entry function '")[1:]:
        number = lambda pattern: int((re.search(pattern, text) or (0, 0))[1])
        rows.append((text[:text.index("'")], number(r"Used (\d+) registers"), number(r"(\d+) bytes stack frame"),
                     number(r"(\d+) bytes spill stores") + number(r"(\d+) bytes spill loads"), number(r"(\d+) bytes smem")))
    names = subprocess.run(["c++filt"], input="\n".join(r[0] for r in rows), text=True, capture_output=True, check=True).stdout
    return [(short(name), *row[1:], "/".join(file.split("/")[-2:])) for name, row in zip(names.split("\n"), rows)]


def main():
    folder, words = "build/cuda", sys.argv[1:]
    if words and os.path.isdir(words[0]):
        folder, words = words[0], words[1:]
    jobs = list(commands(folder, words))
    if not jobs:
        sys.exit(f"{folder} compiles no such file with nvcc")
    with ThreadPoolExecutor(os.cpu_count() or 1) as threads:
        rows = [row for file in threads.map(kernels_of, jobs) for row in file]
    rows.sort(key=lambda row: (-row[1], row[0]))
    print(f"registers  stack  spills  shared  {'file':33}  kernel")
    for name, registers, stack, spills, shared, file in rows:
        print(f"{registers:9}  {stack:5}  {spills:6}  {shared:6}  {file:33}  {name}"[:140].rstrip())
    bad = [row for row in rows if row[2] or row[3]]
    print(f"{len(rows)} kernels of {len(jobs)} files; {len(bad)} with a stack frame or spills")
    sys.exit(1 if bad else 0)


main()
