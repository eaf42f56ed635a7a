// Packets in flight over the links of the network, at a moment of a run.

const OUTCOMES = { arrived: 0, dropped: 1, lost: 2 };
const FORWARD = 0;
const WAITING_ROWS = 3;
const WAITING_COLUMNS = 17;

// Packets of a run by its index, decoded when first shown; null where none were recorded.
const replayCache = new Map();

function replayOf(run) {
  const of = model.replays.find((replay) => replay.scheme === run.scheme && replay.seed === run.seed);
  if (!of) return null;
  if (!replayCache.has(of)) replayCache.set(of, decodeReplay(of));
  return replayCache.get(of);
}

function decodeReplay(of) {
  const [flow, kind, link, arrived, waited, duration, outcome] = ["flow", "kind", "link", "arrived", "waited", "duration", "outcome"].map((name) => decodeNumbers(of[name]));
  const began = arrived.map((picos, i) => (picos + waited[i]) / PICOSECONDS);
  const ended = began.map((time, i) => time + duration[i] / PICOSECONDS);
  const starts = arrived.map((picos) => picos / PICOSECONDS);
  const longest = ended.reduce((most, time, i) => Math.max(most, time - starts[i]), 0);
  const changes = Float64Array.from(new Set([...starts, ...began, ...ended])).sort();
  const colours = of.flows.map((name) => Math.max(0, flowSubjects.findIndex((subject) => subject.key === name)) % 8);
  const travel = Float64Array.from(duration.filter((picos, i) => picos > 0 && outcome[i] === OUTCOMES.arrived)).sort();
  return {
    from: of.from_s, until: of.until_s, cut: of.cut, flows: of.flows,
    flow, kind, link, arrived: starts, began, ended, outcome, longest, changes, colours,
    // Median time of a packet on a link.
    typical: travel.length ? travel[travel.length >> 1] / PICOSECONDS : 0,
  };
}

// Returns the shape of a packet: a square, narrow on a busy link; smaller for replies; a diamond for router messages.
function packetShape(x, y, kind, narrow) {
  if (kind > 1) return `M${x.toFixed(1)} ${(y - 6).toFixed(1)}l6 6l-6 6l-6 -6z`;
  const half = kind === FORWARD ? 5 : 2.5;
  const aside = narrow ? 1.5 : half;
  return `M${(x - aside).toFixed(1)} ${(y - half).toFixed(1)}h${2 * aside}v${2 * half}h-${2 * aside}z`;
}

function lossCross(x, y) {
  return `M${(x - 5).toFixed(1)} ${(y - 5).toFixed(1)}l10 10m0 -10l-10 10`;
}

const at = ({ x1, y1, x2, y2 }, along) => [x1 + (x2 - x1) * along, y1 + (y2 - y1) * along];

// Returns the position of a packet with `before` packets ahead of it in the queue: in rows beside the link, below its
// load label.
function waitingPlace({ x1, y1, x2, y2, nx, ny }, before) {
  const length = Math.hypot(x2 - x1, y2 - y1) || 1;
  const [along, aside] = [40 + 6 * (before % WAITING_COLUMNS), 24 + 7 * Math.floor(before / WAITING_COLUMNS)];
  return [x1 + ((x2 - x1) / length) * along + nx * aside, y1 + ((y2 - y1) / length) * along + ny * aside];
}

// Returns the state at `time`: for each colour the path of its packets, the path of packets lost or dropped within
// `linger` seconds, and the number waiting at each direction of a link. `ends` has the endpoints of each direction.
function packetsAt(replay, time, linger, ends) {
  const { arrived, began, ended, outcome, link, kind } = replay;
  const paths = new Map();
  const waiting = new Map();
  const add = (name, path) => paths.set(name, (paths.get(name) ?? "") + path);
  const flying = [];
  const count = new Map();
  for (let i = positionOf(arrived, time - replay.longest - linger); i < arrived.length && arrived[i] <= time; i++) {
    const line = ends[link[i]];
    if (!line) continue;
    const gone = outcome[i] === OUTCOMES.dropped || outcome[i] === OUTCOMES.lost;
    if (time < began[i]) {
      const before = waiting.get(link[i]) ?? 0;
      waiting.set(link[i], before + 1);
      if (before < WAITING_ROWS * WAITING_COLUMNS) add(`p${replay.colours[replay.flow[i]]}`, packetShape(...waitingPlace(line, before), 1, false));
    } else if (gone && time < began[i] + linger) {
      add("gone", lossCross(...at(line, outcome[i] === OUTCOMES.lost ? 0.5 : 0)));
    } else if (!gone && time < ended[i]) {
      flying.push(i);
      count.set(link[i], (count.get(link[i]) ?? 0) + 1);
    }
  }
  for (const i of flying) {
    const line = ends[link[i]];
    const narrow = count.get(link[i]) * 14 > Math.hypot(line.x2 - line.x1, line.y2 - line.y1);
    add(`p${replay.colours[replay.flow[i]]}`, packetShape(...at(line, (time - began[i]) / (ended[i] - began[i])), kind[i], narrow));
  }
  return { paths, waiting };
}
