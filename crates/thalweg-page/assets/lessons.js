// Lessons: screens of text, runs, and questions that the results of the reader's runs answer.

// Results of the runs of each lesson, and the questions answered: by lesson name.
const lessonRuns = new Map();
const lessonDone = new Map();

const currentLesson = () => (state.tab === "lessons" && state.lesson ? listed.lessons.find((lesson) => lesson.name === state.lesson) : null);

function runsOfLesson(lesson) {
  if (!lessonRuns.has(lesson.name)) lessonRuns.set(lesson.name, new Map());
  return lessonRuns.get(lesson.name);
}

function doneIn(lesson) {
  if (!lessonDone.has(lesson.name)) lessonDone.set(lesson.name, new Set());
  return lessonDone.get(lesson.name);
}

// Returns a text in which backquotes enclose code and asterisks emphasis.
function renderMarkedText(text) {
  return text.split(/(`[^`]+`|\*[^*]+\*)/).map((part) => {
    if (part.length > 2 && part.startsWith("`")) return element("code", {}, part.slice(1, -1));
    if (part.length > 2 && part.startsWith("*")) return element("em", {}, part.slice(1, -1));
    return part;
  });
}

function lessonList(open) {
  const items = listed.lessons.map((lesson) => {
    const done = doneIn(lesson).size;
    const mark = done ? element("span", { class: done === lesson.questions.length ? "done" : "" }, ` ${done} of ${lesson.questions.length} questions answered`) : null;
    return element("li", {}, element("button", { type: "button", onclick: () => open(lesson.name) }, element("strong", {}, lesson.title), element("span", {}, lesson.about), mark));
  });
  return [element("h2", {}, "Lessons"), element("p", { class: "note" }, "Each is a scenario, a few screens of text, and questions that your own runs answer."), element("ol", { class: "lesson-list" }, items)];
}

// Returns a verdict that replaces the one before.
function verdictOf(kind, text) {
  return element("div", { class: `verdict ${kind}`, role: "status" }, renderMarkedText(text));
}

function questionForm(lesson, number, check) {
  const question = lesson.questions[number];
  const place = element("div", { "aria-live": "polite" });
  const id = `q-${number}`;
  const answered = async (answer) => {
    try {
      const verdict = await check(lesson, number, answer);
      if (verdict.right) doneIn(lesson).add(number);
      place.replaceChildren(verdictOf(verdict.right ? "right" : "wrong", verdict.text));
    } catch (error) {
      place.replaceChildren(verdictOf("open", error.message));
    }
  };
  let inputs;
  if (question.kind === "choice") {
    inputs = question.options.map((text, i) => element("label", {}, element("input", { type: "radio", name: id, value: i }), element("span", {}, renderMarkedText(text))));
  } else if (question.kind === "number") {
    inputs = [element("div", { class: "row" }, element("input", { type: "number", step: "any", id, "aria-labelledby": `${id}-text` }), element("label", { for: id }, question.unit))];
  } else inputs = [element("p", { class: "note" }, "Change the settings beside the plots, press Run, then check.")];
  const form = element("form", { class: "question" },
    element("div", { id: `${id}-text` }, element("strong", {}, `${number + 1}. `), renderMarkedText(question.text)),
    question.kind === "choice" ? element("div", { role: "radiogroup", "aria-labelledby": `${id}-text` }, inputs) : inputs,
    element("div", { class: "row" }, element("button", { type: "submit" }, "Check")),
    place);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (question.kind === "task") return answered("run");
    if (question.kind === "number") {
      const given = form.querySelector("input").valueAsNumber;
      return Number.isFinite(given) ? answered({ number: given }) : place.replaceChildren(verdictOf("open", "Write a number first."));
    }
    const chosen = form.querySelector("input:checked");
    return chosen ? answered({ choice: Number(chosen.value) }) : place.replaceChildren(verdictOf("open", "Choose an answer first."));
  });
  return form;
}

// Returns the screen of a lesson; `acts` has what its buttons do.
function lessonScreen(lesson, acts) {
  const count = lesson.screens.length + 1;
  const at = Math.min(state.screen, count - 1);
  const made = runsOfLesson(lesson);
  const runButton = (name) => {
    const run = lesson.runs.find((of) => of.name === name);
    return element("button", { type: "button", "data-run": name, onclick: () => acts.run(run) }, made.has(name) ? `✓ ${run.label}` : `Run: ${run.label}`);
  };
  const move = (step) => acts.show(lesson.name, at + step);
  const parts = [element("div", { class: "row" },
    element("button", { type: "button", onclick: () => acts.show(null, 0) }, "All lessons"),
    element("span", { class: "place grow" }, `Lesson ${listed.lessons.indexOf(lesson) + 1}, part ${at + 1} of ${count}`)),
  element("h2", { id: "lesson-title", tabindex: -1 }, lesson.title)];
  if (at < lesson.screens.length) {
    const screen = lesson.screens[at];
    parts.push(element("h3", {}, screen.title), screen.text.map((text) => element("p", {}, renderMarkedText(text))));
    if (screen.runs.length) parts.push(element("div", { class: "row", role: "group", "aria-label": "Runs" }, screen.runs.map(runButton)));
  } else {
    parts.push(element("h3", {}, "Questions"), element("p", { class: "note" }, "The answers follow from your runs."),
      element("div", { class: "row", role: "group", "aria-label": "Runs" }, lesson.runs.map((run) => runButton(run.name))),
      lesson.questions.map((_, number) => questionForm(lesson, number, acts.check)));
  }
  const next = listed.lessons[listed.lessons.indexOf(lesson) + 1];
  parts.push(element("div", { class: "row" },
    at > 0 ? element("button", { type: "button", onclick: () => move(-1) }, "Back") : null,
    at < count - 1 ? element("button", { type: "button", class: "main", id: "next-screen", onclick: () => move(1) }, at === count - 2 ? "Questions" : "Next") : null,
    at === count - 1 && next ? element("button", { type: "button", onclick: () => acts.show(next.name, 0) }, `Next lesson: ${next.title}`) : null));
  return element("div", { class: "lesson" }, parts.flat());
}

// Keeps the results of a run, by the lesson's name for it or as the reader's own.
function keepLessonRun(lesson, sets, results) {
  const key = (list) => JSON.stringify([...list].sort());
  const named = lesson.runs.find((run) => key(run.sets) === key(sets));
  runsOfLesson(lesson).set(named ? named.name : "yours", results.document);
  if (named && lesson.runs.indexOf(named) === 0) return;
  // A run with other settings than the lesson's first is also one of the reader's own.
  runsOfLesson(lesson).set("yours", results.document);
}
