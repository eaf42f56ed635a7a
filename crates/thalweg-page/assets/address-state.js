// The state of the page in its address: `#v=1&run=NAME&set=KEY=VALUE&...`. Texts are compressed.

const FORMAT = "1";
const MAX_SETS = 200;
// Maximum length of a text in an address after decompression, in characters.
const MAX_LINKED = 1 << 20;

const state = {
  // "play", "lessons" or "traces".
  tab: "play",
  // Name of a built-in scenario; of the reader's own with `text`.
  scenario: "two-flows",
  text: null,
  // Changes: those of the controls by control, and lines of the reader's own.
  sets: new Map(),
  more: "",
  seed: null,
  // The settings kept for comparison: { input, seed }.
  kept: null,
  // Text of a controller; null without.
  controller: null,
  lesson: null,
  screen: 0,
};

// Returns bytes as text for addresses (RFC 4648, section 5), and back.
function toAddress(bytes) {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function fromAddress(text) {
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(binary, (char) => char.charCodeAt(0));
}

async function bytesThrough(stream, bytes) {
  const piped = new Blob([bytes]).stream().pipeThrough(stream);
  return new Uint8Array(await new Response(piped).arrayBuffer());
}

async function packText(text) {
  return toAddress(await bytesThrough(new CompressionStream("deflate-raw"), new TextEncoder().encode(text)));
}

async function unpackText(text) {
  const piped = new Blob([fromAddress(text)]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  const decoder = new TextDecoder();
  let whole = "";
  for (const reader = piped.getReader(); ;) {
    const { value, done } = await reader.read();
    if (done) return whole + decoder.decode();
    whole += decoder.decode(value, { stream: true });
    if (whole.length > MAX_LINKED) throw new Error("its text is too long");
  }
}

// Returns the lines of the reader's own changes.
function moreSets() {
  return state.more.split("\n").map((line) => line.trim()).filter((line) => line && !line.startsWith("#"));
}

// Returns the scenario with its changes, for the engine.
function currentInput() {
  const lesson = currentLesson();
  if (lesson) return { name: lesson.name, text: lesson.scenario, sets: mergedSets() };
  return {
    name: state.text === null ? state.scenario : "mine",
    ...(state.text === null ? {} : { text: state.text }),
    sets: mergedSets(),
  };
}

// Returns the state as the part of an address after `#`.
async function linkOfState() {
  const link = new URLSearchParams({ v: FORMAT });
  if (state.tab !== "play") link.set("tab", state.tab);
  // Files stay with their reader.
  if (state.tab === "traces") return `#${link}`;
  if (state.lesson) {
    link.set("lesson", state.lesson);
    if (state.screen > 0) link.set("screen", String(state.screen));
  } else if (state.text === null) link.set("run", state.scenario);
  else link.set("text", await packText(state.text));
  for (const set of currentInput().sets) link.append("set", set);
  if (state.seed !== null) link.set("seed", String(state.seed));
  if (state.kept) {
    link.set("kept", await packText(JSON.stringify(state.kept)));
  }
  if (state.controller !== null) link.set("controller", await packText(state.controller));
  return `#${link}`;
}

// Reads the state from an address. Returns an error for the reader, or null.
async function readLink(hash) {
  const text = hash.replace(/^#/, "");
  if (!text) return null;
  const link = new URLSearchParams(text);
  const version = link.get("v");
  if (version !== FORMAT) {
    return version === null
      ? "The link has no version (v=1): this page does not know what it means, and shows a scenario of its own."
      : `The link has version ${version}, and this page reads version ${FORMAT}: make the link again with this page, or open it with the page that made it.`;
  }
  const fresh = { tab: "play", scenario: "two-flows", text: null, sets: new Map(), more: "", seed: null, kept: null, controller: null, lesson: null, screen: 0 };
  try {
    if (["lessons", "traces"].includes(link.get("tab"))) fresh.tab = link.get("tab");
    if (link.has("run")) fresh.scenario = link.get("run");
    if (link.has("text")) fresh.text = await unpackText(link.get("text"));
    fresh.more = link.getAll("set").slice(0, MAX_SETS).join("\n");
    if (link.has("seed")) {
      fresh.seed = Number(link.get("seed"));
      if (!Number.isSafeInteger(fresh.seed) || fresh.seed < 0) throw new Error("its seed is not a whole number");
    }
    if (link.has("kept")) fresh.kept = keptOf(JSON.parse(await unpackText(link.get("kept"))));
    if (link.has("controller")) fresh.controller = await unpackText(link.get("controller"));
    if (link.has("lesson")) {
      fresh.lesson = link.get("lesson");
      fresh.tab = "lessons";
      fresh.screen = Math.max(0, Math.trunc(Number(link.get("screen")) || 0));
      if (!listed.lessons.some((lesson) => lesson.name === fresh.lesson)) throw new Error(`there is no lesson "${fresh.lesson}"`);
    }
    if (fresh.text === null && !listed.scenarios.some((scenario) => scenario.name === fresh.scenario)) {
      throw new Error(`there is no built-in scenario "${fresh.scenario}"`);
    }
  } catch (error) {
    return `The link cannot be read: ${error.message}. The page shows a scenario of its own.`;
  }
  Object.assign(state, fresh);
  return null;
}

// Checks the kept settings of a link, which anybody may have written.
function keptOf(kept) {
  const { input, seed } = kept ?? {};
  const isText = (value) => typeof value === "string";
  const isValid = isText(input?.name) && Array.isArray(input.sets) && input.sets.every(isText)
    && (input.text === undefined || isText(input.text)) && (seed === null || (Number.isSafeInteger(seed) && seed >= 0));
  if (!isValid) throw new Error("its kept settings are not valid");
  const { name, text, sets } = input;
  return { input: { name, ...(text === undefined ? {} : { text }), sets }, seed };
}

// Writes the state into the address, where the browser allows it.
async function writeLink() {
  const link = await linkOfState();
  try {
    history.replaceState(null, "", link);
  } catch {
    // Some browsers refuse it for files; the button for the link still works.
  }
  return link;
}

// Returns an argument as a shell reads it.
function quoteArgument(argument) {
  return /^[\w@%+=:,./-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", "'\\''")}'`;
}

// Returns the command that makes the same run.
function commandOfState() {
  const input = currentInput();
  const file = input.text === undefined ? input.name : `${input.name}.toml`;
  const sets = input.sets.flatMap((set) => ["--set", quoteArgument(set)]);
  const seed = state.seed === null ? [] : ["--seed", String(state.seed)];
  return ["thalweg", "run", quoteArgument(file), ...sets, ...seed].join(" ");
}
