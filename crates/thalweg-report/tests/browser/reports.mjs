// Opens reports in a real browser and uses them as a reader would.
//
//     node reports.mjs THALWEG PICTURES      the program, and the folder for screenshots
//
// Needs Chromium (CHROMIUM names the program, `chromium` otherwise). Exits with code 1 if a check fails.

import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { Browser } from "./chromium.mjs";

const [thalweg, pictures] = process.argv.slice(2).map((path) => resolve(path));
mkdirSync(pictures, { recursive: true });
let failed = 0;

function check(what, holds, seen = "") {
  if (!holds) failed++;
  console.log(`${holds ? "ok    " : "FAILED"} ${what}${holds || seen === "" ? "" : `: ${JSON.stringify(seen)}`}`);
}

function made(name, ...words) {
  const path = join(pictures, `${name}.html`);
  execFileSync(thalweg, [...words, "--quiet", `--report=${path}`], { stdio: ["ignore", "ignore", "inherit"] });
  check(`${name}: less than 5 MB`, statSync(path).size < 5e6, statSync(path).size);
  return pathToFileURL(path).href;
}

const reports = {
  run: made("run", "run", "two-flows"),
  replications: made("replications", "run", "dumbbell", "--reps", "3", "--set", "duration=20 s"),
  comparison: made("comparison", "compare", "dumbbell", "--schemes", "newreno,vegas,cubic,slow-start", "--reps", "5", "--set", "duration=30 s"),
  network: made("network", "run", "parking-lot"),
  transfers: made("transfers", "compare", "web", "--schemes", "newreno,cubic", "--reps", "3", "--set", "duration=20 s"),
  paper: made("paper", "paper", "liang91", "--quick", "--experiment", "table-5.7", "--experiment", "table-4.1"),
};

// Few packets, recorded by default; and a short interval of many.
const chain = made("chain", "run", "slow-chain");
const moment = made("moment", "run", "two-flows", "--replay", "10 s..10.1 s");

// About a million samples.
const million = made("million", "run", "dumbbell", "--set", "measure.interval=3 ms", "--set", "measure.points=100000");

const browser = new Browser(process.env.CHROMIUM ?? "chromium");
const page = await browser.page();

// What the middle of the plots' time axis is, and the middle of the first plot on the screen.
const shownRange = () => page.run("document.querySelector('#range').textContent");
const firstPlot = () => page.run(`(() => {
  const over = document.querySelector('.panel .u-over');
  over.scrollIntoView({ block: 'center' });
  const { left, top, width, height } = over.getBoundingClientRect();
  return { left, top, width, height };
})()`);
const firstColumn = (table, column) => page.run(`[...document.querySelectorAll('${table} tbody tr')].map((row) => Number(row.cells[${column}].dataset.value))`);
const ordered = (values, sign) => values.length > 1 && values.every((value, i) => i === 0 || sign * (value - values[i - 1]) >= 0);

// Each report on each screen: whole, without errors, without requests.
for (const [name, url] of Object.entries(reports)) {
  for (const [screen, width, height, scheme] of [["light", 1280, 800, "light"], ["dark", 1280, 800, "dark"], ["phone", 390, 844, "light"]]) {
    page.problems.length = 0;
    page.requests.length = 0;
    const ms = await page.open(url, width, height, scheme);
    console.log(`       ${name}, ${screen}: ready after ${ms} ms`);
    await page.picture(join(pictures, `${name}-${screen}.png`));
    await page.picture(join(pictures, `${name}-${screen}-whole.png`), true);
    check(`${name}, ${screen}: no errors`, page.problems.length === 0, page.problems);
    check(`${name}, ${screen}: asks for nothing but itself`, page.requests.every((request) => request === url), page.requests);
    check(`${name}, ${screen}: no wider than the screen`, await page.run(`document.documentElement.scrollWidth <= ${width}`), await page.run("document.documentElement.scrollWidth"));
    check(`${name}, ${screen}: the answer is on the first screen`, await page.run("document.querySelector('#answer .main').getBoundingClientRect().bottom < innerHeight"));
    if (name !== "paper") {
      const drawn = await page.run(`[...document.querySelectorAll('.panel canvas')].map((canvas) => {
        const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        return data.some((value) => value !== 0);
      })`);
      check(`${name}, ${screen}: at least four plots, all drawn`, drawn.length >= 4 && drawn.every((of) => of), drawn);
    }
  }
}

// On a desk: columns do not touch, and none is cut but where its table scrolls.
for (const [name, url] of Object.entries(reports)) {
  await page.open(url, 1400, 900, "light");
  const { touching, cut, tables } = await page.run(`(() => {
    const found = { touching: [], cut: [], tables: 0 };
    const inner = (cell) => {
      const range = document.createRange();
      range.selectNodeContents(cell);
      return range.getBoundingClientRect();
    };
    for (const table of document.querySelectorAll('table:not(.u-legend)')) {
      if (!table.checkVisibility()) continue;
      found.tables += 1;
      const box = table.parentNode;
      const scrolls = ['auto', 'scroll'].includes(getComputedStyle(box).overflowX);
      if (!scrolls && table.getBoundingClientRect().right > box.getBoundingClientRect().right + 1) found.cut.push(table.className);
      for (const row of [...table.rows].slice(0, 40)) {
        const cells = [...row.cells].filter((cell) => cell.textContent.trim());
        for (let i = 1; i < cells.length; i++) {
          if (inner(cells[i]).left - inner(cells[i - 1]).right < 6) found.touching.push(cells[i - 1].textContent + '|' + cells[i].textContent);
        }
      }
    }
    return found;
  })()`);
  check(`${name}, desk: tables are there, and columns do not touch`, tables > 0 && touching.length === 0, touching.slice(0, 4));
  check(`${name}, desk: no column is cut`, cut.length === 0, cut);
}

// Completion times are shown if transfers finish.
await page.open(reports.transfers, 1400, 900, "light");
const headings = await page.run("[...document.querySelectorAll('th')].map((of) => of.textContent.trim())");
check("completion times have columns", ["Time mean", "Completed"].some((of) => headings.some((heading) => heading.includes(of))), headings);
check("completion times come first in the answer", /complet/i.test(await page.run("document.querySelector('#answer').textContent")));

// Printed as browsers do by default, without backgrounds: what shows a share by its colour keeps it.
await page.open(reports.comparison, 1400, 900, "light");
await page.send("Emulation.setEmulatedMedia", { media: "print" });
const paint = await page.run(`[...document.querySelectorAll('.stack, .limit, .bar, .swatch, .sure')].map((of) => {
  const style = getComputedStyle(of);
  return [of.className.baseVal ?? of.className, style.printColorAdjust];
})`);
check("printed reports keep their bars", paint.some(([name]) => name.includes("limit")) && paint.every(([, adjust]) => adjust === "exact"), paint.filter(([, adjust]) => adjust !== "exact").slice(0, 4));
const printed = Buffer.from((await page.send("Page.printToPDF", { printBackground: false })).data, "base64");
writeFileSync(join(pictures, "printed.pdf"), printed);
check("a report can be printed", printed.subarray(0, 5).toString() === "%PDF-" && printed.length > 20_000, printed.length);
await page.send("Emulation.setEmulatedMedia", { media: "" });

// Zoom: by dragging, by keys, by buttons, and back.
await page.open(reports.run, 1280, 800, "light");
const whole = await shownRange();
check("the whole run is shown first", whole === "0 s to 30 s" || whole === "0 s to 30.00 s", whole);
const { left, top, width, height } = await firstPlot();
await page.mouse("mouseMoved", left + width * 0.25, top + height / 2, 0);
await page.mouse("mousePressed", left + width * 0.25, top + height / 2);
await page.mouse("mouseMoved", left + width * 0.5, top + height / 2);
await page.mouse("mouseReleased", left + width * 0.5, top + height / 2);
const ends = (text) => text.match(/[\d.]+(?= s)/g).map(Number);
const [from, to] = ends(await shownRange());
check("dragging zooms to what was marked", Math.abs(from - 7.5) < 0.3 && Math.abs(to - 15) < 0.3, [from, to]);
const scales = await page.run("plots.map(({ plot }) => [plot.scales.x.min, plot.scales.x.max])").catch(() => null);
check("plots are private to the page's scripts", scales === null);
await page.picture(join(pictures, "run-zoomed.png"));
await page.run("document.querySelector('#panels').focus()");
await page.key("+");
const [closerFrom, closerTo] = ends(await shownRange());
check("+ zooms in", Math.abs((closerTo - closerFrom) - (to - from) / 2) < 0.05, [closerFrom, closerTo]);
await page.key("ArrowRight", 8);
check("Shift and an arrow move on", ends(await shownRange())[0] > closerFrom);
await page.key("ArrowRight");
const readings = await page.run("[...document.querySelectorAll('.panel')].map((panel) => panel.querySelector('.u-legend .u-value').textContent)");
check("an arrow moves one cursor through all plots", readings.length >= 4 && readings.every((of) => of === readings[0] && / s$/.test(of)), readings);
await page.key("0");
check("0 shows the whole run", (await shownRange()) === whole);
await page.run("document.querySelector('[aria-label=\"Zoom in\"]').click()");
check("a button zooms", (await shownRange()) !== whole);

// The choice of lines.
const lineCount = "document.querySelector('.panel .u-legend').querySelectorAll('.u-series:not(.interval)').length";
const before = await page.run(lineCount);
await page.run("[...document.querySelectorAll('.chip')].find((chip) => chip.textContent === 'shy').click()");
check("a flow can be left out", (await page.run(lineCount)) === before - 1);

// Lines stand out while their button has the focus.
const drawnNow = () => page.run("document.querySelector('.panel canvas').toDataURL()");
const focusLegend = (focused) => page.run(`new Promise((done) => {
  const chip = [...document.querySelectorAll('.chip')].find((chip) => chip.textContent === 'bold');
  chip.${focused ? "focus" : "blur"}();
  requestAnimationFrame(() => setTimeout(done));
})`);
const alike = await drawnNow();
await page.run("[...document.querySelectorAll('.chip')].find((chip) => chip.textContent === 'shy').click()");
const both = await drawnNow();
await focusLegend(true);
check("a focused button has its lines stand out", (await drawnNow()) !== both);
await focusLegend(false);
check("and no longer when it is left", alike !== both && (await drawnNow()) === both);

// Sorting, by mouse and by keyboard.
await page.open(reports.comparison, 1280, 800, "light");
await page.run("document.querySelector('.scores thead th:nth-child(2) button').click()");
check("a number sorts from the largest", ordered(await firstColumn(".scores", 1), -1), await firstColumn(".scores", 1));
await page.run("document.querySelector('.scores thead th:nth-child(2) button').focus()");
await page.send("Input.dispatchKeyEvent", { type: "keyDown", key: "Enter", code: "Enter", windowsVirtualKeyCode: 13, text: "\r" });
await page.send("Input.dispatchKeyEvent", { type: "keyUp", key: "Enter", code: "Enter", windowsVirtualKeyCode: 13 });
check("and then the other way around", ordered(await firstColumn(".scores", 1), 1), await firstColumn(".scores", 1));
await page.run("document.querySelector('.flow-table thead th:nth-child(3) button').click()");
check("flows sort too", ordered(await firstColumn(".flow-table", 2), -1));
const firstFlow = () => page.run("document.querySelector('.flow-table tbody').textContent");
const ofFirst = await firstFlow();
await page.run("(() => { const select = document.querySelector('#run-scheme'); select.selectedIndex = 1; select.dispatchEvent(new Event('change')); })()");
check("another scheme's flows can be shown", (await firstFlow()) !== ofFirst);
const senders = await page.run("document.querySelector('#network .group').textContent");
check("the network names the scheme that ran", senders.includes("vegas"), senders);

// On a phone a small network fits, and names stay in sight beside wide tables.
await page.open(reports.comparison, 390, 844, "light");
const sides = await page.run("(() => { const body = document.querySelector('#network-body'); return [body.scrollWidth, body.clientWidth]; })()");
check("the network fits a phone", sides[0] <= sides[1], sides);
const sticky = await page.run("(() => { const table = document.querySelector('.scores'); table.parentNode.scrollLeft = 100; return [table.rows[1].cells[0].getBoundingClientRect().left, table.parentNode.getBoundingClientRect().left, table.parentNode.scrollLeft]; })()");
check("names stay in sight beside a wide table", sticky[2] > 0 && Math.abs(sticky[0] - sticky[1]) < 1, sticky);

// Claims fold out.
await page.open(reports.paper, 1280, 800, "light");
const claim = () => page.run("(() => { const first = document.querySelector('.claims details'); return [first.open, first.querySelector('li').checkVisibility()]; })()");
check("claims are short at first", (await claim()).every((of) => !of), await claim());
await page.run("document.querySelector('.claims summary').focus()");
await page.send("Input.dispatchKeyEvent", { type: "keyDown", key: "Enter", code: "Enter", windowsVirtualKeyCode: 13, text: "\r" });
await page.send("Input.dispatchKeyEvent", { type: "keyUp", key: "Enter", code: "Enter", windowsVirtualKeyCode: 13 });
check("and show their numbers to a key", (await claim()).every((of) => of), await claim());

// A million samples: time to open the page, and time of a zoom. Limits have a wide margin, for slow machines.
const opened = await page.open(million, 1280, 800, "light");
check("a million samples: open soon", opened < 3000, opened);
const timed = (key) => page.run(`new Promise((done) => {
  const begin = performance.now();
  document.querySelector('#panels').dispatchEvent(new KeyboardEvent('keydown', { key: '${key}' }));
  const script = performance.now() - begin;
  requestAnimationFrame(() => setTimeout(() => done([script, performance.now() - begin].map(Math.round))));
})`);
const zooms = [];
for (const key of ["+", "+", "+", "-", "-", "0"]) zooms.push(await timed(key));
console.log(`       million: ${statSync(join(pictures, "million.html")).size} bytes, ready after ${opened} ms; zooms by key take (script, drawn) ${zooms.map((of) => of.join(" and ")).join(", ")} ms`);
check("a million samples: zoom soon", zooms.every(([script]) => script < 250), zooms);
await page.picture(join(pictures, "million.png"), true);

// Packets on their way.
const packets = () => page.run("[...document.querySelectorAll('.packets path')].map((path) => (path.getAttribute('d').match(/M/g) ?? []).length).reduce((sum, of) => sum + of, 0)");
const clockTime = () => page.run("document.querySelector('#clock-time').textContent");
const loads = () => page.run("[...document.querySelectorAll('#network .share')].map((of) => of.textContent).join()");
const slide = (share) => page.run(`(() => { const slider = document.querySelector('#clock-slider'); slider.value = ${share} * slider.max; slider.dispatchEvent(new Event('input')); })()`);
for (const [name, url, share, low, high] of [["chain", chain, 0.4, 5, 60], ["moment", moment, 0.5, 60, 400]]) {
  await page.open(url, 1280, 800, "light");
  await page.run("document.querySelector('#network').scrollIntoView()");
  await slide(share);
  const count = await packets();
  check(`${name}: packets are on their way`, count >= low && count <= high, count);
  const then = await clockTime();
  await page.picture(join(pictures, `${name}-packets.png`));
  // Times are shown with four digits: several events may have the same.
  await page.run("for (let step = 0; step < 50; step += 1) document.querySelector('#clock-step').click()");
  const next = await clockTime();
  check(`${name}: steps go from event to event`, parseFloat(next) > parseFloat(then), [then, next]);
  await page.run("for (let step = 0; step < 50; step += 1) document.querySelector('#clock-back').click()");
  check(`${name}: and as many back to where it was`, parseFloat(await clockTime()) <= parseFloat(then), [then, await clockTime()]);
  await page.run("document.querySelector('#clock-play').focus()");
  await page.send("Input.dispatchKeyEvent", { type: "keyDown", key: "Enter", code: "Enter", windowsVirtualKeyCode: 13, text: "\r" });
  await page.send("Input.dispatchKeyEvent", { type: "keyUp", key: "Enter", code: "Enter", windowsVirtualKeyCode: 13 });
  for (let polls = 0; polls < 600 && !(parseFloat(await clockTime()) > parseFloat(then)); polls += 1) {
    await new Promise((later) => setTimeout(later, 50));
  }
  check(`${name}: it plays`, parseFloat(await clockTime()) > parseFloat(then), await clockTime());
  await page.run("document.querySelector('#clock-play').click()");
  const paused = await clockTime();
  await new Promise((later) => setTimeout(later, 200));
  check(`${name}: it pauses`, (await clockTime()) === paused && (await page.run("document.querySelector('#clock-play').textContent")) === "Play");
  await page.run("document.querySelector('#clock-slider').focus()");
  const beforeKey = await clockTime();
  await page.send("Input.dispatchKeyEvent", { type: "keyDown", key: "ArrowRight", code: "ArrowRight", windowsVirtualKeyCode: 39 });
  await page.send("Input.dispatchKeyEvent", { type: "keyUp", key: "ArrowRight", code: "ArrowRight", windowsVirtualKeyCode: 39 });
  check(`${name}: an arrow moves the slider`, parseFloat(await clockTime()) > parseFloat(beforeKey), [beforeKey, await clockTime()]);
  await page.run("document.querySelector('#clock-off').click()");
  check(`${name}: averages have no packets`, (await packets()) === 0);
  check(`${name}: no errors`, page.problems.length === 0, page.problems);
}

// The network follows the cursor of the plots, and marks times without packets.
await page.open(reports.network, 1280, 800, "light");
check("what was not recorded is said", await page.run("document.querySelector('#network').textContent.includes('No packets were recorded')"));
const average = await loads();
const over = await firstPlot();
await page.mouse("mouseMoved", over.left + over.width * 0.5, over.top + over.height / 2, 0);
check("the load is that at the cursor", (await loads()) !== average && (await loads()).includes("queue"), await loads());

// A document without runs is a page without plots.
const folder = join(pictures, "none");
execFileSync(thalweg, ["run", "web", "--set", "duration=1 s", "--set", "warmup=0 s", "--quiet", "--out", folder], { stdio: ["ignore", "ignore", "inherit"] });
const results = JSON.parse(readFileSync(join(folder, "results.json"), "utf8"));
writeFileSync(join(folder, "results.json"), JSON.stringify({ ...results, runs: [] }));
execFileSync(thalweg, ["report", folder, "--quiet"]);
await page.open(pathToFileURL(join(folder, "report.html")).href, 1280, 800, "light");
check("no runs: no errors", page.problems.length === 0, page.problems);

// Colours follow the reader's choice.
await page.open(reports.network, 1280, 800, "light");
const background = () => page.run("getComputedStyle(document.body).backgroundColor");
const light = await background();
await page.run("document.querySelector('#theme').click()");
check("the button changes the colours", (await background()) !== light);
check("no errors at the end", page.problems.length === 0, page.problems);

await browser.close();
console.log(failed ? `${failed} failed` : "all passed");
process.exit(failed ? 1 : 0);
