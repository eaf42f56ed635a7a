// A headless Firefox, driven through Marionette over a socket; nothing but Node's own modules is needed. Pages have the functions of
// those of chromium.mjs that the tests of the laboratory page use.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

// How long one answer, or the start, may take on a busy machine.
const TIMEOUT_MS = 90_000;
// Firefox makes no window narrower than this.
const MIN_WINDOW_WIDTH = 500;
// WebDriver's codes of keys that are not characters.
const KEYS = { Tab: "\uE004", Enter: "\uE007", ArrowLeft: "\uE012", ArrowUp: "\uE013", ArrowRight: "\uE014", ArrowDown: "\uE015", Shift: "\uE008", End: "\uE010", Home: "\uE011" };

const later = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// Returns a port that nothing listens on.
function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

export class Browser {
  #process;
  #profile = mkdtempSync(join(tmpdir(), "thalweg-firefox-"));
  #socket = null;
  #waiting = new Map();
  #number = 0;
  #ended = null;

  constructor(program) {
    this.program = program;
  }

  async #start() {
    const port = await freePort();
    // Nothing is asked of the network: no updates, no first page, no measurements.
    const preferences = {
      "marionette.port": port, "browser.shell.checkDefaultBrowser": false, "browser.startup.page": 0, "datareporting.policy.dataSubmissionEnabled": false,
      "toolkit.telemetry.enabled": false, "app.update.enabled": false, "extensions.update.enabled": false, "app.normandy.enabled": false,
      "browser.aboutwelcome.enabled": false, "network.captive-portal-service.enabled": false, "network.connectivity-service.enabled": false,
      "services.settings.server": "data:,", "dom.disable_beforeunload": true,
    };
    writeFileSync(join(this.#profile, "user.js"), Object.entries(preferences).map(([name, value]) => `user_pref(${JSON.stringify(name)}, ${JSON.stringify(value)});\n`).join(""));
    this.#process = spawn(this.program, ["--headless", "--marionette", "--remote-allow-system-access", "--no-remote", "--profile", this.#profile], { stdio: "ignore", env: { ...process.env, HOME: this.#profile } });
    this.#ended = new Promise((resolve) => this.#process.on("exit", resolve));
    const end = Date.now() + TIMEOUT_MS;
    for (;;) {
      const isOpen = await new Promise((resolve) => {
        const socket = connect(port, "127.0.0.1");
        socket.on("connect", () => {
          this.#socket = socket;
          resolve(true);
        });
        socket.on("error", () => resolve(false));
      });
      if (isOpen) break;
      if (this.#process.exitCode !== null || Date.now() > end) throw new Error("Firefox does not start");
      await later(200);
    }
    let held = Buffer.alloc(0);
    this.#socket.on("data", (part) => {
      held = Buffer.concat([held, part]);
      // Messages have their length in front: `12:[1,1,null,{}]`.
      for (;;) {
        const colon = held.indexOf(":");
        if (colon < 0) return;
        const length = Number(held.toString("latin1", 0, colon));
        if (held.length < colon + 1 + length) return;
        const message = JSON.parse(held.toString("utf8", colon + 1, colon + 1 + length));
        held = held.subarray(colon + 1 + length);
        if (Array.isArray(message)) this.#receive(message);
      }
    });
    await this.send("WebDriver:NewSession", { capabilities: { alwaysMatch: { acceptInsecureCerts: false, pageLoadStrategy: "normal" } } });
    await this.send("WebDriver:SetTimeouts", { script: TIMEOUT_MS, pageLoad: TIMEOUT_MS });
  }

  #receive([, id, error, result]) {
    const waiting = this.#waiting.get(id);
    if (!waiting) return;
    this.#waiting.delete(id);
    clearTimeout(waiting.timer);
    if (error) waiting.reject(new Error(`${waiting.name}: ${error.message}`));
    else waiting.resolve(result);
  }

  send(name, parameters = {}) {
    const id = ++this.#number;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`${name} took more than ${TIMEOUT_MS / 1000} s`)), TIMEOUT_MS);
      this.#waiting.set(id, { resolve, reject, timer, name });
      const text = JSON.stringify([0, id, name, parameters]);
      this.#socket.write(`${Buffer.byteLength(text)}:${text}`);
    });
  }

  async page() {
    await this.#start();
    return new Page(this);
  }

  async close() {
    await this.send("Marionette:Quit", { flags: ["eForceQuit"] }).catch(() => this.#process.kill());
    await Promise.race([this.#ended, later(10_000).then(() => this.#process.kill("SIGKILL"))]);
    rmSync(this.#profile, { recursive: true, force: true, maxRetries: 5 });
  }
}

class Page {
  // Errors of the page, and what it requested, up to the last call of `collect`.
  problems = [];
  requests = [];

  constructor(browser) {
    this.browser = browser;
  }

  // Runs a function's body in the browser itself.
  async #inBrowser(body) {
    await this.browser.send("Marionette:SetContext", { value: "chrome" });
    try {
      return (await this.browser.send("WebDriver:ExecuteScript", { script: body, args: [] })).value;
    } finally {
      await this.browser.send("Marionette:SetContext", { value: "content" });
    }
  }

  // Notes the errors that the console has of files and pages made here, and what the page requested.
  async collect() {
    const messages = await this.#inBrowser(`
      const all = Services.console.getMessageArray();
      Services.console.reset();
      return all.filter((one) => one instanceof Ci.nsIScriptError && !(one.flags & 1) && /^(file|blob|about:srcdoc)/.test(one.sourceName)).map((one) => one.errorMessage);`);
    this.problems.push(...messages);
    this.requests.push(...await this.run("performance.getEntriesByType('resource').map((of) => of.name)"));
  }

  // The commands of Chromium's protocol that the tests give.
  async send(method, parameters) {
    if (method === "Page.navigate") return this.browser.send("WebDriver:Navigate", { url: parameters.url });
    if (method === "Input.dispatchKeyEvent") {
      const value = KEYS[parameters.key] ?? parameters.key;
      return this.#actions({ type: "key", id: "keys", actions: [{ type: parameters.type, value }] });
    }
    throw new Error(`the tests do not use ${method} in Firefox`);
  }

  #actions(...actions) {
    return this.browser.send("WebDriver:PerformActions", { actions });
  }

  async open(url, width, height, scheme) {
    await this.#inBrowser(`Services.prefs.setIntPref("layout.css.prefers-color-scheme.content-override", ${scheme === "dark" ? 0 : 1}); Services.console.reset();`);
    await this.browser.send("WebDriver:SetWindowRect", { width: Math.max(width, MIN_WINDOW_WIDTH), height });
    // The page itself can be narrower than the window.
    await this.#inBrowser(`Object.assign(window.gBrowser.selectedBrowser.style, ${JSON.stringify(width < MIN_WINDOW_WIDTH ? { flex: "none", width: `${width}px` } : { flex: "", width: "" })});`);
    await this.browser.send("WebDriver:Navigate", { url });
  }

  // The value of an expression in the page; statements have none. The text is part of the script, since the policy of a page forbids eval.
  async run(expression) {
    const script = (inner) => `const done = arguments[arguments.length - 1];
      (async () => ${inner})().then((value) => done({ value }), (error) => done({ error: String(error) }));`;
    const run = (inner) => this.browser.send("WebDriver:ExecuteAsyncScript", { script: script(inner), args: [], sandbox: null });
    const { value } = await run(`(${expression})`).catch((error) => {
      if (!/SyntaxError/.test(error.message)) throw error;
      return run(`{ ${expression}; }`);
    });
    if (value?.error) throw new Error(`${expression}: ${value.error}`);
    return value?.value;
  }

  async mouse(type, x, y) {
    const actions = type === "mousePressed"
      ? [{ type: "pointerMove", x: Math.round(x), y: Math.round(y), duration: 0 }, { type: "pointerDown", button: 0 }]
      : [{ type: "pointerUp", button: 0 }];
    await this.#actions({ type: "pointer", id: "mouse", parameters: { pointerType: "mouse" }, actions });
  }

  async key(key) {
    await this.send("Input.dispatchKeyEvent", { type: "keyDown", key });
    await this.send("Input.dispatchKeyEvent", { type: "keyUp", key });
  }

  // Gives files to an input element.
  async choose(selector, paths) {
    const { value } = await this.browser.send("WebDriver:FindElement", { using: "css selector", value: selector });
    await this.browser.send("WebDriver:ElementSendKeys", { id: Object.values(value)[0], text: paths.join("\n") });
  }

  async picture(path, whole = false) {
    const { value } = await this.browser.send("WebDriver:TakeScreenshot", { full: whole, hash: false });
    writeFileSync(path, Buffer.from(value, "base64"));
  }
}
