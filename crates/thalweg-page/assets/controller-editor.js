// A controller of the reader's own: its editor, and the race against CUBIC and BBR.

const EXAMPLE = `// Additive increase, multiplicative decrease (Chiu and Jain 1989), paced.
class Mine extends Controller {
  slow_start = true;

  on_ack(sample) {                      // at the end of each round trip
    if (sample.recovering || sample.app_limited) return;
    this.window += this.slow_start ? sample.acked : 1;
    if (sample.smoothed_rtt !== null) {
      const rate = this.window * sample.segment * 8 / sample.smoothed_rtt;
      this.pacing_rate = 1.25 * rate;   // null sends as soon as the window allows
    }
  }

  on_loss(sample) {                     // "detected", "timeout" or "mark"
    this.slow_start = false;
    this.window = sample.kind === "timeout" ? 2 : Math.max(2, this.window / 2);
  }
}
`;

const RACE = `# Your controller beside CUBIC and BBR on one link. Each starts a little later than the one before.

title = "A race: mine, CUBIC and BBR"
duration = "60 s"
warmup = "10 s"

[[link]]
name = "core"
between = ["left", "right"]
rate = "60 Mbit/s"
delay = "20 ms"
queue = "1 bdp"

[defaults.flow]
overhead = "200 us" # a random time in the sender: against phase effects

[[flow]]
name = "mine"
from = "left"
to = "right"
scheme = "mine"

[[flow]]
name = "cubic"
from = "left"
to = "right"
scheme = "cubic"
start = "1 s"

[[flow]]
name = "bbr"
from = "left"
to = "right"
scheme = "bbr"
start = "2 s"
`;

// Builds the editor; `changed` is called when the controller is used or no longer used, and `race` to start the race.
function controllerEditor(changed, race) {
  const area = element("textarea", { id: "mine", rows: 20, spellcheck: "false", autocapitalize: "off", autocomplete: "off", "aria-describedby": "mine-about" });
  area.value = state.controller ?? EXAMPLE;
  const use = element("input", { type: "checkbox", id: "use-mine" });
  use.checked = state.controller !== null;
  const take = () => {
    state.controller = use.checked ? area.value : null;
    changed();
  };
  use.addEventListener("change", take);
  area.addEventListener("change", () => use.checked && take());
  area.addEventListener("keydown", (event) => {
    // Two spaces for a tab, but Escape then Tab leaves the field.
    if (event.key === "Escape") area.dataset.leaves = "yes";
    else if (event.key === "Tab" && !event.shiftKey && area.dataset.leaves !== "yes") {
      event.preventDefault();
      area.setRangeText("  ", area.selectionStart, area.selectionEnd, "end");
    } else if (event.key !== "Tab") delete area.dataset.leaves;
  });
  const start = element("button", { type: "button", class: "main", id: "race", onclick: () => {
    use.checked = true;
    state.controller = area.value;
    race();
  } }, "Race CUBIC and BBR");
  const reset = element("button", { type: "button", onclick: () => {
    area.value = EXAMPLE;
    take();
  } }, "Example");
  const details = element("details", { id: "controller" },
    element("summary", {}, "A controller of your own"),
    element("p", { class: "note", id: "mine-about" }, "JavaScript with the names of the Python package. ",
      element("code", {}, "on_ack(sample)"), " and ", element("code", {}, "on_loss(sample)"), " set ", element("code", {}, "this.window"), " in segments and ",
      element("code", {}, "this.pacing_rate"), " in bit/s. A sample has now, interval, sent, acked, lost, marks, rtt, smoothed_rtt, min_rtt, delivery_rate, in_flight, segment, app_limited, recovering and kind. Escape, then Tab, leaves the field."),
    element("label", { for: "mine" }, "Controller"),
    area,
    element("div", { class: "row" }, start, reset),
    element("div", { class: "row" }, use, element("label", { for: "use-mine" }, "Offer it as the scheme ", element("code", {}, "mine"))));
  details.open = state.controller !== null;
  return details;
}
