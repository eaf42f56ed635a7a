// Settings: the scenario, sliders for what varies in it, changes of the reader's own, and the seed.

const STEPS = 240;
let controls = [];
let defaultSeed = 1;

const labelled = (id, label, input, ...after) => element("div", { class: "field" }, element("label", { for: id }, label), input, after);

// Returns a quantity rounded to three digits, as text that scenarios accept.
function scenarioAmount(value, unit) {
  const three = (number) => String(Number(number.toPrecision(3)));
  if (unit === "bit/s") {
    const { name, factor } = scaleFor(unit, value);
    return `${three(value / factor)} ${name}`;
  }
  if (unit === "s") {
    if (value === 0) return "0 s";
    if (value >= 1) return `${three(value)} s`;
    return value >= 1e-3 ? `${three(value * 1e3)} ms` : `${three(value * 1e6)} us`;
  }
  if (unit === "pkt" || unit === "B") return `${Math.round(Number(value.toPrecision(3)))} ${unit}`;
  if (unit === "share") return three(value);
  return String(Math.round(value));
}

// Returns an amount for people.
function amountForPeople(value, unit) {
  if (unit === "share") return `${Number((value * 100).toPrecision(3))} %`;
  if (unit === "B") return formatValue(value, "B");
  return scenarioAmount(value, unit).replace(" us", " µs");
}

// Positions of a slider on a logarithmic scale; 0 is zero where a quantity may be zero.
function positionOfValue({ value, min, max, has_zero: hasZero }) {
  if (value <= 0) return 0;
  const share = Math.log(Math.max(value, min) / min) / Math.log(max / min);
  const first = hasZero ? 1 : 0;
  return Math.round(first + Math.min(1, Math.max(0, share)) * (STEPS - first));
}

function valueAt(position, { min, max, has_zero: hasZero }) {
  if (hasZero && position === 0) return 0;
  const first = hasZero ? 1 : 0;
  return min * (max / min) ** ((position - first) / (STEPS - first));
}

const controlId = (control) => `${control.kind === "discipline" ? "discipline" : "set"} ${control.key}`;

// Returns the value that the state gives a quantity, or that of the scenario.
function setText(control) {
  const set = state.sets.get(controlId(control));
  return set === undefined ? null : set.slice(set.indexOf("=") + 1);
}

// Changes by the link or the reader that a control can show move from the lines to the control. The last one holds.
function adoptSets() {
  const left = [];
  for (const line of moreSets()) {
    const at = line.indexOf("=");
    const [key, value] = [line.slice(0, at).trim(), line.slice(at + 1).trim()];
    const control = controls.find((of) => of.key === key && (of.kind === "discipline") === value.startsWith("{discipline=")
      && (of.kind !== "choice" || of.options.includes(value)));
    const isShown = control && (control.kind !== "quantity" || parsedAmount(value, control.unit) !== null);
    if (at < 1 || !isShown) {
      left.push(line);
      continue;
    }
    state.sets.set(controlId(control), `${key}=${value}`);
    const [size, capacity] = control.kind === "discipline" ? [capacityIn(value), capacityControl(control)] : [];
    if (size && capacity && size !== control.capacity && parsedAmount(size, capacity.unit) !== null) setControl(capacity, size);
  }
  state.more = left.join("\n");
}

const FACTORS = {
  "bit/s": { "bit/s": 1, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9, "Tbit/s": 1e12 },
  s: { ns: 1e-9, us: 1e-6, ms: 1e-3, s: 1, min: 60 },
  pkt: { pkt: 1 },
  B: { B: 1, kB: 1e3, MB: 1e6, KiB: 1024, MiB: 1048576 },
  share: { "": 1, "%": 0.01 },
  "": { "": 1 },
};

// Returns the number of an amount in a unit, or null if it is written in another way.
function parsedAmount(text, unit) {
  const match = /^"?([\d.]+(?:e-?\d+)?)\s*([a-zA-Z/%]*)"?$/.exec(text);
  const factor = match && FACTORS[unit]?.[match[2]];
  return factor === undefined || factor === null ? null : Number(match[1]) * factor;
}

// Sets a control; `value` null returns to the scenario's.
function setControl(control, value) {
  const id = controlId(control);
  state.sets.delete(id);
  if (value !== null) state.sets.set(id, `${control.key}=${value}`);
}

function createSlider(control, changed) {
  const id = `c-${controls.indexOf(control)}`;
  const output = element("output", { for: id });
  const input = element("input", { type: "range", id, min: 0, max: STEPS, step: 1 });
  const show = () => {
    const text = setText(control);
    const value = text === null ? control.value : parsedAmount(text, control.unit);
    input.value = String(positionOfValue({ ...control, value }));
    output.textContent = amountForPeople(value, control.unit);
    output.classList.toggle("changed", text !== null);
    input.setAttribute("aria-valuetext", output.textContent);
  };
  const base = positionOfValue(control);
  const take = () => {
    const position = Number(input.value);
    // The scenario's own value is not rounded to the slider's positions.
    setControl(control, position === base ? null : scenarioAmount(valueAt(position, control), control.unit));
    show();
  };
  input.addEventListener("input", () => { take(); changed(false); });
  input.addEventListener("change", () => changed(true));
  show();
  return element("div", { class: "field" }, element("label", { for: id }, control.label, output), input);
}

function choiceOf(control, changed) {
  const id = `c-${controls.indexOf(control)}`;
  const chosen = () => {
    const text = setText(control);
    if (text === null) return control.value;
    return control.kind === "discipline" ? disciplineIn(text) : text;
  };
  const select = element("select", { id }, control.options.map((name) => element("option", { value: name }, name)));
  select.value = chosen();
  select.addEventListener("change", () => {
    if (select.value === control.value) setControl(control, null);
    else if (control.kind === "choice") setControl(control, select.value);
    else setControl(control, `{discipline="${select.value}",capacity="${control.capacity}"}`);
    changed(true);
  });
  return labelled(id, control.label, select);
}

// Returns all changes for the engine. A discipline and a capacity of the same queue are one change.
function mergedSets() {
  const sets = new Map(state.sets);
  for (const control of controls.filter((of) => of.kind === "discipline" && setText(of) !== null)) {
    const capacity = capacityControl(control);
    const size = (capacity && setText(capacity)) ?? capacityIn(setText(control)) ?? control.capacity;
    sets.set(controlId(control), `${control.key}={discipline="${disciplineIn(setText(control))}",capacity="${size}"}`);
    if (capacity) sets.delete(controlId(capacity));
  }
  return [...sets.values(), ...moreSets()];
}

const capacityControl = (control) => controls.find((of) => of.kind === "quantity" && of.key === control.capacity_key);
const capacityIn = (text) => /capacity="([^"]*)"/.exec(text)?.[1];
const disciplineIn = (text) => /discipline="([^"]*)"/.exec(text)?.[1] ?? "";

// Builds the controls of the scenario; `changed` is called at each change, with true when it is complete.
function drawControls(holder, changed) {
  holder.replaceChildren();
  const groups = new Map();
  for (const control of controls) {
    if (!groups.has(control.of)) groups.set(control.of, []);
    groups.get(control.of).push(control);
  }
  for (const [name, list] of groups) {
    const made = list.map((control) => (control.kind === "quantity" ? createSlider(control, changed) : choiceOf(control, changed)));
    if (name === "") holder.append(...made);
    else holder.append(element("fieldset", {}, element("legend", {}, list[0].key.startsWith("link.") ? `Link ${name}` : `Flows ${name}`), made));
  }
}
