// Makes a page answer: draws its charts, sorts its tables, and fetches it again where a server makes it anew. What the
// reader has hidden, zoomed, sorted, searched for or ticked stays over a refresh.
"use strict";

(() => {
  let data = {}, charts = {}, order = {}, searched = {};

  const readData = root => JSON.parse(root.getElementById("data").textContent);

  function drawAll(kept) {
    charts = {};
    for (const chart of data.charts) {
      const figure = document.getElementById(chart.id), host = figure && figure.querySelector(".live");
      // A build without Chart.js leaves the still pictures.
      if (!host || (chart.kind !== "parallel" && typeof Chart === "undefined")) continue;
      figure.classList.add("drawn");
      const before = kept[chart.id];
      if (chart.kind === "parallel") {
        const drawn = thalwegPlots.parallel(chart, host, before);
        charts[chart.id] = { state: drawn.state, end: () => {} };
        continue;
      }
      const holder = { drawn: null, replace(drawn) { holder.drawn = drawn; drawn.holder = holder; },
                       state: () => thalwegPlots.state(holder.drawn), end: () => holder.drawn.destroy() };
      holder.replace(thalwegPlots.draw(chart, host, data.colours, before));
      charts[chart.id] = holder;
    }
  }

  function redraw() {
    const kept = {};
    for (const [id, chart] of Object.entries(charts)) {
      kept[id] = chart.state();
      chart.end();
    }
    drawAll(kept);
  }

  // Numbers by value, texts after them.
  function compare(a, b) {
    const x = a === "" ? NaN : Number(a.replace("inf", "Infinity")), y = b === "" ? NaN : Number(b.replace("inf", "Infinity"));
    if (!Number.isNaN(x) && !Number.isNaN(y)) return x === y ? 0 : x - y;
    if (Number.isNaN(x) !== Number.isNaN(y)) return Number.isNaN(x) ? 1 : -1;
    return a.localeCompare(b);
  }

  function sort(table, column, down) {
    const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
    const key = row => {
      const cell = row.cells[column];
      return cell.dataset.v === undefined ? cell.textContent : cell.dataset.v;
    };
    body.append(...[...body.rows].sort((a, b) => (down ? -1 : 1) * compare(key(a), key(b))));
    heads.forEach((head, n) => {
      if (n === column) head.setAttribute("aria-sort", down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
  }

  function makeSortable() {
    document.querySelectorAll("table.sortable").forEach((table, number) => {
      [...table.tHead.rows[0].cells].forEach((head, column) => {
        const button = document.createElement("button"), title = head.querySelector("span");
        button.type = "button";
        button.textContent = title.textContent;
        title.replaceChildren(button);
        button.addEventListener("click", () => {
          order[number] = [column, head.getAttribute("aria-sort") === "ascending"];
          sort(table, ...order[number]);
        });
      });
      if (order[number]) sort(table, ...order[number]);
    });
  }

  // Rows that have all the words, in whatever cells.
  function search(table, text) {
    const words = text.toLowerCase().split(" ").filter(word => word !== "");
    for (const row of table.tBodies[0].rows) {
      const cells = row.textContent.toLowerCase();
      row.hidden = !words.every(word => cells.includes(word));
    }
  }

  function makeSearchable() {
    document.querySelectorAll("table.searched").forEach((table, number) => {
      if (table.tBodies[0].rows.length < 4) return;
      const field = document.createElement("input");
      Object.assign(field, { type: "search", placeholder: "search", value: searched[number] || "" });
      field.setAttribute("aria-label", "search this table");
      field.addEventListener("input", () => search(table, searched[number] = field.value));
      table.parentElement.before(field);
      search(table, field.value);
    });
  }

  async function refresh() {
    let wait = data.refresh;
    try {
      if (!document.hidden) {
        const began = performance.now();
        const answer = await fetch(location.href, { cache: "no-store" });
        if (answer.ok) {
          const page = new DOMParser().parseFromString(await answer.text(), "text/html");
          const kept = {};
          for (const [id, chart] of Object.entries(charts)) {
            kept[id] = chart.state();
            chart.end();
          }
          const ticked = [...document.querySelectorAll("input:checked")].map(box => box.value);
          const typing = [...document.querySelectorAll('input[type="search"]')].indexOf(document.activeElement);
          data = readData(page);
          document.querySelector("main").replaceWith(document.adoptNode(page.querySelector("main")));
          drawAll(kept);
          makeSortable();
          makeSearchable();
          for (const box of document.querySelectorAll('input[type="checkbox"]')) box.checked = ticked.includes(box.value);
          if (typing >= 0) document.querySelectorAll('input[type="search"]')[typing]?.focus();
        }
        // A page that takes long to make is asked for less often.
        wait = Math.max(data.refresh, (performance.now() - began) / 100);
      }
    } catch (error) {
      wait = 10 * data.refresh;  // the server may come back
    }
    if (data.refresh > 0) setTimeout(refresh, 1000 * wait);
  }

  data = readData(document);
  drawAll({});
  makeSortable();
  makeSearchable();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  if (data.refresh > 0) setTimeout(refresh, 1000 * data.refresh);
})();
