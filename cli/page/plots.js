// Draws the charts that a page's data describes (cli/output/chart.h) with Chart.js, and parallel coordinates as SVG.
"use strict";

const thalwegPlots = (() => {
  const dashes = [[], [8, 4], [2, 3]];
  const marks = ["circle", "triangle", "rect", "rectRot", "star", "crossRot", "cross"];
  const short = value => Math.abs(value) >= 1e5 || (value !== 0 && Math.abs(value) < 1e-3)
    ? value.toExponential(2) : String(Number(value.toPrecision(4)));

  // Numbers in text are read as such: "0.1", "64".
  const numberOf = text => (text.trim() === "" ? NaN : Number(text));

  function colours(palette) {
    const style = getComputedStyle(document.documentElement);
    const of = name => style.getPropertyValue(name).trim();
    const fg = of("--fg");
    return { fg, dim: of("--dim"), rule: of("--rule"), bg: of("--bg"),
             series: n => (palette[n % palette.length] === "#000000" ? fg : palette[n % palette.length]) };
  }

  const cut = (text, letters) => (text.length > letters ? text.slice(0, Math.max(1, letters - 1)) + "\u2026" : text);

  const pale = (colour, share) => colour + Math.round(255 * share).toString(16).padStart(2, "0");

  function axis(name, logarithmic, look) {
    return { type: logarithmic ? "logarithmic" : "linear", title: { display: name !== "", text: name, color: look.fg },
             grid: { color: look.rule, borderColor: look.dim },
             ticks: { color: look.fg, maxRotation: 0, autoSkipPadding: 12,
                      callback(value, index, ticks) {
                        const lead = Math.round(value / 10 ** Math.floor(Math.log10(Math.abs(value) || 1)));
                        return logarithmic && ticks.length > 4 && ![1, 2, 5].includes(lead) ? "" : short(value);
                      } } };
  }

  const drawable = (x, y, chart) => x !== null && y !== null && (!chart.x.log || x > 0) && (!chart.y.log || y > 0);

  // A band is two more lines without a legend, the upper filled down to the lower.
  function lineSets(chart, look) {
    const sets = [];
    chart.series.forEach((series, n) => {
      const colour = look.series(n), dash = dashes[Math.floor(n / 7) % 3];
      const points = series.points.map(([x, y]) => ({ x, y: drawable(x, y, chart) ? y : NaN }));
      const common = { borderColor: colour, backgroundColor: colour, group: n, parsing: false };
      sets.push({ ...common, label: series.label, data: points, borderWidth: 2, borderDash: dash, showLine: !series.dots,
                  band: series.band, pointStyle: marks[n % marks.length], pointHitRadius: 8,
                  pointRadius: series.dots ? 5 : points.length < 20 ? 3 : 0 });
      if (series.band.length === 0) return;
      const edge = { ...common, label: "", edge: true, borderWidth: 0, pointRadius: 0, pointHitRadius: 0 };
      const side = at => series.band.map(b => ({ x: b[0], y: drawable(b[0], b[at], chart) ? b[at] : NaN }));
      sets.push({ ...edge, data: side(1), fill: false },
                { ...edge, data: side(2), fill: "-1", backgroundColor: pale(colour.length === 7 ? colour : "#888888", 0.18) });
    });
    return sets;
  }

  function toggle(chart, group) {
    const first = chart.data.datasets.findIndex(set => set.group === group);
    const visible = !chart.isDatasetVisible(first);
    chart.data.datasets.forEach((set, n) => { if (set.group === group) chart.setDatasetVisibility(n, visible); });
    chart.update();
  }

  function legend(look, many) {
    return { display: many, position: "bottom", align: "start",
             labels: { color: look.fg, usePointStyle: false, boxWidth: 24, boxHeight: 2,
                       generateLabels: box => Chart.defaults.plugins.legend.labels.generateLabels(box).map(item =>
                         ({ ...item, text: cut(item.text, (box.width - 60) / 6.5) })),
                       filter: (item, data) => !data.datasets[item.datasetIndex].edge },
             onClick: (event, item, box) => toggle(box.chart, box.chart.data.datasets[item.datasetIndex].group) };
  }

  function tooltip(chart) {
    return { filter: item => !item.dataset.edge,
             callbacks: {
               title: items => (items.length ? `${chart.x.name} ${short(items[0].parsed.x)}` : ""),
               label: item => {
                 const band = (item.dataset.band || [])[item.dataIndex];
                 return `${item.dataset.label}: ${short(item.parsed.y)}` +
                        (band ? ` [${short(band[1])}, ${short(band[2])}]` : "");
               } } };
  }

  const options = look => ({ animation: false, responsive: true, maintainAspectRatio: false, color: look.fg });

  function lines(chart, look) {
    const sets = lineSets(chart, look);
    return { type: "line", data: { datasets: sets },
             options: { ...options(look), interaction: { mode: "nearest", axis: "xy", intersect: false },
                        scales: { x: axis(chart.x.name, chart.x.log, look), y: axis(chart.y.name, chart.y.log, look) },
                        plugins: { legend: legend(look, chart.series.length > 1), tooltip: tooltip(chart),
                                   title: { display: true, text: chart.title, color: look.fg, align: "start" } } },
             plugins: [zoom] };
  }

  function rowed(chart, look, sets) {
    return { type: "bar", data: { labels: chart.rows, datasets: sets },
             options: { ...options(look), indexAxis: "y",
                        scales: { x: { ...axis(chart.unit, false, look), stacked: chart.kind === "bars" },
                                  y: { stacked: true, grid: { display: false }, ticks: { color: look.fg, autoSkip: true } } },
                        plugins: { legend: { ...legend(look, true),
                                             labels: { color: look.fg, boxWidth: 14 } },
                                   title: { display: true, text: chart.title, color: look.fg, align: "start" },
                                   tooltip: { callbacks: { label: item => {
                                     const raw = item.raw;
                                     const text = Array.isArray(raw) ? `${short(raw[0])} to ${short(raw[1])}` :
                                       short(typeof raw === "object" ? raw.x[1] - raw.x[0] : raw);
                                     return `${item.dataset.label}: ${text} ${chart.unit}`;
                                   } } } } } };
  }

  const fill = (look, n) => ({ backgroundColor: look.series(n), borderColor: look.bg, borderWidth: 1, group: n });

  function bars(chart, look) {
    return rowed(chart, look, chart.series.map((part, n) => ({ label: part.label, data: part.values, ...fill(look, n) })));
  }

  function spans(chart, look) {
    return rowed(chart, look, chart.names.map((name, n) => ({
      label: name, ...fill(look, n), grouped: false, minBarLength: 2,
      data: chart.spans.filter(span => span[1] === name).map(span => ({ y: span[0], x: [span[2], span[3]] })) })));
  }

  // Drag over a part of the x axis to see it alone; a double click shows all again.
  const zoom = {
    id: "thalwegZoom",
    afterEvent(chart, args) {
      const event = args.event, area = chart.chartArea, inside = event.x >= area.left && event.x <= area.right;
      if (event.native && event.native.pointerType === "touch") return;
      if (event.type === "mousedown" && inside && event.y <= area.bottom) chart.zoomFrom = event.x;
      if (event.type === "mousemove" && chart.zoomFrom !== undefined) {
        chart.zoomTo = Math.min(Math.max(event.x, area.left), area.right);
        args.changed = true;
      }
      if (event.type === "mouseup" && chart.zoomFrom !== undefined) {
        const [from, to] = [chart.zoomFrom, chart.zoomTo === undefined ? chart.zoomFrom : chart.zoomTo].sort((a, b) => a - b);
        chart.zoomFrom = chart.zoomTo = undefined;
        if (to - from > 8) {
          const scale = chart.scales.x, range = [scale.getValueForPixel(from), scale.getValueForPixel(to)];
          zoomTo(chart, range);
        }
        args.changed = true;
      }
      if (event.type === "dblclick") zoomTo(chart, null);
    },
    afterDraw(chart) {
      if (chart.zoomFrom === undefined || chart.zoomTo === undefined) return;
      const area = chart.chartArea, context = chart.ctx;
      context.save();
      context.fillStyle = "rgba(86, 180, 233, 0.25)";
      context.fillRect(chart.zoomFrom, area.top, chart.zoomTo - chart.zoomFrom, area.bottom - area.top);
      context.restore();
    },
  };

  function zoomTo(chart, range) {
    chart.zoomed = range;
    chart.options.scales.x.min = range ? range[0] : undefined;
    chart.options.scales.x.max = range ? range[1] : undefined;
    chart.update();
  }

  const make = { lines, bars, spans };

  // `kept` is what state() told of the chart before the page was fetched again.
  function draw(spec, host, palette, kept) {
    const chart = JSON.parse(JSON.stringify(spec));
    if (kept && kept.log) { chart.x.log = kept.log[0]; chart.y.log = kept.log[1]; }
    const tools = document.createElement("div"), box = document.createElement("div");
    const canvas = document.createElement("canvas");
    tools.className = "tools";
    box.className = "canvas";
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", chart.title);
    if (chart.rows) box.style.height = `${Math.max(200, 110 + 22 * chart.rows.length)}px`;
    // A narrow legend has an entry a line.
    if (!chart.rows && host.clientWidth < 480) box.style.height = `${260 + 22 * chart.series.length}px`;
    box.append(canvas);
    host.replaceChildren(tools, box);
    const config = make[chart.kind](chart, colours(palette));
    config.options.events = ["mousemove", "mouseout", "click", "touchstart", "touchmove", "mousedown", "mouseup", "dblclick"];
    const drawn = new Chart(canvas, config);
    drawn.spec = chart;
    if (chart.kind === "lines") addTools(drawn, tools, spec, host, palette);
    (kept ? kept.hidden : []).forEach(label => {
      const set = drawn.data.datasets.find(each => !each.edge && nameOf(each.label) === label);
      if (set) toggle(drawn, set.group);
    });
    if (kept && kept.zoomed) zoomTo(drawn, kept.zoomed);
    return drawn;
  }

  function addTools(drawn, tools, spec, host, palette) {
    const again = change => {
      const kept = state(drawn);
      change(kept);
      const holder = drawn.holder;
      drawn.destroy();
      holder.replace(draw(spec, host, palette, kept));
    };
    const button = (text, act) => {
      const element = document.createElement("button");
      element.type = "button";
      element.textContent = text;
      element.addEventListener("click", act);
      tools.append(element);
      return element;
    };
    ["x", "y"].forEach((name, n) => {
      const log = drawn.spec[name].log;
      button(`${name}: ${log ? "log" : "linear"}`, () => again(kept => { kept.log[n] = !log; kept.zoomed = null; }));
    });
    button("all", () => zoomTo(drawn, null));
    tools.append("drag to zoom, click the legend to hide");
  }

  // Of a label what stays over a refresh: neither its place nor how many trials it has.
  const nameOf = label => label.replace(/^#\d+ /, "").replace(/ \(\d+ trials?\)$/, "");

  function state(drawn) {
    const hidden = drawn.data.datasets.filter((set, n) => !set.edge && !drawn.isDatasetVisible(n))
                                      .map(set => nameOf(set.label));
    return { hidden, zoomed: drawn.zoomed || null,
             log: drawn.spec.kind === "lines" ? [drawn.spec.x.log, drawn.spec.y.log] : null };
  }

  const svg = (name, attributes, text) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    Object.entries(attributes).forEach(([key, value]) => element.setAttribute(key, value));
    if (text !== undefined) element.textContent = text;
    return element;
  };

  // From a text to 0 (below) .. 1, and the axis's own labels. Numbers over more than two decades are spread by their logs.
  function scaleOf(values) {
    const filled = values.filter(text => text !== ""), numbers = filled.map(numberOf);
    if (filled.length > 0 && numbers.every(Number.isFinite)) {
      const low = Math.min(...numbers), high = Math.max(...numbers);
      const log = low > 0 && high / low >= 100, map = log ? Math.log : x => x;
      const place = x => (high > low ? (map(x) - map(low)) / (map(high) - map(low)) : 0.5);
      const ends = high > low ? [low, high] : [low];
      return { of: text => (text === "" ? null : place(numberOf(text))), ticks: ends.map(x => [place(x), short(x)]) };
    }
    const words = [...new Set(filled)].sort();
    const place = word => (words.length > 1 ? words.indexOf(word) / (words.length - 1) : 0.5);
    const shown = words.length <= 12 ? words : [words[0], words[words.length - 1]];
    return { of: text => (text === "" ? null : place(text)), ticks: shown.map(word => [place(word), word]) };
  }

  // From the colour of the best value (0) to that of the one that is farthest from it (1).
  function blend(share) {
    const best = [0xd5, 0x5e, 0x00], farthest = [0x56, 0xb4, 0xe9];
    return `rgb(${best.map((from, n) => Math.round(from + share * (farthest[n] - from))).join(",")})`;
  }

  // The range of an axis that is dragged over; a click takes it away. `changed` is called with each move.
  function brush(picture, x, y, ranges, n, changed) {
    const area = svg("rect", { x: x(n) - 12, width: 24, y: y(1) - 6, height: y(0) - y(1) + 12, class: "brush" });
    const shown = svg("rect", { x: x(n) - 5, width: 10, y: 0, height: 0, class: "range" });
    let from = null;
    const place = event => {
      const box = area.getBoundingClientRect(), inner = box.height * (y(0) - y(1)) / (y(0) - y(1) + 12);
      return Math.min(1, Math.max(0, 1 - (event.clientY - box.top - (box.height - inner) / 2) / inner));
    };
    const show = () => {
      const range = ranges[n];
      shown.setAttribute("height", range ? y(range[0]) - y(range[1]) : 0);
      if (range) shown.setAttribute("y", y(range[1]));
    };
    area.addEventListener("pointerdown", event => {
      from = place(event);
      ranges[n] = null;
      if (event.isTrusted) area.setPointerCapture(event.pointerId);
      event.preventDefault();
    });
    area.addEventListener("pointermove", event => {
      if (from === null) return;
      const to = place(event);
      ranges[n] = Math.abs(to - from) > 0.01 ? [Math.min(from, to), Math.max(from, to)] : null;
      changed();
    });
    const end = () => { from = null; changed(); };
    area.addEventListener("pointerup", end);
    area.addEventListener("pointercancel", end);
    picture.append(shown, area);
    return show;
  }

  // Lines have the colour of their place on the last axis, the metric's. `before`: its state before a refresh.
  function parallel(chart, host, before) {
    const high = 300, top = 56, side = 50, spaces = chart.axes.length - 1;
    const width = Math.max(host.clientWidth, 2 * side + 120 * spaces), gap = (width - 2 * side) / spaces;
    const scales = chart.axes.map(axis => scaleOf(axis.values)), count = chart.axes[0].values.length;
    const x = n => side + gap * n, y = place => top + (1 - place) * high;
    const tools = document.createElement("div"), wide = document.createElement("div");
    const slider = document.createElement("input"), label = document.createElement("label");
    const all = document.createElement("button"), within = document.createElement("span");
    tools.className = "tools";
    wide.className = "wide";
    Object.assign(slider, { type: "range", min: 1, max: count,
                            value: Math.min((before && before.best) || Math.ceil(count / 10), count) });
    host.classList.add("parallel");
    const picture = svg("svg", { viewBox: `0 0 ${width} ${high + top + 40}`, width, height: high + top + 40, role: "img",
                                 "aria-label": "parallel coordinates" });
    const rows = [...Array(count).keys()];
    const places = rows.map(row => scales.map((scale, n) => scale.of(chart.axes[n].values[row])));
    const far = Math.max(...places.map(of => Math.abs(of[spaces] - places[0][spaces]))) || 1;
    const paths = [];
    for (const row of rows.slice().reverse()) {
      const points = places[row].map((place, n) => [x(n), place]).filter(p => p[1] !== null);
      const path = svg("path", { d: points.map((p, n) => `${n ? "L" : "M"}${p[0].toFixed(1)} ${y(p[1]).toFixed(1)}`).join("") });
      path.style.stroke = blend(Math.abs(places[row][spaces] - places[0][spaces]) / far);
      path.append(svg("title", {}, `${row + 1}: ` + chart.axes.map(a => `${a.name} ${a.values[row]}`).join(", ")));
      path.addEventListener("mouseenter", () => path.classList.add("picked"));
      path.addEventListener("mouseleave", () => path.classList.remove("picked"));
      paths[row] = path;
      picture.append(path);
    }
    const ranges = chart.axes.map((axis, n) => (before && before.ranges && before.ranges[n]) || null);
    const inside = row => ranges.every((range, n) => range === null ||
      (places[row][n] !== null && places[row][n] >= range[0] && places[row][n] <= range[1]));
    const shows = [];
    const mark = () => {
      const left = rows.filter(inside), kept = new Set(left);
      paths.forEach((path, row) => {
        path.classList.toggle("best", row < slider.value);
        path.classList.toggle("out", !kept.has(row));
      });
      shows.forEach(show => show());
      label.textContent = `the first ${slider.value} of ${count} marked `;
      label.append(slider);
      within.textContent = left.length < count ? `${left.length} of ${count} within the ranges` : "drag along an axis to choose a range";
    };
    chart.axes.forEach((axis, n) => {
      picture.append(svg("line", { x1: x(n), x2: x(n), y1: top, y2: top + high, class: "axis" }),
                     svg("text", { x: x(n), y: n % 2 ? 30 : 14, "text-anchor": "middle" }, axis.name));
      scales[n].ticks.forEach(([place, text]) => {
        picture.append(svg("text", { x: x(n) + 5, y: y(place) + (place <= 0 ? 16 : -4) }, cut(text, 14)));
      });
      shows.push(brush(picture, x, y, ranges, n, mark));
    });
    all.type = "button";
    all.textContent = "all";
    all.addEventListener("click", () => { ranges.fill(null); mark(); });
    slider.addEventListener("input", mark);
    mark();
    tools.append(label, all, within);
    wide.append(picture);
    host.replaceChildren(tools, wide);
    return { spec: chart, state: () => ({ best: Number(slider.value), ranges }) };
  }

  return { draw, parallel, state };
})();
