"use strict";
// Parallel coordinates of a sweep: a line for each trial through what was tried, coloured by what it was worth.
(() => {
const data = JSON.parse(document.getElementById("data").textContent);
const place = document.getElementById("parallel");
const readout = document.getElementById("parallel-readout");
const root = document.documentElement;
const isDark = () => root.dataset.theme
  ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
document.getElementById("theme").addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; draw(); });

function put(parent, name, attributes, text) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text !== undefined) node.textContent = text;
  parent.append(node);
  return node;
}
const short = (value) => typeof value === "number" ? String(+value.toPrecision(3)) : String(value);

function place_of(axis, value) {
  if (axis.choices) return axis.choices.length > 1 ? axis.choices.indexOf(String(value)) / (axis.choices.length - 1) : 0.5;
  const [low, high, at] = axis.log ? [axis.low, axis.high, value].map(Math.log) : [axis.low, axis.high, value];
  return high > low ? (at - low) / (high - low) : 0.5;
}

function draw() {
  const trials = data.trials.filter((trial) => trial.value !== null);
  place.replaceChildren();
  if (!trials.length) return;
  const values = trials.map((trial) => trial.value);
  const axes = [...data.axes, { name: "objective", low: Math.min(...values), high: Math.max(...values), log: false }];
  const width = Math.max(300, place.clientWidth), height = 360, top = 46, bottom = height - 26;
  const x = (i) => 60 + (width - 120) * (axes.length > 1 ? i / (axes.length - 1) : 0);
  const y = (share) => bottom - (bottom - top) * share;
  const svg = put(place, "svg", { width, height, role: "img", "aria-label": `Parallel coordinates of ${trials.length} trials; the table below has every number` });
  const worth = (trial) => place_of(axes.at(-1), trial.value);
  for (const trial of [...trials].sort((a, b) => a.value - b.value)) {
    const points = axes.map((axis, i) => [x(i), y(place_of(axis, i < data.axes.length ? trial.params[axis.name] : trial.value))]);
    const share = worth(trial);
    const colour = `hsl(${15 + 195 * share} 75% ${isDark() ? 62 : 38}%)`;
    const line = put(svg, "polyline", { points: points.map((p) => p.join(",")).join(" "), fill: "none", stroke: colour,
      "stroke-width": trial.number === data.best ? 3.5 : 1.6, opacity: 0.35 + 0.65 * share, tabindex: 0, class: "trial", "data-trial": trial.number });
    const say = () => { readout.textContent = `Trial ${trial.number}: ${short(trial.value)}; ` + data.axes.map((axis) => `${axis.name} ${short(trial.params[axis.name])}`).join(", "); };
    line.addEventListener("pointerenter", say);
    line.addEventListener("focus", say);
  }
  axes.forEach((axis, i) => {
    put(svg, "line", { x1: x(i), x2: x(i), y1: top, y2: bottom, stroke: "currentColor" });
    put(svg, "text", { x: x(i), y: 16 + (i % 2) * 15, "text-anchor": i === 0 ? "start" : i === axes.length - 1 ? "end" : "middle" }, axis.name);
    const ticks = axis.choices ? axis.choices.map((name) => [place_of(axis, name), name]) : [[0, short(axis.low)], [1, short(axis.high)]];
    for (const [share, text] of ticks) put(svg, "text", { x: x(i) + 5, y: y(share) + 4, class: "tick" }, text);
  });
}
draw();
new ResizeObserver(draw).observe(document.getElementById("content"));
})();
