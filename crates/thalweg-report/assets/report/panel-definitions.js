// Panels, and the lines of each for a choice of schemes, seeds, flows and links.

// `together` is the aggregate over all flows: sum or mean. Panels of counts show the increments between samples.
// `extra` panels are shown on request.
// The first panel is that of traces, which have packets; `also` is a second quantity, drawn in dots.
const PANELS = [
  { id: "sequence", title: "Time and sequence", quantity: "acked", also: "window-edge", sequence: true },
  { id: "goodput", title: "Goodput", quantity: "goodput", together: "sum" },
  { id: "throughput", title: "Throughput", quantity: "throughput", together: "sum" },
  { id: "queue", title: "Queue", quantity: "queue-packets" },
  { id: "rtt-sample", title: "Round-trip times of packets", quantity: "rtt-sample", dots: true },
  { id: "rtt", title: "Round-trip time, smoothed", quantity: "rtt", together: "mean" },
  { id: "window", title: "Window", quantity: "window", together: "mean" },
  { id: "unread", title: "Delivered and not yet read", quantity: "unread", together: "sum" },
  { id: "drops", title: "Drops between samples", quantity: "drops", counts: true },
  { id: "marks", title: "Marks between samples", quantity: "marks", counts: true },
  { id: "feedback", title: "Messages of routers between samples", quantity: "feedback", counts: true },
  { id: "fairness", title: "Fairness: Jain's index", quantity: "goodput", fairness: true },
  { id: "ssthresh", title: "Slow-start threshold (ssthresh)", quantity: "ssthresh", together: "mean", extra: true },
  { id: "in-flight", title: "In the network", quantity: "in-flight", together: "sum", extra: true },
  { id: "pacing", title: "Pacing rate", quantity: "pacing-rate", together: "sum", extra: true },
  { id: "delivery", title: "Delivery rate", quantity: "delivery-rate", together: "sum", extra: true },
  { id: "unsent", title: "Written and not yet sent", quantity: "unsent", together: "sum", extra: true },
  { id: "link-rate", title: "Load of links", quantity: "link-rate", extra: true },
  { id: "queue-bytes", title: "Queue in bytes", quantity: "queue-bytes", extra: true },
];

const TOGETHER = "all flows together";

const isCompared = model.schemes.length > 0;
const schemeNames = isCompared ? model.schemes : [""];
const flowSubjects = seriesSubjects(true);
const linkSubjects = seriesSubjects(false);

const seriesByKey = new Map(allSeries.map((of) => [[of.scheme, of.seed, of.quantity, of.subject].join("\u0000"), of]));

function seriesOf(scheme, seed, quantity, subject) {
  return seriesByKey.get([scheme, seed, quantity, subject].join("\u0000"));
}

const baseCache = new Map();

// Returns the line of a series as recorded; for a counter, its increments.
function baseLine(panel, scheme, seed, subject) {
  const series = seriesOf(scheme, seed, panel.quantity, subject);
  if (!series) return null;
  if (!panel.counts) {
    // There is no round-trip time before the first sample; the simulator writes zero.
    const first = panel.quantity === "rtt" ? Math.max(0, series.values.findIndex((value) => value > 0)) : 0;
    return { times: first ? series.times.subarray(first) : series.times, values: series.values.subarray(first), half: null, detail: series.detail };
  }
  if (!baseCache.has(series)) baseCache.set(series, { times: series.times, values: counterIncrements(series.values), half: null });
  return baseCache.get(series);
}

// Returns true if the panel's quantity was recorded; for counts, if any is above zero.
function isPresent(panel) {
  if (panel.fairness && (flowSubjects.length < 2 || model.bars)) return false;
  const series = allSeries.filter((of) => of.quantity === panel.quantity);
  return panel.counts ? series.some((of) => of.values.some((value) => value > 0)) : series.length > 0;
}

// Span of the fairness index: the last hundredth of the run, and at least ten samples.
function fairnessSpan() {
  const first = allSeries.find((of) => of.quantity === "goodput");
  const gap = first && first.times.length > 1 ? first.times[1] - first.times[0] : 0;
  return Math.max(model.duration_s / 100, 10 * gap);
}

function lineOfSeed(panel, scheme, seed, subject) {
  const lines = () => flowSubjects.map((of) => baseLine(panel, scheme, seed, of.key)).filter((line) => line);
  if (panel.fairness) return lines().length > 1 ? fairnessOf(lines(), fairnessSpan()) : null;
  if (subject.key !== TOGETHER) return baseLine(panel, scheme, seed, subject.key);
  if (lines().length === 0) return null;
  return panel.together === "sum" ? sumOf(lines()) : meanOf(lines());
}

// Returns the largest possible value: the limit of the network where known, otherwise the maximum over all runs.
function ceilingOf(panel, subject, found) {
  if (panel.fairness) return 1;
  const isOfOne = FLOW_QUANTITIES.has(panel.quantity) && subject.key !== TOGETHER && !panel.counts;
  const allowed = isOfOne ? model.bounds.flows[panel.quantity] : model.bounds.links[panel.quantity]?.[subject.key];
  return allowed ?? found.reduce((most, of) => of.values.reduce((a, b) => Math.max(a, b), most), 0);
}

// Returns the lines of a panel. Colours distinguish schemes in comparisons, and flows or links otherwise; dashes
// distinguish lines of one colour.
function linesOf(panel, choice) {
  const isFlow = FLOW_QUANTITIES.has(panel.quantity);
  const whole = { key: TOGETHER, label: TOGETHER };
  const all = isFlow ? [whole, ...flowSubjects] : linkSubjects;
  const chosen = panel.fairness ? [whole] : all.filter((of) => (isFlow ? choice.flows : choice.links).has(of.key));
  const seeds = choice.seed === "mean" ? model.seeds : [Number(choice.seed)];
  const lines = [];
  for (const [schemeIndex, scheme] of schemeNames.entries()) {
    if (isCompared && !choice.schemes.has(scheme)) continue;
    for (const [order, subject] of chosen.entries()) {
      const found = seeds.map((seed) => lineOfSeed(panel, scheme, seed, subject)).filter((line) => line);
      // Runs recorded at every change have no common times: the first stands for all.
      const line = found.length ? meanWithInterval(found) ?? found[0] : null;
      if (!line) continue;
      const index = Math.max(0, all.indexOf(subject) - (isFlow ? 1 : 0));
      const name = panel.fairness || (isCompared && chosen.length === 1) ? "" : subject.label;
      lines.push({
        ...line,
        ceiling: ceilingOf(panel, subject, found),
        scheme,
        subject: subject.key,
        label: [scheme, name].filter((part) => part).join(", ") || "all flows",
        colour: isCompared ? schemeIndex % 8 : subject.key === TOGETHER ? 8 : index % 8,
        dash: isCompared ? order % DASHES.length : Math.floor(index / 8) % DASHES.length,
        unit: panel.fairness ? "" : unitOf(panel),
      });
    }
  }
  if (!panel.also) return lines;
  const also = linesOf({ ...panel, quantity: panel.also, also: null }, choice);
  return [...lines, ...also.map((line) => ({ ...line, label: `${line.label}, window`, dash: 2 }))];
}

function unitOf(panel) {
  return allSeries.find((of) => of.quantity === panel.quantity)?.unit ?? "";
}
