// Workers: one for checks, and one for each run, which can be ended at any time.

// The longest time without an answer: with a controller of the reader's own, which may loop for ever, and without one.
const CONTROLLER_LIMIT_MS = 5000;
const LIMIT_MS = 120_000;
const WATCH_MS = 500;

let workerUrl = null;
let engineModule = null;

// Unpacks and compiles the engine that the page holds.
async function loadEngine() {
  const holder = find("#engine");
  const bytes = Uint8Array.from(atob(holder.textContent), (char) => char.charCodeAt(0));
  holder.remove();
  const script = find("#worker");
  workerUrl = URL.createObjectURL(new Blob([script.textContent], { type: "text/javascript" }));
  script.remove();
  const wasm = await bytesThrough(new DecompressionStream("deflate-raw"), bytes);
  engineModule = await WebAssembly.compile(wasm);
}

// A worker with its engine. `onMessage` receives its messages but answers; `onEnd` the error that ended it.
class Laboratory {
  #worker;
  #error = new Error("the engine has ended");
  #waiting = new Map();
  #number = 0;
  #last = performance.now();
  // True until the engine is loaded, and while a run advances.
  #loads = true;
  #runs = false;
  #timer;
  #limit;
  #onMessage;
  #onEnd;

  constructor(controller, onMessage = () => {}, onEnd = () => {}) {
    this.#onMessage = onMessage;
    this.#onEnd = onEnd;
    this.#limit = controller === null ? LIMIT_MS : CONTROLLER_LIMIT_MS;
    this.#worker = new Worker(workerUrl);
    this.#worker.onmessage = ({ data }) => this.#receive(data);
    this.#worker.onerror = (event) => {
      event.preventDefault();
      this.end(`the worker has ended: ${event.message}`);
    };
    this.#timer = setInterval(() => this.#watch(), WATCH_MS);
    // The first line stays the first, so that lines in messages are those of the reader's text.
    const text = `self.controllerClass = (() => { "use strict"; ${controller}\n;return typeof Mine === "function" ? Mine : null; })();`;
    this.#send({ type: "load", module: engineModule, controller: controller === null ? null : text });
  }

  #send(message) {
    if (!this.#worker) return;
    if (!this.#isBusy) this.#last = performance.now();
    if (["run", "go", "step"].includes(message.type)) this.#runs = true;
    this.#worker.postMessage(message);
  }

  get #isBusy() {
    return this.#loads || this.#runs || this.#waiting.size > 0;
  }

  #watch() {
    if (!this.#isBusy || performance.now() - this.#last < this.#limit) return;
    const seconds = this.#limit / 1000;
    this.end(this.#limit === CONTROLLER_LIMIT_MS
      ? `the controller did not return within ${seconds} s, and its run was ended: does it loop for ever?`
      : `the engine did not answer within ${seconds} s, and the run was ended: choose a smaller scenario, or use the command`);
  }

  #receive(data) {
    this.#last = performance.now();
    const waiting = this.#waiting.get(data.id);
    if (data.type === "loaded") this.#loads = false;
    if (data.type === "finished" || data.stepped) this.#runs = false;
    if (data.type === "answer" && waiting) {
      this.#waiting.delete(data.id);
      waiting.resolve(data.answer);
      return;
    }
    if (data.type === "failed") {
      const error = Object.assign(new Error(data.errors[0].message), { errors: data.errors });
      if (waiting) {
        this.#waiting.delete(data.id);
        waiting.reject(error);
      }
      if (data.isBroken || !waiting) this.#close(error);
      return;
    }
    this.#onMessage(data);
  }

  // Returns the answer to a request.
  ask(request) {
    return this.#ask({ type: "ask", request });
  }

  // Returns the page of files.
  view(files) {
    return this.#ask({ type: "view", files });
  }

  #ask(message) {
    return new Promise((resolve, reject) => {
      if (!this.#worker) {
        reject(this.#error);
        return;
      }
      const id = ++this.#number;
      this.#waiting.set(id, { resolve, reject });
      this.#send({ ...message, id });
    });
  }

  // Sends a message of the run.
  post(message) {
    this.#send(message);
  }

  // Ends the worker, with an error for pending requests.
  end(message = null) {
    this.#close(message === null ? null : Object.assign(new Error(message), { errors: [{ severity: "error", message, text: `error: ${message}\n` }] }));
  }

  #close(error) {
    if (!this.#worker) return;
    clearInterval(this.#timer);
    this.#worker.terminate();
    this.#worker = null;
    this.#error = error ?? this.#error;
    this.#waiting.forEach(({ reject }) => reject(this.#error));
    this.#waiting.clear();
    if (error) this.#onEnd(error);
  }

  get isEnded() {
    return this.#worker === null;
  }
}
