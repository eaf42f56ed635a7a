// axe-core, which checks a page for accessibility, from its npm package.

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const VERSION = "4.14.1";
// Of `axe.min.js` in it.
const SHA256 = "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c";

// Returns its script, fetched into a folder on the first call; null without npm or the registry.
export function axe(folder) {
  const script = join(folder, "package/axe.min.js");
  if (!existsSync(script)) {
    mkdirSync(folder, { recursive: true });
    try {
      execFileSync("npm", ["pack", "--silent", `axe-core@${VERSION}`], { cwd: folder, stdio: "ignore", timeout: 60_000 });
      execFileSync("tar", ["-xzf", `axe-core-${VERSION}.tgz`], { cwd: folder });
    } catch {
      return null;
    }
  }
  const text = readFileSync(script, "utf8");
  const sum = createHash("sha256").update(text).digest("hex");
  if (sum !== SHA256) throw new Error(`${script}: its SHA-256 is ${sum}, and not that of axe-core ${VERSION}`);
  return text;
}
