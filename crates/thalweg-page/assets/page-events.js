// The page: its parts, and what happens when they are used.

let listed = null;
let checker = null;
let checks = 0;
let checkTimer = 0;
// True after the first run: then each change runs again.
let runsOnChange = false;
let hasRun = false;
// The tab whose scenario is loaded: "play", "lessons", or null.
let benchTab = null;

const TABS = ["play", "lessons", "traces"];
const CHECK_DELAY_MS = 120;
const STEP_CHOICES = [["packet", "packet"], ["0.001", "1 ms"], ["0.01", "10 ms"], ["0.1", "100 ms"], ["1", "1 s"]];

function showNotice(text) {
  const close = element("button", { type: "button", onclick: () => find("#notice").replaceChildren() }, "Close");
  find("#notice").replaceChildren(element("p", { class: "warning" }, element("span", {}, text), close));
}

// Returns a checker with the present controller.
function freshChecker() {
  checker?.end();
  // Answers to what the one before was asked are late.
  checks++;
  checker = new Laboratory(state.controller, () => {}, (error) => showErrors(error.errors ?? [{ severity: "error", text: error.message }]));
  return checker;
}

const asks = (request) => (checker.isEnded ? freshChecker() : checker).ask(request);

// Checks the scenario with its changes, a moment after the last change.
function checkSoon() {
  clearTimeout(checkTimer);
  checkTimer = setTimeout(checkSettings, CHECK_DELAY_MS);
}

async function checkSettings() {
  const number = ++checks;
  try {
    const checked = await asks({ request: "check", input: currentInput() });
    if (number !== checks) return null;
    showChecked(checked);
    return checked;
  } catch (error) {
    if (number === checks) {
      find("#go").disabled = runState === "none";
      showErrors(error.errors ?? [{ severity: "error", text: error.message }]);
    }
    return null;
  }
}

function showChecked(checked) {
  find("#title").textContent = checked.title || "Scenario";
  find("#about").textContent = checked.description;
  find("#explanation").textContent = checked.explanation;
  defaultSeed = checked.seed;
  find("#seed").placeholder = String(defaultSeed);
  find("#go").disabled = false;
  showErrors(checked.warnings);
}

// Loads the scenario of the state: its controls, then its changes.
async function loadScenario() {
  const lesson = currentLesson();
  const text = lesson ? lesson.scenario : state.text ?? listed.scenarios.find((of) => of.name === state.scenario)?.text ?? "";
  find("#text").value = text;
  find("#title").textContent = "Scenario";
  find("#about").textContent = "";
  find("#scenario").value = state.text === null ? state.scenario : "";
  find("#choice").hidden = Boolean(lesson);
  find("#text").readOnly = Boolean(lesson);
  find("#mine-part").hidden = Boolean(lesson);
  const input = { ...currentInput(), sets: [] };
  showStatus("Reading the scenario ...");
  controls = await asks({ request: "controls", input }).catch(() => []);
  if (runState === "none") showStatus("");
  adoptSets();
  drawControls(find("#controls"), onSettingsChanged);
  find("#more").value = state.more;
  find("#seed").value = state.seed ?? "";
  return checkSettings();
}

function onSettingsChanged(isComplete) {
  checkSoon();
  if (isComplete && hasRun && runsOnChange && runState === "none") startRun();
}

function forgetResults() {
  endRun();
  recorded.run = null;
  recorded.kept = null;
  state.kept = null;
  hasRun = false;
  stepLog = [];
  showErrors([]);
  drawSteps();
  drawLive();
  drawResults(find("#results"), []);
  find("#empty").hidden = false;
  find("#progress").hidden = true;
  showStatus("");
  drawKept();
}

async function chooseScenario(name) {
  Object.assign(state, { scenario: name, text: null, more: "", seed: null });
  state.sets.clear();
  forgetResults();
  await loadScenario();
  writeLink();
}

// Runs the present settings, after the kept ones if those have no results yet.
async function startRun() {
  clearTimeout(checkTimer);
  if (state.kept && !recorded.kept) {
    const kept = await makeRun(state.kept.input, state.kept.seed, { into: "kept" });
    if (!kept) return;
    recorded.run = null;
    drawKept();
  }
  const input = currentInput();
  writeLink();
  const lesson = currentLesson();
  const record = await makeRun(input, state.seed);
  if (!record) return;
  hasRun = true;
  if (lesson && record.results.document.complete) {
    keepLessonRun(lesson, input.sets, record.results);
    drawLessonRuns(lesson);
  }
  showResults();
}

function showResults() {
  const act = (label, onclick, id) => element("button", { type: "button", onclick, id }, label);
  const { run: of } = recorded;
  const ask = (request) => running && recorded.run === of ? running.ask({ request }) : null;
  drawResults(find("#results"), [
    act("Download results", async () => offerDownload("results.json", `${JSON.stringify(await ask("results"), null, 2)}\n`, "application/json"), "get-results"),
    act("Download report", async () => offerDownload("report.html", await ask("report"), "text/html"), "get-report"),
  ]);
}

function goOrPause() {
  if (runState === "running") running.post({ type: "pause" });
  else if (runState === "paused") {
    setRunState("running");
    running.post({ type: "go" });
  } else startRun();
}

// A step by packets needs a run that records them: it starts again and goes to the present time.
function stepRun() {
  const choice = find("#step-by").value;
  const by = choice === "packet" ? "packet" : Number(choice);
  const { run: of } = recorded;
  if (runState === "paused" && (by !== "packet" || of.stepped)) {
    running.post({ type: "step", by });
    return;
  }
  const from = runState === "paused" ? of.now : 0;
  makeRun(currentInput(), state.seed, { stepped: true, paused: true, from }).then((record) => {
    if (!record) return;
    hasRun = true;
    showResults();
  });
  running.post({ type: "step", by });
}

// Keeps the run as A: the next ones are drawn beside it.
function keepRun() {
  if (recorded.kept || state.kept) {
    recorded.kept = null;
    state.kept = null;
  } else if (recorded.run?.results) {
    recorded.kept = recorded.run;
    state.kept = { input: recorded.run.input, seed: recorded.run.seed };
    recorded.run = null;
  } else state.kept = { input: currentInput(), seed: state.seed };
  drawKept();
  drawLive();
  if (recorded.run?.results) showResults();
  writeLink();
}

function drawKept() {
  find("#keep").textContent = state.kept ? "End comparison" : "Keep for comparison";
  const holder = find("#kept");
  holder.hidden = !state.kept;
  if (!state.kept) return;
  const words = [...state.kept.input.sets, state.kept.seed === null ? null : `seed ${state.kept.seed}`].filter(Boolean).join(", ");
  holder.replaceChildren(
    element("span", {}, lineSample(1), `A: ${words || "as in the scenario"}`),
    element("span", {}, lineSample(0), "B: the present settings"));
}

async function copyText(text, button) {
  const label = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    const area = element("textarea", { rows: 2, readonly: true, "aria-label": label });
    area.value = text;
    button.parentNode.after(area);
    area.select();
    document.execCommand("copy");
    button.textContent = "Selected: copy it";
  }
  setTimeout(() => (button.textContent = label), 2000);
}

function buildSettings() {
  const select = element("select", { id: "scenario" }, listed.scenarios.map(({ name, title }) => element("option", { value: name }, `${name}: ${title}`)), element("option", { value: "" }, "(your own, below)"));
  select.addEventListener("change", () => (select.value ? chooseScenario(select.value) : find("#own").setAttribute("open", "")));
  const text = element("textarea", { id: "text", rows: 16, spellcheck: "false", autocapitalize: "off" });
  const more = element("textarea", { id: "more", rows: 2, spellcheck: "false", placeholder: "link.bottleneck.jitter=1 ms", "aria-describedby": "more-about" });
  more.addEventListener("change", () => {
    state.more = more.value;
    adoptSets();
    drawControls(find("#controls"), onSettingsChanged);
    more.value = state.more;
    onSettingsChanged(true);
  });
  const seed = element("input", { id: "seed", type: "number", min: 0, step: 1 });
  seed.addEventListener("change", () => {
    state.seed = seed.value === "" || !Number.isSafeInteger(seed.valueAsNumber) || seed.valueAsNumber < 0 ? null : seed.valueAsNumber;
    if (state.seed === null) seed.value = "";
    onSettingsChanged(true);
  });
  text.addEventListener("change", () => {
    if (text.readOnly) return;
    state.text = text.value;
    forgetResults();
    loadScenario();
  });
  const again = element("input", { type: "checkbox", id: "again" });
  again.checked = runsOnChange = true;
  again.addEventListener("change", () => (runsOnChange = again.checked));
  const reset = element("button", { type: "button", id: "reset", onclick: () => {
    state.sets.clear();
    Object.assign(state, { more: "", seed: null });
    loadScenario().then(() => onSettingsChanged(true));
  } }, "Reset changes");
  const editor = controllerEditor(async () => {
    freshChecker();
    await loadScenario();
  }, async () => {
    Object.assign(state, { text: RACE, more: "", seed: null });
    state.sets.clear();
    forgetResults();
    freshChecker();
    if (await loadScenario()) startRun();
  });
  const copyButton = (label, id, make) => {
    const button = element("button", { type: "button", id, onclick: async () => copyText(await make(), button) }, label);
    return button;
  };
  // On a narrow screen the run comes first, and settings open on request.
  const isNarrow = matchMedia("(max-width: 860px)").matches;
  find("#settings").append(element("details", { id: "settings-box", open: !isNarrow }, element("summary", {}, "Settings"),
    element("div", { id: "choice" }, labelled("scenario", "Scenario", select)),
    element("div", { id: "controls" }),
    element("div", { class: "row" }, again, element("label", { for: "again" }, "Run again at each change")),
    labelled("seed", "Seed", seed),
    element("details", {}, element("summary", {}, "More changes"),
      labelled("more", "One KEY=VALUE a line, as for --set", more, element("p", { class: "note", id: "more-about" }, "All keys are in the reference of scenario files."))),
    element("div", { class: "row" }, reset,
      element("button", { type: "button", id: "get-scenario", onclick: async () => {
        const checked = await checkSettings();
        if (checked) offerDownload(`${currentInput().name}.toml`, checked.expanded, "text/plain");
      } }, "Download as scenario"),
      copyButton("Copy as command", "copy-command", commandOfState),
      copyButton("Copy link", "copy-link", async () => location.href.replace(/#.*$/, "") + await writeLink())),
    element("details", { id: "own" }, element("summary", {}, "Text of the scenario"),
      labelled("text", "Change it, or paste one of your own", text)),
    element("details", {}, element("summary", {}, "What it means"), element("pre", { class: "text", id: "explanation", tabindex: 0 })),
    element("div", { id: "mine-part" }, editor)));
}

function buildRun() {
  const button = (id, label, onclick, className) => element("button", { type: "button", id, class: className, onclick }, label);
  const by = element("select", { id: "step-by", "aria-label": "Length of a step" }, STEP_CHOICES.map(([value, label]) => element("option", { value }, label)));
  find("#run").append(
    element("h2", { id: "title" }, "Scenario"),
    element("p", { id: "about" }),
    element("div", { class: "toolbar", role: "group", "aria-label": "Run" },
      button("go", "Run", goOrPause, "main"), button("stop", "Stop", () => running?.post({ type: "stop" })),
      element("span", { class: "gap" }), button("step", "Step", stepRun), by,
      element("span", { class: "gap" }), button("keep", "Keep for comparison", keepRun)),
    element("progress", { id: "progress", max: 1, value: 0, hidden: true, "aria-label": "Progress of the run" }),
    element("p", { id: "status", role: "status" }),
    element("ul", { id: "errors", class: "diagnostics", "aria-live": "polite", "aria-label": "Messages" }),
    element("div", { id: "kept", class: "legend-run", hidden: true }),
    element("div", { id: "steps", class: "steps", hidden: true, tabindex: 0, role: "group", "aria-label": "Last steps of packets, the newest first" }),
    element("div", { id: "empty", class: "empty" }, "Press Run: the plots grow while the simulation goes on."),
    element("div", { id: "results-anchor" }),
    element("div", { class: "controls" }, panelChoice(), rangeControls()),
    element("div", { id: "panels", tabindex: 0, role: "group", "aria-label": "Plots over time. Keys: plus and minus zoom, 0 shows the whole run, arrows move the cursor", onkeydown: onKey }),
    element("div", { id: "results" }));
  onThemeChange(() => plots.forEach(({ plot }) => plot.redraw(false, true)));
  new ResizeObserver(resizePlots).observe(find("#panels"));
}

// What the buttons of a lesson do.
const lessonActs = {
  run(setting) {
    state.sets.clear();
    state.more = setting.sets.join("\n");
    state.seed = null;
    loadScenario().then(startRun);
  },
  show(name, screen) {
    const isOther = name !== state.lesson;
    Object.assign(state, { lesson: name, screen });
    if (isOther) {
      state.sets.clear();
      Object.assign(state, { more: "", seed: null });
      forgetResults();
    }
    showTab();
    find(name ? "#lesson-title" : "#view").focus();
    if (isOther && name) loadScenario();
    writeLink();
  },
  check(lesson, question, answer) {
    return asks({ request: "answer", lesson: lesson.name, question, answer, runs: Object.fromEntries(runsOfLesson(lesson)) });
  },
};

function showTab() {
  const isLessons = state.tab === "lessons";
  for (const id of TABS) {
    const selected = id === state.tab;
    const tab = find(`#tab-${id}`);
    tab.setAttribute("aria-selected", String(selected));
    tab.tabIndex = selected ? 0 : -1;
  }
  find("#view").setAttribute("aria-labelledby", `tab-${state.tab}`);
  const lesson = currentLesson();
  find("#lessons").hidden = !isLessons;
  find("#traces").hidden = state.tab !== "traces";
  find("#bench").hidden = state.tab === "traces" || (isLessons && !lesson);
  if (!isLessons) return;
  find("#lessons").replaceChildren(...(lesson ? [lessonScreen(lesson, lessonActs)] : lessonList((name) => lessonActs.show(name, 0))));
}

// Marks the runs of a lesson that were made, without touching answers being written.
function drawLessonRuns(lesson) {
  for (const button of findAll("#lessons button[data-run]")) {
    const setting = lesson.runs.find((of) => of.name === button.dataset.run);
    if (runsOfLesson(lesson).has(setting.name)) button.textContent = `✓ ${setting.label}`;
  }
}

async function chooseTab(tab) {
  if (state.tab === tab) return;
  state.tab = tab;
  // Traces leave the other tabs as they are.
  if (tab === "traces" || tab === benchTab) {
    showTab();
    writeLink();
    return;
  }
  benchTab = tab;
  state.sets.clear();
  Object.assign(state, { more: "", seed: null });
  forgetResults();
  showTab();
  if (tab === "play" || state.lesson) await loadScenario();
  writeLink();
}

function buildTabs() {
  for (const tab of TABS) find(`#tab-${tab}`).addEventListener("click", () => chooseTab(tab));
  find("#tabs").addEventListener("keydown", (event) => {
    const at = TABS.indexOf(state.tab);
    const next = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: -1 }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    const other = TABS.at(next % TABS.length);
    find(`#tab-${other}`).focus();
    chooseTab(other);
  });
}

// Shows the state that an address holds.
async function openLink() {
  const error = await readLink(location.hash);
  if (error) showNotice(error);
  const area = find("#mine");
  if (state.controller !== null) {
    area.value = state.controller;
    find("#use-mine").checked = true;
    find("#controller").open = true;
  }
  freshChecker();
  forgetRunsOnly();
  benchTab = state.tab === "traces" ? null : state.tab;
  showTab();
  if (state.tab === "play" || state.lesson) await loadScenario();
}

// Forgets runs, but not the kept settings of a link.
function forgetRunsOnly() {
  const { kept } = state;
  forgetResults();
  state.kept = kept;
  drawKept();
}

async function startPage() {
  try {
    await loadEngine();
    checker = new Laboratory(null);
    listed = await checker.ask({ request: "list" });
  } catch (error) {
    showNotice(`The engine does not start: ${error.message}. The laboratory needs a browser of 2023 or later.`);
    return;
  }
  find("#version").textContent = listed.version;
  buildSettings();
  buildRun();
  buildTraces();
  buildTabs();
  setRunState("none");
  await openLink();
  addEventListener("hashchange", openLink);
  document.documentElement.dataset.ready = "true";
}

startPage();
