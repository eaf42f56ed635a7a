// Takes the picture of a report in docs/guide/reports.md: the first screen of the comparison in README.md.
//
//     node report.mjs             runs target/release/thalweg and writes report.webp beside this script
//
// Needs Chromium (CHROMIUM names the program, `chromium` otherwise).

import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { Browser } from "../../crates/thalweg-report/tests/browser/chromium.mjs";

const here = fileURLToPath(new URL(".", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "thalweg-report-"));
const file = join(folder, "report.html");
execFileSync(join(here, "../../target/release/thalweg"),
  ["compare", "dumbbell", "--schemes", "slow-start,newreno,vegas,cubic", "--reps", "5", "--quiet", `--report=${file}`],
  { stdio: ["ignore", "ignore", "inherit"] });
const browser = new Browser(process.env.CHROMIUM ?? "chromium");
const page = await browser.page();
await page.open(pathToFileURL(file).href, 1280, 770, "light");
await page.picture(join(here, "report.webp"));
await browser.close();
rmSync(folder, { recursive: true });
