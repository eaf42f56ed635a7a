// Traces: files that the reader opens. The engine returns the page of `thalweg view --report`, which a frame shows.

const TRACE_LIMITS = "At most 16 files, and of each the first 12 million packets and acknowledgements.";

// The worker that reads, and the page that was made last.
let viewing = null;
let viewedPage = null;

function showTraceErrors(errors) {
  find("#trace-errors").replaceChildren(...errors.map(({ message }) => element("li", { class: "error" }, element("pre", {}, message))));
}

function endViewing() {
  viewing?.end();
  viewing = null;
  find("#trace-stop").disabled = true;
  find("#trace-progress").hidden = true;
}

const size = (bytes) => bytes < 1e6 ? `${(bytes / 1e3).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;

// Reads files and shows their page. Files that are not traces are named.
async function openTraces(files) {
  if (!files.length) return;
  endViewing();
  viewedPage = null;
  find("#trace-page").disabled = true;
  find("#trace-frame").replaceChildren();
  showTraceErrors([]);
  const total = files.reduce((sum, file) => sum + file.size, 0);
  const status = find("#trace-status");
  const progress = find("#trace-progress");
  progress.value = 0;
  progress.hidden = false;
  find("#trace-stop").disabled = false;
  status.textContent = `Reading ${files.map((file) => file.name).join(", ")} ...`;
  const began = performance.now();
  const laboratory = new Laboratory(null, ({ type, read }) => {
    if (type === "reading" && viewing === laboratory) progress.value = total ? read / total : 1;
  });
  viewing = laboratory;
  try {
    const viewed = await laboratory.view(files);
    if (viewing !== laboratory) return;
    showTraceErrors(viewed.errors);
    viewedPage = viewed.page;
    find("#trace-page").disabled = false;
    const count = (number, name) => `${number.toLocaleString("en")} ${name}${number === 1 ? "" : "s"}`;
    const seconds = ((performance.now() - began) / 1000).toFixed(1);
    status.textContent = `${count(viewed.connections, "connection")}, ${count(viewed.findings, "finding")}; ${size(total)} read in ${seconds} s, with ${size(viewed.memory)} of memory.`;
    showTracePage(viewed.page);
  } catch (error) {
    if (viewing !== laboratory) return;
    status.textContent = "";
    showTraceErrors(error.errors ?? [{ message: error.message }]);
  }
  endViewing();
}

// The frame has the height of its page, and the colours of this one. The policy of this page holds for it too.
function showTracePage(page) {
  const frame = element("iframe", { title: "Plots and findings of the traces" });
  frame.addEventListener("load", () => {
    const { contentDocument: inner } = frame;
    const button = inner.querySelector("#theme");
    button.hidden = true;
    const adopt = () => {
      const colours = inner.defaultView.getComputedStyle(inner.documentElement).colorScheme;
      if (frame.isConnected && colours !== getComputedStyle(document.documentElement).colorScheme) button.click();
    };
    frame.adopt = adopt;
    adopt();
    const fit = () => (frame.style.height = `${Math.ceil(inner.body.getBoundingClientRect().height + inner.body.offsetTop * 2)}px`);
    new inner.defaultView.ResizeObserver(fit).observe(inner.body);
    fit();
  });
  frame.srcdoc = page;
  find("#trace-frame").replaceChildren(frame);
}

function buildTraces() {
  const input = element("input", { type: "file", id: "files", multiple: true, "aria-describedby": "files-about" });
  // The same file can be chosen again after it has changed.
  input.addEventListener("change", () => {
    openTraces([...input.files]);
    input.value = "";
  });
  find("#traces").append(
    element("h2", {}, "Traces"),
    element("p", {}, "See what is wrong with a connection, whichever program recorded it. Files are read in this page and sent nowhere."),
    element("div", { class: "drop", id: "drop" },
      element("label", { for: "files" }, "Choose files, or drop them here"), input,
      element("p", { class: "note", id: "files-about" },
        "qlog (JSON or JSON-SEQ), pcap and pcapng, ", element("code", {}, "ss -tin"), " and bpftrace logs of Linux, also compressed by gzip. Several files share one time axis. ",
        `${TRACE_LIMITS} QUIC in captures is decrypted by the command alone: `, element("code", {}, "thalweg view --keys"), ".")),
    element("div", { class: "toolbar", role: "group", "aria-label": "Traces" },
      element("button", { type: "button", id: "trace-stop", disabled: true, onclick: () => {
        endViewing();
        find("#trace-status").textContent = "Stopped.";
      } }, "Stop"),
      element("button", { type: "button", id: "trace-page", disabled: true, onclick: () => offerDownload("traces.html", viewedPage, "text/html") }, "Download page")),
    element("progress", { id: "trace-progress", max: 1, value: 0, hidden: true, "aria-label": "Part of the files that is read" }),
    element("p", { id: "trace-status", class: "note", role: "status" }),
    element("ul", { id: "trace-errors", class: "diagnostics", "aria-live": "polite", "aria-label": "Messages about files" }),
    element("div", { id: "trace-frame" }));
  const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
  addEventListener("dragover", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    find("#drop").classList.add("over");
  });
  addEventListener("dragleave", () => find("#drop").classList.remove("over"));
  addEventListener("drop", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    find("#drop").classList.remove("over");
    chooseTab("traces");
    openTraces([...event.dataTransfer.files]);
  });
  onThemeChange(() => find("#trace-frame iframe")?.adopt?.());
}
