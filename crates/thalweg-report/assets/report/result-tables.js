// Tables of flows and queues, and what limited each flow.

const LIMITS = model.limits;
const ROWS_AT_FIRST = 100;

// Returns the headings of the columns with values in these rows, in the form [name, title, unit].
function headsFor(heads, rows, columnOf) {
  const has = ({ name, rare }) => rows.some((row) => (rare ? row[columnOf(name)] > 0 : row[columnOf(name)] !== null));
  return heads.filter(has).map(({ name, title, unit }) => [name, title, unit]);
}

function cellOf(value, unit) {
  if (unit === undefined || unit === "held") return element("td", {}, String(value ?? "–"));
  const known = typeof value === "number";
  // The unit of counts is in the heading.
  const words = () => (unit === "pkt" ? formatDigits(value) : formatValue(value, unit));
  return element("td", { class: "number", "data-value": known ? value : null }, known ? words() : "–");
}

function headRow(heads) {
  return element("thead", {}, element("tr", {}, heads.map(([, title, unit]) => element("th", { class: unit === undefined || unit === "held" ? null : "number" }, unit === "pkt" ? `${title}, pkt` : title))));
}

// Builds a sortable table; very long ones show the first rows until expanded.
function sortableTable(heads, rows, className) {
  const body = element("tbody", {}, rows);
  const table = element("table", { class: `sortable ${className}` }, headRow(heads), body);
  makeSortable(table);
  const parts = [element("div", { class: "wide" }, table)];
  if (rows.length > ROWS_AT_FIRST) {
    body.classList.add("cut");
    const all = element("button", { type: "button", onclick: () => {
      body.classList.remove("cut");
      all.remove();
    } }, `Show all ${rows.length} rows of this table`);
    parts.push(all);
  }
  return parts;
}

// Runs are chosen by scheme and seed.
const shownRun = { scheme: schemeNames[0], seed: model.seeds[0] };

function runShown() {
  return model.runs.find((run) => run.scheme === shownRun.scheme && run.seed === shownRun.seed) ?? model.runs[0];
}

function runControls(changed) {
  if (model.runs.length < 2) return [];
  const select = (label, id, options, of) => element("span", {}, element("label", { for: id }, `${label} `),
    element("select", { id, onchange: (event) => changed(of, options[event.target.selectedIndex]) }, options.map((option) => element("option", {}, String(option)))));
  const parts = [];
  if (isCompared) parts.push(select("Scheme", "run-scheme", model.schemes, "scheme"));
  if (model.seeds.length > 1) parts.push(select("Seed", "run-seed", model.seeds, "seed"));
  return [element("div", { class: "run-choice" }, parts)];
}

function fillLimits(run) {
  const limits = flowColumn("limits");
  const rows = run.flows.filter((row) => row[limits]);
  const used = LIMITS.map((_, i) => rows.some((row) => row[limits][i] >= 0.005));
  const section = find("#limits-body");
  section.replaceChildren();
  if (!rows.length) {
    section.append(element("p", { class: "note" }, "Nothing that these senders know of held them back: they have no window, or waited for their hosts only."));
    return;
  }
  section.append(element("ul", { class: "legend" }, LIMITS.map((name, i) => (used[i] ? element("li", {}, element("i", { class: `limit l${i}` }), name) : null))));
  section.append(...rows.slice(0, 24).map((row) => {
    const shares = row[limits];
    const words = LIMITS.map((name, i) => [name, shares[i]]).filter(([, share]) => share >= 0.005).map(([name, share]) => `${name} ${formatValue(share, "share")}`);
    const parts = shares.map((share, i) => (share > 0 ? element("i", { class: `limit l${i}`, style: `flex-grow:${share}` }, share >= 0.12 ? `${Math.round(share * 100)} %` : "") : null));
    return element("div", { class: "limits" }, element("span", {}, row[0]), element("div", { class: "stack", role: "img", "aria-label": `${row[0]}: ${words.join(", ")}`, title: words.join(", ") }, parts));
  }));
  if (rows.length > 24) section.append(element("p", { class: "note" }, `The first 24 of ${rows.length} flows; the table below has all.`));
}

// Returns the main limit of a flow, and its share of the time.
function heldBack(row) {
  const shares = row[flowColumn("limits")];
  if (!shares) return "–";
  const top = shares.indexOf(Math.max(...shares));
  return `${LIMITS[top]} ${Math.round(shares[top] * 100)} %`;
}

function fillFlows(run) {
  const names = [["name", "Flow"], ["scheme", "Scheme"], ["held", "Held back by", "held"]];
  const heads = [...names, ...headsFor(model.flow_heads, run.flows, flowColumn)];
  const rows = run.flows.map((row) => {
    return element("tr", {}, heads.map(([name, , unit]) => cellOf(unit === "held" ? heldBack(row) : row[flowColumn(name)], unit)));
  });
  const parts = sortableTable(heads, rows, "flow-table");
  if (run.flow_count > run.flows.length) parts.push(element("p", { class: "note" }, `${run.flows.length} of ${run.flow_count} flows: those with the lowest and the highest goodput. results.json has all.`));
  const sinkColumns = ["segments", "unread_max_bytes", "frames_encoded"].map(flowColumn);
  const sinks = run.flows.filter((row) => sinkColumns.some((column) => row[column] !== null));
  if (sinks.length) {
    const sinkHeads = [["name", "Sink"], ...headsFor(model.sink_heads, sinks, flowColumn)];
    const sinkRows = sinks.map((row) => element("tr", {}, sinkHeads.map(([name, , unit]) => cellOf(row[flowColumn(name)], unit))));
    parts.push(...sortableTable(sinkHeads, sinkRows, "sink-table"));
  }
  find("#flows-body").replaceChildren(...parts);
}

function fillQueues(run) {
  const heads = headsFor(model.link_heads, run.links, linkColumn);
  const rows = run.links.map((row) => element("tr", { class: row[linkColumn("bottleneck")] ? "bottleneck" : null },
    element("td", {}, linkLabel(row), row[linkColumn("bottleneck")] ? element("span", { class: "tag" }, "bottleneck") : null),
    heads.map(([name, , unit]) => cellOf(row[linkColumn(name)], unit))));
  const parts = sortableTable([["name", "Queue"], ...heads], rows, "queue-table");
  if (run.link_count > run.links.length) parts.push(element("p", { class: "note" }, `The first ${run.links.length} of ${run.link_count} queues, bottlenecks before others. results.json has all.`));
  find("#queues-body").replaceChildren(...parts);
}

function fillTables() {
  const run = runShown();
  fillLimits(run);
  fillFlows(run);
  fillQueues(run);
  fillNetwork(run);
}

function startTables() {
  const title = (text, controls) => [element("h2", {}, text), ...controls];
  const controls = runControls((of, value) => {
    shownRun[of] = value;
    fillTables();
  });
  find("#limits").append(...title("What limited each flow", controls), element("div", { id: "limits-body" }));
  find("#flows").append(...title("Flows", []), element("div", { id: "flows-body" }));
  find("#queues").append(...title("Queues", []), element("div", { id: "queues-body" }));
  startNetwork();
  fillTables();
}
