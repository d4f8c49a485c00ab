"use strict";
// Draws the charts of a report from the data in the page. Everything that came from outside is set as text.
(() => {
const data = JSON.parse(document.getElementById("data").textContent);
const redraws = [];
const charts = [];
window.icrlCharts = charts;  // for tests, and for whoever wants the numbers in the console

function make(name, attributes = {}, ...children) {
  const svg = ["svg", "g", "line", "rect", "circle", "text", "title"].includes(name) && attributes.svg;
  const node = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "svg" || value === undefined) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (key === "checked" || key === "selected") node[key] = value;
    else if (key === "style") node.style.cssText = value;
    else node.setAttribute(key, value);
  }
  node.append(...children);
  return node;
}

const number = (value) => {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  if (size >= 1000) return Math.round(value).toLocaleString("en");
  if (size >= 100) return String(+value.toFixed(1));
  if (size >= 10) return String(+value.toFixed(2));
  return size >= 0.01 || size === 0 ? String(+value.toFixed(4)) : String(+value.toPrecision(3));
};
const steps = (value) => {
  if (value >= 1e6) return `${+(value / 1e6).toFixed(2)}M`;
  return value >= 1e3 ? `${+(value / 1e3).toFixed(1)}k` : String(value);
};

// ---- light and dark
const root = document.documentElement;
const isDark = () => root.dataset.theme
  ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
const css = (name) => getComputedStyle(root).getPropertyValue(name).trim();
document.getElementById("theme").addEventListener("click", () => {
  root.dataset.theme = isDark() ? "light" : "dark";
  redraws.forEach((redraw) => redraw());
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => redraws.forEach((redraw) => redraw()));

// Dark colours would vanish on a dark page: they are mixed with white there.
function ink(colour, alpha = 1) {
  let [r, g, b] = [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16));
  if (isDark()) {
    const light = (0.2126 * r + 0.7152 * g + 0.0722 * b) / 255;
    const share = Math.max(0, 0.55 - light) * 1.2;
    [r, g, b] = [r, g, b].map((part) => Math.round(part + share * (255 - part)));
  }
  return `rgba(${r},${g},${b},${alpha})`;
}

function axis(options) {
  return {
    stroke: css("--quiet"), grid: { stroke: css("--line"), width: 1 }, ticks: { stroke: css("--line"), width: 1 },
    font: "12px system-ui, sans-serif", labelFont: "13px system-ui, sans-serif", ...options,
  };
}

// ---- a chart that follows the width of its place
function plot(place, build) {
  let chart = null;
  const draw = () => {
    const zoom = chart && chart.zoomed ? { ...chart.zoomed } : null;
    if (chart) { chart.destroy(); charts.splice(charts.indexOf(chart), 1); }
    const built = build(Math.max(260, place.clientWidth));
    chart = built && new uPlot(built.options, built.values, place);
    if (!chart) return;
    charts.push(chart);
    if (zoom) { chart.zoomed = zoom; chart.setScale("x", zoom); }
  };
  draw();
  redraws.push(draw);
  let width = place.clientWidth;
  new ResizeObserver(() => {
    if (place.clientWidth === width || !chart) return;
    width = place.clientWidth;
    chart.setSize({ width: Math.max(260, width), height: chart.height });
  }).observe(place);
  return { get chart() { return chart; }, draw };
}

function zoomTools(get) {
  const zoom = (factor) => {
    const chart = get();
    if (!chart) return;
    const { min, max } = chart.scales.x;
    const [low, high] = [chart.data[0][0], chart.data[0].at(-1)];
    const middle = (min + max) / 2;
    const half = (max - min) / 2 * factor;
    chart.setScale("x", { min: Math.max(low, middle - half), max: Math.min(high, middle + half) });
  };
  return [
    make("button", { type: "button", "aria-label": "Zoom in", title: "Zoom in", onclick: () => zoom(0.5) }, "+"),
    make("button", { type: "button", "aria-label": "Zoom out", title: "Zoom out", onclick: () => zoom(2) }, "−"),
    make("button", { type: "button", onclick: () => zoom(1e9) }, "Whole"),
  ];
}

const remembersZoom = {
  setScale: [(chart, key) => {
    if (key !== "x") return;
    const { min, max } = chart.scales.x;
    const whole = min <= chart.data[0][0] && max >= chart.data[0].at(-1);
    chart.zoomed = whole ? null : { min, max };
  }],
};

// ---- learning curves
function interpolate(xs, ys, x) {
  let before = -1;
  for (let i = 0; i < xs.length; i++) {
    if (ys[i] === null) continue;
    if (xs[i] === x) return ys[i];
    if (xs[i] > x) {
      if (before < 0) return null;
      return ys[before] + (ys[i] - ys[before]) * (x - xs[before]) / (xs[i] - xs[before]);
    }
    before = i;
  }
  return null;
}

function curves(task, state) {
  const place = document.getElementById(`${task.id}-curves`);
  const all = [];
  const names = task.quantities;
  task.opened.forEach((opened, index) => {
    let quantity = opened;
    const readout = make("div", { class: "readout" });
    const area = make("div", { class: "plot", role: "img" });
    const select = make("select", { id: `${task.id}-quantity-${index}`, onchange: () => { quantity = select.value; holder.draw(); } },
      ...names.map((name) => make("option", { value: name, selected: name === quantity }, name)));
    const label = make("label", { for: select.id }, "Quantity ", select);
    const figure = make("figure", { class: "chart" });
    place.append(figure);
    figure.append(make("div", { class: "tools" }, label, ...zoomTools(() => holder.chart)), area, readout);
    const holder = plot(area, (width) => curveOptions(task, state, quantity, width, area, readout));
    all.push(holder);
  });
  return () => all.forEach((holder) => holder.draw());
}

function curveOptions(task, state, quantity, width, area, readout) {
  const runs = task.groups.flatMap((group) => group.runs
    .filter((run) => run.values[quantity] && !state.hidden.has(run.id)).map((run) => ({ group, run })));
  const xs = [...new Set(runs.flatMap(({ run }) => run.steps))].sort((a, b) => a - b);
  area.setAttribute("aria-label", `${quantity} by environment steps: ${runs.length} runs. Final values are in the tables.`);
  if (!xs.length) { xs.push(0, 1); }
  const values = [xs];
  const series = [{ label: "steps" }];
  const bands = [];
  const meta = [null];
  const add = (line, options, about) => {
    values.push(line);
    series.push({ spanGaps: true, points: { show: false }, ...options });
    meta.push(about);
  };
  for (const group of task.groups) {
    const own = runs.filter((each) => each.group === group);
    if (!own.length) continue;
    const lines = own.map(({ run }) => xs.map((x) => interpolate(run.steps, run.values[quantity], x)));
    if (state.seeds || own.length === 1) {
      own.forEach(({ run }, i) => add(lines[i], { label: `${group.name}, seed ${run.seed}`,
        stroke: ink(group.colour, own.length > 1 && state.means ? 0.45 : 1), width: own.length > 1 ? 1 : 2 },
        { group, text: `seed ${run.seed}`, seed: true, alone: own.length === 1 }));
    }
    if (!state.means || own.length < 2) continue;
    const mean = [], low = [], high = [];
    xs.forEach((_, k) => {
      const here = lines.map((line) => line[k]);
      if (here.includes(null)) { mean.push(null); low.push(null); high.push(null); return; }
      const centre = here.reduce((a, b) => a + b, 0) / here.length;
      const squares = here.reduce((a, b) => a + (b - centre) ** 2, 0);
      const error = Math.sqrt(squares / (here.length * (here.length - 1)));
      mean.push(centre); low.push(centre - error); high.push(centre + error);
    });
    add(high, { stroke: "transparent", label: `${group.name} + SE` }, null);
    add(low, { stroke: "transparent", label: `${group.name} - SE` }, null);
    bands.push({ series: [values.length - 2, values.length - 1], fill: ink(group.colour, 0.2) });
    add(mean, { stroke: ink(group.colour), width: 2.5, label: `${group.name}, mean` }, { group, text: `mean of ${own.length}` });
  }
  const score = { "truth/true_return": "true_return", "truth/violation_rate": "violation_rate" }[quantity];
  if (state.references && score) {
    for (const [name, scores] of Object.entries(task.references)) {
      const dash = name === "expert" ? [8, 5] : [2, 4];
      add(xs.map(() => scores[score]), { stroke: css("--ink"), width: 1.3, dash, label: `${name} (reference)` },
        { reference: name });
    }
  }
  const say = (chart) => {
    const k = chart.cursor.idx;
    readout.replaceChildren();
    if (k === null || k === undefined) {
      const last = meta.map((about, i) => ({ about, i })).filter(({ about }) => about && (!about.seed || about.alone));
      readout.append("At the end: ", ...last.flatMap(({ about, i }) =>
        [`${about.reference || about.group.name} `, make("b", {}, number(values[i].findLast((v) => v !== null))), "; "]));
      return;
    }
    readout.append(make("b", {}, `${xs[k].toLocaleString("en")} steps`), ": ");
    let nearest = null;
    meta.forEach((about, i) => {
      if (!about) return;
      const value = values[i][k];
      if (value === null) return;
      const away = Math.abs(chart.valToPos(value, "y") - chart.cursor.top);
      if (about.seed && !about.alone) {
        if (!nearest || away < nearest.away) nearest = { away, about, value };
      } else {
        readout.append(`${about.reference || about.group.name} `, make("b", {}, number(value)), "; ");
      }
    });
    if (nearest) readout.append(`nearest: ${nearest.about.group.name}, ${nearest.about.text} `, make("b", {}, number(nearest.value)));
  };
  const options = {
    width, height: 280, series, bands, legend: { show: false }, scales: { x: { time: false } },
    cursor: { sync: { key: task.id }, drag: { x: true, y: false } },
    axes: [axis({ values: (_, ticks) => ticks.map(steps), label: "environment steps", labelSize: 22 }),
      axis({ size: 62, values: (_, ticks) => ticks.map(number) })],
    hooks: { ...remembersZoom, setCursor: [say], ready: [say] },
  };
  return { options, values };
}

// ---- legend: methods and seeds on and off
function legend(task) {
  const state = { hidden: new Set(), seeds: true, means: true, references: true };
  const place = document.getElementById(`${task.id}-legend`);
  const changed = [];
  const update = () => changed.forEach((change) => change());
  const box = (text, checked, onchange, extra = []) => {
    const input = make("input", { type: "checkbox", checked, onchange: () => onchange(input.checked) });
    return make("label", {}, input, ...extra, text);
  };
  for (const group of task.groups) {
    const swatch = make("span", { class: "swatch", "aria-hidden": "true" });
    const paint = () => { swatch.style.background = ink(group.colour); };
    paint();
    redraws.push(paint);
    const seeds = group.runs.map((run) => box(`seed ${run.seed}`, true, (on) => {
      if (on) state.hidden.delete(run.id); else state.hidden.add(run.id);
      update();
    }));
    const whole = box(group.name, true, (on) => {
      group.runs.forEach((run) => { if (on) state.hidden.delete(run.id); else state.hidden.add(run.id); });
      seeds.forEach((label) => { label.querySelector("input").checked = on; });
      update();
    }, [swatch]);
    const parts = [make("legend", {}, whole)];
    if (seeds.length > 1) parts.push(make("details", {}, make("summary", {}, `${seeds.length} seeds`), ...seeds));
    place.append(make("fieldset", {}, ...parts));
  }
  const shown = make("fieldset", {}, make("legend", {}, "Show"),
    box("every seed", true, (on) => { state.seeds = on; update(); }),
    box("mean ± standard error", true, (on) => { state.means = on; update(); }));
  if (Object.keys(task.references).length) {
    shown.append(box("references", true, (on) => { state.references = on; update(); }));
  }
  place.append(shown);
  return { state, changed };
}

// ---- final scores: a strip for each method
function finalScores(task, state) {
  const place = document.getElementById(`${task.id}-scores`);
  const draw = () => place.replaceChildren(...task.scores.map((score) => strip(task, state, score)).filter(Boolean));
  draw();
  redraws.push(draw);
  new ResizeObserver(draw).observe(document.getElementById(`${task.id}-legend`));
  return draw;
}

function niceTicks(low, high, count) {
  const raw = (high - low) / count || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw);
  const ticks = [];
  for (let t = Math.ceil(low / step) * step; t <= high + 1e-12; t += step) ticks.push(Math.abs(t) < step / 1e6 ? 0 : +t.toPrecision(12));
  return ticks;
}

function strip(task, state, score) {
  const rows = task.groups.map((group) => ({
    group, runs: group.runs.filter((run) => run.scores[score.key] !== null && run.scores[score.key] !== undefined
      && !state.hidden.has(run.id)),
  })).filter((row) => row.runs.length);
  if (!rows.length) return null;
  const reference = state.references && task.references.expert ? task.references.expert[score.key] : undefined;
  const numbers = rows.flatMap((row) => row.runs.map((run) => run.scores[score.key]));
  rows.forEach((row) => (row.group.intervals[score.key] || []).forEach((v) => { if (v !== null) numbers.push(v); }));
  if (reference !== undefined) numbers.push(reference);
  let low = Math.min(...numbers), high = Math.max(...numbers);
  const pad = (high - low) * 0.06 || Math.abs(high) * 0.1 || 0.05;
  low -= pad; high += pad;
  const parent = document.getElementById(`${task.id}-scores`);
  const columns = parent.clientWidth > 780 ? 2 : 1;
  const width = Math.max(260, parent.clientWidth / columns - 24), rowHeight = 46, top = 10;
  const height = top + rows.length * rowHeight + 46;
  const x = (value) => 8 + (width - 16) * (value - low) / (high - low);
  const words = rows.map((row) => `${row.group.name}: ${row.runs.map((run) => number(run.scores[score.key])).join(", ")}`);
  const svg = make("svg", { svg: true, width, height, role: "img", "aria-label": `${score.title}. ${words.join("; ")}` });
  const put = (name, attributes, ...children) => { const node = make(name, { svg: true, ...attributes }, ...children); svg.append(node); return node; };
  for (const tick of niceTicks(low, high, 5)) {
    put("line", { x1: x(tick), x2: x(tick), y1: top, y2: height - 38, class: "grid" });
    put("text", { x: x(tick), y: height - 22, "text-anchor": "middle", class: "tick" }, number(tick));
  }
  if (reference !== undefined) {
    put("line", { x1: x(reference), x2: x(reference), y1: top, y2: height - 38, stroke: css("--ink"), "stroke-dasharray": "7 4" });
  }
  rows.forEach((row, i) => {
    const middle = top + i * rowHeight + 31;
    const colour = ink(row.group.colour);
    put("text", { x: 8, y: middle - 17 }, `${row.group.name}, n = ${row.runs.length}`);
    const [value, from, to] = row.group.intervals[score.key] || [null, null, null];
    if (from !== null) put("rect", { x: x(from), y: middle - 7, width: Math.max(1, x(to) - x(from)), height: 14, fill: ink(row.group.colour, 0.25) },
      make("title", { svg: true }, `IQM ${number(value)}, 95 % interval ${number(from)} to ${number(to)}`));
    if (value !== null) put("line", { x1: x(value), x2: x(value), y1: middle - 10, y2: middle + 10, stroke: colour, "stroke-width": 2.5 });
    row.runs.forEach((run, k) => {
      const y = middle + (row.runs.length > 1 ? (k / (row.runs.length - 1) - 0.5) * 12 : 0);
      put("circle", { cx: x(run.scores[score.key]), cy: y, r: 4.5, fill: colour, stroke: css("--paper") },
        make("title", { svg: true }, `${row.group.name}, seed ${run.seed}: ${number(run.scores[score.key])}`));
    });
  });
  put("text", { x: width / 2, y: height - 4, "text-anchor": "middle" }, `${score.title}${reference !== undefined ? " (dashed: expert)" : ""}`);
  return make("figure", { class: "chart" }, svg);
}

// ---- the constraint of one run
const LOW = [178, 24, 43], MIDDLE = [247, 247, 247], HIGH = [33, 102, 172];
function heat(zeta) {
  const [from, to, share] = zeta < 0.5 ? [LOW, MIDDLE, zeta * 2] : [MIDDLE, HIGH, zeta * 2 - 1];
  return from.map((part, i) => Math.round(part + share * (to[i] - part)));
}

function bytes(text) { return Uint8Array.from(atob(text), (c) => c.charCodeAt(0)); }

function constraintViews(task) {
  const select = document.getElementById(`${task.id}-run`);
  if (!select) return;
  const place = document.getElementById(`${task.id}-constraint`);
  const articles = [...select.options].map((option) => document.getElementById(option.value));
  let redraw = [];
  redraws.push(() => redraw.forEach((draw) => draw()));
  const show = () => {
    articles.forEach((article) => { article.hidden = article.id !== select.value; });
    const view = task.constraints.find((each) => each.run === select.value);
    redraw = [];
    place.replaceChildren();
    if (!view || !view.axes.length) return;
    redraw.push(sliceView(task, view, place));
    if (view.shown > 1) redraw.push(planeView(task, view, place));
  };
  select.addEventListener("change", show);
  show();
}

function featureSelect(id, view, chosen, onchange) {
  const select = make("select", { id, onchange: () => onchange(+select.value) },
    ...view.axes.map((each, i) => make("option", { value: i, selected: i === chosen }, each.name)));
  return select;
}

const DEMOS = "#111111", AGENTS = "#e08a00";

function sliceView(task, view, place) {
  let chosen = 0;
  const area = make("div", { class: "plot", role: "img" });
  const readout = make("div", { class: "readout" });
  const id = `${task.id}-slice`;
  let chart = null;
  const draw = () => {
    if (chart) { chart.destroy(); charts.splice(charts.indexOf(chart), 1); chart = null; }
    area.replaceChildren();
    readout.replaceChildren();
    const one = view.axes[chosen];
    area.setAttribute("aria-label", `Feasibility ζ along ${one.name}: mean over recorded pairs`);
    if (one.choices.length) { area.append(choiceBars(one)); return; }
    chart = new uPlot(...sliceOptions(view, chosen, Math.max(260, area.clientWidth), readout), area);
    charts.push(chart);
  };
  let width = 0;
  new ResizeObserver(() => {
    if (area.clientWidth === width) return;
    width = area.clientWidth;
    draw();
  }).observe(area);
  const select = featureSelect(id, view, chosen, (value) => { chosen = value; draw(); });
  place.append(make("figure", { class: "chart" },
    make("div", { class: "tools" }, make("label", { for: id }, "ζ along ", select), ...zoomTools(() => chart)), area, readout,
    make("figcaption", { class: "hint" }, "Line: mean ζ, all other features as recorded; band: 5 % to 95 %. Below ",
      `${view.threshold} a step is judged infeasible. Filled: where demonstrations and agents were.`)));
  return draw;
}

function choiceBars(one) {
  const bars = make("div", { class: "bars" });
  one.choices.forEach((name, i) => {
    const mean = one.slice.mean[i];
    bars.append(make("span", {}, name), make("i", { style: `width:${100 * mean}%`, class: mean < 0.5 ? "low" : "" }),
      make("b", {}, `ζ ${number(mean)}`));
  });
  return bars;
}

function sliceOptions(view, chosen, width, readout) {
  const one = view.axes[chosen];
  const xs = one.slice.x;
  const bins = one.seen.demonstrations.length;
  const bin = (x) => Math.min(bins - 1, Math.max(0, Math.floor(bins * (x - one.low) / (one.high - one.low))));
  const seen = (name) => xs.map((x) => 0.25 * (one.seen[name][bin(x)] || 0));
  const values = [xs, one.slice.mean, one.slice.high, one.slice.low, seen("demonstrations"), seen("agents")];
  const stepped = uPlot.paths.stepped({ align: 1 });
  const marks = view.marks.filter((mark) => mark.axis === chosen);
  const series = [{ label: one.name }, { label: "mean ζ", stroke: css("--ink"), width: 2.2, points: { show: false } },
    { label: "95 %", stroke: "transparent", points: { show: false } }, { label: "5 %", stroke: "transparent", points: { show: false } },
    { label: "demonstrations", stroke: ink(DEMOS), fill: ink(DEMOS, 0.3), paths: stepped, points: { show: false } },
    { label: "agents", stroke: ink(AGENTS), fill: ink(AGENTS, 0.35), paths: stepped, points: { show: false } }];
  const lines = (chart) => {
    const { ctx, bbox } = chart;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    const y = chart.valToPos(view.threshold, "y", true);
    ctx.strokeStyle = css("--quiet");
    ctx.setLineDash([3, 4]);
    ctx.beginPath(); ctx.moveTo(bbox.left, y); ctx.lineTo(bbox.left + bbox.width, y); ctx.stroke();
    for (const mark of marks) {
      if (mark.open) {
        const [from, to] = mark.open.map((v) => chart.valToPos(v, "x", true));
        ctx.fillStyle = "rgba(128,128,128,0.25)";
        ctx.fillRect(from, bbox.top, Math.max(1, to - from), bbox.height);
      }
      const x = chart.valToPos(mark.threshold, "x", true);
      ctx.strokeStyle = isDark() ? "#ff8a86" : "#a3161b";
      ctx.lineWidth = 2;
      ctx.setLineDash([7, 4]);
      ctx.beginPath(); ctx.moveTo(x, bbox.top); ctx.lineTo(x, bbox.top + bbox.height); ctx.stroke();
      ctx.setLineDash([]);
      ctx.fillStyle = ctx.strokeStyle;
      ctx.font = `${12 * devicePixelRatio}px system-ui, sans-serif`;
      const right = x > bbox.left + bbox.width * 0.7;
      ctx.textAlign = right ? "right" : "left";
      ctx.fillText(`the rule: ${number(mark.threshold)}`, x + (right ? -6 : 6), bbox.top + 16 * devicePixelRatio);
    }
    ctx.restore();
  };
  const say = (chart) => {
    const k = chart.cursor.idx;
    readout.replaceChildren();
    const open = marks.filter((mark) => mark.open).map((mark) => ` The data leave open ${number(mark.open[0])} to ${number(mark.open[1])} (grey).`);
    if (k === null || k === undefined) { readout.append("Black: demonstrations; orange: agents.", ...open); return; }
    readout.append(`${one.name} `, make("b", {}, number(xs[k])), ": ζ ", make("b", {}, number(one.slice.mean[k])),
      ` (${number(one.slice.low[k])} to ${number(one.slice.high[k])})`);
  };
  return [{
    width, height: 280, series, bands: [{ series: [2, 3], fill: ink("#808080", 0.25) }], legend: { show: false },
    scales: { x: { time: false }, y: { range: [-0.02, 1.04] } }, cursor: { drag: { x: true, y: false } },
    axes: [axis({ label: one.name, labelSize: 22, values: (_, ticks) => ticks.map(number) }), axis({ label: "feasibility ζ", labelSize: 22 })],
    hooks: { draw: [lines], setCursor: [say], ready: [say], ...remembersZoom },
  }, values];
}

function planeView(task, view, place) {
  const other = (i) => view.axes.findIndex((one) => one.feature !== view.axes[i].feature);
  const chosen = [0, other(0)];
  const shown = { demonstrations: true, agents: true };
  const canvas = make("canvas", { class: "map", tabindex: "0", role: "img" });
  const readout = make("div", { class: "readout", "aria-live": "polite" });
  let pointer = null;
  const selects = [0, 1].map((i) => featureSelect(`${task.id}-plane-${i}`, view, chosen[i], (value) => {
    if (view.axes[chosen[1 - i]].feature === view.axes[value].feature) {
      // one feature cannot be both: the other axis takes what this one showed, or the next there is
      chosen[1 - i] = view.axes[chosen[i]].feature === view.axes[value].feature ? other(value) : chosen[i];
      selects[1 - i].value = chosen[1 - i];
    }
    chosen[i] = value;
    pointer = null;
    draw();
  }));
  const boxes = Object.keys(shown).map((name) => {
    const input = make("input", { type: "checkbox", checked: true, onchange: () => { shown[name] = input.checked; draw(); } });
    return make("label", {}, input, name === "agents" ? "agents (orange crosses)" : "demonstrations (black dots)");
  });
  const draw = () => drawPlane(canvas, view, chosen, shown, pointer, readout);
  const move = (x, y) => { pointer = [Math.min(1, Math.max(0, x)), Math.min(1, Math.max(0, y))]; draw(); };
  canvas.addEventListener("pointermove", (event) => {
    const box = canvas.getBoundingClientRect();
    const area = mapArea(canvas);
    move(((event.clientX - box.left) - area.left) / area.width, 1 - ((event.clientY - box.top) - area.top) / area.height);
  });
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: [-0.025, 0], ArrowRight: [0.025, 0], ArrowUp: [0, 0.025], ArrowDown: [0, -0.025] }[event.key];
    if (!step) return;
    event.preventDefault();
    const from = pointer || [0.5, 0.5];
    move(from[0] + step[0], from[1] + step[1]);
  });
  const few = view.shown < view.features ? `The ${view.shown} of ${view.features} features that matter most. ` : "";
  place.append(make("figure", { class: "chart maps" },
    make("div", { class: "tools" }, make("label", { for: selects[0].id }, "Across ", selects[0]),
      make("label", { for: selects[1].id }, "Up ", selects[1])),
    make("div", { class: "tools" }, ...boxes), canvas, readout,
    make("figcaption", { class: "hint" }, `${few}Blue: allowed (ζ = 1), red: forbidden (ζ = 0), all other features as recorded. Arrow keys move the reading.`)));
  draw();
  new ResizeObserver(draw).observe(canvas);
  return draw;
}

function mapArea(canvas) {
  return { left: 62, top: 8, width: canvas.clientWidth - 72, height: canvas.clientHeight - 54 };
}

function drawPlane(canvas, view, chosen, shown, pointer, readout) {
  const [across, up] = chosen.map((i) => view.axes[i]);
  const swapped = chosen[0] > chosen[1];
  const grid = bytes(view.planes[swapped ? `${chosen[1]},${chosen[0]}` : `${chosen[0]},${chosen[1]}`]);
  const zeta = (i, j) => grid[swapped ? i * up.count + j : j * across.count + i] / 255;
  const scale = devicePixelRatio || 1;
  canvas.width = canvas.clientWidth * scale;
  canvas.height = canvas.clientHeight * scale;
  const ctx = canvas.getContext("2d");
  ctx.scale(scale, scale);
  const area = mapArea(canvas);
  // half a cell beyond the first and last value, so that a cell's middle is its value
  const reach = (one) => { const cell = one.count > 1 ? (one.high - one.low) / (one.count - 1) : 1; return [one.low - cell / 2, one.high + cell / 2]; };
  const [ax, bx] = reach(across), [ay, by] = reach(up);
  const px = (v) => area.left + area.width * (v - ax) / (bx - ax);
  const py = (v) => area.top + area.height * (1 - (v - ay) / (by - ay));
  const image = new OffscreenCanvas(across.count, up.count);
  const small = image.getContext("2d");
  const pixels = small.createImageData(across.count, up.count);
  for (let j = 0; j < up.count; j++) for (let i = 0; i < across.count; i++) {
    pixels.data.set([...heat(zeta(i, j)), 255], 4 * ((up.count - 1 - j) * across.count + i));
  }
  small.putImageData(pixels, 0, 0);
  ctx.imageSmoothingEnabled = false;
  ctx.globalAlpha = 0.8;
  ctx.drawImage(image, area.left, area.top, area.width, area.height);
  ctx.globalAlpha = 1;
  mapAxes(ctx, area, across, up, px, py);
  ctx.save();
  ctx.beginPath(); ctx.rect(area.left, area.top, area.width, area.height); ctx.clip();
  const jitter = (one, k) => one.choices.length ? (((k * 0.618034) % 1) - 0.5) * 0.7 : 0;
  for (const name of ["agents", "demonstrations"]) {
    if (!shown[name]) continue;
    const xs = view.points[name][chosen[0]], ys = view.points[name][chosen[1]];
    xs.forEach((x, k) => mapPoint(ctx, name, px(x + jitter(across, k)), py(ys[k] + jitter(up, k + 7))));
  }
  ctx.restore();
  canvas.setAttribute("aria-label", `Map of ζ over ${across.name} and ${up.name}, with where demonstrations and agents were`);
  canvas.dataset.shown = Object.keys(shown).filter((name) => shown[name]).join(" ");
  sayPlane(ctx, area, across, up, ax, bx, ay, by, px, py, zeta, pointer, readout, view);
}

function mapPoint(ctx, name, x, y) {
  if (name === "demonstrations") {
    ctx.beginPath(); ctx.arc(x, y, 2.6, 0, 7); ctx.fillStyle = "#111"; ctx.fill();
    ctx.strokeStyle = "#fff"; ctx.lineWidth = 0.8; ctx.stroke();
    return;
  }
  for (const [colour, width] of [["#fff", 3], ["#d97000", 1.6]]) {
    ctx.strokeStyle = colour; ctx.lineWidth = width;
    ctx.beginPath(); ctx.moveTo(x - 3, y - 3); ctx.lineTo(x + 3, y + 3); ctx.moveTo(x + 3, y - 3); ctx.lineTo(x - 3, y + 3); ctx.stroke();
  }
}

function mapAxes(ctx, area, across, up, px, py) {
  ctx.fillStyle = css("--quiet");
  ctx.strokeStyle = css("--quiet");
  ctx.font = "12px system-ui, sans-serif";
  ctx.strokeRect(area.left, area.top, area.width, area.height);
  const ticks = (one, count) => one.choices.length
    ? one.choices.map((name, i) => [i, name]) : niceTicks(one.low, one.high, count).map((t) => [t, number(t)]);
  ctx.textAlign = "center";
  for (const [value, text] of ticks(across, Math.max(2, Math.floor(area.width / 80)))) ctx.fillText(text, px(value), area.top + area.height + 16);
  ctx.textAlign = "right";
  for (const [value, text] of ticks(up, 6)) {
    ctx.fillText(text.length > 9 ? `${text.slice(0, 8)}…` : text, area.left - 6, py(value) + 4);
  }
  ctx.fillStyle = css("--ink");
  ctx.font = "13px system-ui, sans-serif";
  ctx.textAlign = "center";
  ctx.fillText(across.name, area.left + area.width / 2, area.top + area.height + 36);
  ctx.save();
  ctx.translate(13, area.top + area.height / 2);
  ctx.rotate(-Math.PI / 2);
  ctx.fillText(up.name, 0, 0);
  ctx.restore();
}

function sayPlane(ctx, area, across, up, ax, bx, ay, by, px, py, zeta, pointer, readout, view) {
  readout.replaceChildren();
  if (!pointer) { readout.append("Point at the map, or focus it and use the arrow keys, to read ζ."); return; }
  const index = (one, low, high, share) => Math.min(one.count - 1, Math.max(0, Math.floor(share * one.count)));
  const [i, j] = [index(across, ax, bx, pointer[0]), index(up, ay, by, pointer[1])];
  const value = (one, k) => one.choices.length ? one.choices[k] : number(one.low + (one.high - one.low) * k / (one.count - 1));
  const here = zeta(i, j);
  readout.append(`${across.name} `, make("b", {}, value(across, i)), `, ${up.name} `, make("b", {}, value(up, j)), ": ζ ",
    make("b", {}, number(here)), here < view.threshold ? " (judged infeasible)" : " (judged feasible)");
  ctx.strokeStyle = "#000";
  ctx.lineWidth = 1.5;
  const x = area.left + area.width * pointer[0], y = area.top + area.height * (1 - pointer[1]);
  ctx.strokeRect(x - 5, y - 5, 10, 10);
}

for (const task of data.tasks) {
  const { state, changed } = legend(task);
  changed.push(curves(task, state), finalScores(task, state));
  constraintViews(task);
}
})();
