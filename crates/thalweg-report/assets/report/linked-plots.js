// Linked plots: one time axis, one cursor. The page provides `model` with the duration and the warm-up, `allSeries`, and
// `onPlotCursor`.

const FULL = { from: 0, to: Math.max(model.duration_s, ...allSeries.map((of) => of.times.at(-1) ?? 0)) };
const range = { ...FULL };
let plots = [];

const DASHES = [[], [7, 4], [2, 3], [9, 3, 2, 3]];
const PLOT_HEIGHT = 170;
const BARS_HEIGHT = 116;

function linePalette(colour) {
  return styleValue(`--c${colour}`);
}

// Returns the number of data columns of a plot.
function columnsOf(width) {
  return Math.max(200, Math.round(width * Math.min(2, devicePixelRatio || 1)));
}

// Options of the arrays of a line: the line itself, and both bounds of its interval.
function seriesOptions(line, panel) {
  const stroke = () => linePalette(line.colour);
  const main = {
    label: line.label,
    stroke,
    width: 1.5,
    dash: DASHES[line.dash],
    spanGaps: true,
    points: { show: false },
    value: (_, value) => formatValue(value, line.unit),
  };
  if (panel.sequence) main.paths = uPlot.paths.stepped({ align: 1 });
  if (panel.dots) Object.assign(main, { paths: () => null, points: { show: true, size: 3, fill: stroke, width: 0 } });
  if (panel.counts) Object.assign(main, { paths: uPlot.paths.bars({ size: [0.9, 6, 1] }), fill: stroke, width: 0 });
  if (!line.half) return [main];
  const end = { label: "", class: "interval", stroke: "transparent", width: 0, spanGaps: true, points: { show: false } };
  return [main, { ...end }, { ...end }];
}

// Fills between the bounds of each interval.
function bandsOf(lines) {
  const bands = [];
  let at = 1;
  for (const line of lines) {
    if (line.half) {
      const colour = line.colour;
      bands.push({ series: [at + 1, at + 2], fill: () => `${linePalette(colour)}33` });
    }
    at += line.half ? 3 : 1;
  }
  return bands;
}

function drawWarmup(u) {
  if (model.warmup_s <= range.from) return;
  const end = Math.min(model.warmup_s, range.to);
  const [left, right] = [range.from, end].map((time) => u.valToPos(time, "x", true));
  u.ctx.save();
  u.ctx.fillStyle = styleValue("--shade");
  u.ctx.fillRect(left, u.bbox.top, right - left, u.bbox.height);
  u.ctx.restore();
}

// Returns the end of an axis: the largest value after the warm-up, as a burst during it would dwarf the rest.
function topOf(u, high) {
  if (range.to <= model.warmup_s || range.from >= model.warmup_s) return high;
  const first = positionOf(u.data[0], model.warmup_s);
  let top = 0;
  for (const values of u.data.slice(1)) {
    for (let i = first; i < values.length; i++) if (values[i] > top) top = values[i];
  }
  return top > 0 ? top : high;
}

// Marks values that the axis cuts off: a burst during the warm-up.
function drawCut(u) {
  const times = u.data[0];
  const end = positionOf(times, model.warmup_s);
  const ratio = devicePixelRatio || 1;
  u.ctx.save();
  u.ctx.fillStyle = styleValue("--dim");
  for (const values of u.data.slice(1)) {
    let highest = -1;
    for (let i = 0; i < end; i++) if (values[i] > (highest < 0 ? u.scales.y.max : values[highest])) highest = i;
    if (highest < 0) continue;
    const x = u.valToPos(times[highest], "x", true);
    u.ctx.beginPath();
    u.ctx.moveTo(x, u.bbox.top);
    u.ctx.lineTo(x - 4 * ratio, u.bbox.top + 7 * ratio);
    u.ctx.lineTo(x + 4 * ratio, u.bbox.top + 7 * ratio);
    u.ctx.fill();
  }
  u.ctx.restore();
}

function makePlot(panel, lines, holder) {
  const unit = lines[0].unit;
  const unitLabel = element("span", { class: "unit" });
  const figure = element("figure", { class: "panel", "data-panel": panel.id });
  const caption = element("figcaption", {}, `${panel.title} `, unitLabel);
  figure.append(caption);
  holder.append(figure);
  const width = figure.clientWidth;
  let scale = { name: unit, factor: 1 };
  const dim = () => styleValue("--dim");
  const grid = { stroke: () => styleValue("--grid"), width: 1 };
  const font = "12px system-ui, sans-serif";
  const options = {
    width,
    height: panel.counts ? BARS_HEIGHT : panel.sequence ? 2 * PLOT_HEIGHT : PLOT_HEIGHT,
    // Half of the last label of the time axis extends beyond its tick.
    padding: [8, 26, 0, 0],
    cursor: {
      // Only the cursor is shared: a selection sets the range of all plots once.
      sync: { key: "time", setSeries: false, scales: ["x", null], filters: { pub: (type) => type === "mousemove" || type === "mouseleave" } },
      drag: { x: true, y: false, setScale: false },
      bind: { dblclick: () => () => setRange(FULL.from, FULL.to) },
      points: { size: 6 },
    },
    scales: {
      x: { time: false, auto: false, range: () => [range.from, range.to] },
      y: { range: (u, low, high) => (panel.sequence ? sequenceRange(u, lines) : panel.fairness ? [0, 1.02] : [0, high > 0 ? topOf(u, high) * 1.06 : 1]) },
    },
    axes: [
      { stroke: dim, grid, ticks: grid, font, size: 34, values: (_, splits) => splits.map((time) => `${Number(time.toPrecision(12))} s`) },
      {
        stroke: dim, grid, ticks: grid, font, size: 56, space: 24,
        values: (u, splits) => {
          scale = scaleFor(unit, u.scales.y.max / 1.5);
          // A text that stays causes no layout.
          if (unitLabel.textContent !== scale.name) unitLabel.textContent = scale.name;
          return splits.map((value) => Number((value / scale.factor).toPrecision(6)).toString());
        },
      },
    ],
    legend: { live: true },
    bands: bandsOf(lines),
    series: [{ label: "Time", value: (_, time) => (time === null ? "–" : `${formatDigits(time)} s`) }, ...lines.flatMap((line) => seriesOptions(line, panel))],
    hooks: {
      drawClear: [drawWarmup],
      draw: [panel.sequence ? (u) => drawSequence(u, lines) : drawCut],
      setCursor: [(u) => {
        if (u === plots[0]?.plot) onPlotCursor(u.cursor.left < 0 ? null : u.posToVal(u.cursor.left, "x"));
      }],
      setSelect: [(u) => {
        if (u.select.width < 4) return;
        const ends = [u.select.left, u.select.left + u.select.width].map((left) => u.posToVal(left, "x"));
        u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
        setRange(...ends);
      }],
    },
  };
  const plot = new uPlot(options, plotData(lines, range.from, range.to, columnsOf(width)), figure);
  inSight.add(figure);
  observer.observe(figure);
  plot.root.setAttribute("role", "img");
  plot.root.setAttribute("aria-label", `${panel.title} over time: ${lines.map((line) => line.label).join("; ")}`);
  return { plot, panel, lines, figure };
}

function refreshPlot({ plot, lines }) {
  plot.setData(plotData(lines, range.from, range.to, columnsOf(plot.width)), false);
  plot.batch(() => {
    plot.setScale("x", { min: range.from, max: range.to });
    plot.setScale("y", { min: null, max: null });
  });
}

// Emphasises the lines for which `is` holds, in plots with any, and fades the others; without `is`, resets all.
function emphasiseLines(is) {
  for (const { plot, lines } of plots) {
    const some = is !== null && lines.some(is);
    let at = 1;
    let changed = false;
    for (const line of lines) {
      const alpha = !some || is(line) ? 1 : 0.15;
      for (const end = at + (line.half ? 3 : 1); at < end; at++) {
        changed ||= plot.series[at].alpha !== alpha;
        plot.series[at].alpha = alpha;
      }
    }
    if (changed) plot.redraw(false, false);
  }
}

// Figures on the screen. An observer knows them without a layout, and in a frame that is higher than the screen.
const inSight = new Set();
const observer = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    if (isIntersecting) inSight.add(target);
    else inSight.delete(target);
  }
  const [seen, unseen] = separateVisiblePlots(outOfSight);
  outOfSight = unseen;
  seen.forEach(refreshPlot);
}, { rootMargin: "100px" });

// Separates plots that are on the screen from others.
function separateVisiblePlots(all) {
  return [all.filter(({ figure }) => inSight.has(figure)), all.filter(({ figure }) => !inSight.has(figure))];
}

// Draws plots on the screen at once. The others are drawn when they come to it, and one by one after a pause: while the
// time range moves, each frame is for what is seen.
const PAUSE_MS = 150;
let outOfSight = [];
let drawingLater = 0;

function refreshAll() {
  const [seen, unseen] = separateVisiblePlots(plots);
  outOfSight = unseen;
  seen.forEach(refreshPlot);
  refreshLater(PAUSE_MS);
}

function refreshLater(wait) {
  clearTimeout(drawingLater);
  drawingLater = setTimeout(() => {
    // The choice of plots may have changed meanwhile.
    if (!outOfSight.length) return;
    refreshPlot(outOfSight.shift());
    refreshLater(0);
  }, wait);
}

// Shows this time range in every plot.
function setRange(from, to) {
  const shortest = FULL.to * 1e-9;
  const span = Math.min(FULL.to - FULL.from, Math.max(shortest, to - from));
  range.from = Math.min(Math.max(FULL.from, from), FULL.to - span);
  range.to = range.from + span;
  refreshAll();
  find("#range").textContent = `${formatDigits(range.from)} s to ${formatDigits(range.to)} s`;
}

function zoomPlots(factor) {
  const [middle, half] = [(range.from + range.to) / 2, ((range.to - range.from) / 2) * factor];
  setRange(middle - half, middle + half);
}

function panPlots(share) {
  const step = (range.to - range.from) * share;
  setRange(range.from + step, range.to + step);
}

// Moves the cursor of all plots by this many pixels.
function moveCursor(step) {
  const [first] = plots;
  if (!first) return;
  // All plots show the values at the same time.
  outOfSight.splice(0).forEach(refreshPlot);
  const { plot } = first;
  const width = plot.over.clientWidth;
  const left = plot.cursor.left < 0 ? 0 : plot.cursor.left;
  plot.setCursor({ left: Math.min(width - 1, Math.max(0, left + step)), top: 10 }, true, true);
}

const KEYS = {
  "+": () => zoomPlots(0.5),
  "=": () => zoomPlots(0.5),
  "-": () => zoomPlots(2),
  0: () => setRange(FULL.from, FULL.to),
  ArrowLeft: (event) => (event.shiftKey ? panPlots(-0.25) : moveCursor(-4)),
  ArrowRight: (event) => (event.shiftKey ? panPlots(0.25) : moveCursor(4)),
};

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const action = KEYS[event.key];
  if (!action) return;
  action(event);
  event.preventDefault();
}

function rangeControls() {
  const button = (text, label, act) => element("button", { type: "button", "aria-label": label, title: label, onclick: act }, text);
  return element("div", { class: "range", role: "group", "aria-label": "Time shown" },
    button("←", "Earlier", () => panPlots(-0.5)),
    button("→", "Later", () => panPlots(0.5)),
    button("+", "Zoom in", () => zoomPlots(0.5)),
    button("−", "Zoom out", () => zoomPlots(2)),
    button("Whole run", "Show the whole run", () => setRange(FULL.from, FULL.to)),
    element("output", { id: "range" }, `${formatDigits(range.from)} s to ${formatDigits(range.to)} s`));
}

function resizePlots() {
  for (const made of plots) {
    const width = made.figure.clientWidth;
    if (width === made.plot.width) continue;
    made.plot.setSize({ width, height: made.plot.height });
    refreshPlot(made);
  }
}
