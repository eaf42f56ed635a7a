// Numbers with units for people: four significant digits and a suitable prefix.

const SCALES = {
  "bit/s": [["Tbit/s", 1e12], ["Gbit/s", 1e9], ["Mbit/s", 1e6], ["kbit/s", 1e3], ["bit/s", 1]],
  s: [["s", 1], ["ms", 1e-3], ["µs", 1e-6], ["ns", 1e-9]],
  B: [["GB", 1e9], ["MB", 1e6], ["kB", 1e3], ["B", 1]],
};

// Returns the unit for values up to `largest`: its name and its size in base units.
function scaleFor(unit, largest) {
  const scales = SCALES[unit];
  if (!scales) return { name: unit, factor: 1 };
  const size = Math.abs(largest);
  const [name, factor] = scales.find(([, factor]) => size >= factor) ?? (size === 0 ? scales.find(([, of]) => of === 1) : scales.at(-1));
  return { name, factor };
}

function formatDigits(number) {
  if (number === 0 || !Number.isFinite(number)) return String(number);
  if (Number.isInteger(number) && Math.abs(number) < 1e6) return String(number);
  const decimals = Math.min(6, Math.max(0, 3 - Math.floor(Math.log10(Math.abs(number)))));
  return number.toFixed(decimals);
}

// Formats `value` with its unit; a dash if there is none.
function formatValue(value, unit) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (unit === "share") return `${(value * 100).toFixed(1)} %`;
  const { name, factor } = scaleFor(unit, value);
  return name ? `${formatDigits(value / factor)} ${name}` : formatDigits(value);
}
