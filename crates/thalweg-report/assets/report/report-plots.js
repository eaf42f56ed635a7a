// The plots of a report: panels by the reader's choice.

function drawPlots() {
  plots.forEach(({ plot, figure }) => {
    plot.destroy();
    figure.remove();
  });
  const holder = find("#panels");
  plots = [];
  outOfSight = [];
  for (const panel of PANELS) {
    if (!choice.panels.has(panel.id) || !isPresent(panel)) continue;
    const lines = linesOf(panel, choice);
    if (lines.length) plots.push(makePlot(panel, lines, holder));
  }
}

// Describes what the plots omit.
function plotNotes() {
  const notes = [];
  const absent = PANELS.filter((panel) => panel.counts && !isPresent(panel)).map((panel) => panel.id);
  if (absent.length && !model.bars) notes.push(`Links with series had no ${absent.join(", no ").replace("feedback", "messages")}.`);
  const flows = Math.max(...model.runs.map((run) => run.flow_count));
  if (flows > flowSubjects.length) notes.push(`Series of ${flowSubjects.length} of ${flows} flows were recorded (measure.flows).`);
  if (allSeries.some((of) => of.points)) notes.push("Long series are thinned here to the smallest and largest of neighbouring points; series.csv has every point.");
  const fastest = Math.max(0, ...model.runs.flatMap((run) => run.links.map((row) => row[linkColumn("rate_bps")] ?? Infinity)));
  const goodputs = allSeries.filter((of) => of.quantity === "goodput");
  if (fastest > 0 && goodputs.some((of) => of.values.some((value) => value > fastest))) notes.push("Goodput counts what can be read, in order: after a repaired loss much comes at once, faster than the links.");
  if (model.warmup_s > 0) notes.push("The shaded warm-up is not counted in tables, and axes end at the most of the time after it; a triangle marks what they cut off.");
  if (model.seeds.length > 1) notes.push("Bands are 95 % intervals of means; they end at zero and at the most that any run reached.");
  if (PANELS.some((panel) => panel.fairness && isPresent(panel))) notes.push(`Fairness is that of goodput over the last ${formatValue(fairnessSpan(), "s")}.`);
  return [...notes, ...(model.plot_notes ?? [])].join(" ");
}

function startPlots() {
  const section = find("#plots");
  if (!allSeries.length) {
    section.append(element("h2", {}, "Time series"), element("p", { class: "note" }, "No series were recorded: the scenario has no measure.interval, or the folder no series.csv."));
    return;
  }
  section.append(
    element("h2", {}, "Time series"),
    element("div", { class: "controls" }, choiceControls(drawPlots), rangeControls()),
    element("p", { class: "note" }, "Drag across a plot to zoom, double-click for the whole run. Keys: + − 0, arrows move the cursor, Shift and arrows the time."),
    element("div", { id: "panels", tabindex: 0, role: "group", "aria-label": "Plots over time", onkeydown: onKey }),
    element("p", { class: "note" }, plotNotes()));
  drawPlots();
  onThemeChange(() => plots.forEach(({ plot }) => plot.redraw(false, true)));
  new ResizeObserver(resizePlots).observe(find("#panels"));
}
