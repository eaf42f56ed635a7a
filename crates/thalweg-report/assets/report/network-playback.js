// Time shown in the network: the load of links and their queues where series were recorded, and packets where these
// were. Without a time the network shows the averages of the run.

const clock = { mode: null, time: null, playing: 0, speed: 1, before: 0 };

const MODES = {
  load: { label: "the whole run: load and queues", ends: () => [FULL.from, FULL.to] },
  packets: { label: "packets", ends: () => [shownReplay().from, shownReplay().until] },
};

const shownReplay = () => replayOf(runShown());

function hasLoads() {
  return allSeries.some((of) => of.quantity === "link-rate" || of.quantity === "queue-packets");
}

function availableModes() {
  return [shownReplay() ? "packets" : null, hasLoads() ? "load" : null].filter((mode) => mode);
}

// Returns the value of a series at a time: a sample covers the interval that ends at its time.
function valueAt(quantity, subject, time) {
  const { scheme, seed } = runShown();
  const series = seriesOf(scheme, seed, quantity, subject);
  if (!series || !series.times.length) return null;
  const position = Math.min(series.times.length - 1, positionOf(series.times, time));
  return series.values[position];
}

// Default playback speed, in simulated seconds a second: a packet crosses a link in most of a second, or the run takes
// 20 seconds.
function defaultSpeed() {
  const [from, until] = MODES[clock.mode].ends();
  const typical = clock.mode === "packets" ? shownReplay().typical : 0;
  return typical > 0 ? typical / 0.7 : (until - from) / 20;
}

// Shows the network at a time; with null, its averages.
function showAt(time) {
  clock.time = time;
  const slider = find("#clock-slider");
  if (slider && clock.mode) {
    const [from, until] = MODES[clock.mode].ends();
    if (time !== null) slider.value = String(Math.round(((time - from) / (until - from)) * SLIDER_STEPS));
    const text = time === null ? "averages of the run" : `${time.toPrecision(7).replace(/0+$/, "").replace(/\.$/, "")} s`;
    find("#clock-time").textContent = text;
    slider.setAttribute("aria-valuetext", text);
  }
  showLoads(time, showPackets(time));
}

// `waiting` holds the queue lengths by direction, if known from packets.
function showLoads(time, waiting) {
  for (const [index, { key, row, show }] of network.directions.entries()) {
    if (!row) continue;
    const queue = () => (waiting ? (waiting.get(index) ?? 0) : valueAt("queue-packets", key, time));
    const carried = time === null ? null : valueAt("link-rate", key, time);
    const share = carried === null ? row[linkColumn("utilisation")] : carried / row[linkColumn("rate_bps")];
    show(Number.isFinite(share) ? Math.min(1, share) : row[linkColumn("utilisation")], carried, time === null ? null : queue());
  }
}

// Shows the packets and returns the number waiting at each direction of a link; null where no packets are shown.
function showPackets(time) {
  const replay = shownReplay();
  const overlay = network.overlay;
  if (!overlay) return null;
  const inside = replay && time !== null && clock.mode === "packets";
  overlay.parentNode.classList.toggle("replaying", Boolean(inside));
  if (!inside) {
    overlay.replaceChildren();
    return null;
  }
  const { paths, waiting } = packetsAt(replay, time, clock.speed * 0.6, network.ends);
  overlay.replaceChildren(...[...paths].map(([name, d]) => element("svg:path", { d, class: `packet ${name}` })));
  return waiting;
}

function startPlayback() {
  const [from, until] = MODES[clock.mode].ends();
  if (clock.time === null || clock.time >= until || clock.time < from) clock.time = from;
  clock.before = performance.now();
  const frame = (now) => {
    if (!clock.playing) return;
    const time = Math.min(until, clock.time + ((now - clock.before) / 1000) * clock.speed);
    clock.before = now;
    showAt(time);
    if (time >= until) pausePlayback();
    else clock.playing = requestAnimationFrame(frame);
  };
  clock.playing = requestAnimationFrame(frame);
  playButton();
}

function pausePlayback() {
  cancelAnimationFrame(clock.playing);
  clock.playing = 0;
  playButton();
}

function playButton() {
  const button = find("#clock-play");
  if (!button) return;
  button.textContent = clock.playing ? "Pause" : "Play";
}

// Steps to the next or the previous event: the arrival or departure of a packet, or a sample.
function stepToEvent(direction) {
  pausePlayback();
  const [from, until] = MODES[clock.mode].ends();
  const moments = clock.mode === "packets" ? shownReplay().changes : allSeries.find((of) => of.quantity === "link-rate" || of.quantity === "queue-packets").times;
  const now = clock.time ?? from;
  const next = positionOf(moments, now);
  const at = direction > 0 ? (moments[next] > now ? next : next + 1) : next - 1;
  showAt(Math.min(until, Math.max(from, moments[at] ?? (direction > 0 ? until : from))));
}

function setMode(mode) {
  pausePlayback();
  clock.mode = mode;
  if (mode) clock.speed = defaultSpeed();
  showAt(mode === "packets" ? MODES.packets.ends()[0] : null);
}

function clockControls() {
  const available = availableModes();
  if (!available.length) return [];
  const button = (label, id, act) => element("button", { type: "button", id, onclick: act }, label);
  const speed = element("select", { id: "clock-speed", onchange: () => (clock.speed = defaultSpeed() * SPEEDS[speed.selectedIndex][1]) },
    SPEEDS.map(([label, factor]) => element("option", { selected: factor === 1 }, label)));
  const mode = element("select", { id: "clock-mode", onchange: () => {
    speed.selectedIndex = SPEEDS.findIndex(([, factor]) => factor === 1);
    setMode(available[mode.selectedIndex]);
  } }, available.map((of) => element("option", {}, MODES[of].label)));
  const slider = element("input", { type: "range", id: "clock-slider", min: 0, max: SLIDER_STEPS, value: 0, "aria-label": "Time of the network", oninput: () => {
    pausePlayback();
    const [from, until] = MODES[clock.mode].ends();
    showAt(from + ((until - from) * Number(slider.value)) / SLIDER_STEPS);
  } });
  return [element("div", { class: "clock", role: "group", "aria-label": "Time of the network" },
    element("label", { for: "clock-mode" }, "Show "), mode,
    button("Play", "clock-play", () => (clock.playing ? pausePlayback() : startPlayback())),
    button("Step back", "clock-back", () => stepToEvent(-1)), button("Step", "clock-step", () => stepToEvent(1)),
    speed, button("Averages", "clock-off", () => {
      pausePlayback();
      showAt(null);
    }),
    slider, element("output", { id: "clock-time" }))];
}

// Describes the visible content in words.
function clockNotes() {
  const replay = shownReplay();
  if (!replay) {
    const other = model.replays.length ? " of this run" : "";
    return `No packets${other} were recorded: --report keeps those of small runs, --replay "10 s..10.2 s" those of a time, under the first seed.`;
  }
  const cut = replay.cut ? " There was room for no more." : "";
  const colours = isCompared ? "" : " Colours are those of the flows in the plots.";
  return `Packets from ${formatDigits(replay.from)} s to ${formatDigits(replay.until)} s of ${replay.flows.length === 1 ? "one flow" : `${replay.flows.length} flows`}.${cut} Large squares go to the receiver, small ones back, diamonds are routers' messages; those beside a link wait for it, a cross was dropped or lost.${colours}`;
}

// Handles a move of the plot cursor to a time; null when it leaves the plots.
function onPlotCursor(time) {
  if (clock.playing || clock.mode !== "load" || !network.directions.length) return;
  showAt(time);
}

function startClock() {
  clock.mode = null;
  const available = availableModes();
  setMode(available[0] ?? null);
  if (clock.mode === "load") showAt(null);
}

const SLIDER_STEPS = 2000;
const SPEEDS = [["slower", 0.25], ["slow", 0.5], ["normal speed", 1], ["fast", 3], ["faster", 10]];
