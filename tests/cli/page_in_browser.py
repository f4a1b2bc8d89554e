"""Opens a report in Chromium, as a person would, and tells what is wrong with it.

python3 page_in_browser.py PAGE [FOLDER]: PAGE is a file or a URL; FOLDER gets screenshots. Through chromedriver, with
Python's own library. Exit status 77: skipped, with the reason.
"""
import base64
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

CHECKS = """
const charts = JSON.parse(document.getElementById("data").textContent).charts;
const blank = canvas => {
  const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  return !pixels.some((value, at) => at % 4 === 3 && value > 0);
};
const drawn = charts.map(chart => {
  const figure = document.getElementById(chart.id), canvas = figure.querySelector(".live canvas");
  return {id: chart.id, drawn: canvas ? !blank(canvas) : figure.querySelectorAll(".live svg path").length > 0};
});
const inside = cell => {
  const box = cell.getBoundingClientRect();
  return box.left >= 0 && box.right <= window.innerWidth;
};
const hidden = [...document.querySelectorAll(".verdicts td:last-child")].filter(cell => !inside(cell)).length;
return {hidden, wide: document.documentElement.scrollWidth - window.innerWidth, drawn,
        alien: performance.getEntriesByType("resource").map(entry => entry.name)};
"""

# A click on the first entry of a chart's legend hides its line and band.
LEGEND = """return (async () => {
const frame = () => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));  // Chart.js answers in one
const chart = Chart.getChart(document.querySelector("#curves canvas")), box = chart.legend.legendHitBoxes[0];
const canvas = chart.canvas.getBoundingClientRect();
const at = {clientX: canvas.left + box.left + 5, clientY: canvas.top + box.top + 5, bubbles: true};
const before = chart.getVisibleDatasetCount();
chart.canvas.dispatchEvent(new MouseEvent("click", at));
await frame();
const hidden = before - chart.getVisibleDatasetCount();
chart.canvas.dispatchEvent(new MouseEvent("click", at));
await frame();
const wanted = chart.data.datasets.filter(set => set.group === chart.data.datasets[0].group).length;
return {hidden: hidden === wanted, back: chart.getVisibleDatasetCount() === before};
})();
"""

# Buttons, zooming by the mouse and the table's order.
TOOLS = """return (async () => {
const chart = () => Chart.getChart(document.querySelector("#curves canvas"));
const area = chart().chartArea, canvas = chart().canvas.getBoundingClientRect();
const mouse = async (type, x) => {
  chart().canvas.dispatchEvent(new MouseEvent(type,
    {clientX: canvas.left + x, clientY: canvas.top + area.top + 20, bubbles: true}));
  await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
};
const full = chart().scales.x.max;
await mouse("mousedown", area.left + 30);
await mouse("mousemove", area.left + 100);
await mouse("mouseup", area.left + 100);
const zoomed = chart().scales.x.max < full;
document.querySelectorAll("#curves .tools button")[2].click();
const whole = chart().scales.x.max === full;
document.querySelectorAll("#curves .tools button")[1].click();
const table = document.querySelector("table.sortable"), button = table.querySelector("th button");
button.click();
button.click();
const first = table.tBodies[0].rows[0].cells[0].textContent;
return {zoomed, whole, log: chart().options.scales.y.type, last_first: first === String(table.tBodies[0].rows.length)};
})();
"""

# A range dragged along the metric's axis leaves the lines within it; "all" brings them back.
PARALLEL = """return (async () => {
const host = document.querySelector("#parallel .live"), areas = host.querySelectorAll(".brush");
const area = areas[areas.length - 1], box = area.getBoundingClientRect();
const lines = () => host.querySelectorAll("svg path:not(.out)").length;
const mouse = (type, share) => area.dispatchEvent(new PointerEvent(type,
  {clientX: box.left + 12, clientY: box.top + share * box.height, bubbles: true}));
const whole = lines(), colours = new Set([...host.querySelectorAll("svg path")].map(path => path.style.stroke));
mouse("pointerdown", 0.02);
mouse("pointermove", 0.4);
mouse("pointerup", 0.4);
const within = lines();
host.querySelector(".tools button").click();
return {fewer: within < whole, back: lines() === whole, coloured: colours.size > 1,
        full: host.querySelector("svg").getBoundingClientRect().width >= host.clientWidth - 1};
})();
"""


class Driver:
    """A session of chromedriver (W3C WebDriver)."""

    def __init__(self, folder):
        self.process = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, text=True)
        for line in self.process.stdout:
            if "started successfully on port" in line:
                self.base = "http://127.0.0.1:" + line.rsplit(" ", 1)[1].strip(" .\n")
                break
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                 "--user-data-dir=" + folder]
        capabilities = {"goog:chromeOptions": {"args": flags}, "goog:loggingPrefs": {"browser": "ALL"}}
        answer = self.call("/session", {"capabilities": {"alwaysMatch": capabilities}})
        self.session = "/session/" + answer["sessionId"]

    def call(self, path, body):
        request = urllib.request.Request(self.base + path, json.dumps(body).encode(),
                                         {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(error.read().decode()) from error

    def __getattr__(self, name):
        return lambda **body: self.call(self.session + "/" + name.replace("__", "/"), body)

    def run(self, script):
        return self.execute__sync(script=script, args=[])

    def devtools(self, command, **parameters):
        return self.goog__cdp__execute(cmd=command, params=parameters)

    def log(self):
        return [entry["message"] for entry in self.se__log(type="browser")]

    def quit(self):
        try:
            urllib.request.urlopen(urllib.request.Request(self.base + self.session, method="DELETE"), timeout=20)
        except (OSError, AttributeError):
            pass
        self.process.terminate()
        self.process.wait()


def look(driver, url, width, scheme, troubles):
    driver.devtools("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
    driver.devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    driver.url(url=url)
    place = "%d px, %s: " % (width, scheme)
    for _ in range(100):  # looks, not seconds: on a busy machine they take longer
        seen = driver.run(CHECKS)
        if all(chart["drawn"] for chart in seen["drawn"]):
            break
        time.sleep(0.05)
    if seen["wide"] > 0:
        troubles.append(place + "%d px wider than the window" % seen["wide"])
    if seen["hidden"]:
        troubles.append(place + "%d verdicts are out of view" % seen["hidden"])
    troubles += [place + chart["id"] + " is blank" for chart in seen["drawn"] if not chart["drawn"]]
    troubles += [place + "loaded " + name for name in seen["alien"]]
    troubles += [place + message for message in driver.log()]
    return len(seen["drawn"])


def save(folder, name, data):
    if folder:
        (folder / name).write_bytes(base64.b64decode(data))


def check(driver, url, folder):
    troubles, charts = [], 0
    for width in (360, 1280):
        for scheme in ("light", "dark"):
            charts = look(driver, url, width, scheme, troubles)
            if folder:
                shot = driver.devtools("Page.captureScreenshot", captureBeyondViewport=True)
                save(folder, "%d-%s.png" % (width, scheme), shot["data"])
    paper = driver.devtools("Page.printToPDF", printBackground=True)["data"]
    if not base64.b64decode(paper).startswith(b"%PDF") or len(paper) < 20000:
        troubles.append("printing gave no page")
    save(folder, "print.pdf", paper)
    if (hidden := driver.run(LEGEND)) != {"hidden": True, "back": True}:
        troubles.append("the legend hides other than a line and its band: %s" % hidden)
    tools = driver.run(TOOLS)
    if tools != {"zoomed": True, "whole": True, "log": "logarithmic", "last_first": True}:
        troubles.append("the tools do other than they say: %s" % tools)
    ranges = driver.run(PARALLEL)
    if ranges != {"fewer": True, "back": True, "coloured": True, "full": True}:
        troubles.append("parallel coordinates do other than they say: %s" % ranges)
    troubles += driver.log()
    return troubles, charts


def main():
    if not shutil.which("chromedriver") or not (shutil.which("chromium") or shutil.which("google-chrome")):
        print("skipped: no chromium and chromedriver here")
        return 77
    page = sys.argv[1]
    url = page if page.startswith("http") else pathlib.Path(page).resolve().as_uri()
    folder = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else None
    with tempfile.TemporaryDirectory() as profile:
        driver = Driver(os.path.join(profile, "chromium"))
        try:
            troubles, charts = check(driver, url, folder)
        finally:
            driver.quit()
    print("\n".join(troubles) if troubles else "%d charts are as they should be" % charts)
    return 1 if troubles else 0


if __name__ == "__main__":
    sys.exit(main())
