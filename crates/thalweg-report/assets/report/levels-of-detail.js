// Levels of detail: long lists come in tiles, at several levels, the finest first. A time range is drawn from the finest
// level that has few enough rows in it.

const MAX_ROWS = 24000;
const MAX_TILES = 400;

// Decoded tiles, the least recently used ones first.
const decoded = new Map();

function tileRows(tile) {
  let rows = decoded.get(tile);
  if (rows) decoded.delete(tile);
  else {
    const low = decodeNumbers(tile.low);
    const lengths = tile.high ? decodeNumbers(tile.high) : null;
    rows = { times: decodeNumbers(tile.times).map((picos) => picos / PICOSECONDS), low, high: lengths && low.map((value, i) => value + lengths[i]) };
  }
  decoded.set(tile, rows);
  if (decoded.size > MAX_TILES) decoded.delete(decoded.keys().next().value);
  return rows;
}

// Returns the tiles of a level that overlap a time range, with one more on each side: lines go on to the next point.
function overlappingTiles(level, from, to, margin) {
  let first = level.findIndex((tile) => tile.to >= from);
  if (first < 0) first = level.length;
  let end = first;
  while (end < level.length && level[end].from <= to) end++;
  return level.slice(Math.max(0, first - margin), Math.min(level.length, end + margin));
}

// Returns the decoded tiles of the best level for a time range.
function rowsWithin(levels, from, to, margin) {
  for (const [number, level] of levels.entries()) {
    const tiles = overlappingTiles(level, from, to, margin);
    const rows = tiles.reduce((sum, tile) => sum + tile.times.count, 0);
    if (rows <= MAX_ROWS || number === levels.length - 1) return tiles.map(tileRows);
  }
  return [];
}

for (const series of allSeries) {
  if (!series.levels) continue;
  const { levels } = series;
  // The coarsest level is the series itself.
  series.detail = (from, to) => {
    const finer = rowsWithin(levels, from, to, 1);
    const count = finer.reduce((sum, rows) => sum + rows.times.length, 0);
    if (!count || count > MAX_ROWS) return { times: series.times, values: series.values };
    const times = new Float64Array(count);
    const values = new Float64Array(count);
    let at = 0;
    for (const rows of finer) {
      times.set(rows.times, at);
      values.set(rows.low, at);
      at += rows.times.length;
    }
    return { times, values };
  };
}
