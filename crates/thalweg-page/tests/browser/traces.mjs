// The part of the laboratory page for traces: files that a reader chooses, good and bad.

import { execFileSync } from "node:child_process";
import { closeSync, ftruncateSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync, gzipSync } from "node:zlib";

const DATA = join(dirname(fileURLToPath(import.meta.url)), "../../../thalweg-trace/tests/data");
const INNER = "document.querySelector('#trace-frame iframe')?.contentDocument";
export const READY = `${INNER}?.documentElement.dataset.ready === 'true'`;

// Returns the milliseconds of a frame while the plots of the shown traces move.
export function frameOf(page) {
  return page.run(`new Promise((done) => {
    const inner = ${INNER};
    const key = (of) => inner.querySelector('#panels').dispatchEvent(new inner.defaultView.KeyboardEvent('keydown', of));
    for (let times = 0; times < 9; times++) key({ key: '+' });
    let count = 0;
    const begin = performance.now();
    const step = () => {
      if (count++ === 60) return done((performance.now() - begin) / 60);
      key({ key: 'ArrowRight', shiftKey: true });
      requestAnimationFrame(step);
    };
    step();
  })`);
}

// Writes a log of a sender: a packet every 0.1 ms, of about `size` bytes.
function longLog(path, size) {
  const file = openSync(path, "w");
  writeSync(file, '\x1e{"qlog_version":"0.3","qlog_format":"JSON-SEQ","trace":{"vantage_point":{"type":"client"}}}\n');
  let written = 0;
  for (let number = 0, lines = []; written < size; number++) {
    const time = (number / 10).toFixed(1);
    lines.push(`\x1e{"time":${time},"name":"transport:packet_sent","data":{"header":{"packet_type":"1RTT","packet_number":${number}},"raw":{"length":1280},"frames":[{"frame_type":"stream","stream_id":0,"offset":${number * 1200},"length":1200}]}}\n`);
    if (number % 2 && number > 400) lines.push(`\x1e{"time":${time},"name":"transport:packet_received","data":{"header":{"packet_type":"1RTT","packet_number":${number}},"frames":[{"frame_type":"ack","acked_ranges":[[${number - 400},${number - 399}]]}]}}\n`);
    if (lines.length > 20_000) {
      written += writeSync(file, lines.join(""));
      lines = [];
    }
  }
  closeSync(file);
}

export async function traces({ page, check, thalweg, pictures, text, wait, click, open }) {
  const stored = (name) => join(DATA, name);
  const made = (name, bytes) => {
    writeFileSync(join(pictures, name), bytes);
    return join(pictures, name);
  };
  // Chooses files and waits for their page, or for what is wrong with them.
  const view = async (...paths) => {
    await page.run("(document.querySelector('#trace-status').textContent = '', document.querySelector('#trace-errors').replaceChildren(), document.querySelector('#trace-frame').replaceChildren())");
    await page.choose("#files", paths);
    await wait(`document.querySelector('#trace-progress').hidden && (document.querySelector('#trace-errors').textContent || ${READY})`, 120);
  };
  const errors = () => text("#trace-errors");

  await open("#v=1&tab=traces");
  check("a link leads to the traces", (await page.run("!document.querySelector('#traces').hidden && document.querySelector('#bench').hidden")));
  await view(stored("kernel-cubic.pcap.gz"), stored("kernel-cubic.ss"));
  check("a capture and a log are shown on one page", (await text("#trace-status")).startsWith("4 connections, "), await text("#trace-status"));
  check("its plots are drawn", (await page.run(`[...${INNER}.querySelectorAll('.panel canvas')].length`)) >= 4);
  check("in a frame as high as its page", await page.run(`(() => { const { scrollHeight, clientHeight } = ${INNER}.documentElement; return scrollHeight <= clientHeight + 2; })()`), await page.run(`${INNER}.documentElement.scrollHeight`));
  await page.picture(join(pictures, "traces-whole.png"), true);
  const report = join(pictures, "command.html");
  execFileSync(thalweg, ["view", stored("kernel-cubic.pcap.gz"), stored("kernel-cubic.ss"), "--quiet", `--report=${report}`], { stdio: "ignore" });
  await page.run("(window.savedPage = null, URL.createObjectURL = ((make) => (blob) => { window.savedPage = blob.text(); return make(blob); })(URL.createObjectURL.bind(URL)), HTMLAnchorElement.prototype.click = () => {})");
  await click("#trace-page");
  check("the downloaded page is the command's", (await page.run("window.savedPage")) === readFileSync(report, "utf8"));
  await view(stored("aioquic-client.qlog.gz"));
  check("a log has findings", (await page.run(`${INNER}.querySelectorAll('#findings li').length`)) > 0);
  const range = await page.run(`${INNER}.querySelector('#range').textContent`);
  await page.run(`${INNER}.querySelector('.place').click()`);
  check("a finding leads to its place", (await page.run(`${INNER}.querySelector('#range').textContent`)) !== range);
  await click("#theme");
  check("the frame has the colours of the page", await page.run(`getComputedStyle(${INNER}.documentElement).colorScheme === getComputedStyle(document.documentElement).colorScheme`));
  await page.collect();
  check("traces: no errors", page.problems.length === 0, page.problems);
  check("traces: nothing is asked for", page.requests.every((request) => /^(file|blob):/.test(request)), page.requests);

  // Files that are none, damaged, or hostile.
  const capture = gunzipSync(readFileSync(stored("kernel-cubic.pcap.gz")));
  const notes = made("notes.txt", "not a trace\n");
  await view(notes);
  check("what is not a trace is refused with the formats", /notes\.txt: this is not a trace; expected qlog/.test(await errors()), await errors());
  await view(notes, stored("aioquic-client.qlog.gz"));
  check("and named beside one that is", /notes\.txt/.test(await errors()) && (await text("#trace-status")).startsWith("1 connection, "), [await errors(), await text("#trace-status")]);
  await view(made("cut.pcap", capture.subarray(0, capture.length / 2 + 7)));
  check("a capture that is cut shows what it has, with a note", /ends|cut/.test(await page.run(`${INNER}.querySelector('.warning').textContent`)));
  await view(made("cut.qlog", gunzipSync(readFileSync(stored("aioquic-client.qlog.gz"))).subarray(0, 60_000)));
  check("so does a log", /ends|cut/.test(await page.run(`${INNER}.querySelector('.warning').textContent`)));
  await view(made("deep.qlog", `{"qlog_version":"0.3","traces":${"[".repeat(1e6)}`));
  check("a million brackets are refused", /deep\.qlog: qlog/.test(await errors()), await errors());
  const bomb = Buffer.concat([Buffer.from('{"qlog_version":"0.3","traces":['), Buffer.alloc(300 << 20, " ")]);
  await view(made("bomb.qlog", gzipSync(bomb)));
  check("300 MB of spaces in gzip are refused", /bomb\.qlog: qlog/.test(await errors()), await errors());
  const name = "<img src=x onerror=alert(1)></script><script>window.parent.hacked = 1</script>";
  await view(made("names.qlog", JSON.stringify({ qlog_version: "0.3", title: name, traces: [{ title: name, vantage_point: { type: "client", name }, common_fields: { ODCID: name }, events: [
    { time: 0, name: "transport:packet_sent", data: { header: { packet_type: "1RTT", packet_number: 0 }, raw: { length: 1200 }, frames: [{ frame_type: "stream", stream_id: 0, offset: 0, length: 1000 }] } },
    { time: 9, name: "transport:packet_received", data: { header: { packet_type: "1RTT", packet_number: 0 }, frames: [{ frame_type: "ack", acked_ranges: [[0, 0]] }] } }] }] })));
  check("markup in names stays text", (await page.run(`window.hacked === undefined && ${INNER}.querySelector('img') === null`)));
  const sparse = join(pictures, "sparse.pcap");
  const file = openSync(sparse, "w");
  writeSync(file, capture, 0, 24);
  ftruncateSync(file, 2 ** 31);
  closeSync(file);
  await view(sparse);
  check("2 GB of zeros are read to their end", (await errors()).includes("sparse.pcap: ") || (await text("#trace-status")).includes("connection"), [await errors(), await text("#trace-status")]);
  await page.collect();
  check("bad files: no errors of the page", page.problems.length === 0, page.problems);

  // A hundred megabytes, the frame rate of panning, and a stop.
  const long = join(pictures, "hundred.sqlog");
  longLog(long, 1e8);
  await view(long);
  console.log(`       100 MB of qlog: ${await text("#trace-status")}`);
  check("100 MB of qlog are shown", (await text("#trace-status")).startsWith("1 connection, "), await errors());
  const frame = await frameOf(page);
  console.log(`       panning takes ${frame.toFixed(1)} ms a frame`);
  check("panning is smooth", frame < 250, frame);
  await page.run("document.querySelector('#trace-frame').replaceChildren()");
  await page.choose("#files", [long, sparse]);
  await wait("!document.querySelector('#trace-stop').disabled");
  await click("#trace-stop");
  check("reading can be stopped", (await text("#trace-status")) === "Stopped." && (await page.run("document.querySelector('#trace-progress').hidden")));
  for (const large of [long, sparse]) rmSync(large);

  // The other tabs are left as they are.
  await open("#v=1&run=two-flows&set=duration%3D8+s");
  await click("#go");
  await wait("document.documentElement.dataset.run === 'none' && document.querySelector('#fingerprint')");
  const fingerprint = await text("#fingerprint");
  await click("#tab-traces");
  await click("#tab-play");
  check("a run outlives a look at traces", (await text("#fingerprint")) === fingerprint && (await page.run("document.querySelectorAll('.panel canvas').length")) >= 4);
}
