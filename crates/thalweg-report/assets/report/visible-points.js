// Points to draw of a line: all if they are few, otherwise the smallest and largest of each column of the screen, which
// keeps every peak.

// Returns the first position in `times` that is not before `time`.
function positionOf(times, time) {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

// Returns the positions of a line from just before `from` to just after `to`.
function visibleRange(line, from, to) {
  const first = Math.max(0, positionOf(line.times, from) - 1);
  const end = Math.min(line.times.length, positionOf(line.times, to) + 2);
  return [first, end];
}

// Returns the data of a plot of `lines` between two times: [times, values of line 0, ...]; a line with an interval has
// three arrays: its values, the upper and the lower bound.
function plotData(all, from, to, columns) {
  const lines = all.map((line) => (line.detail ? { ...line, ...line.detail(from, to) } : line));
  const spans = lines.map((line) => visibleRange(line, from, to));
  const few = spans.every(([first, end]) => end - first <= 2 * columns);
  return few ? exactPoints(lines, spans) : thinnedPoints(lines, spans, from, to, columns);
}

function arraysOf(line) {
  if (!line.half) return [line.values];
  // An interval by Student's t may exceed the possible range.
  const upper = line.values.map((value, i) => Math.max(value, Math.min(value + line.half[i], line.ceiling)));
  return [line.values, upper, line.values.map((value, i) => Math.max(0, value - line.half[i]))];
}

function exactPoints(lines, spans) {
  const slices = lines.map((line, i) => line.times.subarray(...spans[i]));
  const shared = slices.every((times) => times.length === slices[0].length && times[0] === slices[0][0] && times.at(-1) === slices[0].at(-1))
    && lines.every((line) => line.times === lines[0].times);
  if (shared && lines.length) {
    return [slices[0], ...lines.flatMap((line, i) => arraysOf(line).map((array) => array.subarray(...spans[i])))];
  }
  const times = Float64Array.from(new Set(slices.flatMap((slice) => [...slice]))).sort();
  const data = [times];
  lines.forEach((line, i) => {
    for (const array of arraysOf(line)) {
      const aligned = new Array(times.length).fill(undefined);
      let position = 0;
      for (let at = spans[i][0]; at < spans[i][1]; at++) {
        while (times[position] < line.times[at]) position++;
        aligned[position] = array[at];
      }
      data.push(aligned);
    }
  });
  return data;
}

function thinnedPoints(lines, spans, from, to, columns) {
  // Points just outside count in the outermost columns.
  const width = (to - from) / columns;
  const times = Float64Array.from({ length: 2 * columns }, (_, i) => from + ((i >> 1) + (i % 2 ? 0.75 : 0.25)) * width);
  const data = [times];
  lines.forEach((line, i) => {
    for (const array of arraysOf(line)) data.push(extremesByColumn(line.times, array, spans[i], from, width, columns));
  });
  return data;
}

function extremesByColumn(times, values, [first, end], from, width, columns) {
  const result = new Array(2 * columns).fill(undefined);
  let at = first;
  while (at < end) {
    const columnOf = (position) => Math.min(columns - 1, Math.max(0, Math.floor((times[position] - from) / width)));
    const column = columnOf(at);
    let low = at;
    let high = at;
    while (at < end && columnOf(at) === column) {
      if (values[at] < values[low]) low = at;
      if (values[at] > values[high]) high = at;
      at++;
    }
    const [before, after] = low < high ? [low, high] : [high, low];
    result[2 * column] = values[before];
    if (after !== before) result[2 * column + 1] = values[after];
  }
  return result;
}
