// The worker: loads the engine, answers requests, and advances a run in slices, between which it receives messages.

// Length of a slice in milliseconds, and the interval between progress reports.
const SLICE_MS = 20;
const REPORT_MS = 80;
// Maximum number of events in a call for a step.
const STEP_EVENTS = 2_000_000;

// Kept before a controller is loaded, which has no messages of its own.
const post = self.postMessage.bind(self);
let engine = null;
// The state of the run: "none", "running" or "paused".
let state = "none";
let events = 1000;
let reported = 0;
let started = 0;

// Yields to messages between slices, without the delay of timers.
const channel = new MessageChannel();
channel.port1.onmessage = () => runSlice();

function postFailure(id, error) {
  state = "none";
  const errors = error.errors ?? [{ severity: "error", message: error.message, text: `error: ${error.message}\n` }];
  post({ type: "failed", id, errors, isBroken: Boolean(error.isBroken) });
}

function postProgress(progress, extra = {}) {
  reported = performance.now();
  const points = engine.points();
  post({ type: "progress", progress, points, seconds: (performance.now() - started) / 1000, ...extra }, [points.buffer]);
}

function finishRun(progress) {
  state = "none";
  if (progress?.status === "broken") {
    postProgress(progress);
    const error = { severity: "error", message: progress.error, text: `error: ${progress.error}\n` };
    post({ type: "failed", errors: [error], isBroken: false });
    return;
  }
  if (progress) postProgress(progress);
  const seconds = (performance.now() - started) / 1000;
  post({ type: "finished", results: engine.ask({ request: "finish" }), seconds });
}

function runSlice() {
  if (state !== "running") return;
  try {
    const began = performance.now();
    let progress;
    do {
      progress = engine.ask({ request: "advance", events });
    } while (progress.status === "running" && performance.now() - began < SLICE_MS / 2);
    const took = performance.now() - began;
    if (took > 2 * SLICE_MS) events = Math.max(100, Math.round(events / 2));
    else if (took < SLICE_MS) events = Math.min(1_000_000, events * 2);
    if (progress.status !== "running") {
      finishRun(progress);
      return;
    }
    if (performance.now() - reported > REPORT_MS) postProgress(progress);
    channel.port2.postMessage(0);
  } catch (error) {
    postFailure(undefined, error);
  }
}

// Advances a paused run by a packet's step, or by a time in seconds.
function stepPausedRun({ by }) {
  try {
    const before = engine.ask({ request: "advance", events: 0 });
    const request = by === "packet"
      ? { request: "step", events: STEP_EVENTS }
      : { request: "until", time: before.now + by, events: STEP_EVENTS };
    const progress = engine.ask(request);
    if (progress.status === "running") postProgress(progress, { stepped: true });
    else finishRun(progress);
  } catch (error) {
    postFailure(undefined, error);
  }
}

const HANDLERS = {
  load({ module, controller }) {
    if (controller) loadController(controller);
    engine = new Engine(module, Boolean(controller));
    post({ type: "loaded" });
  },
  ask({ id, request }) {
    post({ type: "answer", id, answer: engine.ask(request) });
  },
  view({ id, files }) {
    const read = filesReader(files, (read) => post({ type: "reading", read }));
    post({ type: "answer", id, answer: { ...engine.traces(files.map((file) => file.name), read), memory: engine.memory } });
  },
  // Starts a run, from a time on at which a run that did not record steps was.
  run({ input, seed, stepped, paused, from = 0 }) {
    const about = engine.ask({ request: "start", input, seed, stepped });
    started = performance.now();
    reported = started;
    post({ type: "started", about });
    let progress = { status: "running", now: 0 };
    while (from > 0 && progress.status === "running" && progress.now < from) {
      progress = engine.ask({ request: "until", time: from, events: STEP_EVENTS });
    }
    state = paused ? "paused" : "running";
    if (paused) postProgress({ ...engine.ask({ request: "advance", events: 0 }), steps: undefined }, { stepped: true });
    else runSlice();
  },
  pause() {
    if (state !== "running") return;
    state = "paused";
    postProgress(engine.ask({ request: "advance", events: 0 }), { stepped: true });
  },
  go() {
    if (state !== "paused") return;
    state = "running";
    runSlice();
  },
  step(message) {
    if (state === "paused") stepPausedRun(message);
  },
  stop() {
    if (state !== "none") finishRun(null);
  },
};

addEventListener("message", ({ data }) => {
  try {
    HANDLERS[data.type](data);
  } catch (error) {
    if (data.type === "load" && controllers.Class === null && data.controller) {
      const message = `the controller does not load: ${messageOf(error)}`;
      postFailure(data.id, Object.assign(new Error(message), { isController: true }));
    } else {
      postFailure(data.id, error);
    }
  }
});
