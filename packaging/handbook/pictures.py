#!/usr/bin/env python3
"""Draws the pictures of the README and the handbook with Thalweg's own commands.

python3 packaging/handbook/pictures.py draw [--out FOLDER] [NAME...]   from the recording
python3 packaging/handbook/pictures.py record                         trains the study anew first

The study is jobspec/examples/optimizers.yaml. Its recording, recording/optimizers.sql, is written by
`record` (two to five minutes), with what `thalweg watch` showed half-way in recording/watch.txt. `draw`
restores the recording into a home of its own. NAME: watch, compare, curve (SVG), report (PNG, which
needs Chromium and chromedriver); default: the SVGs. Each is for light and for dark screens.
"""
import argparse
import base64
import fcntl
import html
import os
import pty
import re
import select
import shutil
import sqlite3
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
PICTURES = HERE / "pages/pictures"
RECORDING = HERE / "recording"
STUDY = "optimizers"
COLUMNS = 80
sys.path.insert(0, str(SOURCE / "tests/end_to_end"))
sys.path.insert(0, str(SOURCE / "tests/cli"))
sys.dont_write_bytecode = True

# Of a terminal, light and dark, which the reader's system chooses between.
COLOURS = {  # class: light, dark
    "text": ("#1f2328", "#e6edf3"), "dim": ("#656d76", "#8b949e"), "c31": ("#cf222e", "#ff7b72"),
    "c32": ("#116329", "#3fb950"), "c33": ("#7d4e00", "#d29922"), "c36": ("#1b7c83", "#39c5cf"),
}
CLASS_OF_CODE = {"2": "dim", "31": "c31", "32": "c32", "33": "c33", "36": "c36"}
BACK, FRAME = ("#ffffff", "#0d1117"), ("#d0d7de", "#30363d")


def style():
    rules = [f".{name}{{fill:{{{name}}}}}" for name in COLOURS] + [".b{font-weight:bold}", ".back{fill:{back};stroke:{frame}}"]

    def filled(scheme):
        values = {name: pair[scheme] for name, pair in COLOURS.items()} | {"back": BACK[scheme], "frame": FRAME[scheme]}
        return "".join(re.sub(r"\{(\w+)\}", lambda m: values.get(m[1], m[0]), rule) for rule in rules)

    return f"<style>{filled(0)}@media(prefers-color-scheme:dark){{{filled(1)}}}</style>"


def environment(folder):
    found = dict(os.environ, THALWEG_HOME=str(folder / "home"), TERM="xterm-256color",
                 COLUMNS=str(COLUMNS), LC_ALL="C.UTF-8")
    found.pop("NO_COLOR", None)
    programs = os.environ.get("THALWEG_BIN_DIR", str(SOURCE / "build/release/bin"))
    found["PATH"] = f"{programs}:{os.environ['PATH']}"
    return found


def in_terminal(folder, words, rows=40, until=None):
    """What the command writes on a terminal; it is ended once until(text) holds."""
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(folder)
        os.execvpe(words[0], words, environment(folder))
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, COLUMNS, 0, 0))
    said = b""
    while True:
        if select.select([terminal], [], [], 1)[0]:
            try:
                part = os.read(terminal, 65536)
            except OSError:
                part = b""
            if not part:
                break
            said += part
        if until and until(said.decode(errors="replace")):
            os.write(terminal, b"\x03")
            until = None
            break
    os.close(terminal)
    os.waitpid(child, 0)
    return said.decode(errors="replace")


def screen(text):
    """Lines of (character, style) after all that the terminal was told; style: the last SGR codes."""
    lines, row, column, style = [[]], 0, 0, ()
    for part in re.finditer(r"\x1b\[\??([0-9;]*)([A-Za-z])|\x1b.|([\s\S])", text):
        codes, command, character = part.groups()
        if command == "m":
            style = () if codes in ("", "0") else style + tuple(codes.split(";"))
        elif command == "A":
            row = max(0, row - int(codes or 1))
        elif command == "K":
            del lines[row][column:]
        elif command == "J":
            del lines[row][column:]
            del lines[row + 1:]
        elif character == "\r":
            column = 0
        elif character == "\n":
            row, column = row + 1, 0
            if row == len(lines):
                lines.append([])
        elif character and character >= " ":
            lines[row] += [(" ", ())] * (column + 1 - len(lines[row]))
            lines[row][column] = (character, style)
            column += 1
    while lines and not lines[-1]:
        lines.pop()
    return lines


def runs(line):
    """(column, text, style) of neighbours that look alike; blanks divide, so that each stays in its column."""
    found, start = [], 0
    for at in range(1, len(line) + 1):
        ends = at == len(line) or line[at][1] != line[at - 1][1]
        gap = not ends and line[at][0] == " " and at + 1 < len(line) and line[at + 1][0] == " "
        if ends or gap:
            text = "".join(character for character, _ in line[start:at])
            if text.strip():
                lead = len(text) - len(text.lstrip())
                found.append((start + lead, text.strip(), line[at - 1][1]))
            start = at
    return found


def terminal_svg(command, text):
    advance, height, margin = 8.4, 19, 14
    lines = [[(c, ()) for c in "$ "] + [(c, ("1",)) for c in command]] + screen(text)
    width = 2 * margin + COLUMNS * advance
    total = 2 * margin + len(lines) * height
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {total}" width="{width:.0f}" '
           f'height="{total}" font-family="ui-monospace,\'DejaVu Sans Mono\',Menlo,Consolas,monospace" font-size="14">',
           style(), f'<rect x=".5" y=".5" width="{width - 1:.0f}" height="{total - 1}" rx="7" class="back"/>']
    for row, line in enumerate(lines):
        for column, shown, codes in runs(line):
            name = next((CLASS_OF_CODE[code] for code in codes if code in CLASS_OF_CODE), "text")
            bold = " b" if "1" in codes else ""
            out.append(f'<text x="{margin + column * advance:.1f}" y="{margin + row * height + 14}" class="{name}{bold}" '
                       f'textLength="{len(shown) * advance:.1f}" lengthAdjust="spacingAndGlyphs">'
                       f'{html.escape(shown, quote=False)}</text>')
    return "\n".join(out + ["</svg>", ""])


def thalweg(folder, *words):
    done = subprocess.run(["thalweg", *words], cwd=folder, env=environment(folder), check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        sys.exit(f"thalweg {' '.join(words)}: {done.stdout}")


def restored(folder):
    """A home whose sweep 1 is the recording."""
    database = sqlite3.connect(folder / "backup.db")
    database.executescript((RECORDING / f"{STUDY}.sql").read_text(encoding="utf-8"))
    database.close()
    (folder / "home").mkdir(mode=0o700)
    thalweg(folder, "restore", str(folder / "backup.db"))


def draw_terminal(out, name, command, text):
    (out / f"{name}.svg").write_text(terminal_svg(command, text), encoding="utf-8")


def draw_curve(folder, out):
    """The command's picture is for white paper: with colours for dark screens beside them."""
    picture = out / "curve.svg"
    thalweg(folder, "curve", "1", "val/error", "--by", "optimizer.name", "--log", "--svg", str(picture))
    dark = (f"@media(prefers-color-scheme:dark){{text{{fill:{COLOURS['text'][1]}}}svg>rect:first-of-type{{fill:{BACK[1]}}}"
            f".grid{{stroke:{FRAME[1]}}}.frame{{stroke:{COLOURS['dim'][1]}}}[stroke=\"#000000\"]{{stroke:#fff}}}}")
    text = picture.read_text(encoding="utf-8")
    picture.write_text(text.replace("</style>", dark + "</style>", 1), encoding="utf-8")


def draw_report(folder, out):
    """What a window shows at once: 1280 x 900 light and dark, and 360 wide, as a telephone has it."""
    import page_in_browser  # tests/cli
    thalweg(folder, "report", "1", "-o", str(folder / "report.html"))
    driver = page_in_browser.Driver(str(folder / "chromium"))
    try:
        for width, scheme, name in ((1280, "light", "report-light"), (1280, "dark", "report-dark"), (360, "light", "report-360")):
            page_in_browser.look(driver, (folder / "report.html").as_uri(), width, scheme, [])
            shot = driver.devtools("Page.captureScreenshot")
            (out / f"{name}.png").write_bytes(base64.b64decode(shot["data"]))
    finally:
        driver.quit()


def draw(out, names):
    out.mkdir(parents=True, exist_ok=True)
    if "watch" in names:
        draw_terminal(out, "watch", f"thalweg run {STUDY}.yaml", (RECORDING / "watch.txt").read_bytes().decode())
    if not {"compare", "curve", "report"} & set(names):
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        restored(folder)
        try:
            if "compare" in names:
                draw_terminal(out, "compare", "thalweg compare 1", in_terminal(folder, ["thalweg", "compare", "1"]))
            if "curve" in names:
                draw_curve(folder, out)
            if "report" in names:
                draw_report(folder, out)
        finally:
            thalweg(folder, "daemon", "stop")


def record():
    import record as recordings  # tests/end_to_end/record.py
    recordings.RECORDS = RECORDING
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        shutil.copytree(SOURCE / "jobspec/examples", folder, dirs_exist_ok=True)
        os.environ["PATH"] = environment(folder)["PATH"]
        try:
            thalweg(folder, "submit", f"{STUDY}.yaml", "--backend", "local")

            def half_way(text):
                shown = "".join(c for line in screen(text)[:2] for c, _ in line)
                finished = re.search(r"(\d+)/30 trials finished, 2 running", shown)
                return finished is not None and int(finished[1]) >= 14

            said = in_terminal(folder, ["thalweg", "watch", "1"], rows=16, until=half_way)
            frames = re.findall(r"\x1b\[\?25l(.*?)\x1b\[\?25h", said, re.DOTALL)
            (RECORDING / "watch.txt").write_text(frames[-1], encoding="utf-8", newline="")
            while "active" in subprocess.run(["thalweg", "ls"], env=environment(folder), check=True,
                                             stdout=subprocess.PIPE, text=True).stdout:
                time.sleep(2)
            thalweg(folder, "backup", str(folder / "backup.db"))
            recordings.write_recording(STUDY, folder)
        finally:
            thalweg(folder, "daemon", "stop")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["draw", "record"])
    parser.add_argument("--out", type=Path, default=PICTURES)
    parser.add_argument("names", nargs="*", default=["watch", "compare", "curve"])
    arguments = parser.parse_args()
    if arguments.what == "record":
        record()
    draw(arguments.out.absolute(), arguments.names)


if __name__ == "__main__":
    main()
