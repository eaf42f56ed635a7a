// Lines from series: sums and means over flows, means with intervals over seeds, fairness.
//
// A line is { times, values, half }; `half` is half the width of its 95 % interval, or null. A line with an interval
// has a `ceiling`, the largest possible value.

// Returns the sorted union of the times of several series; null where they were not sampled together.
function unionOfTimes(arrays) {
  const distinct = [...new Set(arrays)];
  if (distinct.length === 1) return distinct[0];
  const all = new Set();
  let longest = 0;
  for (const times of distinct) {
    longest = Math.max(longest, times.length);
    for (const time of times) all.add(time);
  }
  return all.size > 1.5 * longest + 16 ? null : Float64Array.from(all).sort();
}

// Calls `at` with the position in `union` and the value, for each point of a line.
function eachPoint(union, line, at) {
  let position = 0;
  for (let i = 0; i < line.times.length; i++) {
    while (union[position] < line.times[i]) position++;
    at(position, line.values[i]);
  }
}

// Joins lines point by point: `finish` receives the times, and for each the sum, count and sum of squares of the
// values.
function joinLines(lines, finish) {
  const union = unionOfTimes(lines.map((line) => line.times));
  if (!union) return null;
  const sums = new Float64Array(union.length);
  const squares = new Float64Array(union.length);
  const counts = new Uint32Array(union.length);
  for (const line of lines) {
    eachPoint(union, line, (position, value) => {
      sums[position] += value;
      squares[position] += value * value;
      counts[position] += 1;
    });
  }
  return finish(union, sums, counts, squares);
}

function sumOf(lines) {
  return joinLines(lines, (times, sums) => ({ times, values: sums, half: null }));
}

function meanOf(lines) {
  return joinLines(lines, (times, sums, counts) => ({ times, values: sums.map((sum, i) => sum / counts[i]), half: null }));
}

// Returns the mean over runs with its 95 % interval by Student's t, at each time common to all runs.
function meanWithInterval(lines) {
  if (lines.length < 2) return lines[0] ?? null;
  const union = unionOfTimes(lines.map((line) => line.times));
  if (!union) return null;
  const mean = meanOf(lines);
  const squares = new Float64Array(union.length);
  const counts = new Uint32Array(union.length);
  for (const line of lines) {
    // Deviations from the mean, not squares of values, to avoid cancellation.
    eachPoint(union, line, (position, value) => {
      squares[position] += (value - mean.values[position]) ** 2;
      counts[position] += 1;
    });
  }
  const t = model.t975[lines.length - 2] ?? 1.96;
  const half = squares.map((sum) => t * Math.sqrt(sum / (lines.length - 1) / lines.length));
  return selectPoints({ times: union, values: mean.values, half }, (i) => counts[i] === lines.length);
}

// Returns Jain's index of the flows' goodput over the last `span` seconds, over the flows that have started.
function fairnessOf(lines, span) {
  const smooth = lines.map((line) => movingMean(line, span));
  const fairness = joinLines(smooth, (times, sums, counts, squares) => ({
    times,
    values: sums.map((sum, i) => (squares[i] > 0 ? (sum * sum) / (counts[i] * squares[i]) : NaN)),
    half: null,
  }));
  return fairness && selectPoints(fairness, (i) => !Number.isNaN(fairness.values[i]));
}

// Returns the points of a line at positions for which `holds` is true.
function selectPoints({ times, values, half }, holds) {
  if (times.every((_, i) => holds(i))) return { times, values, half };
  const only = (array) => array && array.filter((_, i) => holds(i));
  return { times: only(times), values: only(values), half: only(half) };
}

function movingMean(line, span) {
  const values = new Float64Array(line.values.length);
  let first = 0;
  let sum = 0;
  for (let i = 0; i < values.length; i++) {
    sum += line.values[i];
    while (line.times[first] <= line.times[i] - span) sum -= line.values[first++];
    values[i] = Math.max(0, sum) / (i - first + 1);
  }
  return { times: line.times, values, half: null };
}
