// The data of the page: runs and their series.

const model = JSON.parse(find("#data").textContent);

// Decodes base64 text to bytes.
function bytesOf(text) {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

// Decodes an array of numbers in one of the forms of `number_encoding.rs`: table indices, multiples of a step, or plain values.
function decodeNumbers({ first, step, count, table, text }) {
  const bytes = bytesOf(text);
  const numbers = new Float64Array(count);
  if (step === 0) {
    const view = new DataView(bytes.buffer);
    return numbers.map((_, i) => view.getFloat64(8 * i, true));
  }
  let at = 0;
  let steps = 0;
  for (let i = 0; i < count; i++) {
    let group = bytes[at] & 127;
    // Multiplication, as shifts are limited to 32 bits.
    for (let unit = 128; bytes[at++] > 127; unit *= 128) group += (bytes[at] & 127) * unit;
    if (table) {
      numbers[i] = table[group];
      continue;
    }
    steps += group % 2 ? -(group + 1) / 2 : group / 2;
    numbers[i] = first + step * steps;
  }
  return numbers;
}

const PICOSECONDS = 1e12;
const timeArrays = model.times.map((of) => decodeNumbers(of).map((picos) => picos / PICOSECONDS));

// Series are decoded when they are first shown.
const allSeries = model.series.map((of) => {
  let values = null;
  return {
    ...of,
    times: timeArrays[of.times],
    get values() {
      return (values ??= decodeNumbers(of.values));
    },
  };
});

const column = (columns, name) => model[columns].indexOf(name);
const flowColumn = (name) => column("flow_columns", name);
const linkColumn = (name) => column("link_columns", name);

// Key of a link direction in series, and its label.
function linkKey(row) {
  return `${row[linkColumn("name")]} ${row[linkColumn("from")]}->${row[linkColumn("to")]}`;
}

function linkLabel(row) {
  const [name, from, to] = ["name", "from", "to"].map((of) => row[linkColumn(of)]);
  const ends = `${from} → ${to}`;
  return [`${from}-${to}`, `${to}-${from}`, ""].includes(name) ? ends : `${name}: ${ends}`;
}

// Subjects of series: flows and links, in the order of the results, without subjects that have none.
function seriesSubjects(isFlow) {
  const present = new Set(allSeries.filter((of) => FLOW_QUANTITIES.has(of.quantity) === isFlow).map((of) => of.subject));
  const found = new Map();
  for (const run of model.runs) {
    for (const row of isFlow ? run.flows : run.links) {
      const key = isFlow ? row[flowColumn("name")] : linkKey(row);
      if (present.has(key) && !found.has(key)) {
        const bottleneck = !isFlow && row[linkColumn("bottleneck")];
        found.set(key, { key, label: isFlow ? key : linkLabel(row), bottleneck });
      } else if (!isFlow && found.has(key) && row[linkColumn("bottleneck")]) {
        found.get(key).bottleneck = true;
      }
    }
  }
  for (const key of present) if (!found.has(key)) found.set(key, { key, label: key, bottleneck: false });
  return [...found.values()];
}

const FLOW_QUANTITIES = new Set(["window", "in-flight", "rtt", "pacing-rate", "goodput", "unread", "ssthresh",
  "acked", "window-edge", "throughput", "delivery-rate", "rtt-sample", "unsent"]);

// Returns the increments between points of a counter that restarts once, at the end of the warm-up.
function counterIncrements(values) {
  const counts = new Float32Array(values.length);
  for (let i = 0; i < values.length; i++) {
    const before = i === 0 ? 0 : values[i - 1];
    counts[i] = values[i] >= before ? values[i] - before : values[i];
  }
  return counts;
}
