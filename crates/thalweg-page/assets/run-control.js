// A run: its worker, its progress, steps, stop, and the kept run beside it.

let running = null;
// "none", "running" or "paused".
let runState = "none";
let stepLog = [];
const MAX_STEPS = 200;
const BAD_STEPS = new Set(["dropped", "lost", "corrupted", "filtered"]);

function setRunState(next) {
  runState = next;
  find("#go").textContent = next === "running" ? "Pause" : next === "paused" ? "Continue" : "Run";
  find("#stop").disabled = next === "none";
  find("#step").disabled = next === "running";
  document.documentElement.dataset.run = next;
}

function showStatus(text) {
  find("#status").textContent = text;
}

function showErrors(errors) {
  const holder = find("#errors");
  holder.replaceChildren(...errors.map((error) => element("li", { class: error.severity === "error" ? "error" : "warning-text" }, element("pre", {}, error.text.trimEnd()))));
}

function endRun() {
  running?.end();
  running = null;
  setRunState("none");
}

function nameOfStep(step, links, flow) {
  const link = step.link === null ? null : links[step.link];
  const place = link ? `${link[0]}: ${link[1]} → ${link[2]}` : step.link === null ? (step.step === "sent" ? (step.backward ? "sink" : "source") : step.backward ? "source" : "sink") : "access link";
  return [step.time.toFixed(9), step.step, flow, step.label, `${step.size} B`, place];
}

function drawSteps() {
  const holder = find("#steps");
  holder.hidden = !stepLog.length;
  if (!stepLog.length) return;
  holder.replaceChildren(element("table", {},
    element("thead", {}, element("tr", {}, ["Time, s", "Step", "Flow", "Packet", "Size", "Place"].map((title) => element("th", { scope: "col" }, title)))),
    element("tbody", {}, stepLog.map(({ cells, isBad }) => element("tr", { class: isBad ? "bad" : null }, cells.map((cell) => element("td", {}, cell)))))));
}

function addSteps({ steps, flows }) {
  if (!steps) return;
  const links = recorded.run.about.links;
  const rows = steps.map((step, i) => ({ cells: nameOfStep(step, links, flows[i]), isBad: BAD_STEPS.has(step.step) })).reverse();
  stepLog = [...rows, ...stepLog].slice(0, MAX_STEPS);
  drawSteps();
}

function onProgress({ progress, points, seconds, stepped }) {
  const { run } = recorded;
  run.series = readPoints(run.about.series, points);
  run.now = progress.now;
  find("#progress").value = progress.now / run.about.duration_s;
  showStatus(`${formatDigits(Number(progress.now.toPrecision(4)))} s of ${formatDigits(run.about.duration_s)} s simulated; ${progress.events.toLocaleString("en")} events in ${seconds.toFixed(1)} s`);
  if (stepped) {
    addSteps(progress);
    setRunState("paused");
  }
  drawLive();
}

// Makes a run to its end, or paused with the steps of packets. Resolves with its record, or with null if it ended early.
function makeRun(input, seed, { into = "run", stepped = false, paused = false, from = 0 } = {}) {
  endRun();
  showErrors([]);
  stepLog = [];
  drawSteps();
  return new Promise((resolve) => {
    const record = { about: null, series: [], results: null, seconds: 0, now: 0, input, seed, stepped };
    const onEnd = (error) => {
      if (running !== laboratory) return resolve(null);
      running = null;
      setRunState("none");
      showErrors(error.errors ?? [{ severity: "error", text: error.message }]);
      showStatus(record.now ? `Ended at ${formatDigits(Number(record.now.toPrecision(4)))} s.` : "");
      resolve(null);
    };
    const onMessage = (message) => {
      if (running !== laboratory) return;
      if (message.type === "started") {
        record.about = message.about;
        recorded.run = record;
        setDuration(message.about.duration_s, message.about.warmup_s);
        find("#empty").hidden = true;
      } else if (message.type === "progress") onProgress(message);
      else if (message.type === "finished") {
        Object.assign(record, { results: message.results, seconds: message.seconds });
        recorded[into] = record;
        setRunState("none");
        showStatus(`Finished in ${message.seconds.toFixed(2)} s.`);
        resolve(record);
      }
    };
    const laboratory = new Laboratory(state.controller, onMessage, onEnd);
    running = laboratory;
    setRunState(paused ? "paused" : "running");
    find("#progress").value = 0;
    find("#progress").hidden = false;
    showStatus("Starting ...");
    laboratory.post({ type: "run", input, seed, stepped, paused, from });
  });
}
