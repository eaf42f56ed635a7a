// Results of a finished run, beside those of the kept one.

const FLOW_COLUMNS = [
  ["goodput_bps", "Goodput", "bit/s"], ["share", "Share", "share"], ["completion_s", "Duration", "s"], ["delay_p50_s", "Delay p50", "s"],
  ["delay_p99_s", "Delay p99", "s"], ["rtt_mean_s", "RTT mean", "s"], ["retransmissions", "Retransmitted", "pkt"], ["loss", "Lost", "share"],
  ["marked_packets", "Marked", "pkt"], ["jitter_s", "Jitter", "s"],
];
const LINK_COLUMNS = [
  ["rate_bps", "Rate", "bit/s"], ["utilisation", "Used", "share"], ["packets", "Packets", "pkt"], ["queue_mean_packets", "Queue mean", "pkt"],
  ["queue_p99_packets", "p99", "pkt"], ["queue_max_packets", "max", "pkt"], ["drops", "Drops", "pkt"], ["marks", "Marks", "pkt"],
  ["losses", "Lost", "pkt"], ["feedback", "Messages", "pkt"],
];
const GROUP_COLUMNS = [["completions", "Completed", "pkt"], ["unfinished", "Unfinished", "pkt"], ["completion_mean_s", "Time mean", "s"], ["completion_p99_s", "p99", "s"], ["jain", "Jain", ""]];

const runOf = (results) => results.document.runs[0];

function resultCard(title, value, note = "") {
  return element("li", {}, element("h3", {}, title), element("p", { class: "main" }, value), note ? element("p", {}, note) : null);
}

function resultCards(results) {
  const { totals, links } = runOf(results);
  const busiest = links.filter((link) => link.queue_mean_packets !== null).sort((a, b) => b.queue_mean_packets - a.queue_mean_packets)[0];
  const cards = [resultCard("Goodput of all flows", formatValue(totals.goodput_bps, "bit/s"))];
  if (totals.jain !== null) cards.push(resultCard("Jain's fairness index", totals.jain.toFixed(4), "1 for equal shares"));
  if (totals.completions > 0) cards.push(resultCard("Completion time, mean", formatValue(totals.completion_mean_s, "s"), `${totals.completions} transfers`));
  if (totals.delay_mean_s !== null) cards.push(resultCard("Delay, mean", formatValue(totals.delay_mean_s, "s"), "one way, of data packets"));
  if (busiest?.queue_mean_packets > 0) cards.push(resultCard("Longest queue, mean", `${formatDigits(busiest.queue_mean_packets)} pkt`, `${busiest.name}: ${busiest.from} → ${busiest.to}`));
  cards.push(resultCard("Retransmissions", formatDigits(totals.retransmissions ?? 0), totals.sent_packets ? `of ${formatDigits(totals.sent_packets)} packets` : ""));
  return element("ul", { class: "cards short" }, cards);
}

function tableOf(caption, first, columns, rows) {
  const used = columns.filter(([key]) => rows.some(({ row }) => typeof row[key] === "number" && row[key] !== 0));
  const cell = (row, [key, , unit]) => {
    const value = row[key];
    return element("td", { class: "number" }, value === null || value === undefined ? "–" : unit === "pkt" ? formatDigits(value) : formatValue(value, unit));
  };
  return element("div", { class: "wide", tabindex: 0, role: "group", "aria-label": caption }, element("table", {},
    element("caption", { class: "note" }, caption),
    element("thead", {}, element("tr", {}, [first, ...used.map(([, title]) => title)].map((title, i) => element("th", { scope: "col", class: i ? "number" : null }, title)))),
    element("tbody", {}, rows.map(({ name, row, isBottleneck }) => element("tr", { class: isBottleneck ? "bottleneck" : null }, element("th", { scope: "row" }, name), used.map((column) => cell(row, column)))))));
}

function rowsOf(key, nameOf) {
  const runs = [["A: ", recorded.kept], ["B: ", recorded.run]].filter(([, run]) => run?.results);
  return runs.flatMap(([prefix, run]) => runOf(run.results)[key].map((row) => ({
    name: (runs.length > 1 ? prefix : "") + nameOf(row, runOf(run.results)), row, isBottleneck: row.bottleneck === true,
  })));
}

function statesOf(run) {
  const flows = run.flows.filter((flow) => flow.states?.length);
  if (!flows.length) return null;
  const rows = flows.flatMap((flow) => {
    const times = new Map();
    for (const { state: name, from_s: from, until_s: until } of flow.states) {
      const found = times.get(name) ?? { time: 0, visits: 0 };
      times.set(name, { time: found.time + until - from, visits: found.visits + 1 });
    }
    return [...times].map(([name, { time, visits }]) => ({ name: `${flow.name}: ${name}`, row: { time, visits } }));
  });
  return tableOf("States of controllers", "State", [["time", "Time", "s"], ["visits", "Visits", "pkt"]], rows);
}

const linkRowName = ({ name, from, to }) => `${name}: ${from} → ${to}`;
const flowRowName = (flow, run) => {
  const group = run.groups.find((of) => of.name === flow.group);
  return group && group.scheme !== flow.name ? `${flow.name} (${group.scheme})` : flow.name;
};

// Shows the results of the run, with what can be done with them.
function drawResults(holder, actions) {
  holder.replaceChildren();
  const { run } = recorded;
  if (!run?.results) return;
  const of = runOf(run.results);
  const { flows, links } = run.results;
  const more = [];
  if (flows > of.flows.length) more.push(`The first ${of.flows.length} of ${flows} flows.`);
  if (links > of.links.length) more.push(`The first ${of.links.length} of ${links} link directions.`);
  if (!of.complete) more.push("The run was stopped before its end.");
  const groups = rowsOf("groups", ({ name }) => name);
  const hops = `${formatDigits(of.hops)} packet hops in ${formatDigits(Number(run.seconds.toPrecision(3)))} s`;
  const speed = run.seconds > 0.05 ? `: ${formatDigits(Number((of.hops / run.seconds / 1e6).toPrecision(3)))} million a second` : "";
  holder.append(element("div", { class: "results" },
    element("h2", {}, "Results"),
    resultCards(run.results),
    tableOf("Flows", "Flow", FLOW_COLUMNS, rowsOf("flows", flowRowName)),
    groups.some(({ row }) => row.completions > 0 || row.unfinished > 0) ? tableOf("Transfers", "Flows", GROUP_COLUMNS, groups) : null,
    tableOf("Links", "Link", LINK_COLUMNS, rowsOf("links", linkRowName)),
    statesOf(of),
    element("p", { class: "note" }, more.join(" ")),
    element("p", { class: "fingerprint" }, "Fingerprint ", element("code", { id: "fingerprint" }, of.fingerprint), `; ${hops}${speed}.`),
    element("div", { class: "row" }, actions),
    element("details", {}, element("summary", {}, "As text"), element("pre", { class: "text", tabindex: 0 }, run.results.summary))));
}

// Offers a text as a download.
function offerDownload(name, text, type) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = element("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
