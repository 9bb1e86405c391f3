// Simple pictures of other types: points from above, maps, tracks, frames, diagnostics and the log.

import { el, set, plain } from "/static/common.js";
import { state, get, go, latest, settled, clock, plainSeconds } from "/static/view.js";
import { palette, sized } from "/static/timeline.js";

const titles = { points: "From above", grid: "Map", path: "Path", track: "Track", tree: "Frames", levels: "Diagnostics", log: "Log" };
const gathered = { track: true, tree: true, levels: true, log: true };

export const levelNames = { 1: "debug", 2: "info", 4: "warn", 8: "error", 16: "fatal" };
const statusNames = ["ok", "warn", "error", "stale"];

// scenePart makes the part of a panel for scenes. ask asks for one; without it the server of recordings is asked. there is
// called when one has come.
export function scenePart(ask = (signal, parameters) => get(signal, "scene", { bag: state.bag, topic: state.topic.name, ...parameters }), there = () => {}) {
  let kind = null, shown = null;
  const canvas = el("canvas", "view-canvas");
  canvas.setAttribute("role", "img");
  const problem = el("p", "problem");
  const notes = el("ul", "hints");
  const list = el("div", "list");
  list.tabIndex = 0;
  list.setAttribute("role", "group");
  const level = el("select", "", "", ...Object.entries(levelNames).map(([value, text]) => { const o = el("option", "", text); o.value = value; return o; }));
  level.setAttribute("aria-label", "Least level");
  const node = input("node"), text = input("text");
  const filters = el("div", "line", "", "from ", level, node, text);
  const element = el("div", "", "", filters, canvas, problem, notes, list);
  for (const e of [level, node, text]) e.addEventListener("change", () => load());

  function input(name) {
    const e = el("input");
    Object.assign(e, { type: "search", placeholder: name });
    e.setAttribute("aria-label", "Only lines with this " + name);
    return e;
  }

  const request = latest(async (signal) => {
    const range = { from: state.from, to: state.to };
    const answer = await ask(signal, {
      ...gathered[kind] ? { at: state.at, ...range } : state.message ? { id: state.message.id } : { at: state.at },
      ...kind === "log" ? { level: level.value, node: node.value, text: text.value } : {},
    });
    shown = answer.scene;
    problem.hidden = true;
    const more = answer.until !== undefined ? ["up to " + plainSeconds(answer.until, 1) + ": zoom in for the rest"] : [];
    notes.replaceChildren(...[...(shown.notes || []), ...(shown.problems || []), ...more].map((n) => el("li", "odd", plain(n))));
    draw();
    there();
  });

  async function load() {
    if (!kind) return;
    try {
      await request();
    } catch (e) {
      shown = null;
      problem.hidden = false;
      canvas.hidden = list.hidden = true;
      notes.replaceChildren();
      set(problem, plain(e.message));
    }
  }
  const loadSoon = settled(load, 250);

  function draw() {
    if (!shown) return;
    canvas.hidden = !drawers[shown.kind];
    list.hidden = !listers[shown.kind];
    const width = element.clientWidth;
    if (drawers[shown.kind] && width > 0) drawers[shown.kind](canvas, shown, width, notes);
    if (listers[shown.kind]) list.replaceChildren(listers[shown.kind](shown));
    canvas.setAttribute("aria-label", titles[shown.kind] + " of " + state.topic?.name);
    list.setAttribute("aria-label", titles[shown.kind]);
  }
  new ResizeObserver(() => { if (shown && drawers[shown.kind]) draw(); }).observe(element);

  return {
    element,
    title: (shows) => titles[shows] || "Picture",
    topic(shows) {
      kind = shows;
      element.hidden = !shows;
      filters.hidden = shows !== "log";
      shown = null;
      canvas.hidden = list.hidden = problem.hidden = true;
      notes.replaceChildren();
      load();
    },
    moved() {
      if (!kind) return;
      if (kind === "track" || kind === "log") draw(); else load();
    },
    ranged() { if (gathered[kind] && kind !== "tree") loadSoon(); },
    again: load,
  };
}

// plane makes a canvas with equal scales for x and y, over a box [x0, y0, x1, y1] in meters.
function plane(canvas, width, box) {
  const height = Math.min(480, width, innerHeight * 0.6);
  const g = sized(canvas, width, height);
  const spanX = Math.max(box[2] - box[0], 0.5), spanY = Math.max(box[3] - box[1], 0.5);
  const scale = Math.min((width - 24) / spanX, (height - 24) / spanY);
  const cx = (box[0] + box[2]) / 2, cy = (box[1] + box[3]) / 2;
  const place = (x, y) => [width / 2 + (x - cx) * scale, height / 2 - (y - cy) * scale];
  const c = palette();
  const step = nice(80 / scale);
  g.font = "11px " + getComputedStyle(document.body).fontFamily;
  g.fillStyle = c.line;
  for (let n = Math.ceil((cx - width / 2 / scale) / step); n * step < cx + width / 2 / scale; n++) g.fillRect(place(n * step, 0)[0], 0, 1, height);
  for (let n = Math.ceil((cy - height / 2 / scale) / step); n * step < cy + height / 2 / scale; n++) g.fillRect(0, place(0, n * step)[1], width, 1);
  g.fillStyle = c.muted;
  g.fillText("grid " + step + " m", 6, height - 6);
  return { g, place, scale, c, width, height };
}

function nice(want) {
  const power = 10 ** Math.floor(Math.log10(want));
  for (const n of [1, 2, 5]) if (n * power >= want) return parseFloat((n * power).toPrecision(1));
  return parseFloat((10 * power).toPrecision(1));
}

const bytesOf = (text) => Uint8Array.from(atob(text || ""), (ch) => ch.charCodeAt(0));

// points: x, which is forward, points up; y points left.
function points(canvas, s, width, notes) {
  const places = new DataView(bytesOf(s.places).buffer), colors = bytesOf(s.colors);
  const [x0, y0, x1, y1] = s.box;
  const box = [Math.min(-y1, 0), Math.min(x0, 0), Math.max(-y0, 0), Math.max(x1, 0)];
  const p = plane(canvas, width, box);
  const dot = s.count > 5000 ? 1.5 : 2.5;
  for (let i = 0; i < s.count; i++) {
    const x = x0 + (places.getUint16(4 * i, true) / 65535) * (x1 - x0), y = y0 + (places.getUint16(4 * i + 2, true) / 65535) * (y1 - y0);
    p.g.fillStyle = !colors.length ? p.c.accent : s.by === "rgb" ? `rgb(${colors[3 * i]} ${colors[3 * i + 1]} ${colors[3 * i + 2]})` : `hsl(${240 - (colors[i] / 255) * 240} 85% 50%)`;
    const [px, py] = p.place(-y, x);
    p.g.fillRect(px - dot / 2, py - dot / 2, dot, dot);
  }
  const [ox, oy] = p.place(0, 0);
  p.g.fillStyle = p.c.text;
  p.g.beginPath();
  p.g.moveTo(ox, oy - 8);
  p.g.lineTo(ox + 5, oy + 6);
  p.g.lineTo(ox - 5, oy + 6);
  p.g.fill();
  fact(notes, s.count + (s.total > s.count ? " of " + s.total : "") + " points", plain(s.frame), s.by && s.by !== "rgb" ? "blue to red: " + plain(s.by) + " " + s.from.toPrecision(3) + " to " + s.to.toPrecision(3) : "");
}

// fact adds what is known of a scene to its notes, once.
function fact(notes, ...texts) {
  for (const old of notes.querySelectorAll(".fact")) old.remove();
  notes.prepend(...texts.filter(Boolean).map((t) => el("li", "fact", t)));
}

function grid(canvas, s, width, notes) {
  const w = s.width * s.resolution, h = s.height * s.resolution;
  const cos = Math.cos(s.yaw), sin = Math.sin(s.yaw);
  const corners = [[0, 0], [w, 0], [0, h], [w, h]].map(([x, y]) => [s.x + x * cos - y * sin, s.y + x * sin + y * cos]);
  const xs = corners.map((q) => q[0]), ys = corners.map((q) => q[1]);
  const p = plane(canvas, width, [Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)]);
  if (s.columns > 0 && s.rows > 0) {
    const gray = bytesOf(s.gray);
    const image = new ImageData(s.columns, s.rows);
    for (let i = 0; i < gray.length; i++) image.data.set([gray[i], gray[i], gray[i], 255], 4 * i);
    const off = document.createElement("canvas");
    off.width = s.columns;
    off.height = s.rows;
    off.getContext("2d").putImageData(image, 0, 0);
    const [px, py] = p.place(s.x, s.y);
    p.g.save();
    p.g.translate(px, py);
    p.g.rotate(-s.yaw);
    p.g.imageSmoothingEnabled = false;
    p.g.drawImage(off, 0, -h * p.scale, w * p.scale, h * p.scale);
    p.g.restore();
  }
  fact(notes, s.width + " × " + s.height + " cells of " + parseFloat(s.resolution.toPrecision(3)) + " m", plain(s.frame));
}

function line(canvas, s, width, notes) {
  const box = [Math.min(...s.x), Math.min(...s.y), Math.max(...s.x), Math.max(...s.y)];
  const p = plane(canvas, width, s.x.length ? box : [0, 0, 1, 1]);
  const breaks = new Set(s.breaks || []);
  const g = p.g;
  g.strokeStyle = p.c.accent;
  g.lineWidth = 2;
  g.lineJoin = "round";
  g.beginPath();
  s.x.forEach((x, i) => { if (i === 0 || breaks.has(i)) g.moveTo(...p.place(x, s.y[i])); else g.lineTo(...p.place(x, s.y[i])); });
  g.stroke();
  const n = s.x.length, at = (i) => p.place(s.x[i], s.y[i]);
  const dot = (i, color, text) => {
    const [x, y] = at(i);
    g.fillStyle = color;
    g.beginPath();
    g.arc(x, y, 5, 0, 7);
    g.fill();
    const wide = g.measureText(text).width;
    g.fillText(text, x + 8 + wide > width ? x - 8 - wide : x + 8, y + 4);
  };
  if (n) {
    const after = (s.t || []).findIndex((t) => t > state.at);
    const now = !s.t?.length ? -1 : after < 0 ? n - 1 : Math.max(0, after - 1);
    const ends = [[0, p.c.accent, "start"], [n - 1, p.c.second, "end"]];
    const close = (i, j) => Math.abs(at(i)[0] - at(j)[0]) < 80 && Math.abs(at(i)[1] - at(j)[1]) < 14; // the texts would cover each other
    const shared = now >= 0 ? ends.filter(([i]) => close(i, now)) : close(0, n - 1) ? ends : [];
    for (const e of ends) dot(e[0], e[1], shared.includes(e) ? "" : e[2]);
    const texts = shared.map((e) => e[2]);
    if (now >= 0) dot(now, p.c.text, [clock(s.t[now]), ...texts].join(", "));
    else if (texts.length) dot(n - 1, p.c.second, texts.join(", "));
  }
  fact(notes, s.total + " positions", plain(s.frame), s.origin ? "0, 0 is " + s.origin.map((v) => v.toFixed(7)).join(", ") : "");
}

const drawers = { points, grid, path: line, track: line, levels: bands };
const listers = { tree, levels: levelTable, log };

function table(heads, rows) {
  return el("table", "", "", el("thead", "", "", el("tr", "", "", ...heads.map((h) => { const th = el("th", "", h); th.scope = "col"; return th; }))), el("tbody", "", "", ...rows));
}

function tree(s) {
  return table(["Frame", "Publisher", "Rate", "Age"], s.frames.map((f) => {
    const name = el("td", "mono" + (f.bad ? " bad" : ""), plain(f.name));
    name.style.paddingLeft = 0.5 + Math.min(f.depth, 20) * 1.1 + "rem";
    return el("tr", "", "", name, el("td", "mono", (f.publishers || []).map(plain).join(", ")), el("td", "n", f.static ? "static" : f.rate ? f.rate.toFixed(1) + " Hz" : ""), el("td", "n", f.count && !f.static ? plainSeconds(f.age) : ""));
  }));
}

const levelColor = (c, level) => (level <= 0 ? c.accent : level === 1 ? c.warn : level === 2 ? c.bad : c.edge);

function bands(canvas, s, width) {
  const c = palette(), high = 22, rows = s.rows.slice(0, 20), left = Math.min(220, width * 0.4);
  const g = sized(canvas, width, Math.max(1, rows.length) * high);
  g.font = "11px " + getComputedStyle(document.body).fontFamily;
  g.textBaseline = "middle";
  const x = (t) => left + ((t - state.from) / (state.to - state.from)) * (width - left);
  rows.forEach((r, i) => {
    g.fillStyle = c.text;
    g.fillText(plain(r.name).slice(-38), 2, i * high + high / 2, left - 8);
    for (const [from, to, level] of r.bands) {
      const a = Math.max(left, x(from));
      g.fillStyle = levelColor(c, level);
      g.fillRect(a, i * high + 3, Math.max(2, x(to) - a), high - 6);
    }
  });
  g.fillStyle = c.text;
  g.fillRect(x(state.at) - 1, 0, 2, rows.length * high);
}

function levelTable(s) {
  return table(["Level", "Name", "Message", "Values"], s.rows.map((r) => el("tr", "", "",
    el("td", r.level >= 1 ? "bad" : "", r.level < 0 ? "nothing yet" : statusNames[r.level] || String(r.level)), el("td", "mono", plain(r.name)), el("td", "", plain(r.message)),
    el("td", "mono", (r.values || []).map(([k, v]) => plain(k) + "=" + plain(v)).join(" ")))));
}

function log(s) {
  let last = null;
  const rows = s.lines.map((l) => {
    const at = el("button", "plainly mono", clock(l.at));
    at.type = "button";
    at.addEventListener("click", () => go(l.at));
    const tr = el("tr", "", "", el("td", "", "", at), el("td", l.level >= 4 ? "bad" : "muted", levelNames[l.level] || String(l.level)), el("td", "mono", plain(l.node)),
      el("td", "", plain(l.text)), el("td", "muted mono", l.file ? plain(l.file) + ":" + l.line : ""));
    if (l.at <= state.at) last = tr;
    return tr;
  });
  last?.classList.add("here");
  return table(["Time", "Level", "Node", "Text", "Place"], rows.length ? rows : [el("tr", "", "", el("td", "muted", "No lines here."))]);
}
