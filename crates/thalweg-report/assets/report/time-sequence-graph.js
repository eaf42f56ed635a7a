// The time-sequence graph: packets as bars over the lines of acknowledgements.

// Layers in the order of drawing; a cross marks the place where a bar begins.
const LAYERS = [
  { id: "packets", label: "sent", style: (colour) => linePalette(colour), alpha: 0.75 },
  { id: "sacks", label: "selectively acknowledged", style: () => linePalette(6), alpha: 0.8, narrow: true },
  { id: "duplicates", label: "reported twice", style: () => linePalette(7), alpha: 1, narrow: true },
  { id: "late", label: "out of order", style: () => linePalette(4), alpha: 1 },
  { id: "again", label: "sent again", style: () => linePalette(1), alpha: 1 },
  { id: "lost", label: "lost", style: () => styleValue("--no"), alpha: 1, cross: true },
];

const shownLayers = new Set(LAYERS.map((layer) => layer.id));

function barsOf(line, layer) {
  if (!shownLayers.has(layer.id)) return [];
  const levels = model.bars[line.subject]?.[layer.id];
  return levels ? rowsWithin(levels, range.from, range.to, 0) : [];
}

// Calls `at` with time, beginning and end of each bar in the time range.
function eachBar(tiles, at) {
  for (const { times, low, high } of tiles) {
    const end = positionOf(times, range.to);
    for (let i = positionOf(times, range.from); i < end || (i < times.length && times[i] === range.to); i++) at(times[i], low[i], high[i]);
  }
}

const ackLines = (lines) => lines.filter((line) => line.dash !== 2);

// Returns the range of positions in the time range: of packets and acknowledgements, with the window if it is near.
function sequenceRange(u, lines) {
  let low = Infinity;
  let high = -Infinity;
  const add = (from, to) => {
    if (from < low) low = from;
    if (to > high) high = to;
  };
  for (const line of ackLines(lines)) for (const layer of LAYERS) eachBar(barsOf(line, layer), (_, from, to) => add(from, to));
  lines.forEach((line, i) => {
    const isEdge = line.dash === 2;
    const span = high - low;
    for (const value of u.data[i + 1] ?? []) {
      if (value !== null && value !== undefined && (!isEdge || (value >= low - span && value <= high + span))) add(value, value);
    }
  });
  if (low > high) return [0, 1];
  const margin = Math.max(1, (high - low) * 0.04);
  return [Math.max(0, low - margin), high + margin];
}

function drawSequence(u, lines) {
  const { ctx, bbox } = u;
  const ratio = devicePixelRatio || 1;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  for (const line of ackLines(lines)) {
    for (const layer of LAYERS) {
      const tiles = barsOf(line, layer);
      if (!tiles.length) continue;
      ctx.globalAlpha = layer.alpha;
      ctx.fillStyle = ctx.strokeStyle = layer.style(line.colour);
      ctx.lineWidth = 1.5 * ratio;
      const width = layer.narrow ? ratio : 1.5 * ratio;
      ctx.beginPath();
      eachBar(tiles, (time, from, to) => {
        const x = u.valToPos(time, "x", true);
        const top = u.valToPos(to, "y", true);
        const bottom = u.valToPos(from, "y", true);
        if (layer.cross) {
          const size = 3.5 * ratio;
          const y = (top + bottom) / 2;
          ctx.moveTo(x - size, y - size);
          ctx.lineTo(x + size, y + size);
          ctx.moveTo(x - size, y + size);
          ctx.lineTo(x + size, y - size);
        } else {
          ctx.rect(x - width / 2, top, width, Math.max(ratio, bottom - top));
        }
      });
      if (layer.cross) ctx.stroke();
      else ctx.fill();
    }
  }
  ctx.restore();
}
