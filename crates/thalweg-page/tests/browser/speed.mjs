// Measures the laboratory page in a browser and prints one JSON document.
//
//     node speed.mjs PAGE REPEAT SCENARIO...      a scenario is a built-in one's name

import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { Browser } from "../../../thalweg-report/tests/browser/chromium.mjs";
import { steps } from "./steps.mjs";

const [file, repeat, ...scenarios] = process.argv.slice(2);
const url = pathToFileURL(resolve(file)).href;
const browser = new Browser(process.env.CHROMIUM ?? "chromium");
const page = await browser.page();
const { text, click, open, ran } = steps(page, url);
const results = { ready_s: [], runs: {} };
for (let i = 0; i < Number(repeat); i++) {
  await open();
  results.ready_s.push((await page.run("performance.now()")) / 1000);
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
