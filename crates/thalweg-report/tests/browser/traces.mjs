// Opens pages of traces in a real browser and uses them as a reader would.
//
//     node traces.mjs THALWEG PICTURES      the program, and the folder for screenshots
//
// Needs Chromium (CHROMIUM names the program, `chromium` otherwise). Exits with code 1 if a check fails.

import { execFileSync } from "node:child_process";
import { mkdirSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { Browser } from "./chromium.mjs";

const [thalweg, pictures] = process.argv.slice(2).map((path) => resolve(path));
mkdirSync(pictures, { recursive: true });
const data = join(dirname(fileURLToPath(import.meta.url)), "../../../thalweg-trace/tests/data");
const stored = (name) => join(data, name);
let failed = 0;

function check(what, holds, seen = "") {
  if (!holds) failed++;
  console.log(`${holds ? "ok    " : "FAILED"} ${what}${holds || seen === "" ? "" : `: ${JSON.stringify(seen)}`}`);
}

function made(name, ...files) {
  const path = join(pictures, `${name}.html`);
  execFileSync(thalweg, ["view", ...files, "--quiet", `--report=${path}`], { stdio: ["ignore", "ignore", "inherit"] });
  return pathToFileURL(path).href;
}

// A log of a hundred thousand packets: its plots have levels of detail.
const long = join(pictures, "long.sqlog");
const records = ['{"qlog_version":"0.3","qlog_format":"JSON-SEQ","trace":{"vantage_point":{"type":"client"}}}'];
for (let number = 0; number < 100_000; number++) {
  records.push(JSON.stringify({ time: number / 10, name: "transport:packet_sent", data: { header: { packet_type: "1RTT", packet_number: number }, raw: { length: 1280 }, frames: [{ frame_type: "stream", stream_id: 0, offset: number * 1200, length: 1200 }] } }));
  if (number % 1000 === 999) records.push(JSON.stringify({ time: number / 10, name: "recovery:packet_lost", data: { header: { packet_type: "1RTT", packet_number: number - 500 } } }));
  if (number % 2) records.push(JSON.stringify({ time: number / 10, name: "transport:packet_received", data: { header: { packet_type: "1RTT", packet_number: number }, frames: [{ frame_type: "ack", acked_ranges: [[Math.max(0, number - 400), Math.max(0, number - 399)]] }] } }));
}
writeFileSync(long, records.map((text) => `\x1e${text}\n`).join(""));

const pages = {
  ends: made("ends", stored("quic-go-client.sqlog.gz"), stored("quic-go-server.sqlog.gz")),
  kernel: made("kernel", stored("kernel-cubic.pcap.gz"), stored("kernel-cubic.ss")),
  aioquic: made("aioquic", stored("aioquic-client.qlog.gz")),
  long: made("long", long),
};

const browser = new Browser(process.env.CHROMIUM ?? "chromium");
const page = await browser.page();
const shownRange = () => page.run("document.querySelector('#range').textContent");
const drawn = () => page.run(`[...document.querySelectorAll('.panel canvas')].map((canvas) => {
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  return data.some((value) => value !== 0);
})`);

for (const [name, url] of Object.entries(pages)) {
  for (const [screen, width, height, scheme] of [["light", 1280, 800, "light"], ["dark", 1280, 800, "dark"], ["phone", 390, 844, "light"]]) {
    page.problems.length = 0;
    page.requests.length = 0;
    const ms = await page.open(url, width, height, scheme);
    console.log(`       ${name}, ${screen}: ready after ${ms} ms`);
    await page.picture(join(pictures, `${name}-${screen}.png`), true);
    check(`${name}, ${screen}: no errors`, page.problems.length === 0, page.problems);
    check(`${name}, ${screen}: asks for nothing but itself`, page.requests.every((request) => request === url), page.requests);
    check(`${name}, ${screen}: no wider than the screen`, await page.run(`document.documentElement.scrollWidth <= ${width}`), await page.run("document.documentElement.scrollWidth"));
    const plots = await drawn();
    check(`${name}, ${screen}: at least four plots, all drawn`, plots.length >= 4 && plots.every((of) => of), plots);
  }
}

// Findings lead to their place, and change the choice of connections where necessary.
await page.open(pages.aioquic, 1280, 800, "light");
const whole = await shownRange();
await page.run("document.querySelector('.place').click()");
check("a finding leads to its place", (await shownRange()) !== whole, await shownRange());
check("no errors at a place", page.problems.length === 0, page.problems);

// Layers of packets can be hidden.
await page.open(pages.kernel, 1280, 800, "light");
const sums = () => page.run(`(() => {
  const canvas = document.querySelector('[data-panel=sequence] canvas');
  return canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.reduce((sum, value) => sum + value, 0);
})()`);
const before = await sums();
await page.run("[...document.querySelectorAll('.chip')].find((chip) => chip.textContent === 'sent').click()");
check("a layer can be hidden", (await sums()) !== before);

// Zooming shows single packets; panning a long trace takes a fraction of a second a frame even on slow machines.
const opened = await page.open(pages.long, 1280, 800, "light");
check("a long trace opens soon", opened < 3000, opened);
check("and is a moderate page", statSync(join(pictures, "long.html")).size < 4e6, statSync(join(pictures, "long.html")).size);
await page.run("document.querySelector('#panels').focus()");
for (let times = 0; times < 9; times++) await page.key("+");
await page.picture(join(pictures, "long-zoomed.png"));
const frame = await page.run(`new Promise((done) => {
  let count = 0;
  const begin = performance.now();
  const step = () => {
    if (count++ === 30) return done((performance.now() - begin) / 30);
    document.querySelector('#panels').dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight', shiftKey: true }));
    requestAnimationFrame(step);
  };
  step();
})`);
console.log(`       panning a long trace takes ${frame.toFixed(1)} ms a frame`);
check("panning is smooth", frame < 250, frame);
check("no errors at the end", page.problems.length === 0, page.problems);

await browser.close();
console.log(failed ? `${failed} failed` : "all passed");
process.exit(failed ? 1 : 0);
