// Measures the laboratory page in a browser and prints one JSON document.
//
//     node speed.mjs PAGE REPEAT TRACE SCENARIO...      a file that the page shows; a scenario is a built-in one's name

import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { Browser } from "../../../thalweg-report/tests/browser/chromium.mjs";
import { steps } from "./steps.mjs";
import { READY, frameOf } from "./traces.mjs";

const [file, repeat, trace, ...scenarios] = process.argv.slice(2);
const url = pathToFileURL(resolve(file)).href;
const browser = new Browser(process.env.CHROMIUM ?? "chromium");
const page = await browser.page();
const { text, click, open, ran, wait } = steps(page, url);
const results = { ready_s: [], runs: {}, trace: { seconds: [], frame_ms: [], memory_bytes: 0 } };
for (let i = 0; i < Number(repeat); i++) {
  await open();
  results.ready_s.push((await page.run("performance.now()")) / 1000);
  await open("#v=1&tab=traces");
  const began = Date.now();
  await page.choose("#files", [resolve(trace)]);
  await wait(READY, 120);
  results.trace.seconds.push((Date.now() - began) / 1000);
  results.trace.frame_ms.push(await frameOf(page));
  const [, memory] = /with ([\d.]+) MB of memory/.exec(await text("#trace-status"));
  results.trace.memory_bytes = Number(memory) * 1e6;
  for (const scenario of scenarios) {
    await open(`#v=1&run=${scenario}`);
    await click("#go");
    await ran();
    const line = await text(".fingerprint");
    const [, fingerprint, hops, seconds] = /Fingerprint (\w+); (\d+) packet hops in ([\d.]+) s/.exec(line);
    (results.runs[scenario] ??= []).push({ fingerprint, hops: Number(hops), seconds: Number(seconds) });
  }
}
await browser.close();
console.log(JSON.stringify(results));
