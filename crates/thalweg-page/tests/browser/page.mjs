// Opens the laboratory page in a real browser from its file and uses it as a reader would.
//
//     node page.mjs THALWEG PAGE PICTURES [firefox]      the program, the page, and the folder for screenshots
//
// Needs Chromium (CHROMIUM names the program, `chromium` otherwise), or Firefox (FIREFOX, or else `firefox-esr` or `firefox`; without it
// nothing is checked). Exits with code 1 if a check fails.

import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { Browser as Chromium } from "../../../thalweg-report/tests/browser/chromium.mjs";
import { Browser as Firefox } from "../../../thalweg-report/tests/browser/firefox.mjs";
import { axe } from "./axe.mjs";
import { steps } from "./steps.mjs";
import { traces } from "./traces.mjs";

const [thalweg, file, pictures] = process.argv.slice(2, 5).map((path) => resolve(path));
const isFirefox = process.argv[5] === "firefox";
const isThere = (program) => spawnSync(program, ["--version"], { stdio: "ignore" }).status === 0;
const firefox = isFirefox ? [process.env.FIREFOX, "firefox-esr", "firefox"].find((program) => program && isThere(program)) : null;
if (isFirefox && !firefox) {
  console.log("Firefox is missing (Debian package firefox-esr): the laboratory page is not opened in it");
  process.exit(0);
}
mkdirSync(pictures, { recursive: true });
const url = pathToFileURL(file).href;
let failed = 0;

function check(what, holds, seen = "") {
  if (!holds) failed++;
  console.log(`${holds ? "ok    " : "FAILED"} ${what}${holds || seen === "" ? "" : `: ${JSON.stringify(seen)}`}`);
}

// The results that the command prints.
function ofCommand(...words) {
  const text = execFileSync(thalweg, ["run", ...words, "--json", "--quiet"], { stdio: ["ignore", "pipe", "ignore"], maxBuffer: 1 << 28 });
  return JSON.parse(text);
}

check("at most 4 MB", statSync(file).size <= 4e6, statSync(file).size);
const browser = isFirefox ? new Firefox(firefox) : new Chromium(process.env.CHROMIUM ?? "chromium");
const page = await browser.page();
const { text, wait, click, open, choose, ran, slide } = steps(page, url);

// Opens from its file, without a request or an error.
await open();
console.log(`       ready after ${await page.run("Math.round(performance.now())")} ms`);
check("the engine starts", await page.run("document.documentElement.dataset.ready === 'true'"), page.problems);
check("the built-in scenarios are offered", (await page.run("document.querySelectorAll('#scenario option').length")) > 20);
await page.picture(join(pictures, "start.png"));

// Runs as the command does.
// The page notes its own progress, since a run may end before it is asked from here.
await open("#v=1&run=dumbbell&set=duration%3D200+s");
await page.run(`(() => {
  window.drawn = new Set();
  const note = () => document.querySelector('#panels canvas') && window.drawn.add(Number(document.querySelector('#progress').value));
  new MutationObserver(note).observe(document.body, { attributes: true, childList: true, subtree: true });
})()`);
await click("#go");
await ran();
const drawn = await page.run("[...window.drawn]");
check("plots grow while the run goes on", drawn.some((part) => part > 0 && part < 1), drawn);
check("four plots", (await page.run("document.querySelectorAll('.panel canvas').length")) >= 4);
await page.picture(join(pictures, "run.png"));
await page.picture(join(pictures, "run-whole.png"), true);
for (const [scenario, sets, seed] of [
  ["two-flows", [], null],
  ["dumbbell", ["duration=20 s"], 7],
  ["parking-lot", [], null],
  ["cellular-trace", [], null],
  ["l4s", ["link.access.rate=60 Mbit/s"], null],
  ["soft-acknowledgement", [], null],
  ["video-call", [], 3],
  ["recovery", [], null],
  ["slow-chain-two-way", [], null],
  ["incast", [], null],
]) {
  await open(`#${new URLSearchParams([["v", "1"], ["run", scenario], ...sets.map((set) => ["set", set]), ...(seed === null ? [] : [["seed", String(seed)]])])}`);
  await click("#go");
  await ran();
  const expected = ofCommand(scenario, ...sets.flatMap((set) => ["--set", set]), ...(seed === null ? [] : ["--seed", String(seed)]));
  const found = await text("#fingerprint");
  check(`${scenario} ${sets} ${seed ?? ""}: the fingerprint is the command's`, found === expected.runs[0].fingerprint, [found, expected.runs[0].fingerprint]);
  await page.collect();
  check(`${scenario}: nothing is asked for`, page.requests.every((request) => request.startsWith(url) || request.startsWith("blob:")), page.requests);
  check(`${scenario}: no errors`, page.problems.length === 0, page.problems);
}

// The downloaded results are those of the command, byte for byte.
await open("#v=1&run=two-flows&set=duration%3D8+s");
await click("#go");
await ran();
const downloaded = async (id) => {
  await page.run("window.saved = null; HTMLAnchorElement.prototype.click = function () { window.saved = fetchBlob(this); }; globalThis.fetchBlob = (link) => ({ name: link.download, href: link.href })");
  await page.run("URL.createObjectURL = ((make) => (blob) => { window.savedText = blob.text(); return make(blob); })(URL.createObjectURL.bind(URL))");
  await click(id);
  await wait("window.saved !== null");
  return { name: await page.run("window.saved.name"), text: await page.run("window.savedText") };
};
const results = await downloaded("#get-results");
const expected = ofCommand("two-flows", "--set", "duration=8 s");
check("all results are the command's", JSON.stringify(JSON.parse(results.text)) === JSON.stringify(expected), results.text.slice(0, 300));
const report = await downloaded("#get-report");
writeFileSync(join(pictures, "downloaded-report.html"), report.text);
check("the report is a page", report.text.startsWith("<!doctype html>") && report.text.includes("uPlot"), report.text.slice(0, 100));
const scenario = await downloaded("#get-scenario");
const scenarioFile = join(pictures, "downloaded.toml");
writeFileSync(scenarioFile, scenario.text);
check("the downloaded scenario gives the same run", ofCommand(scenarioFile).runs[0].fingerprint === await text("#fingerprint"));

// Sliders change the run, the link and the command.
await open("#v=1&run=two-flows&set=duration%3D8+s");
await click("#go");
await ran();
const before = await text("#fingerprint");
check("the link's change is shown by its slider", (await text("output[for='c-0']")) === "8 s", await text("output[for='c-0']"));
await slide("Rate", 60);
await ran(before);
const rate = await page.run("[...document.querySelectorAll('label')].find((of) => of.textContent.startsWith('Rate')).querySelector('output').textContent");
check("a slider's change runs again", (await text("#fingerprint")) !== before);
const command = await page.run("(async () => { let copied; navigator.clipboard.writeText = async (text) => { copied = text; }; document.querySelector('#copy-command').click(); while (copied === undefined) await new Promise((later) => setTimeout(later, 10)); return copied; })()");
check("the command has the change", command.startsWith("thalweg run two-flows --set 'duration=8 s' --set 'link.left-right.rate=") || command.includes(rate), command);
const words = execFileSync("bash", ["-c", `printf '%s\\0' ${command}`]).toString().split("\0").slice(2, -1);
check("and gives the same run", ofCommand(...words).runs[0].fingerprint === await text("#fingerprint"), words);
const link = await page.run("location.hash");
await open(link);
await click("#go");
await ran();
check("the link gives the same run", ofCommand(...words).runs[0].fingerprint === await text("#fingerprint"), link);

// Two settings on one axis.
await click("#keep");
await choose("Scheme", "cubic");
await ran();
check("the kept run is drawn beside the new one", (await page.run("[...document.querySelectorAll('.panel .u-series')].some((of) => of.textContent.includes('A: ')) && [...document.querySelectorAll('.panel .u-series')].some((of) => of.textContent.includes('B: '))")));
check("both are in the tables", (await page.run("[...document.querySelectorAll('#results tbody th')].filter((of) => /^[AB]: /.test(of.textContent)).length")) >= 8);
await page.picture(join(pictures, "compared-whole.png"), true);
const both = await page.run("location.hash");
await open(both);
await click("#go");
await wait("document.documentElement.dataset.run === 'none' && document.querySelector('#fingerprint') && [...document.querySelectorAll('#results tbody th')].some((of) => of.textContent.startsWith('B: '))");
check("the link holds both settings", (await page.run("[...document.querySelectorAll('#results tbody th')].some((of) => of.textContent.startsWith('A: '))")));

// Packet by packet.
await open("#v=1&run=two-flows&set=duration%3D6+s");
await click("#step");
await wait("document.querySelectorAll('#steps tbody tr').length >= 1");
const firstSteps = await page.run("[...document.querySelectorAll('#steps tbody tr')].map((row) => row.textContent)");
for (let i = 0; i < 8; i++) {
  const rows = await page.run("document.querySelectorAll('#steps tbody tr').length");
  await click("#step");
  await wait(`document.querySelectorAll('#steps tbody tr').length > ${rows}`);
}
check("each step shows a packet", firstSteps.at(-1).includes("sent"), firstSteps);
await page.picture(join(pictures, "steps.png"));
await page.run("document.querySelector('#step-by').value = '0.01'");
const beforeStep = parseFloat(await text("#status"));
await click("#step");
await wait(`parseFloat(document.querySelector('#status').textContent) !== ${beforeStep}`);
const stepped = parseFloat(await text("#status")) - beforeStep;
check("a step by time ends at that time", stepped >= 0.01 && stepped < 0.012, [beforeStep, stepped]);
await click("#go");
await ran();
check("a stepped run gives the same results", (await text("#fingerprint")) === ofCommand("two-flows", "--set", "duration=6 s").runs[0].fingerprint);

// Pause and stop.
await open("#v=1&run=dumbbell&set=duration%3D2000+s");
await click("#go");
await wait("Number(document.querySelector('#progress').value) > 0");
await click("#go");
await wait("document.documentElement.dataset.run === 'paused'");
const paused = await text("#status");
await page.run("new Promise((later) => setTimeout(later, 300))");
check("a paused run stands still", (await text("#status")) === paused);
await click("#go");
await wait("document.documentElement.dataset.run === 'running'");
await click("#stop");
await ran();
check("a stopped run has partial results", (await text("#results")).includes("stopped before its end"));

// A controller of the reader's own.
await open();
await page.run("document.querySelector('#controller').open = true");
await click("#race");
await ran();
const flows = await page.run("[...document.querySelectorAll('#results table')][0].textContent");
check("the controller races CUBIC and BBR", ["mine", "cubic", "bbr"].every((name) => flows.includes(name)), flows);
check("it gets a share", Number(/mine([\d.]+) Mbit\/s/.exec(flows)?.[1]) > 1, flows);
await page.picture(join(pictures, "race-whole.png"), true);
const raced = await text("#fingerprint");
await click("#go");
await ran("");
check("the race is the same again", (await text("#fingerprint")) === raced);
const withController = async (body) => {
  await page.run(`(() => { const area = document.querySelector('#mine'); area.value = ${JSON.stringify(body)}; })()`);
  await click("#race");
  await wait("document.documentElement.dataset.run === 'none' && document.querySelector('#errors').textContent.length > 0");
  return text("#errors");
};
const endless = await withController("class Mine extends Controller {\n  on_ack(sample) { while (sample.now > 1) {} }\n  on_loss() {}\n}");
check("an endless loop ends with a message", endless.includes("did not return within 5 s"), endless);
const thrown = await withController("class Mine extends Controller {\n  on_ack(sample) {\n    this.window += sample.missing.value;\n  }\n  on_loss() {}\n}");
check("an exception has its line and time", thrown.includes("line 3") && /at [\d.]+ m?s/.test(thrown), thrown);
const invalid = await withController("class Mine extends Controller {\n  on_ack() { this.window = 'ten'; }\n  on_loss() {}\n}");
check("a window that is not a number is refused", invalid.includes("window must be a number"), invalid);
const broken = await withController("class Mine extends Controller {\n  on_ack( {\n}");
check("a syntax error is reported", broken.includes("SyntaxError"), broken);
const unreadable = await withController("class Mine extends Controller {\n  on_ack() { throw { get message() { throw 1; } }; }\n  on_loss() {}\n}");
check("an exception that cannot be read is reported", unreadable.includes("threw a value that is not an Error"), unreadable);
for (const call of ["postMessage({ type: 'finished', results: null })", "self.close()", "post({ type: 'loaded' })", "engine.ask({ request: 'finish' })", "new BroadcastChannel('x')"]) {
  const withheld = await withController(`class Mine extends Controller {\n  on_ack() { ${call}; }\n  on_loss() {}\n}`);
  check(`a controller cannot call ${call}`, withheld.includes("(line 2)") && /is not (a function|defined)/.test(withheld), withheld);
}
const none = await withController("let x = 1;");
check("a text without a controller is refused", none.includes("must be `class Mine extends Controller") && !none.includes("line"), none);
await page.collect();
check("bad controllers: no errors of the page", page.problems.length === 0, page.problems);
page.problems.length = 0;

// Bad input.
const pasted = async (scenarioText) => {
  await open();
  await page.run(`(() => { document.querySelector('#own').open = true; const area = document.querySelector('#text'); area.value = ${JSON.stringify(scenarioText)}; area.dispatchEvent(new Event('change')); })()`);
  await wait("document.querySelector('#errors').textContent.length > 0");
  return text("#errors");
};
const wrong = await pasted("duration = \"10 s\"\n[[link]]\nbetween = [\"a\", \"b\"]\nrate = 100\n");
check("a broken scenario has diagnostics with positions", wrong.includes("mine.toml:4:8") && wrong.includes("rate = 100"), wrong);
await page.picture(join(pictures, "diagnostics.png"));
await open("#v=1&run=dumbbell&set=flow.flows.count%3D10000000");
await wait("document.querySelector('#errors').textContent.length > 0");
check("ten million flows are refused with what fits", (await text("#errors")).includes("are available to a page in a browser"), await text("#errors"));
await click("#go");
await page.run("new Promise((later) => setTimeout(later, 500))");
check("and do not run", (await page.run("document.documentElement.dataset.run")) === "none" && (await page.run("document.querySelector('#fingerprint') === null")));
await open("#v=0&run=dumbbell");
check("an old link says so", (await text("#notice")).includes("version 0") && (await text("#notice")).includes("reads version 1"), await text("#notice"));
for (const bad of ["#v=1&text=%21%21", "#v=1&run=nothing", "#v=1&run=dumbbell&seed=-1", "#v=1&lesson=nothing", "#v=1&run=dumbbell&kept=AAAA", "#run=dumbbell"]) {
  await open(bad);
  check(`${bad}: a bad link is reported`, (await text("#notice")).length > 20 && page.problems.length === 0, [await text("#notice"), page.problems]);
}
await open(`#v=1&text=${encodeURIComponent(await page.run("(async () => { const bytes = new Uint8Array(await new Response(new Blob(['x'.repeat(3e6)]).stream().pipeThrough(new CompressionStream('deflate-raw'))).arrayBuffer()); return btoa(String.fromCharCode(...bytes)).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', ''); })()"))}`);
check("a text that unpacks to megabytes is refused", (await text("#notice")).includes("too long"), await text("#notice"));

// Lessons.
await open();
await click("#tab-lessons");
check("there are twelve lessons", (await page.run("document.querySelectorAll('.lesson-list li').length")) === 12);
await page.picture(join(pictures, "lessons.png"));
await click(".lesson-list li:first-child button");
await wait("document.querySelector('#lesson-title') !== null");
await click("#next-screen");
await click("#lessons button[data-run='short']");
await ran();
await page.picture(join(pictures, "lesson-whole.png"), true);
await click("#next-screen");
await click("#lessons button[data-run='long']");
await ran(await text("#fingerprint"));
await click("#next-screen");
const verdict = (number) => text(`.question:nth-of-type(${number}) .verdict`);
const answer = async (number, act) => {
  await page.run(`(() => { const form = document.querySelectorAll('.question')[${number - 1}]; ${act}; form.querySelector('.verdict')?.remove(); form.requestSubmit(); })()`);
  await wait(`document.querySelectorAll('.question')[${number - 1}].querySelector('.verdict') !== null`);
  return page.run(`document.querySelectorAll('.question')[${number - 1}].querySelector('.verdict').className + ': ' + document.querySelectorAll('.question')[${number - 1}].querySelector('.verdict').textContent`);
};
check("a wrong number is wrong", (await answer(1, "form.querySelector('input').value = '50'")).includes("wrong"), verdict);
check("the right number is right", (await answer(1, "form.querySelector('input').value = '31.1'")).includes("right"), await answer(1, ""));
check("a wrong choice is wrong", (await answer(2, "form.querySelectorAll('input')[0].checked = true")).includes("wrong"));
check("the right choice is right", (await answer(2, "form.querySelectorAll('input')[1].checked = true")).includes("right"));
await page.run("(() => { const more = document.querySelector('#more'); more.value = 'link.bottleneck.queue=22 pkt'; more.dispatchEvent(new Event('change')); })()");
await ran(await text("#fingerprint"));
const task = await answer(3, "");
check("a task is checked by the reader's own run", task.includes("right"), task);
await page.picture(join(pictures, "questions-whole.png"), true);
await open("#v=1&tab=lessons&lesson=bbr&screen=1");
check("a link leads to a lesson's screen", (await text("#lessons h3")) === "Startup and Drain", await text("#lessons h3"));
await page.collect();
check("lessons: no errors", page.problems.length === 0, page.problems);

// Traces.
await traces({ page, check, thalweg, pictures, ...steps(page, url) });

// By keyboard alone.
await open("#v=1&run=two-flows&set=duration%3D8+s");
const focusable = async () => page.run("document.activeElement.id || document.activeElement.tagName");
const seen = [];
for (let i = 0; i < 40; i++) {
  await page.send("Input.dispatchKeyEvent", { type: "keyDown", key: "Tab", code: "Tab", windowsVirtualKeyCode: 9 });
  await page.send("Input.dispatchKeyEvent", { type: "keyUp", key: "Tab", code: "Tab", windowsVirtualKeyCode: 9 });
  seen.push(await focusable());
  if (seen.at(-1) === "go") break;
}
check("Tab leads to the settings and to Run", seen.includes("scenario") && seen.includes("c-0") && seen.at(-1) === "go", seen);
await page.send("Input.dispatchKeyEvent", { type: "keyDown", key: "Enter", code: "Enter", windowsVirtualKeyCode: 13, text: "\r" });
await page.send("Input.dispatchKeyEvent", { type: "keyUp", key: "Enter", code: "Enter", windowsVirtualKeyCode: 13 });
await ran();
check("Enter runs", (await text("#fingerprint")).length === 16);
await page.run("document.querySelector('#panels').focus()");
const whole = await text("#range");
await page.key("+");
check("+ zooms the plots", (await text("#range")) !== whole);
await page.key("0");
check("0 shows the whole run", (await text("#range")) === whole);
await page.run("document.querySelector('#tab-play').focus()");
await page.send("Input.dispatchKeyEvent", { type: "keyDown", key: "ArrowRight", code: "ArrowRight", windowsVirtualKeyCode: 39 });
check("arrows change the part of the page", (await focusable()) === "tab-lessons" && (await page.run("!document.querySelector('#lessons').hidden")));
await page.key("End");
check("End leads to the last one", (await focusable()) === "tab-traces" && (await page.run("!document.querySelector('#traces').hidden")));

// Labels for screen readers: each control has a name.
await open();
const unnamed = await page.run(`[...document.querySelectorAll('button, input, select, textarea, progress')].filter((of) => !of.closest('[hidden]')).filter((of) =>
  !(of.getAttribute('aria-label') || of.getAttribute('aria-labelledby') || of.labels?.length || of.textContent.trim())).map((of) => of.outerHTML.slice(0, 80))`);
check("each control has a name", unnamed.length === 0, unnamed);

// Accessibility by axe-core, in both colours, with results and open settings, a lesson and its questions.
const axeScript = axe(join(dirname(pictures), "axe-core"));
if (axeScript === null) console.log("       axe-core is not there: accessibility is not checked (npm and its registry are needed once)");
for (const [name, hash, scheme] of axeScript === null ? [] : [
  ["play", "#v=1&run=two-flows&set=duration%3D8+s", "light"], ["play, dark", "#v=1&run=two-flows&set=duration%3D8+s", "dark"],
  ["lesson", "#v=1&tab=lessons&lesson=bbr&screen=1", "light"], ["questions, dark", "#v=1&tab=lessons&lesson=queues&screen=3", "dark"],
  ["lessons", "#v=1&tab=lessons", "light"], ["traces", "#v=1&tab=traces", "light"], ["traces, dark", "#v=1&tab=traces", "dark"], ["diagnostics", "#v=1&run=dumbbell&set=flow.flows.count%3Dmany", "light"],
]) {
  await open(hash, 1280, 900, scheme);
  if (name.startsWith("play") || name === "lesson") {
    await click("#go");
    await ran();
  }
  await page.run("document.querySelectorAll('details').forEach((of) => (of.open = true))");
  await page.run(`${axeScript}; true`);
  const { violations, passes } = await page.run("axe.run(document).then(({ violations, passes }) => ({ passes: passes.length, violations: violations.map((of) => [of.id, of.impact, of.nodes.slice(0, 3).map((node) => node.html.slice(0, 120)), of.nodes[0].failureSummary]) }))");
  check(`axe-core, ${name}: no violations of ${passes} rules that apply`, violations.length === 0 && passes > 15, violations);
}

// A phone, and dark colours.
for (const [screen, width, height, scheme] of [["phone", 390, 844, "light"], ["phone-dark", 390, 844, "dark"], ["dark", 1280, 800, "dark"]]) {
  for (const [name, hash] of [["play", "#v=1&run=two-flows&set=duration%3D8+s"], ["lesson", "#v=1&tab=lessons&lesson=queues&screen=3"]]) {
    await open(hash, width, height, scheme);
    await click("#go");
    await ran();
    check(`${screen}, ${name}: the screen is ${width} wide`, (await page.run("innerWidth")) === width, await page.run("innerWidth"));
    check(`${screen}, ${name}: no wider than the screen`, await page.run(`document.documentElement.scrollWidth <= ${width}`), await page.run("document.documentElement.scrollWidth"));
    await page.collect();
    check(`${screen}, ${name}: no errors`, page.problems.length === 0, page.problems);
    await page.picture(join(pictures, `${screen}-${name}-whole.png`), true);
  }
}

await browser.close();
console.log(failed ? `${failed} failed` : "all passed");
process.exit(failed ? 1 : 0);
