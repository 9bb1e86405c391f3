// The page of gobag view: its state, and what panels share. A panel is told of changes by on, and changes the state by the
// functions here. Texts of messages come from anybody: they only ever become text.

import { $, el, set, plain, bytes, say } from "/static/common.js";
import { timeline } from "/static/timeline.js";
import { messagePanel } from "/static/message.js";
import { plotPanel } from "/static/plot.js";
import { picturePanel } from "/static/picture.js";
import { regionPanel } from "/static/region.js";

// state: times are seconds from the start.
export const state = {
  base: "/api/v1/view/",
  live: false, // what is shown are the latest messages of a running program
  asking: 0, // requests that are not answered
  topics: [], marks: [], damage: [], findings: [], files: [], duration: 0, start: "0.0", elapsed: false,
  from: 0, to: 1, at: 0,
  bag: "", // number of the file that is shown; empty: all as one
  other: null, // the state of the bag to compare with: {bag, offset, topics, marks, duration}
  topic: null, // chosen
  message: null, // shown: {id, at}
  region: null, // [from, to]
  tapped: false, // somebody has just tapped on a topic
};

const listeners = {};

// on calls what with each change of a kind: state, findings, range, at, topic, message, region.
export const on = (kind, what) => (listeners[kind] ||= []).push(what);
export const tell = (kind) => { for (const what of listeners[kind] || []) what(); };

// address makes the address of an endpoint. Of several values each is sent.
export function address(name, parameters = {}) {
  const q = new URLSearchParams();
  for (const [key, value] of Object.entries(parameters)) {
    for (const v of Array.isArray(value) ? value : [value]) if (v !== undefined && v !== null && v !== "") q.append(key, v);
  }
  return state.base + name + (q.size ? "?" + q : "");
}

// failure reads why a request was refused.
export async function failure(r) {
  if (r.status === 401) location.assign("/login");
  try {
    return new Error((await r.json()).error || r.statusText);
  } catch {
    return new Error(r.statusText || "no answer");
  }
}

// mark notes in the browser's own record of the page when something was there first: what a user waits for is measured.
export function mark(name) {
  if (performance.getEntriesByName(name).length === 0) performance.mark(name);
}

// latest makes a function that asks for the answer to its last call only: the newest wins, what is older is given up.
export function latest(ask) {
  let going = null;
  return async (...given) => {
    going?.abort();
    const mine = going = new AbortController();
    state.asking++;
    try {
      const answer = await ask(mine.signal, ...given);
      return mine.signal.aborted ? undefined : answer;
    } catch (e) {
      if (mine.signal.aborted) return undefined;
      throw e instanceof TypeError ? new Error("no answer: has the program ended?") : e;
    } finally {
      state.asking--;
      if (going === mine) going = null;
    }
  };
}

// get asks for JSON.
export async function get(signal, name, parameters) {
  const r = await fetch(address(name, parameters), { signal });
  if (!r.ok) throw await failure(r);
  return r.json();
}

// lines reads an answer that comes in lines of JSON.
export async function lines(signal, name, parameters, each) {
  const r = await fetch(address(name, parameters), { signal });
  if (!r.ok) throw await failure(r);
  const reader = r.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    const parts = (rest + value).split("\n");
    rest = parts.pop();
    for (const line of parts) {
      const v = JSON.parse(line);
      if (v.error) throw new Error(v.error);
      each(v);
    }
  }
}

// soon makes a function that runs once before the next picture is drawn, however often it is called.
export function soon(what) {
  let due = false;
  return () => {
    if (due) return;
    due = true;
    requestAnimationFrame(() => {
      due = false;
      what();
    });
  };
}

// settled makes a function that runs when it was not called for a while.
export function settled(what, after) {
  let timer;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(what, after);
  };
}

// show changes the stretch of time that is shown.
export function show(from, to) {
  const least = 1e-6, most = Math.max(state.duration * 1.04, 0.002);
  let span = Math.min(Math.max(to - from, least), most);
  const middle = (from + to) / 2;
  const margin = span * 0.5;
  from = Math.min(Math.max(middle - span / 2, -margin), state.duration + margin - span);
  state.from = from;
  state.to = from + span;
  tell("range");
  if (!state.live) remember();
}

export const showAll = () => show(-state.duration * 0.01, state.duration * 1.01);

// zoom makes what is shown longer by a factor; the time at stays where it is.
export function zoom(factor, at = inView(state.at) ? state.at : (state.from + state.to) / 2) {
  show(at - (at - state.from) * factor, at + (state.to - at) * factor);
}

export const inView = (t) => t >= state.from && t <= state.to;

// go moves the playhead.
export function go(t, follow = false) {
  state.at = Math.min(Math.max(t, 0), state.duration);
  state.message = null;
  if (follow && !inView(state.at)) {
    const span = state.to - state.from;
    show(state.at - span / 2, state.at + span / 2);
  }
  tell("at");
  if (!state.live) remember();
}

// arrive moves the playhead to a message that was found.
export function arrive(topic, message) {
  state.at = message.at;
  state.message = message;
  const changed = state.topic?.name !== topic;
  if (changed) state.topic = state.topics.find((t) => t.name === topic) || state.topic;
  if (!inView(state.at)) {
    const span = state.to - state.from;
    show(state.at - span / 2, state.at + span / 2);
  }
  if (changed) tell("topic");
  tell("at");
  remember();
}

// choose chooses a topic.
export function choose(topic) {
  if (state.topic === topic) return;
  state.topic = topic;
  state.message = null;
  tell("topic");
  remember();
}

// reveal scrolls to what a tap on a topic has brought below the fold.
export function reveal(e) {
  if (state.tapped && e.getBoundingClientRect().top > innerHeight - 150) e.scrollIntoView({ block: "nearest", behavior: "smooth" });
  state.tapped = false;
}

// select marks a part of the time line; null: none.
export function select(region) {
  const [from, to] = region ? [Math.max(region[0], 0), Math.min(region[1], state.duration)] : [0, 0];
  state.region = to > from ? [from, to] : null;
  tell("region");
}

const stampOf = (t) => {
  const [sec, nsec] = state.start.split(".");
  return Number(sec) + Number("0." + nsec) + t;
};

// clock writes a time as one of the day, or from the start, with as many digits as the step needs.
export function clock(t, step = 0.001) {
  const digits = Math.min(6, Math.max(0, Math.ceil(-Math.log10(step) - 1e-9)));
  if (state.elapsed || state.wall === false) return plainSeconds(t, digits);
  const stamp = stampOf(t);
  const whole = Math.floor(stamp + 0.5 * 10 ** -digits);
  const text = new Date(whole * 1000).toTimeString().slice(0, 8);
  return digits ? text + (stamp - whole < 0 ? 0 : stamp - whole).toFixed(digits).slice(1) : text;
}

// timeOf reads what somebody types: seconds from the start, or a time of the day. It returns NaN for anything else.
export function timeOf(text) {
  const day = /^(\d{1,2}):(\d\d)(?::(\d\d(?:\.\d*)?))?$/.exec(text.trim());
  if (!day) return /^\+?\d*\.?\d+ ?s?$/.test(text.trim()) ? parseFloat(text.trim().replace("+", "")) : NaN;
  const first = new Date(stampOf(0) * 1000), seconds = Number(day[3] || 0);
  if (state.elapsed) return Number(day[1]) * 3600 + Number(day[2]) * 60 + seconds;
  first.setHours(Number(day[1]), Number(day[2]), 0, 0);
  const t = first.getTime() / 1000 + seconds - stampOf(0);
  return t < -1 && t + 86400 <= state.duration ? t + 86400 : t; // the recording went on after midnight
}

// typed calls what with the time that was typed into a field.
export function typed(field, what) {
  field.addEventListener("change", () => {
    if (field.value.trim() === "") return;
    const t = timeOf(field.value);
    if (t >= -1 && t <= state.duration + 1) what(Math.min(Math.max(t, 0), state.duration));
    else say("Want seconds from the start, up to " + state.duration.toFixed(1) + (state.elapsed ? "" : ", or a time from " + clock(0, 1) + " to " + clock(state.duration, 1)), true);
  });
}

// plainSeconds writes seconds.
export const plainSeconds = (t, digits = 3) => t.toFixed(digits) + " s";

export const dateOf = (t) => new Date(stampOf(t) * 1000).toLocaleDateString(undefined, { dateStyle: "medium" });

// The place is kept in the address, so that a page that is loaded again, or sent to a colleague, shows the same.
const remember = settled(() => {
  const q = new URLSearchParams({ from: state.from.toFixed(6), to: state.to.toFixed(6), at: state.at.toFixed(9) });
  if (state.topic) q.set("topic", state.topic.name);
  if (state.bag !== "") q.set("bag", state.bag);
  for (const f of state.fields || []) q.append("f", f.topic + "|" + f.path);
  history.replaceState(null, "", "#" + q);
}, 300);

export { remember };

function recall() {
  const q = new URLSearchParams(location.hash.slice(1));
  const number = (name) => { const v = parseFloat(q.get(name)); return Number.isFinite(v) ? v : null; };
  return { from: number("from"), to: number("to"), at: number("at"), topic: q.get("topic"), bag: q.get("bag") || "", fields: q.getAll("f") };
}

const load = latest(async (signal, bag) => {
  for (;;) {
    const told = await get(signal, "state", { bag });
    if (told.opening) opening(told.opening);
    else return told;
    await new Promise((done) => setTimeout(done, 400));
  }
});

// opening says how far the opening of the bags is, which reads all of those without an index.
function opening({ name, done, total }) {
  const part = total ? Math.min(99, Math.floor((100 * done) / total)) + " % of " + bytes(total) : bytes(done);
  set($("link"), "opening");
  $("rows").hidden = true;
  $("rows-none").hidden = false;
  set($("rows-none"), name ? plain(name) + ": " + part : "Opening the bags …");
}

let byTopic = {}; // findings

// findingsOf returns what gobag gaps found of a topic.
export const findingsOf = (topic) => byTopic[topic?.name] || [];

const find = latest((signal, bag) => get(signal, "findings", { bag }));

// open shows a file, or all as one. What was wrong with topics comes when it is found.
async function open(bag) {
  const told = await load(bag);
  if (!told) return;
  byTopic = {};
  Object.assign(state, told, { bag, other: null, region: null, message: null, findings: [] });
  state.at = Math.min(state.at, state.duration);
  state.topic = state.topics.find((t) => t.name === state.topic?.name) || null;
  tell("state");
  find(bag).then((all) => {
    if (!all) return;
    state.findings = all;
    for (const f of all) (byTopic[f.topic] ||= []).push(f);
    tell("findings");
  }, (e) => say(e.message, true));
}

// outage is the least length of a gap, in seconds, that counts also where its topic was slow, as in gobag gaps.
const outage = 2;

// silences returns when a topic was silent: its gaps, but not those that a slow topic has between its messages, and what
// gobag gaps found besides.
export function silences(topic, gaps = topic.gaps || []) {
  const own = findingsOf(topic);
  const kept = gaps.filter(([from, to]) => to - from >= outage || !own.some((f) => f.kind === "slow" && from < f.to && f.from < to));
  const meets = (f) => kept.some(([from, to]) => from < f.to && f.from < to);
  return [...kept, ...own.filter((f) => f.kind === "silent" && !meets(f)).map((f) => [f.from, f.to])];
}

// against compares with another bag.
async function against(bag) {
  if (bag === "") {
    state.other = null;
  } else {
    const told = await get(undefined, "state", { bag });
    state.other = { ...told, bag, offset: 0, byName: new Map(told.topics.map((t) => [t.name, t])) };
  }
  $("compare").hidden = !state.other;
  $("offset").value = 0;
  const both = state.other ? state.marks.flatMap((m) => {
    const same = state.other.marks.find((o) => o.text === m.text);
    return same ? [{ text: m.text, offset: same.at - m.at }] : [];
  }) : [];
  $("align").replaceChildren(option(0, "the start"), ...both.map((m) => option(m.offset, "mark " + plain(m.text))));
  tell("state");
}

const option = (value, text) => {
  const o = el("option", "", text);
  o.value = value;
  return o;
};

function files() {
  const many = state.files.length > 1 || $("files").options.length > 0;
  $("files-label").hidden = $("against-label").hidden = !many;
  if (!many || $("files").options.length) return;
  state.all = state.files; // what is shown may be one of them
  const names = state.files.map((f, i) => [i, plain(f.name)]);
  $("files").replaceChildren(option("", "all as one"), ...names.map(([i, name]) => option(i, name)));
  $("against").replaceChildren(option("", "none"), ...names.map(([i, name]) => option(i, name)));
  $("files").onchange = () => open($("files").value).then(showAll, (e) => say(e.message, true));
  $("against").onchange = async () => {
    try {
      if ($("against").value !== "" && $("files").value === "") {
        $("files").value = $("against").value === "0" ? 1 : 0;
        await open($("files").value);
      }
      await against($("against").value);
      showAll();
    } catch (e) {
      say(e.message, true);
    }
  };
  $("align").onchange = () => {
    $("offset").value = Number($("align").value);
    $("offset").onchange();
  };
  $("offset").onchange = () => {
    if (!state.other) return;
    state.other.offset = parseFloat($("offset").value) || 0;
    tell("state");
  };
}

// events lists what happened, for a start and for those who do not see the ruler: what was wrong with the chosen topic and
// the marks that name it, then all else, of other topics the longest gap only. Silence comes first, and what lasts longest.
function events() {
  const topic = state.topic, chosen = (e) => e.topic !== undefined && e.topic === topic?.name;
  const worst = (a, b) => (b.silent === true) - (a.silent === true) || b.for - a.for;
  const found = state.findings.map((f) => ({ at: f.from, for: f.to - f.from, topic: f.topic, silent: f.kind === "silent", text: f.topic + " " + f.text, bad: true }));
  const gapsIn = (t) => silences(t).filter(([from, to]) => !findingsOf(t).some((f) => f.kind === "silent" && from < f.to && f.from < to)).map(([from, to]) => {
    const long = to - from >= outage;
    return { at: from, for: to - from, topic: t.name, silent: long, text: "gap of " + plainSeconds(to - from) + " in " + t.name, bad: long };
  }).sort(worst);
  const gaps = topic ? gapsIn(topic) : [];
  const others = state.topics.filter((t) => t !== topic && t.gaps).flatMap((t) => gapsIn(t).filter((g) => g.silent).slice(0, 1));
  const marks = state.marks.map((m) => ({ at: m.at, text: "mark: " + m.text, topic: m.text.split(/[\s,:]+/).find((word) => word === topic?.name) }));
  const all = [
    ...[...found.filter(chosen), ...gaps.filter((g) => g.silent)].sort(worst), ...marks.filter(chosen),
    ...state.damage.map((d) => ({ at: d.at, text: d.text, bad: true })),
    ...[...found.filter((f) => !chosen(f)), ...others].sort(worst), ...marks.filter((m) => !chosen(m)),
    ...state.notes.map((n) => ({ text: n.key + ": " + n.value })),
    ...gaps.filter((g) => !g.silent),
  ];
  $("events").hidden = all.length === 0;
  const part = (n, one, many = one + "s") => (n === 0 ? [] : [n + " " + (n === 1 ? one : many)]);
  const first = all[0]?.for >= outage ? [plain(all[0].text) + " at " + clock(all[0].at, 0.1)] : [];
  set($("events").firstElementChild, [...first, ...part(found.length, "finding"), ...part(state.marks.length, "mark"), ...part(state.notes.length, "note"),
    ...part(state.damage.length, "damaged place"), ...part(gaps.length, "gap of the chosen topic", "gaps of the chosen topic")].join(" · "));
  const most = 300;
  $("event-list").replaceChildren(...all.slice(0, most).map((e) => {
    const text = el("span", e.bad ? "bad" : "", plain(e.text));
    if (e.at === undefined || e.at === null) return el("li", "", "", text);
    const b = el("button", "plainly mono", clock(e.at));
    b.type = "button";
    b.addEventListener("click", () => {
      const of = state.topics.find((t) => t.name === e.topic);
      if (of) choose(of);
      go(e.at, true);
    });
    return el("li", "", "", b, text);
  }), ...all.length > most ? [el("li", "muted", "and " + (all.length - most) + " more")] : []);
}

function position() {
  set($("position"), state.elapsed ? plainSeconds(state.at) : dateOf(state.at) + " " + clock(state.at) + "  +" + plainSeconds(state.at));
}

const keys = {
  "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), 0: showAll,
  ArrowLeft: () => show(state.from - (state.to - state.from) / 8, state.to - (state.to - state.from) / 8),
  ArrowRight: () => show(state.from + (state.to - state.from) / 8, state.to + (state.to - state.from) / 8),
  Home: () => go(0, true), End: () => go(state.duration, true),
  "[": () => select([state.at, state.region ? Math.max(state.region[1], state.at) : state.to]),
  "]": () => select([state.region ? Math.min(state.region[0], state.at) : state.from, state.at]),
  Escape: () => select(null),
  n: () => tell("next"), p: () => tell("previous"), "/": () => $("search")?.focus(), f: () => $("filter").focus(),
};

function keyboard() {
  addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName) || !keys[e.key]) return;
    e.preventDefault();
    keys[e.key]();
  });
  typed($("goto"), (t) => {
    $("goto").value = "";
    go(t, true);
  });
  $("zoom-in").addEventListener("click", keys["+"]);
  $("zoom-out").addEventListener("click", keys["-"]);
  $("zoom-all").addEventListener("click", showAll);
}

// start builds the page.
export async function start() {
  const link = $("link");
  try {
    const was = recall();
    timeline();
    messagePanel();
    picturePanel();
    plotPanel();
    regionPanel();
    keyboard();
    on("state", files);
    on("state", events);
    on("topic", events);
    on("findings", events);
    on("at", position);
    on("state", position);
    await open("");
    if (was.bag !== "") {
      $("files").value = was.bag;
      await open(was.bag);
    }
    const name = state.files.length === 1 ? plain(state.files[0].name) : state.files.length + " bags";
    set($("node"), name);
    document.title = name + " – gobag";
    set(link, state.messages + " messages, " + plainSeconds(state.duration, 1));
    link.dataset.state = "live";
    state.topic = state.topics.find((t) => t.name === was.topic) || null;
    state.wanted = was.fields;
    if (was.from !== null && was.to > was.from) show(was.from, was.to); else showAll();
    if (state.topic) tell("topic");
    tell("restored");
    go(was.at ?? 0);
  } catch (e) {
    set(link, "no answer");
    link.dataset.state = "bad";
    say(e.message, true);
  }
}
