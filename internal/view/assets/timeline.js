// The time line: a row for each topic with its density, the ruler above, and the gestures.

import { $, el, set, plain, hertz, bytes, count, say } from "/static/common.js";
import { state, on, tell, get, mark, latest, settled, soon, show, zoom, go, choose, select, inView, silences, findingsOf, clock, plainSeconds } from "/static/view.js";
import { drawThumbs } from "/static/rowthumbs.js";

const narrow = matchMedia("(max-width: 720px)");
const nameWidth = 300; // of the column of names on a wide screen
const rowHeight = () => (narrow.matches ? 56 : 32);

const densities = new Map(); // by topic: what is drawn of it
const seconds = new Map(); // the same of the bag to compare with
let order = []; // topics that are shown
const made = new WeakMap(); // rows by topic
let colors = {};
let hover = null; // seconds under the pointer
let hovered = null; // topic under the pointer
const part = 5; // seconds around the playhead that are selected first
let selecting = false; // a drag selects a part

export function timeline() {
  $("rows").append(el("canvas", "density"), el("ul", "topics"));
  $("rows").firstChild.setAttribute("aria-hidden", "true");
  $("rows").lastChild.setAttribute("role", "presentation");
  on("state", fresh);
  on("range", changed);
  on("at", draw);
  on("region", draw);
  on("thumbs", draw);
  on("findings", draw);
  on("topic", chosen);
  $("sort").onchange = list;
  $("filter").oninput = list;
  $("rows").addEventListener("scroll", changed, { passive: true });
  let width = 0;
  new ResizeObserver(() => { // the height follows from the rows
    if (width === (width = $("rows").parentElement.clientWidth)) return;
    readColors();
    list();
  }).observe($("rows").parentElement);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    readColors();
    for (const [all, color] of [[densities, colors.accent], [seconds, colors.second]]) for (const d of all.values()) d.picture = picture(d.levels, d.bins, color);
    draw();
  });
  $("region").addEventListener("click", () => {
    selecting = !selecting;
    $("region").setAttribute("aria-pressed", selecting);
    if (!selecting) return;
    const from = Math.max(0, Math.min(state.at - part / 2, state.duration - part));
    if (!state.region) select([from, from + part]);
    say("Drag over the time line, or type where the part begins and how long it is");
  });
  readColors();
  gestures($("rows"), strip, (e, t) => {
    take(topicAt(e));
    if (onName(e)) return;
    go(t);
    tapped(e, t, topicAt(e));
  });
  gestures($("ruler"), strip, (e, t) => {
    go(snapped(e, t));
    tapped(e, t);
  }, true);
  for (const kind of ["pointermove", "pointerleave"]) {
    $("rows").addEventListener(kind, (e) => {
      const topic = kind === "pointermove" && e.pointerType === "mouse" ? topicAt(e) : null;
      if (topic !== hovered) draw();
      hovered = topic;
    });
  }
  $("rows").addEventListener("click", (e) => { // on a name: a topic is chosen, the playhead stays
    if (e.clientX - $("rows").getBoundingClientRect().left < strip().left - 12 && topicAt(e)) take(topicAt(e));
  });
  $("rows").addEventListener("keydown", arrows);
}

// take chooses a topic that somebody has pointed at.
function take(topic) {
  if (topic !== state.topic) state.tapped = true;
  choose(topic);
}

export function readColors() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ["accent", "text", "muted", "line", "bad", "warn", "card", "soft", "edge"]) colors[name] = style.getPropertyValue("--" + name).trim();
  colors.second = style.getPropertyValue("--second").trim();
}

export const palette = () => colors;

// strip is where the time line is within the rows and the ruler, in pixels.
function strip() {
  const width = $("rows").clientWidth;
  return narrow.matches ? { left: 10, width: width - 20 } : { left: nameWidth, width: width - nameWidth - 14 };
}

const xOf = (t, s) => s.left + ((t - state.from) / (state.to - state.from)) * s.width;
const tOf = (x, s) => state.from + ((x - s.left) / s.width) * (state.to - state.from);

function fresh() {
  densities.clear();
  seconds.clear();
  list();
}

const rate = (t) => (t.period > 0 ? 1 / t.period : 0);
const silent = (t) => silences(t).reduce((sum, [from, to]) => sum + to - from, 0);
const orders = { name: () => 0, rate: (a, b) => rate(b) - rate(a), bytes: (a, b) => b.bytes - a.bytes, gaps: (a, b) => silent(b) - silent(a) };

// list makes the rows.
function list() {
  const want = $("filter").value.toLowerCase();
  state.topics.forEach((t, i) => { t.row = i; });
  order = state.topics.filter((t) => t.messages > 0 && (t.name.toLowerCase().includes(want) || t.type.toLowerCase().includes(want))).sort(orders[$("sort").value]);
  $("rows-none").hidden = order.length > 0;
  set($("rows-none"), state.topics.length ? "No topic has this name." : "There are no messages.");
  $("rows").hidden = order.length === 0;
  const height = rowHeight();
  $("rows").lastChild.style.height = order.length * height + "px";
  $("rows").style.maxHeight = Math.min(Math.max(height * 4, innerHeight * (narrow.matches ? 0.5 : 0.55)), Math.max(order.length, 1) * height) + "px";
  changed();
}

// fill puts the rows into the page of which something is seen, and some more.
function fillRows() {
  const height = rowHeight(), { first, rows } = visible();
  const from = Math.max(0, first - 10), list = $("rows").lastChild;
  const shown = order.slice(from, first + rows.length + 10).map((t, i) => rowOf(t, from + i, height));
  list.style.paddingTop = from * height + "px";
  if (shown.length !== list.children.length || shown.some((li, i) => li !== list.children[i])) list.replaceChildren(...shown);
}

// rowOf returns the row of a topic; it is made anew when it is to say something else.
function rowOf(t, i, height) {
  const says = facts(t), old = made.get(t);
  const li = old?.says === says ? old.li : el("li", "row", "", el("span", "mono name", plain(t.name)), el("span", "facts" + (stopped(t) ? " bad" : ""), says));
  if (li !== old?.li) made.set(t, { li, says });
  li.style.height = height + "px";
  li.id = "topic-" + t.row;
  li.title = t.type;
  for (const [name, value] of [["role", "option"], ["aria-selected", t === state.topic], ["aria-setsize", order.length], ["aria-posinset", i + 1]]) li.setAttribute(name, value);
  return li;
}

// stopped reports whether a topic ends with a gap, and its longest one: one that comes now and then has others.
function stopped(t) {
  const last = t.gaps?.[t.gaps.length - 1];
  return last && last[1] >= state.duration - 1e-9 && t.gaps.every((g) => g === last || g[1] - g[0] < last[1] - last[0]);
}

// facts says in few words what is to be known of a topic.
function facts(t) {
  const parts = [rate(t) ? hertz(rate(t)) + " Hz" : count(t.messages) + (t.messages === 1 ? " message" : " messages")];
  if ($("sort").value === "bytes") parts.push(t.bytes ? "~" + bytes(t.bytes) : "size unknown");
  if (t.latched) parts.push("latched");
  if (stopped(t)) parts.push("stopped at " + plainSeconds(t.gaps[t.gaps.length - 1][0], 1));
  const n = silences(t).length + (t.more || 0) - (stopped(t) ? 1 : 0);
  if (n > 0) parts.push(n + (n === 1 ? " gap" : " gaps"));
  return parts.join(" · ");
}

function chosen() {
  const i = order.indexOf(state.topic), box = $("rows"), height = rowHeight();
  if (i >= 0) {
    box.scrollTop = Math.min(Math.max(box.scrollTop, (i + 1) * height - box.clientHeight), i * height);
    box.setAttribute("aria-activedescendant", "topic-" + state.topic.row);
  }
  fillRows();
  draw();
}

function arrows(e) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[e.key];
  if (!step || order.length === 0) return;
  e.preventDefault();
  const now = order.indexOf(state.topic);
  choose(order[Math.min(Math.max(now + step, 0), order.length - 1)]);
}

// visible returns the topics of which something is seen.
function visible() {
  const height = rowHeight(), top = $("rows").scrollTop;
  const first = Math.floor(top / height);
  return { first, rows: order.slice(first, Math.ceil((top + $("rows").clientHeight) / height)) };
}

function changed() {
  draw();
  fetchSoon();
}

const bins = () => Math.min(2048, Math.max(64, Math.round(strip().width)));

const load = latest(async (signal) => {
  const { rows } = visible();
  const from = state.from, to = state.to;
  const margin = (to - from) / 2; // so that a pan has something to show
  const want = { from: from - margin, to: to + margin, bins: 2 * bins() };
  const stale = rows.filter((t) => {
    const d = densities.get(t.name);
    return !d || d.from !== want.from || d.to !== want.to;
  });
  if (stale.length === 0) return;
  await fill(signal, densities, state.bag, stale, want, colors.accent);
  if (state.other) {
    const shift = state.other.offset;
    const names = state.other.topics.map((t) => t.name);
    const same = stale.flatMap((t) => { const row = names.indexOf(t.name); return row >= 0 ? [{ name: t.name, row }] : []; });
    if (same.length) await fill(signal, seconds, state.other.bag, same, { from: want.from + shift, to: want.to + shift, bins: want.bins }, colors.second, want);
  }
});

// fill asks for the density of topics: first by chunks, then exactly where few chunks are in view.
async function fill(signal, into, bag, topics, want, color, shown = want) {
  const rows = topics.map((t) => t.row).join(",");
  for (const exact of ["", 1]) {
    const d = await get(signal, "density", { bag, ...want, rows, exact });
    for (const t of topics) {
      into.set(t.name, { from: shown.from, to: shown.to, exact: d.exact, gaps: d.exact ? d.gaps[t.row] || [] : null, levels: d.rows[t.row], bins: want.bins, picture: picture(d.rows[t.row], want.bins, color) });
    }
    draw();
    if (d.chunks > 200 || d.chunks === 0) return;
  }
}

// picture makes a picture of one pixel's height of the levels of a row, in a color as #rrggbb.
function picture(levels, n, color) {
  const c = document.createElement("canvas");
  c.width = n;
  c.height = 1;
  if (!levels) return c;
  const rgb = parseInt(color.slice(1), 16), raw = atob(levels), pixels = new ImageData(n, 1);
  let some = 0;
  for (let i = 0; i < n; i++) {
    const level = raw.charCodeAt(i);
    if (level) some++;
    pixels.data.set([rgb >> 16, (rgb >> 8) & 255, rgb & 255, level], 4 * i);
  }
  if (some < 200) for (let i = n - 1; i > 0; i--) if (raw.charCodeAt(i - 1) && !raw.charCodeAt(i)) pixels.data[4 * i + 3] = raw.charCodeAt(i - 1); // single ticks are seen
  c.getContext("2d").putImageData(pixels, 0, 0);
  return c;
}

const fetchSoon = settled(() => load().catch((e) => say(e.message, true)), 80);

// sized makes a canvas as large as it is seen, and returns its context.
export function sized(canvas, width, height) {
  const ratio = devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.width = width + "px";
    canvas.style.height = height + "px";
  }
  const g = canvas.getContext("2d");
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  g.clearRect(0, 0, width, height);
  return g;
}

const draw = soon(() => {
  if (!$("rows")) return; // a page with live panels only
  const box = $("rows"), canvas = box.firstChild;
  const s = strip(), height = rowHeight();
  const g = sized(canvas, box.clientWidth, box.clientHeight);
  canvas.style.marginBottom = -box.clientHeight + "px";
  const { first, rows } = visible();
  fillRows();
  g.save();
  g.beginPath();
  g.rect(s.left, 0, s.width, box.clientHeight);
  g.clip();
  rows.forEach((t, i) => {
    const top = (first + i) * height - box.scrollTop + (narrow.matches ? 24 : 5), high = narrow.matches ? 26 : 22;
    row(g, s, t, top, high);
  });
  const end = xOf(state.duration, s), begin = xOf(0, s);
  g.fillStyle = colors.edge;
  g.globalAlpha = 0.25;
  g.fillRect(s.left, 0, Math.max(0, begin - s.left), box.clientHeight);
  g.fillRect(end, 0, Math.max(0, s.left + s.width - end), box.clientHeight);
  g.globalAlpha = 1;
  lines(g, s, box.clientHeight);
  g.restore();
  ruler();
  if (densities.size) mark("time line");
});

function row(g, s, t, top, high) {
  const d = densities.get(t.name), other = state.other && seconds.get(t.name);
  g.imageSmoothingEnabled = false;
  const own = state.other ? high / 2 - 1 : high;
  if (d) g.drawImage(d.picture, xOf(d.from, s), top, xOf(d.to, s) - xOf(d.from, s), own);
  if (other) g.drawImage(other.picture, xOf(other.from, s), top + high / 2 + 1, xOf(other.to, s) - xOf(other.from, s), own);
  if (t.shows === "picture" && !state.other) drawThumbs(g, t, top, high, s, xOf);
  const middle = top + high / 2;
  g.strokeStyle = colors.warn;
  g.lineWidth = 2;
  g.setLineDash([6, 4]);
  g.beginPath();
  for (const f of findingsOf(t)) {
    if (f.kind === "silent") continue;
    g.moveTo(Math.max(xOf(f.from, s), s.left), middle);
    g.lineTo(Math.min(xOf(f.to, s), s.left + s.width), middle);
  }
  g.stroke();
  g.fillStyle = colors.bad;
  for (const [from, to] of gapsOf(t)) {
    const a = Math.max(xOf(from, s), s.left - 2), b = Math.min(xOf(to, s), s.left + s.width + 2);
    if (b - a < 2) continue;
    g.fillRect(a, top + high / 2 - 1, b - a, 2);
    g.fillRect(a, top + 3, 2, high - 6);
    g.fillRect(b - 2, top + 3, 2, high - 6);
  }
}

// gapsOf returns the gaps of a topic, exactly where its messages are in view.
function gapsOf(t) {
  const d = densities.get(t.name);
  return silences(t, d?.exact && inside(d) ? d.gaps : t.gaps || []);
}

// meaning says what the lines at a time are: marks, damage, and what was wrong with a topic.
function meaning(t, topic) {
  const near = ((state.to - state.from) / strip().width) * 4;
  const gap = topic && gapsOf(topic).filter(([from, to]) => from <= t && t <= to).sort((a, b) => (a[1] - a[0]) - (b[1] - b[0]))[0];
  return [
    ...gap ? [topic.name + ": no message for " + plainSeconds(gap[1] - gap[0])] : [],
    ...findingsOf(topic).filter((f) => f.kind !== "silent" && f.from <= t && t <= f.to).map((f) => f.topic + " " + f.text),
    ...state.marks.filter((m) => Math.abs(m.at - t) < near).sort((a, b) => Math.abs(a.at - t) - Math.abs(b.at - t)).slice(0, 2).map((m) => "mark: " + m.text),
    ...state.damage.filter((d) => Math.abs(d.at - t) < near).map((d) => d.text),
  ].map((text) => plain(text).slice(0, 120)).join(" · ");
}

// tapped says what a finger is on; a mouse has been told.
function tapped(e, t, topic) {
  const what = e.pointerType === "mouse" ? "" : meaning(t, topic);
  if (what) say(what);
}

// inside reports whether what is shown is within what was asked for.
const inside = (d) => d.from <= state.from && d.to >= state.to;

// lines draws what goes through all rows: the selected part, marks, damage, the playhead.
function lines(g, s, height) {
  if (state.region) {
    g.fillStyle = colors.accent;
    g.globalAlpha = 0.16;
    g.fillRect(xOf(state.region[0], s), 0, xOf(state.region[1], s) - xOf(state.region[0], s), height);
    g.globalAlpha = 1;
  }
  for (const m of state.marks) if (inView(m.at)) stroke(g, xOf(m.at, s), height, colors.warn, 1);
  for (const d of state.damage) if (d.at !== undefined && inView(d.at)) stroke(g, xOf(d.at, s), height, colors.bad, 1);
  if (hover !== null) stroke(g, xOf(hover, s), height, colors.muted, 1);
  stroke(g, xOf(state.at, s), height, colors.text, 2);
}

function stroke(g, x, height, color, width) {
  g.fillStyle = color;
  g.fillRect(x - width / 2, 0, width, height);
}

const steps = [1, 2, 5];

// stepFor returns a step of the grid that leaves least pixels between labels.
export function stepFor(span, width, least) {
  const want = (span / width) * least;
  if (want > 30) for (const s of [60, 120, 300, 600, 1800, 3600, 7200, 21600, 86400]) if (s >= want) return s;
  if (want > 10) return want > 15 ? 30 : 15;
  const power = 10 ** Math.floor(Math.log10(want));
  for (const s of steps) if (s * power >= want) return s * power;
  return 10 * power;
}

function ruler() {
  const s = strip(), height = 34;
  const g = sized($("ruler"), $("rows").clientWidth || $("ruler").parentElement.clientWidth, height);
  g.save();
  g.beginPath();
  g.rect(s.left - 8, 0, s.width + 16, height);
  g.clip();
  const step = stepFor(state.to - state.from, s.width, 90);
  g.font = "12px " + getComputedStyle(document.body).fontFamily;
  g.textBaseline = "top";
  for (let n = Math.ceil(state.from / step); n * step <= state.to; n++) {
    const x = xOf(n * step, s);
    g.fillStyle = colors.line;
    g.fillRect(x, 18, 1, height - 18);
    g.fillStyle = colors.muted;
    const text = clock(n * step, step);
    g.fillText(text, Math.max(s.left, Math.min(x - g.measureText(text).width / 2, s.left + s.width - g.measureText(text).width)), 4);
  }
  lines(g, s, height);
  const seen = state.marks.filter((m) => inView(m.at));
  seen.forEach((m, i) => {
    const x = xOf(m.at, s), next = i + 1 < seen.length ? xOf(seen[i + 1].at, s) - 6 : s.left + s.width;
    g.fillStyle = colors.warn;
    g.beginPath();
    g.moveTo(x - 5, 20);
    g.lineTo(x + 5, 20);
    g.lineTo(x, 30);
    g.fill();
    label(g, plain(m.text), x + 7, next, colors.warn);
  });
  g.beginPath();
  g.arc(xOf(state.at, s), 6, 5, 0, 7);
  g.fillStyle = colors.text;
  g.fill();
  if (hover !== null) {
    const what = meaning(hover, hovered);
    const text = clock(hover, (state.to - state.from) / s.width) + (what && "  " + what);
    const width = g.measureText(text).width + 8;
    const x = Math.max(Math.min(xOf(hover, s) - width / 2, s.left + s.width - width), s.left);
    g.fillStyle = colors.card;
    g.fillRect(x, 2, width, 16);
    g.fillStyle = colors.text;
    g.fillText(text, x + 4, 4);
  }
  g.restore();
}

// label writes a text where there is room, or the start of it.
function label(g, text, from, to, color) {
  const width = g.measureText(text).width, most = to - from - 4;
  if (most < Math.min(width, 40)) return;
  if (width > most) text = text.slice(0, Math.floor((text.length * most) / width) - 2) + "…";
  g.fillStyle = colors.card;
  g.fillRect(from, 18, Math.min(width, most) + 2, 16);
  g.fillStyle = color;
  g.fillText(text, from + 1, 19);
}

// onName reports whether a pointer is on a name that stands above its row.
const onName = (e) => narrow.matches && (e.clientY - $("rows").getBoundingClientRect().top + $("rows").scrollTop) % rowHeight() < 24;

// topicAt returns the topic below a pointer.
const topicAt = (e) => order[Math.floor((e.clientY - $("rows").getBoundingClientRect().top + $("rows").scrollTop) / rowHeight())] || state.topic;

// pointed shows a line at a time, in all panels with a time line; null: none.
export function pointed(t) {
  if (t === hover) return;
  hover = t;
  draw();
  tell("hover");
}

export const pointedAt = () => hover;

// gestures makes an element move the time line, which is at strip within it: drag, wheel, and two fingers. tap is called
// with the event and the time of a click.
export function gestures(box, strip, tap, onRuler = false) {
  const down = new Map(); // pointers
  let moved = 0, began = null, region = null, pinch = null;
  const x = (e) => e.clientX - box.getBoundingClientRect().left;
  box.addEventListener("pointerdown", (e) => {
    if (e.button > 0) return;
    if (x(e) < strip().left - 12) return;
    down.set(e.pointerId, x(e));
    moved = 0;
    began = { from: state.from, to: state.to };
    region = (selecting || onRuler && e.pointerType === "mouse" || e.shiftKey) && down.size === 1 ? tOf(x(e), strip()) : null;
    if (down.size === 2) pinch = { points: [...down.values()], from: state.from, to: state.to };
  });
  box.addEventListener("pointermove", (e) => {
    if (e.pointerType === "mouse" && down.size === 0) pointed(x(e) >= strip().left ? tOf(x(e), strip()) : null);
    if (!down.has(e.pointerId)) return;
    const before = down.get(e.pointerId);
    down.set(e.pointerId, x(e));
    moved += Math.abs(x(e) - before);
    if (moved > 4 && !box.hasPointerCapture(e.pointerId)) box.setPointerCapture(e.pointerId);
    if (moved <= 4) return;
    const s = strip();
    if (down.size === 2 && pinch) {
      pinchTo(pinch, [...down.values()], s);
    } else if (region !== null) {
      const t = tOf(x(e), s);
      select([Math.max(0, Math.min(region, t)), Math.min(state.duration, Math.max(region, t))]);
    } else if (down.size === 1) {
      const shift = ((x(e) - before) / s.width) * (state.to - state.from);
      show(state.from - shift, state.to - shift);
    }
  });
  const up = (e) => {
    if (!down.delete(e.pointerId)) return;
    pinch = null;
    if (e.type === "pointerup" && moved <= 4 && down.size === 0) tap(e, tOf(x(e), strip()));
    if (selecting && region !== null && moved > 4) $("region").click();
    began = region = null;
  };
  box.addEventListener("pointerup", up);
  box.addEventListener("pointercancel", up);
  box.addEventListener("pointerleave", () => pointed(null));
  box.addEventListener("wheel", (e) => {
    const s = strip();
    const sideways = e.shiftKey ? e.deltaY || e.deltaX : e.deltaX;
    if (e.ctrlKey || onRuler && Math.abs(e.deltaY) > Math.abs(e.deltaX)) {
      zoom(Math.exp(Math.max(-50, Math.min(50, e.deltaY)) / 150), tOf(x(e), s));
    } else if (Math.abs(sideways) > 0 && (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY))) {
      const shift = (sideways / s.width) * (state.to - state.from);
      show(state.from + shift, state.to + shift);
    } else {
      return; // the rows scroll
    }
    e.preventDefault();
  }, { passive: false });
}

// pinchTo shows what makes the times that two fingers began at stay below them.
function pinchTo(pinch, points, s) {
  const span = pinch.to - pinch.from;
  const at = pinch.points.map((p) => pinch.from + ((p - s.left) / s.width) * span);
  const apart = points[1] - points[0];
  if (Math.abs(apart) < 10 || at[0] === at[1]) return;
  const perPixel = Math.abs((at[1] - at[0]) / apart);
  const from = (at[0] + at[1]) / 2 - ((points[0] + points[1]) / 2 - s.left) * perPixel;
  show(from, from + s.width * perPixel);
}

// snapped returns the time of the mark whose triangle on the ruler a pointer is on.
function snapped(e, t) {
  if (e.clientY - $("ruler").getBoundingClientRect().top < 18) return t;
  const near = ((state.to - state.from) / strip().width) * 5, far = (m) => Math.abs(m.at - t);
  const best = state.marks.reduce((a, m) => (a && far(a) <= far(m) ? a : m), null);
  return best && far(best) <= near ? best.at : t;
}
