// Controls of the plots: toggle buttons that are the legend too.

const choice = {
  schemes: new Set(schemeNames),
  flows: new Set(firstFlows()),
  links: new Set(firstLinks()),
  seed: model.seeds.length > 1 ? "mean" : String(model.seeds[0]),
  panels: new Set(PANELS.filter((panel) => !panel.extra || model.bars).map((panel) => panel.id)),
};

// A few flows are chosen one by one; many flows, or flows under comparison, all together.
function firstFlows() {
  const keys = flowSubjects.map((of) => of.key);
  if (model.chosen) return model.chosen;
  if (keys.length === 1) return keys;
  return isCompared || keys.length > 10 ? [TOGETHER] : keys;
}

function firstLinks() {
  const keys = linkSubjects.filter((of) => of.bottleneck).map((of) => of.key);
  return (keys.length ? keys : linkSubjects.map((of) => of.key)).slice(0, isCompared ? 1 : 6);
}

// Line sample with the colour and dashes of a plot line.
function lineSwatch(colour, dash) {
  const line = element("svg:line", { x1: 0, y1: 4, x2: 22, y2: 4, "stroke-dasharray": DASHES[dash].join(" ") });
  return element("svg:svg", { class: `swatch-line c${colour}`, width: 22, height: 8, "aria-hidden": "true" }, line);
}

// Toggle button of `key`; `of` returns that key of a line. Hovering over or focusing the button emphasises these lines,
// for readers who cannot distinguish the colours.
function toggleChip(set, key, label, mark, changed, of) {
  const button = element("button", { type: "button", class: "chip", "aria-pressed": String(set.has(key)) }, mark, label);
  if (of) {
    const stand = () => set.has(key) && emphasiseLines((line) => line[of] === key);
    for (const type of ["mouseenter", "focus"]) button.addEventListener(type, stand);
    for (const type of ["mouseleave", "blur"]) button.addEventListener(type, () => emphasiseLines(null));
  }
  button.addEventListener("click", () => {
    if (!set.delete(key)) set.add(key);
    button.setAttribute("aria-pressed", String(set.has(key)));
    changed();
  });
  return button;
}

function chipRow(title, chips) {
  const row = element("div", { class: "chips", role: "group", "aria-label": title }, element("span", {}, title), chips);
  if (chips.length <= 14) return row;
  const more = chips.slice(12);
  more.forEach((button) => (button.hidden = true));
  const all = element("button", {
    type: "button",
    class: "chip",
    onclick: () => {
      more.forEach((button) => (button.hidden = false));
      all.remove();
    },
  }, `${more.length} more`);
  row.append(all);
  return row;
}

// Builds the controls; `changed` is called after each change.
function choiceControls(changed) {
  const rows = [];
  if (isCompared) {
    rows.push(chipRow("Schemes", model.schemes.map((name, i) => toggleChip(choice.schemes, name, name, lineSwatch(i % 8, 0), changed, "scheme"))));
  }
  const together = flowSubjects.length > 1 && !model.bars ? [toggleChip(choice.flows, TOGETHER, TOGETHER, isCompared ? null : lineSwatch(8, 0), changed, "subject")] : [];
  const flowMark = (i) => (isCompared ? null : lineSwatch(i % 8, Math.floor(i / 8) % DASHES.length));
  if (flowSubjects.length) {
    rows.push(chipRow("Flows", [...together, ...flowSubjects.map((of, i) => toggleChip(choice.flows, of.key, of.label, flowMark(i), changed, "subject"))]));
  }
  if (linkSubjects.length) {
    rows.push(chipRow("Links", linkSubjects.map((of, i) => toggleChip(choice.links, of.key, of.label, flowMark(i), changed, "subject"))));
  }
  const panels = PANELS.filter(isPresent);
  rows.push(chipRow("Plots", panels.map((panel) => toggleChip(choice.panels, panel.id, panel.title, null, changed))));
  if (model.seeds.length > 1) rows.push(seedRow(changed));
  return rows;
}

function seedRow(changed) {
  const select = element("select", { id: "seed", onchange: () => {
    choice.seed = select.value;
    changed();
  } }, element("option", { value: "mean" }, `mean of ${model.seeds.length} runs ± 95 %`));
  select.append(...model.seeds.map((seed) => element("option", { value: seed }, `seed ${seed}`)));
  return element("div", { class: "chips" }, element("label", { for: "seed" }, "Runs"), select);
}
