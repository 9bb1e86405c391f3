import { $, el, set, plain, broken, act, say, ends, follow, topicTable, name, count, short, bytes, hertz, clock, span, when } from "./common.js";
import { look } from "/static/look.js";

const table = topicTable(newRow);
const points = 60; // of a sparkline: a minute
let last = null;
let finished = -1;
let pinned = 0;
let seen = 0; // the time of the last event

const states = { none: "Waiting", recording: "Recording", paused: "Paused", stopped: "Stopped: nothing is recorded" };

follow((s, e) => {
  last = s;
  ends(s.ending);
  $("state").dataset.state = s.ending ? "ending" : s.state;
  set($("state"), s.ending ? "Ending" : states[s.state]);
  document.title = states[s.state] + " – gorecord";
  set($("clock"), clock(s.elapsed));
  const only = s.snapshots && s.snapshots.only;
  set($("file"), plain(s.file || (only && s.snapshots.file) || (only ? "Snapshots only" : s.state === "none" ? "" : "No bag")));
  set($("filesize"), s.file ? bytes(s.file_bytes) : "");
  buttons(s, only);
  if (s.state === "none") return;
  figures(s);
  topics(s, e.time);
  wrong(s);
  set($("uploads"), uploads(s.uploads));
  $("uploads").classList.toggle("bad", s.uploads !== null && s.uploads.store.state === "failing");
  if (finished !== s.finished || pinned > 0) bags(s.finished);
});

// uploads tells in a line what the store has got.
function uploads(u) {
  if (!u) return "";
  const parts = [count(u.done) + " uploaded"];
  if (u.waiting) parts.push(count(u.waiting) + " waiting (" + bytes(u.waiting_bytes) + ")");
  if (u.refused) parts.push(count(u.refused) + " refused");
  if (u.store.state === "failing") return parts.join(", ") + "; the store refuses uploads (" + span(u.store.for) + "): " + plain(u.store.error);
  if (u.store.state === "unreachable") return parts.join(", ") + "; the store is not reachable (" + span(u.store.for) + "): " + plain(u.store.error);
  if (u.store.state === "unchecked") parts.push("store not checked yet");
  return parts.join(", ") + (u.error ? "; last try: " + plain(u.error) : "");
}

function buttons(s, only) {
  const running = s.state !== "none" && !s.ending;
  const bag = running && s.state !== "stopped";
  set($("pause"), s.state === "paused" ? "Resume" : "Pause");
  $("pause").disabled = !bag;
  $("split").disabled = !bag || only;
  $("split").hidden = only;
  $("snapshot").hidden = !s.snapshots;
  $("snapshot").disabled = !running;
  $("pin").disabled = !running;
  $("pin").hidden = only;
  set($("pin"), "Keep last " + span(s.pin || 300));
  $("mark").disabled = !running || s.state !== "recording";
  set($("stop"), s.state === "stopped" ? "Start" : "Stop");
  $("stop").className = s.state === "stopped" ? "primary" : "danger";
  $("pause").className = s.state === "stopped" ? "" : "primary";
  $("stop").disabled = !running;
}

function figures(s) {
  let rate = 0, hz = 0;
  for (const t of s.topics) {
    rate += t.bytes_per_second;
    hz += t.hz;
  }
  set($("rate"), bytes(rate) + "/s");
  set($("total"), bytes(s.bytes) + " written");
  set($("hz"), hertz(hz) + "/s");
  set($("messages"), count(s.messages) + " in all");
  const lost = s.dropped + s.missed;
  set($("lost"), lost === 0 ? "none" : count(lost));
  $("lost").classList.toggle("bad", lost > 0);
  set($("lostsub"), lost === 0 ? "" : reasons(...s.topics) + (s.lost_last_minute === 0 ? "; none in the last minute" : "; " + count(s.lost_last_minute) + " in the last minute"));
  set($("left"), s.disk_free === null ? "–" : bytes(s.disk_free));
  const soon = s.time_left !== null && s.time_left < 600;
  $("free").classList.toggle("bad", soon);
  set($("free"), s.disk_free === null ? "" : s.time_left === null ? "free" : span(s.time_left) + " left");
  // What is held for a snapshot makes room when messages need it, until the snapshot is written.
  const held = s.snapshots ? Math.min(s.snapshots.bytes, s.buffered) : 0;
  set($("buffer"), bytes(s.buffered - held));
  set($("held"), held ? bytes(held) + " held for a snapshot" : "");
  const percent = (n) => s.buffer_most ? Math.min(100, 100 * n / s.buffer_most) : 0;
  const share = percent(s.buffered - held);
  const room = s.buffer_most - (held && s.snapshots.file ? held : 0);
  $("meter").firstElementChild.style.width = share.toFixed(1) + "%";
  $("meter").lastElementChild.style.width = Math.min(100 - share, percent(held)).toFixed(1) + "%";
  $("meter").setAttribute("aria-valuenow", share.toFixed(0));
  $("meter").classList.toggle("full", s.buffer_most > 0 && s.buffered - held > 0.9 * room);
}

// wrong shows what is wrong with topics, before everything else, and puts their rows first.
function wrong(s) {
  $("wrong").hidden = s.headlines.length === 0;
  if (s.headlines.join() !== $("wrong").dataset.shown) {
    $("wrong").dataset.shown = s.headlines.join();
    $("wrong").replaceChildren(...s.headlines.map((line) => el("li", "", plain(line))));
  }
  const first = [...new Set(s.findings.map((f) => f.topic))].filter((topic) => table.rows.has(topic));
  const now = new Map([...table.rows].filter(([, row]) => row.tr.parentNode === $("first")));
  for (const topic of now.keys()) if (!first.includes(topic)) table.place(topic);
  const rows = first.map((topic) => table.rows.get(topic).tr);
  if (rows.some((tr, i) => $("first").children[i] !== tr)) $("first").append(...rows);
}

// age tells when the last message came, if that is not just now. A latched topic need not go on.
function age(t) {
  if (t.age === null) return t.publishers === 0 ? "no publisher" : "no message yet";
  if (t.latched) return t.hz > 0 ? "" : "latched";
  return t.age < 2 ? "" : span(t.age) + " ago";
}

// reasons tells why messages are not in the bag.
function reasons(...topics) {
  const sums = {};
  for (const t of topics) {
    for (const [cause, n] of Object.entries(t.causes || {})) sums[cause] = (sums[cause] || 0) + n;
    if (t.missed) sums["never arrived"] = (sums["never arrived"] || 0) + t.missed;
  }
  return Object.entries(sums).map(([cause, n]) => count(n) + " " + cause.replaceAll("_", " ")).join(", ");
}

function topics(s, time) {
  table.show(s.topics, (row, t) => update(row, t, time));
  if (time - seen > 1.9) minute(); // the page has just been opened, or has missed something
  seen = time;
  const box = $("topics").parentElement;
  box.classList.toggle("many", s.topics.length > 20); // the bags are to be found below
  box.tabIndex = s.topics.length > 20 ? 0 : -1;
}

function newRow(t) {
  const cell = (cls) => el("td", "n " + cls);
  const row = { tr: el("tr"), name: name(t.topic, t.type), hz: cell("rate"), rate: el("span"), age: el("span", "age"), data: cell("wide"), messages: cell("wide"), pub: cell("wide"), lost: cell(""), values: [], at: 0, young: 2 };
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 " + (points - 1) + " 20");
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("class", "spark");
  svg.setAttribute("aria-hidden", "true");
  row.line = svg.appendChild(document.createElementNS(svg.namespaceURI, "polyline"));
  row.hz.append(row.rate, row.age);
  row.tr.append(row.name, el("td", "wide curve", "", svg), row.hz, row.data, row.messages, row.pub, row.lost);
  return row;
}

function update(row, t, time) {
  const problems = t.problems || [];
  set(row.name.lastChild, plain(problems.join("; ") || t.type));
  row.tr.classList.toggle("wrong", problems.length > 0);
  row.tr.classList.toggle("silent", t.publishers === 0 && problems.length === 0);
  set(row.rate, hertz(t.hz) + " Hz");
  set(row.age, age(t));
  set(row.data, bytes(t.bytes_per_second) + "/s");
  set(row.messages, count(t.messages));
  set(row.pub, String(t.publishers));
  const lost = t.dropped + t.missed;
  set(row.lost, lost ? short(lost) : "–");
  row.lost.classList.toggle("bad", lost > 0);
  row.lost.classList.toggle("muted", lost === 0);
  row.lost.title = reasons(t);
  if (time - row.at < 0.95) return;
  row.at = time;
  if (row.young-- > 0) return; // there is no rate yet
  row.values.push(t.hz);
  if (row.values.length > points) row.values.shift();
  draw(row);
}

// minute asks for what came before this page.
async function minute() {
  try {
    const r = await fetch("/api/v1/last_minute");
    if (!r.ok) return;
    for (const [topic, hz] of Object.entries(await r.json())) {
      const row = table.rows.get(topic);
      if (!row || hz.length === 0) continue;
      row.values = hz;
      row.young = 0;
      draw(row);
    }
  } catch {
    seen = 0; // the next event asks again
  }
}

function draw(row) {
  const most = Math.max(1e-9, ...row.values) * 1.15;
  const start = points - row.values.length;
  row.line.setAttribute("points", row.values.map((v, i) => (start + i) + "," + (19 - 18 * v / most).toFixed(1)).join(" "));
}

async function bags(now) {
  finished = now;
  pinned = Math.max(0, pinned - 1);
  let list;
  try {
    const r = await fetch("/api/v1/bags");
    if (!r.ok) return;
    list = await r.json();
  } catch {
    finished = -1; // the next state asks again
    return;
  }
  const open = new Set([...document.querySelectorAll("#bags details[open]")].map((d) => d.dataset.id));
  const items = new Map([...$("bags").children].map((li) => [li.dataset.key, li]));
  let next = null;
  for (const b of list.reverse()) { // an item that stays is not touched: it may have the focus
    const key = JSON.stringify(b);
    const li = items.get(key) ?? bagItem(b, open.has(String(b.id)));
    li.dataset.key = key;
    if (!items.delete(key)) $("bags").insertBefore(li, next);
    next = li;
  }
  for (const li of items.values()) li.remove();
  $("bags-none").hidden = list.length > 0;
  set($("bags-count"), list.length ? count(list.length) : "");
}

function bagItem(b, open) {
  const d = el("details");
  d.dataset.id = b.id;
  const facts = [bytes(b.bytes)];
  if (!b.snapshot) facts.push(span(b.seconds));
  if (b.messages !== null) facts.push(count(b.messages) + (b.messages === 1 ? " message" : " messages"));
  const head = el("summary", "", "", el("span", "mono name", plain(b.name)), el("span", "muted facts", facts.map((f) => f.replaceAll(" ", "\u00a0")).join(" · ")));
  if (b.snapshot) head.append(el("span", "tag", "snapshot"));
  if (b.pinned) head.append(el("span", "tag", "kept"));
  const info = el("div", "info");
  d.append(head, info);
  d.addEventListener("toggle", () => { if (d.open && !info.hasChildNodes()) describe(b.id, info); });
  d.open = open;
  const a = el("a", "button", "Download");
  a.href = "/api/v1/bags/" + b.id + "/file";
  a.setAttribute("aria-label", "Download " + plain(b.name));
  a.setAttribute("download", "");
  return el("li", "", "", d, a);
}

async function describe(id, into) {
  into.textContent = "Reading …";
  try {
    const r = await fetch("/api/v1/bags/" + id);
    const info = await r.json();
    if (!r.ok) throw new Error(info.error);
    const list = el("ul", "plain");
    for (const t of info.topics) {
      list.append(el("li", "", "", broken(t.topic), el("span", "muted", plain(t.type)), el("span", "n", count(t.messages))));
    }
    const packed = Object.keys(info.compression).join(", ") || "none";
    into.replaceChildren(el("p", "muted", count(info.chunks) + " chunks, compression " + packed + (info.start ? ", from " + when(info.start) : "")), list);
  } catch (e) {
    into.textContent = e.message;
  }
}

const press = (id, run) => $(id).addEventListener("click", async () => {
  $(id).setAttribute("aria-busy", "true");
  await run();
  $(id).removeAttribute("aria-busy");
});

const tell = (answer) => {
  if (!answer) return;
  const m = plain(answer.message);
  say(m[0].toUpperCase() + m.slice(1));
};

press("pause", async () => tell(await act(last.state === "paused" ? "resume" : "pause")));
press("mark", async () => {
  const text = prompt("Mark this moment with a line of text:", "");
  if (text === null) return;
  const answer = await act("mark", { text: text.trim() });
  if (answer) say("Marked: " + plain(answer.text || answer.message));
});
press("split", async () => tell(await act("split")));
press("snapshot", async () => tell(await act("snapshot")));
press("stop", async () => {
  const starts = last.state === "stopped";
  if (starts || confirm("Close the bag and stop recording? Nothing is recorded until somebody presses Start.")) tell(await act(starts ? "start" : "stop"));
});
press("pin", async () => {
  const answer = await act("pin");
  if (answer && answer.files) {
    say(answer.files.length ? "Will not be deleted: " + plain(answer.files.join(", ")) : "No bag holds anything of that time");
    pinned = 2;
  } else {
    tell(answer);
  }
});

look();
