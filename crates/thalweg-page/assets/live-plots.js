// Plots of a run while it goes on, and of the kept run beside it.

// Panels in order; `together` joins the flows of many.
const LIVE_PANELS = [
  { id: "goodput", title: "Goodput", quantity: "goodput", unit: "bit/s", together: sumOf },
  { id: "queue", title: "Queue", quantity: "queue-packets", unit: "pkt" },
  { id: "rtt", title: "Round-trip time, smoothed", quantity: "rtt", unit: "s", together: meanOf },
  { id: "window", title: "Window", quantity: "window", unit: "segment", together: meanOf },
  { id: "drops", title: "Drops between samples", quantity: "drops", unit: "pkt", counts: true },
  { id: "marks", title: "Marks between samples", quantity: "marks", unit: "pkt", counts: true, extra: true },
  { id: "in-flight", title: "In the network", quantity: "in-flight", unit: "segment", together: sumOf, extra: true },
  { id: "pacing", title: "Pacing rate", quantity: "pacing-rate", unit: "bit/s", together: sumOf, extra: true },
  { id: "ssthresh", title: "Slow-start threshold", quantity: "ssthresh", unit: "segment", together: meanOf, extra: true },
  { id: "link-rate", title: "Load of links", quantity: "link-rate", unit: "bit/s", extra: true },
];
const shownPanels = new Set(LIVE_PANELS.filter((panel) => !panel.extra).map((panel) => panel.id));
const MAX_LINES = 8;
const MAX_QUEUES = 4;
const NO_NUMBERS = new Float64Array(0);

// Recorded series: of the run, and of the kept one. Each is { about, times, values, results }, or null.
const recorded = { run: null, kept: null };

// Returns the series of an array of the engine: numbers of points, times and values.
function readPoints(names, numbers) {
  let at = 0;
  return names.map((name) => {
    const count = numbers[at++];
    const times = numbers.subarray(at, at + count);
    const values = numbers.subarray(at + count, at + 2 * count);
    at += 2 * count;
    return { ...name, times, values };
  });
}

// Returns the increments between points of a counter that restarts once, at the end of the warm-up.
function incrementsOf(values) {
  return values.map((value, i) => (i === 0 || value < values[i - 1] ? value : value - values[i - 1]));
}

function lineOf(series, panel) {
  if (panel.counts) return { times: series.times, values: incrementsOf(series.values), half: null };
  // There is no round-trip time before the first sample; the simulator writes zero.
  const first = panel.quantity === "rtt" ? series.values.findIndex((value) => value > 0) : 0;
  if (first < 0) return { times: NO_NUMBERS, values: NO_NUMBERS, half: null };
  return { times: series.times.subarray(first), values: series.values.subarray(first), half: null };
}

// Flows in the order of the run; links with the longest queues.
function subjectsOf(run) {
  const flows = [...new Set(run.series.filter((of) => of.is_of_flow).map((of) => of.subject))];
  const queues = run.series.filter((of) => of.quantity === "queue-packets");
  const sum = (of) => of.values.reduce((total, value) => total + value, 0);
  const busy = queues.map((of) => [of.subject, sum(of)]).filter(([, total]) => total > 0).sort((a, b) => b[1] - a[1]);
  const links = busy.slice(0, MAX_QUEUES).map(([subject]) => subject);
  return { flows, links: links.length ? links : queues.slice(0, 1).map((of) => of.subject) };
}

const linkText = (subject) => subject.replace(/ \S+->\S+$/, (ends) => ` ${ends.trim().replace("->", " → ")}`);

function linesOfRun(run, panel, dash, prefix) {
  const { flows, links } = subjectsOf(run);
  const series = run.series.filter((of) => of.quantity === panel.quantity && of.times.length > 0);
  if (!series.length) return [];
  const common = { scheme: "", dash, unit: panel.unit };
  if (!series[0].is_of_flow) {
    const found = links.map((subject) => series.find((of) => of.subject === subject)).filter((of) => of);
    const used = panel.counts ? found.filter((of) => of.values.some((value) => value > 0)) : found;
    return used.map((of) => ({ ...lineOf(of, panel), ...common, subject: of.subject, label: prefix + linkText(of.subject), colour: links.indexOf(of.subject) % 8 }));
  }
  if (flows.length > MAX_LINES) {
    const lines = series.map((of) => lineOf(of, panel)).filter((line) => line.times.length);
    const line = lines.length ? panel.together(lines) : null;
    const how = panel.together === sumOf ? "sum" : "mean";
    return line ? [{ ...line, ...common, subject: "", label: `${prefix}${how} of ${flows.length} flows`, colour: 8 }] : [];
  }
  const lines = series.map((of) => ({ ...lineOf(of, panel), ...common, subject: of.subject, label: prefix + of.subject, colour: flows.indexOf(of.subject) % 8 }));
  return lines.filter((line) => line.times.length);
}

function linesOfPanel(panel) {
  const { run, kept } = recorded;
  const both = run && kept;
  return [
    ...(run ? linesOfRun(run, panel, 0, both ? "B: " : "") : []),
    ...(kept ? linesOfRun(kept, panel, 1, both ? "A: " : "") : []),
  ];
}

const keyOfLines = (lines) => lines.map((line) => `${line.label}\u0000${line.colour}`).join("\u0001");

// Draws what is recorded: new points into the same plots, or new plots where the lines are others.
function drawLive() {
  const holder = find("#panels");
  if (!holder) return;
  const wanted = LIVE_PANELS.filter((panel) => shownPanels.has(panel.id)).map((panel) => ({ panel, lines: linesOfPanel(panel) })).filter(({ lines }) => lines.length);
  const isSame = wanted.length === plots.length && wanted.every(({ panel, lines }, i) => plots[i].panel === panel && keyOfLines(plots[i].lines) === keyOfLines(lines));
  if (isSame) {
    wanted.forEach(({ lines }, i) => (plots[i].lines = lines));
    refreshAll();
    return;
  }
  plots.forEach(({ plot, figure }) => {
    plot.destroy();
    figure.remove();
  });
  outOfSight = [];
  plots = [];
  for (const { panel, lines } of wanted) plots.push(makePlot(panel, lines, holder));
}

// Sets the time axis to a run's duration.
function setDuration(seconds, warmup) {
  model.duration_s = seconds;
  model.warmup_s = warmup;
  FULL.to = seconds;
  setRange(0, seconds);
}

function panelChoice() {
  const chips = LIVE_PANELS.map((panel) => {
    const button = element("button", { type: "button", class: "chip", "aria-pressed": String(shownPanels.has(panel.id)) }, panel.title);
    button.addEventListener("click", () => {
      if (!shownPanels.delete(panel.id)) shownPanels.add(panel.id);
      button.setAttribute("aria-pressed", String(shownPanels.has(panel.id)));
      drawLive();
    });
    return button;
  });
  return element("div", { class: "chips", role: "group", "aria-label": "Plots" }, element("span", {}, "Plots"), chips);
}

// A line sample for the legend of both runs.
function lineSample(dash) {
  const line = element("svg:line", { x1: 0, y1: 4, x2: 26, y2: 4, "stroke-dasharray": DASHES[dash].join(" ") });
  return element("svg:svg", { width: 26, height: 8, "aria-hidden": "true" }, line);
}
