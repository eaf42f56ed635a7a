// The page of a trace: plots, and findings that lead to their place.

// There is no network that follows the cursor.
function onPlotCursor() {}

// Toggle buttons of the layers of packets, for those that any connection has.
function layerControls() {
  const present = LAYERS.filter(({ id }) => Object.values(model.bars).some((layers) => layers[id]));
  if (present.length < 2) return [];
  const mark = (layer) => element("i", { class: "swatch", style: `background:${layer.style(0)}` });
  return [chipRow("Packets", present.map((layer) => toggleChip(shownLayers, layer.id, layer.label, mark(layer), refreshAll)))];
}

// Shows the place of a finding, with a tenth more on each side.
function showPlace({ dataset }) {
  const [from, to] = [Number(dataset.from), Number(dataset.to)];
  const margin = Math.max((to - from) * 0.1, FULL.to / 200);
  if (!choice.flows.has(dataset.subject)) {
    const button = findAll("#plots .chip").find((chip) => chip.textContent === dataset.subject);
    if (button) button.click();
  }
  setRange(from - margin, to + margin);
  find("#plots").scrollIntoView({ behavior: "smooth" });
}

if (allSeries.length) {
  startPlots();
  find("#plots .controls").append(...layerControls());
  findAll(".place").forEach((button) => button.addEventListener("click", () => showPlace(button)));
} else {
  find("#plots").append(element("p", { class: "note" }, "There is nothing to plot: the trace has neither packets with data nor estimates."));
  findAll(".place").forEach((button) => button.replaceWith(button.textContent));
}
document.documentElement.dataset.ready = "true";
