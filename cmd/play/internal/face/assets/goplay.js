import { $, el, set, plain, act, say, ends, follow, topicTable, name, count, short, bytes, clock, when } from "./common.js";
import { look } from "/static/look.js";

const table = topicTable(newRow);
const ladder = [0.1, 0.25, 0.5, 1, 2, 4, 8];
const parts = 300; // of the timeline
let s = null; // the latest state
let at = 0; // when it came
let drag = null; // a position while the pointer is down
let goal = null; // where a seek leads, until the program has told of it
const ordered = new Map(); // by name in s: what a command has set, until the program has told of it
let density = null;
let stopped = false; // from here

const phases = { none: "Waiting", register: "Registering", delay: "Starting", wait: "Waiting for subscribers", keep_alive: "Finished", drain: "Finishing", done: "Finished" };

const running = () => s !== null && s.phase === "play";
const label = () => (s.phase === "play" ? (s.paused ? (s.paused_by ? "Paused for " + plain(s.paused_by) : "Paused") : "Playing") : phases[s.phase]);

follow((state) => {
  s = state;
  at = performance.now();
  ends(stopped || s.phase === "drain" || s.phase === "done");
  if (goal !== null && s.seeks < goal.seeks && at < goal.until) s.position = goal.to;
  else goal = null;
  for (const [name, o] of ordered) {
    if (s[name] !== o.value && at < o.until) s[name] = o.value; // an event that was on its way
    else ordered.delete(name);
  }
  $("state").dataset.state = !running() ? s.phase : s.paused ? "paused" : "playing";
  set($("state"), label());
  document.title = label() + " – goplay";
  set($("bagtime"), s.bag_time ? when(s.bag_time) : "");
  set($("length"), " / " + fine(s.length));
  buttons();
  figures();
  table.show(s.topics, update);
  looped();
  draw();
  if (density === null || density.length !== s.length) load();
});

// fine writes a position.
function fine(t) {
  return t >= 3600 ? clock(t) : Math.floor(t / 60) + ":" + (Math.floor(t % 60 * 10) / 10).toFixed(1).padStart(4, "0");
}

// position is where play is about now, between two events.
function position() {
  if (s === null) return 0;
  if (drag !== null) return drag;
  const moved = running() && !s.paused ? (performance.now() - at) / 1000 * s.rate : 0;
  return Math.min(s.position + Math.min(moved, 2 * s.rate), s.length);
}

function frame() {
  draw();
  requestAnimationFrame(frame);
}
requestAnimationFrame(frame);

function draw() {
  if (s === null) return;
  const p = position();
  const share = s.length > 0 ? p / s.length : 0;
  $("head").style.left = (100 * share).toFixed(3) + "%";
  $("density-past").style.clipPath = "inset(0 " + (100 - 100 * share).toFixed(3) + "% 0 0)";
  set($("position"), fine(p));
  const t = $("timeline");
  if (t.getAttribute("aria-valuetext") !== fine(p)) {
    t.setAttribute("aria-valuenow", p.toFixed(1));
    t.setAttribute("aria-valuemax", s.length.toFixed(1));
    t.setAttribute("aria-valuetext", fine(p));
  }
}

let loading = false;

// load asks for the density until it is known.
async function load() {
  if (loading) return;
  loading = true;
  try {
    const r = await fetch("/api/v1/density?n=" + parts);
    const d = await r.json();
    if (r.ok && d.messages) {
      density = d;
      density.length = s.length;
      curve(d.messages);
    }
  } catch { /* the next state asks again */ }
  setTimeout(() => { loading = false; }, 2000);
}

// curve draws the density as bars. The root keeps a camera from hiding what is rare.
function curve(messages) {
  const most = Math.sqrt(Math.max(1, ...messages));
  $("density").setAttribute("viewBox", "0 0 " + messages.length + " 100");
  const path = messages.map((n, i) => (n ? "M" + i + " 100V" + (100 - Math.max(3, 96 * Math.sqrt(n) / most)).toFixed(1) + "h1V100z" : "")).join("");
  $("density-all").setAttribute("d", path);
  $("density-past").setAttribute("d", path);
}

function looped() {
  const set = partLooped();
  $("looped").hidden = !set;
  if (set) {
    $("looped").style.left = 100 * s.loop_from / s.length + "%";
    $("looped").style.width = 100 * (s.loop_to - s.loop_from) / s.length + "%";
  }
  $("clear").disabled = !set;
  $("loop").setAttribute("aria-pressed", String(s.loop));
  $("pausetopics").hidden = !s.topics.some((t) => t.pauses);
  $("pausetopics").setAttribute("aria-pressed", String(s.pause_on_topics));
  if (s.length > 0 && s.phase === "play") recorded();
  const list = $("bookmarks");
  if (list.childElementCount !== s.bookmarks.length) {
    list.replaceChildren(...s.bookmarks.map((b, i) => flag("flag", b, "Bookmark " + (i + 1) + " at " + fine(b), fine(b))));
  }
}

// flag is a button on the timeline that goes to a position.
function flag(cls, to, label, title) {
  const e = el("button", cls);
  e.type = "button";
  e.style.left = 100 * to / s.length + "%";
  e.setAttribute("aria-label", label);
  e.title = title;
  e.addEventListener("pointerdown", (ev) => ev.stopPropagation());
  e.addEventListener("click", () => seek(to));
  return e;
}

let asked = 0;
let recordedAt = []; // positions of the recorded marks

// recorded shows the marks of the bags, which do not change while they are played.
async function recorded() {
  if (asked === s.length) return;
  asked = s.length;
  try {
    const r = await fetch("/api/v1/recorded_marks");
    if (!r.ok) throw new Error(r.statusText);
    const all = await r.json();
    recordedAt = all.map((m) => m.position);
    $("recorded").replaceChildren(...all.map((m) => flag("flag recorded", m.position, "Mark " + plain(m.text) + " at " + fine(m.position), plain(m.text) + ", " + fine(m.position))));
  } catch {
    asked = 0; // the next state asks again
  }
}

// partLooped reports whether the ends of the loop leave anything out.
function partLooped() {
  return s.length > 0 && s.loop_to > s.loop_from && (s.loop_from > 0.0005 || s.loop_to < s.length - 0.0005);
}

function buttons() {
  for (const id of ["toggle", "stop", "from", "to", "loop", "bookmark"]) $(id).disabled = !running();
  for (const id of ["back", "step", "burst"]) $(id).disabled = !running() || !s.paused;
  set($("toggle"), s.paused ? "Play" : "Pause");
  for (const b of $("rates").children) {
    b.setAttribute("aria-pressed", String(Math.abs(b.value - s.rate) < 1e-9));
    b.disabled = !running();
  }
}

const times = (n) => (n >= 100 ? n.toFixed(0) : n >= 10 ? n.toFixed(1) : n.toFixed(2)) + "×";

function figures() {
  set($("pace"), s.pace === null ? "–" : times(s.pace));
  set($("asked"), "of " + times(s.rate) + " asked for");
  set($("messages"), count(s.messages));
  set($("pass"), s.pass ? "pass " + (s.pass + 1) : "");
  set($("dropped"), s.dropped ? count(s.dropped) : "none");
  $("dropped").classList.toggle("bad", s.dropped > 0);
  set($("droppedsub"), s.dropped ? "full queues" : "");
  set($("lag"), (s.late * 1000 < 9.95 ? (s.late * 1000).toFixed(1) : (s.late * 1000).toFixed(0)) + " ms");
  $("lag").classList.toggle("bad", s.late > 1);
  set($("waiting"), s.starving ? "waiting for the disk" : s.delayed ? "held up by rate control" : s.waiting_for.length ? "waiting for " + plain(s.waiting_for.join(", ")) : "");
}

function newRow(t) {
  const on = el("input", "toggle");
  on.type = "checkbox";
  on.setAttribute("role", "switch");
  on.setAttribute("aria-label", "Publish " + plain(t.topic));
  on.addEventListener("change", () => act("topic", { topic: t.topic, on: on.checked }));
  const cell = (cls) => el("td", "n " + cls);
  const row = { tr: el("tr"), on, messages: cell("wide"), data: cell("wide"), subs: cell(""), dropped: cell("") };
  row.tr.append(el("td", "switch", "", on), name(t.topic, t.type), row.messages, row.data, row.subs, row.dropped);
  return row;
}

function update(row, t) {
  row.tr.classList.toggle("silent", !t.on);
  row.on.checked = t.on;
  set(row.messages, count(t.messages));
  set(row.data, bytes(t.bytes));
  set(row.subs, String(t.subscribers));
  set(row.dropped, t.dropped ? short(t.dropped) : "–");
  row.dropped.classList.toggle("bad", t.dropped > 0);
  row.dropped.classList.toggle("muted", t.dropped === 0);
}

function seek(to) {
  to = Math.max(0, Math.min(to, s.length));
  at = performance.now();
  goal = { to, seeks: (goal ?? s).seeks + 1, until: at + 1500 };
  s.position = to;
  draw();
  return act("seek", { to });
}

function pointed(e) {
  const box = $("timeline").getBoundingClientRect();
  return s.length * Math.max(0, Math.min(1, (e.clientX - box.left) / box.width));
}

function hover(e) {
  const p = pointed(e);
  $("hover").hidden = false;
  $("hover").style.left = 100 * p / s.length + "%";
  $("hover").classList.toggle("right", p > s.length / 2);
  set($("hover").firstElementChild, fine(p));
  return p;
}

const line = $("timeline");
line.addEventListener("pointerdown", (e) => {
  if (!running() || e.button !== 0) return;
  line.setPointerCapture(e.pointerId);
  drag = hover(e);
});
line.addEventListener("pointermove", (e) => {
  if (!running()) return;
  const p = hover(e);
  if (drag !== null) drag = p;
});
line.addEventListener("pointerup", () => {
  if (drag === null) return;
  const to = drag;
  drag = null;
  seek(to);
});
line.addEventListener("pointercancel", () => { drag = null; });
line.addEventListener("pointerleave", () => { $("hover").hidden = true; });
// The keys are those of the screen in the terminal (cmd/play/keys.go), with the same meanings.
// Those that scroll a page work on the timeline only.
const onTimeline = {
  ArrowLeft: (e) => seek(position() - (e.shiftKey ? 60 : 5)),
  ArrowRight: (e) => seek(position() + (e.shiftKey ? 60 : 5)),
  PageUp: () => seek(position() - 60),
  PageDown: () => seek(position() + 60),
  Home: () => seek(0),
  End: () => seek(s.length),
  ArrowUp: () => rate(ladder.find((r) => r > s.rate) ?? s.rate),
  ArrowDown: () => rate(ladder.findLast((r) => r < s.rate) ?? s.rate),
};
const anywhere = {
  " ": () => act("toggle"),
  s: () => act("step"),
  ".": () => act("step"),
  S: () => act("step_back"),
  ",": () => act("step_back"),
  "=": () => rate(1),
  b: bookmark,
  "[": loopFrom,
  "]": loopTo,
  l: loop,
  t: pauseTopics,
  m: () => toMark(true),
  M: () => toMark(false),
};
for (let i = 0; i < 10; i++) anywhere[i] = () => seek(s.length * i / 10);

const keyed = (keys) => (e) => {
  if (!running() || e.ctrlKey || e.metaKey || e.altKey || !Object.hasOwn(keys, e.key)) return;
  keys[e.key](e);
  e.preventDefault();
};
line.addEventListener("keydown", (e) => { if (e.target === line) keyed(onTimeline)(e); });

// Not while somebody types or is on a button.
addEventListener("keydown", (e) => { if (!e.target.closest("input, button, a, summary")) keyed(anywhere)(e); });

const press = (id, run) => $(id).addEventListener("click", run);
press("toggle", () => act(s.paused ? "play" : "pause"));
press("step", () => act("step"));
press("back", () => act("step_back"));
press("burst", () => act("burst", { n: 10 }));
press("stop", async () => {
  stopped = await act("stop") !== null;
  ends(stopped);
});
press("loop", loop);
press("pausetopics", pauseTopics);
press("clear", () => act("loop_range", { from: 0, to: s.length }));
press("from", loopFrom);
press("to", loopTo);
press("bookmark", bookmark);

// What a command sets counts at once: the next key may come before the program has told of it.
function order(name, value) {
  s[name] = value;
  ordered.set(name, { value, until: performance.now() + 2000 });
}

function rate(r) {
  order("rate", r);
  return act("rate", { rate: r });
}

function loop() {
  order("loop", !s.loop);
  return act("loop", { on: s.loop });
}

function pauseTopics() {
  order("pause_on_topics", !s.pause_on_topics);
  return act("pause_topics", { on: s.pause_on_topics });
}

// latest asks how things are: what the page shows may be half a second old.
async function latest() {
  try {
    return (await (await fetch("/api/v1/state")).json()).state;
  } catch {
    return s;
  }
}

async function loopFrom() {
  const now = await latest();
  act("loop_range", { from: now.position, to: now.loop_to > now.position ? now.loop_to : now.length });
}

async function loopTo() {
  const now = await latest();
  act("loop_range", { from: now.loop_from < now.position ? now.loop_from : 0, to: now.position });
}

async function bookmark() {
  const answer = await act("bookmark");
  if (answer) say("Bookmark at " + fine(answer.position));
}

// toMark goes to the recorded mark that comes next, or to the one more than a second before.
function toMark(next) {
  const p = position();
  const to = next ? recordedAt.find((m) => m > p) : recordedAt.findLast((m) => m < p - 1);
  if (to !== undefined) seek(to);
}

$("rates").append(...ladder.map((r) => {
  const b = el("button", "", String(r).replace(/^0/, "") + "×");
  b.type = "button";
  b.value = r;
  b.setAttribute("aria-label", "Rate " + r);
  b.addEventListener("click", () => rate(r));
  return b;
}));

look();
