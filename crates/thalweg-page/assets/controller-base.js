// Controllers of one's own: their base class, and the functions that the engine calls. Part of the worker.

// Base class, with the names of the Python package.
class Controller {
  // True to call `on_ack` at each acknowledgement, not once a round trip.
  static per_packet = false;
  // "classic" to have packets marked as losses are reported, "l4s" for marks in samples only.
  static ecn = null;

  // Congestion window in segments, from 1 to 2^30.
  window = 10;
  // Pacing rate of the payload in bit/s; null sends as soon as the window allows.
  pacing_rate = null;
  // The flow's own random numbers, seeded from the run's seed: `this.rng.random()`.
  rng = new Random(Controller.seed);

  on_ack() {
    throw new Error("a controller needs a method on_ack(sample)");
  }

  on_loss() {
    throw new Error("a controller needs a method on_loss(sample)");
  }

  // A loss was spurious; `window` is that before it.
  on_undo(window) {
    this.window = Math.max(this.window, window);
  }
}

// Random numbers of a flow (SplitMix32).
class Random {
  #state;

  constructor(seed) {
    this.#state = seed | 0;
  }

  // Returns a number from 0 to below 1.
  random() {
    this.#state = (this.#state + 0x9e3779b9) | 0;
    let mixed = this.#state ^ (this.#state >>> 16);
    mixed = Math.imul(mixed, 0x21f0aaad);
    mixed ^= mixed >>> 15;
    mixed = Math.imul(mixed, 0x735a2d97);
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 4294967296;
  }
}

const KINDS = ["ack", "detected", "timeout", "mark"];
const ECN = [null, "classic", "l4s"];
const EVENTS = ["on_ack", "on_loss", "on_undo"];
// Values of a sample in the engine's order.
const SAMPLE = ["kind", "repeated", "now", "interval", "sent", "acked", "acked_bytes", "lost", "lost_bytes", "marks", "rtt",
  "smoothed_rtt", "min_rtt", "delivery_rate", "in_flight", "segment", "app_limited", "recovering"];
const FLAGS = new Set(["repeated", "app_limited", "recovering"]);
const LINE_IN_STACK = /blob:[^\s)]*:(\d+):\d+/;

// The class, its instances, and the message of its last exception.
const controllers = { Class: null, instances: [], error: "" };

function sampleOf(numbers) {
  const sample = {};
  SAMPLE.forEach((name, i) => {
    const value = numbers[i];
    if (name === "kind") sample[name] = KINDS[value];
    else if (FLAGS.has(name)) sample[name] = value !== 0;
    else sample[name] = Number.isNaN(value) ? null : value;
  });
  return Object.freeze(sample);
}

// Error of the page's own about a controller, which has no line.
class ControllerError extends Error {}

// Returns the message of an exception, with its line in the controller's text if the browser knows it.
function messageOf(error) {
  try {
    if (error instanceof ControllerError) return error.message;
    const line = LINE_IN_STACK.exec(error?.stack ?? "");
    return `${error?.name ?? "Error"}: ${error?.message ?? error}${line ? ` (line ${line[1]})` : ""}`;
  } catch {
    // Anything can be thrown, also what throws when it is read.
    return "Error: the controller threw a value that is not an Error";
  }
}

// Functions of workers that controllers do not have: messages to the page are those of the engine.
const WITHHELD = ["postMessage", "close", "importScripts", "BroadcastChannel", "Worker", "dispatchEvent"];

function withholdGlobals() {
  for (const name of WITHHELD) {
    for (let holder = self; holder; holder = Object.getPrototypeOf(holder)) delete holder[name];
  }
}

function checkInstance(instance) {
  const { window, pacing_rate: rate } = instance;
  if (typeof window !== "number" || Number.isNaN(window)) throw new TypeError(`window must be a number of segments, and not ${String(window)}`);
  if (rate !== null && (typeof rate !== "number" || Number.isNaN(rate))) throw new TypeError(`pacing_rate must be a number of bit/s or null, and not ${String(rate)}`);
  return [window, rate ?? NaN];
}

// Loads the text of a controller: the class in it that extends `Controller`.
function loadController(text) {
  // Of the worker's own making: from a file, a page's URL is of another origin to its worker.
  const url = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
  const load = importScripts.bind(self);
  self.Controller = Controller;
  withholdGlobals();
  load(url);
  URL.revokeObjectURL(url);
  const Class = self.controllerClass;
  if (typeof Class !== "function" || !(Class.prototype instanceof Controller)) {
    throw new ControllerError("the controller must be `class Mine extends Controller { ... }`");
  }
  if (!ECN.includes(Class.ecn)) throw new ControllerError("ecn must be null, \"classic\" or \"l4s\"");
  controllers.Class = Class;
}

// Returns the functions that the engine imports; `memory` returns its memory.
function controllerImports(memory) {
  const numbersAt = (place, length) => new Float64Array(memory().buffer, place, length);
  const guarded = (act, failed) => {
    try {
      return act();
    } catch (error) {
      controllers.error = messageOf(error);
      return failed;
    }
  };
  return {
    controller_ecn: () => ECN.indexOf(controllers.Class.ecn),
    controller_make: (seed, place) => guarded(() => {
      Controller.seed = seed;
      const instance = new controllers.Class();
      numbersAt(place, 2).set(checkInstance(instance));
      controllers.instances.push(instance);
      return 2 * (controllers.instances.length - 1) + (controllers.Class.per_packet ? 1 : 0);
    }, -1),
    controller_call: (id, event, place) => guarded(() => {
      const instance = controllers.instances[id];
      const numbers = numbersAt(place, SAMPLE.length);
      const name = EVENTS[event];
      instance[name](name === "on_undo" ? numbers[0] : sampleOf(numbers));
      // A call may have moved the engine's memory only if it called the engine, which it cannot.
      numbers.set(checkInstance(instance));
      return 0;
    }, 1),
    controller_error: (place, length) => {
      const bytes = new TextEncoder().encode(controllers.error).subarray(0, length);
      new Uint8Array(memory().buffer, place, length).set(bytes);
      return bytes.length;
    },
  };
}
