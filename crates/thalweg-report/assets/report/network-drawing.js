// The network, with the load on each direction of its links.

// Few columns are wide, to leave space for packets, as far as the screen allows.
const COLUMN = 210;
const WIDEST_COLUMN = 420;
const WIDTH = 900;
const ROW = 96;
const MARGIN = 74;

// Assigns each node a position: columns by distance from the sources of the first flows, rows in the order of
// neighbours.
function layoutNodes(topology, room) {
  const count = topology.nodes.length;
  const neighbours = Array.from({ length: count }, () => []);
  for (const { a, b } of topology.links) {
    neighbours[a].push(b);
    neighbours[b].push(a);
  }
  const layer = new Array(count).fill(-1);
  const starts = [topology.groups[0]?.from ?? 0, ...layer.keys()];
  for (const start of starts) {
    if (layer[start] !== -1) continue;
    layer[start] = 0;
    const queue = [start];
    for (const node of queue) {
      for (const next of neighbours[node]) {
        if (layer[next] !== -1) continue;
        layer[next] = layer[node] + 1;
        queue.push(next);
      }
    }
  }
  const layers = Array.from({ length: Math.max(0, ...layer) + 1 }, () => []);
  layer.forEach((of, node) => layers[of].push(node));
  const row = new Array(count).fill(0);
  layers.forEach((nodes, at) => {
    const before = (node) => {
      const of = neighbours[node].filter((next) => layer[next] === at - 1);
      return of.length ? of.reduce((sum, next) => sum + row[next], 0) / of.length : 0;
    };
    nodes.sort((p, q) => before(p) - before(q) || p - q);
    nodes.forEach((node, position) => (row[node] = position - (nodes.length - 1) / 2));
  });
  const column = Math.min(WIDEST_COLUMN, Math.max(COLUMN, Math.min(WIDTH, room - 2 * MARGIN) / Math.max(1, layers.length - 1)));
  const tallest = Math.max(1, ...layers.map((nodes) => nodes.length));
  return {
    width: 2 * MARGIN + (layers.length - 1) * column,
    height: (tallest - 1) * ROW + 110 + 14 * mostGroups(topology),
    places: row.map((of, node) => ({ x: MARGIN + layer[node] * column, y: 50 + (of + (tallest - 1) / 2) * ROW })),
  };
}

// Maximum number of text lines below a node.
function mostGroups(topology) {
  const counts = new Map();
  for (const { from } of topology.groups) counts.set(from, Math.min(4, (counts.get(from) ?? 0) + 1));
  return Math.max(0, ...counts.values());
}

const LOADS = [0.05, 0.5, 0.8, 0.95];

// Class of a utilisation: the higher, the darker and the wider.
function loadClass(share) {
  return `load u${LOADS.filter((limit) => share >= limit).length}`;
}

function svgText(x, y, content, className, anchor = "middle") {
  return element("svg:text", { x, y, class: className, "text-anchor": anchor }, content);
}

// Drawn elements: the directions of links, with the marks of their load; the endpoints of their lines, by twice the
// index of the link, plus one for backward; and the layer for packets.
const network = { directions: [], ends: [], overlay: null };

// Draws one direction of a link: a line to the right of the link's axis, with its utilisation.
function drawDirection(from, to, row, words, key) {
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  const length = Math.hypot(dx, dy) || 1;
  const [nx, ny] = [-dy / length, dx / length];
  const at = (along, aside) => [from.x + dx * along + nx * aside, from.y + dy * along + ny * aside];
  const gap = 30 / length;
  const [[x1, y1], [x2, y2]] = [at(gap, 5), at(1 - gap, 5)];
  const share = row ? row[linkColumn("utilisation")] : 0;
  const [tx, ty] = at(0.5, 19);
  const backward = dx < 0;
  const wordsOf = (load, waiting) => `${backward ? "← " : ""}${load}${waiting === null ? "" : `, queue ${formatDigits(Math.round(waiting))}`}${backward ? "" : " →"}`;
  const used = row ? `${linkLabel(row)}: used ${formatValue(share, "share")}, ${row[linkColumn("drops")]} dropped` : "";
  const line = element("svg:line", { x1, y1, x2, y2, "marker-end": "url(#arrow)" });
  const label = svgText(tx, ty + 4, "", "share");
  // Load and queue: averages as shares; at a time the rate carried, as the link rate may have changed.
  const show = (share, carried = null, waiting = null) => {
    line.setAttribute("class", loadClass(share));
    line.setAttribute("stroke-width", 2 + 5 * share);
    if (row) label.textContent = wordsOf(carried === null ? formatValue(share, "share") : formatValue(carried, "bit/s"), waiting);
  };
  show(share);
  network.directions.push({ key, row, show });
  network.ends.push({ x1, y1, x2, y2, nx, ny });
  return element("svg:g", {}, element("svg:title", {}, `${used}; ${words}`), line, label);
}

function groupsAt(topology, run, node, { x, y }) {
  const here = topology.groups.filter((group) => group.from === node);
  // In comparisons, the scenario's own scheme is not the one that ran.
  const scheme = (group) => run.groups.find(([name]) => name === group.name)?.[1] ?? group.scheme;
  const lines = here.slice(0, 3).map((group) => `${group.count > 1 ? `${group.count} × ` : ""}${scheme(group)} → ${topology.nodes[group.to]}`);
  if (here.length > 3) lines.push(`and ${here.length - 3} more`);
  return lines.map((line, i) => svgText(x, y + 34 + 14 * i, line, "group"));
}

function drawNetwork(topology, run, room) {
  const { width, height, places } = layoutNodes(topology, room);
  const rows = new Map(run.links.map((row) => [linkKey(row), row]));
  const keyOf = (link, from, to) => `${link.name} ${topology.nodes[from]}->${topology.nodes[to]}`;
  const lineOf = (link, from, to, words) => {
    const key = keyOf(link, from, to);
    return drawDirection(places[from], places[to], rows.get(key), words, key);
  };
  network.directions = [];
  network.ends = [];
  network.overlay = element("svg:g", { class: "packets", "aria-hidden": "true" });
  const svg = element("svg:svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": "The network with the load on its links; the table of queues has the same numbers" });
  svg.append(element("svg:defs", {}, element("svg:marker", { id: "arrow", viewBox: "0 0 6 6", refX: 4, refY: 3, markerWidth: 8, markerHeight: 8, markerUnits: "userSpaceOnUse", orient: "auto" }, element("svg:path", { d: "M0 0 6 3 0 6z", class: "arrow" }))));
  for (const link of topology.links) {
    const [a, b] = [places[link.a], places[link.b]];
    svg.append(lineOf(link, link.a, link.b, link.forward), lineOf(link, link.b, link.a, link.backward));
    const same = link.forward === link.backward;
    const level = Math.abs(a.y - b.y) < 1;
    svg.append(svgText((a.x + b.x) / 2, (a.y + b.y) / 2 - (level ? 31 : 24), same ? link.forward : `${link.forward} | ${link.backward}`, "capacity"));
  }
  topology.nodes.forEach((name, node) => {
    const { x, y } = places[node];
    svg.append(element("svg:circle", { cx: x, cy: y, r: 9, class: "node" }), svgText(x, y - 16, name, "name"), ...groupsAt(topology, run, node, places[node]));
  });
  svg.append(network.overlay);
  return svg;
}

function startNetwork() {
  find("#network").append(element("h2", {}, "Network"), element("div", { id: "network-clock" }), element("div", { id: "network-body", class: "wide" }), element("div", { id: "network-notes" }));
}

function fillNetwork(run) {
  const { topology } = model;
  const body = find("#network-body");
  if (!topology) {
    body.replaceChildren(element("p", { class: "note" }, "The scenario of these results could not be read."));
  } else if (topology.too_large) {
    const [nodes, links] = topology.too_large;
    body.replaceChildren(element("p", { class: "note" }, `${nodes} nodes and ${links} links are too many to be drawn.`));
  } else {
    const of = [isCompared ? run.scheme : "", model.seeds.length > 1 ? `seed ${run.seed}` : ""].filter((part) => part).join(", ");
    const shares = `Shares of time in which each direction of a link was busy${of ? ` (${of})` : ""}; at a time, what it carries between two samples, and the queue at the second.`;
    find("#network-clock").replaceChildren(...clockControls());
    body.replaceChildren(drawNetwork(topology, run, body.clientWidth));
    find("#network-notes").replaceChildren(element("p", { class: "note" }, shares), element("p", { class: "note" }, clockNotes()));
    startClock();
  }
}
