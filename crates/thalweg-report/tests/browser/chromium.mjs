// A headless Chromium, driven through its DevTools protocol over a pipe; nothing but Node's own modules is needed.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

// How long one answer may take on a busy machine.
const TIMEOUT_MS = 60_000;

export class Browser {
  #process;
  #profile;
  #waiting = new Map();
  #listeners = [];
  #number = 0;

  constructor(program) {
    this.#profile = mkdtempSync(join(tmpdir(), "thalweg-browser-"));
    const options = ["--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
      "--no-first-run", "--disable-background-networking", "--hide-scrollbars", `--user-data-dir=${this.#profile}`];
    this.#process = spawn(program, options, { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
    let text = "";
    this.#process.stdio[4].setEncoding("utf8").on("data", (part) => {
      text += part;
      // Messages end with a zero byte.
      const messages = text.split("\0");
      text = messages.pop();
      messages.forEach((message) => this.#receive(JSON.parse(message)));
    });
    this.#process.on("exit", () => this.#waiting.forEach(({ reject }) => reject(new Error("Chromium has ended"))));
  }

  #receive(message) {
    const waiting = this.#waiting.get(message.id);
    if (!waiting) {
      this.#listeners.forEach((listener) => listener(message));
      return;
    }
    this.#waiting.delete(message.id);
    clearTimeout(waiting.timer);
    if (message.error) waiting.reject(new Error(`${waiting.method}: ${message.error.message}`));
    else waiting.resolve(message.result);
  }

  send(method, params = {}, sessionId = undefined) {
    const id = ++this.#number;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`${method} took more than ${TIMEOUT_MS / 1000} s`)), TIMEOUT_MS);
      this.#waiting.set(id, { resolve, reject, timer, method });
      this.#process.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    });
  }

  onEvent(listener) {
    this.#listeners.push(listener);
  }

  async page() {
    const { targetId } = await this.send("Target.createTarget", { url: "about:blank" });
    const { sessionId } = await this.send("Target.attachToTarget", { targetId, flatten: true });
    const page = new Page(this, sessionId);
    await page.start();
    return page;
  }

  async close() {
    const ended = new Promise((resolve) => this.#process.on("exit", resolve));
    await this.send("Browser.close").catch(() => this.#process.kill());
    await ended;
    rmSync(this.#profile, { recursive: true, force: true, maxRetries: 5 });
  }
}

export class Page {
  // Errors of the page, and the URLs that it requested.
  problems = [];
  requests = [];

  constructor(browser, session) {
    this.browser = browser;
    this.session = session;
  }

  send(method, params) {
    return this.browser.send(method, params, this.session);
  }

  async start() {
    this.browser.onEvent(({ method, params, sessionId }) => {
      if (sessionId !== this.session) return;
      if (method === "Runtime.exceptionThrown") this.problems.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
      if (method === "Runtime.consoleAPICalled" && ["error", "warning"].includes(params.type)) this.problems.push(params.args.map((arg) => arg.value).join(" "));
      if (method === "Log.entryAdded" && params.entry.level === "error") this.problems.push(params.entry.text);
      if (method === "Network.requestWillBeSent") this.requests.push(params.request.url);
    });
    // Pages have focus even if no window has it.
    await this.send("Emulation.setFocusEmulationEnabled", { enabled: true });
    for (const domain of ["Page", "Runtime", "Log", "Network"]) await this.send(`${domain}.enable`);
  }

  // Shows the page in a screen of this size; `scheme` is "light" or "dark". Gives the milliseconds until it was ready.
  async open(url, width, height, scheme) {
    await this.send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: width < 600 });
    await this.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: scheme }] });
    await this.send("Page.navigate", { url });
    for (let tries = 0; tries < 400; tries++) {
      const ready = await this.run("document.readyState === 'complete' && (!document.querySelector('#data') || !!document.documentElement.dataset.ready)").catch(() => false);
      if (ready) return this.run("Math.round(performance.timing.domContentLoadedEventEnd - performance.timing.navigationStart)");
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error(`the page was not ready: ${this.problems.join("; ")}`);
  }

  // The value of an expression in the page.
  async run(expression) {
    const { result, exceptionDetails } = await this.send("Runtime.evaluate", { expression, returnByValue: true, awaitPromise: true });
    if (exceptionDetails) throw new Error(`${expression}: ${exceptionDetails.exception?.description ?? exceptionDetails.text}`);
    return result.value;
  }

  async mouse(type, x, y, clickCount = 1) {
    await this.send("Input.dispatchMouseEvent", { type, x, y, button: "left", buttons: type === "mouseReleased" ? 0 : 1, clickCount });
  }

  async key(key, modifiers = 0) {
    const text = key.length === 1 ? key : undefined;
    await this.send("Input.dispatchKeyEvent", { type: "keyDown", key, text, modifiers });
    await this.send("Input.dispatchKeyEvent", { type: "keyUp", key, modifiers });
  }

  // Errors and requests are noted as they come.
  async collect() {}

  // Gives files to an input element.
  async choose(selector, paths) {
    const { result } = await this.send("Runtime.evaluate", { expression: `document.querySelector(${JSON.stringify(selector)})` });
    await this.send("DOM.setFileInputFiles", { files: paths, objectId: result.objectId });
  }

  // A picture of what the screen shows, or of the whole page; small and not quite exact where the name ends in .webp.
  async picture(path, whole = false) {
    const format = path.endsWith(".webp") ? { format: "webp", quality: 60 } : { format: "png" };
    const { data } = await this.send("Page.captureScreenshot", { ...format, captureBeyondViewport: whole });
    writeFileSync(path, Buffer.from(data, "base64"));
  }
}
