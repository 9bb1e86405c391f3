// Plots of fields over the stretch of time that the time line shows.

import { $, el, set, plain, say } from "/static/common.js";
import { state, on, get, lines, latest, settled, soon, address, go, clock, plainSeconds, remember } from "/static/view.js";
import { gestures, palette, pointedAt, sized, stepFor } from "/static/timeline.js";

const hues = { light: ["#0f766e", "#b4540a", "#5b4bc4", "#a8245f", "#1d6fb8", "#4d7c0f", "#7a4a1e", "#55524c"], dark: ["#58b5aa", "#f0a35e", "#a79df0", "#f08bb8", "#7db8ec", "#a9d06a", "#cfa27a", "#b5b1a8"] };
const dark = matchMedia("(prefers-color-scheme: dark)");
const color = (i) => hues[dark.matches ? "dark" : "light"][i % 8];

const least = 190, bandHeight = 24, left = 62, bottom = 4;

let series = []; // {topic, path, sets: [one for each bag: {columns, bands, error, odd}]}
let data = null; // {from, to, columns} of what is in series
let exact = []; // values under the cursor
let exactAt = null;
let selection = 0; // grows when other fields or bags are plotted: an answer about those before is of no use
let status = "", skew = 0;

export function plotPanel() {
  const panel = $("plot-panel");
  const title = el("h2", "", "Plot");
  title.id = "plot-title";
  const check = (text, changed) => {
    const box = el("input");
    box.type = "checkbox";
    box.onchange = changed;
    return [box, el("label", "", "", box, " " + text)];
  };
  const [stamps, stampsLabel] = check("time of header.stamp", () => load());
  const [own, ownLabel] = check("own scales", () => draw());
  const csv = el("a", "button", "CSV");
  csv.setAttribute("download", "plot.csv");
  csv.title = "Download the values that are shown";
  const clear = el("button", "", "Clear");
  clear.type = "button";
  clear.addEventListener("click", () => { series = []; changed(); });
  const progress = el("span", "muted");
  progress.setAttribute("role", "status");
  const legend = el("ul", "legend");
  const canvas = el("canvas", "view-canvas");
  canvas.setAttribute("role", "img");
  const hint = el("p", "muted", "Choose a topic, then “plot” beside a field of its message.");
  panel.append(el("div", "title", "", title, progress), el("div", "card", "", el("div", "line", "", stampsLabel, ownLabel, csv, clear), legend, canvas, hint));

  const strip = () => ({ left, width: Math.max(50, canvas.parentElement.clientWidth - left - 40) });
  gestures(canvas, strip, (e, t) => go(t));
  on("range", () => { draw(); loadSoon(); });
  on("state", () => changed());
  on("at", () => { draw(); valuesSoon(); });
  on("hover", () => { draw(); valuesSoon(); });
  on("plot", () => add(state.asked.topic, state.asked.path));
  on("restored", () => {
    for (const f of state.wanted || []) {
      const cut = f.indexOf("|");
      if (state.topics.some((t) => t.name === f.slice(0, cut))) series.push({ topic: f.slice(0, cut), path: f.slice(cut + 1), sets: [] });
    }
    changed();
  });
  dark.addEventListener("change", () => { names(); draw(); });
  new ResizeObserver(() => { draw(); loadSoon(); }).observe(panel);

  function add(topic, path) {
    if (series.some((s) => s.topic === topic && s.path === path)) return;
    if (series.length === 8) { say("Eight fields are the most in one plot", true); return; }
    series.push({ topic, path, sets: [] });
    changed();
    requestAnimationFrame(() => setTimeout(() => panel.scrollIntoView({ block: "nearest" }))); // when the plot has its height
  }

  function changed() {
    hint.hidden = series.length > 0;
    for (const e of [legend, canvas, csv, clear, stampsLabel, ownLabel]) e.hidden = series.length === 0 || state.live && (e === csv || e === stampsLabel);
    state.fields = series.map(({ topic, path }) => ({ topic, path }));
    exact = [];
    exactAt = null;
    selection++;
    names();
    load();
    if (!state.live) remember();
  }

  const fields = () => series.map((s) => s.topic + "|" + s.path);

  // bags are the bags that are plotted, with the time by which they are moved.
  const bags = () => [{ bag: state.bag, shift: 0 }, ...state.other ? [{ bag: state.other.bag, shift: state.other.offset }] : []];

  const ask = latest(async (signal) => {
    const span = state.to - state.from, margin = span / 4;
    const want = { from: state.from - margin, to: state.to + margin, columns: Math.min(4096, Math.round(strip().width * Math.min(devicePixelRatio || 1, 2) * 1.5)) };
    const fresh = series.map(() => bags().map(() => ({ columns: [], bands: [], error: "", odd: 0 })));
    const mine = series;
    let shown = false;
    const put = () => {
      if (series !== mine || shown) return;
      series.forEach((s, i) => { s.sets = fresh[i]; });
      data = want;
      shown = true;
    };
    status = "reading …";
    for (const [b, { bag, shift }] of bags().entries()) {
      await lines(signal, "plot", { bag, from: want.from + shift, to: want.to + shift, columns: want.columns, stamps: stamps.checked ? 1 : "", f: fields() }, (line) => {
        if (line.series === undefined || Array.isArray(line.series)) {
          status = line.done ? "" : "reading, at " + plainSeconds(line.at - shift, 1);
          skew = line.skew || skew;
          (line.series || []).forEach((end, i) => { Object.assign(fresh[i][b], { error: end.error || "", odd: end.odd || 0 }); });
          if (line.damage) say(plain(line.damage), true);
        } else {
          const s = fresh[line.series][b];
          if (line.columns) { s.columns.length = line.from; s.columns.push(...line.columns); }
          if (line.bands) { s.bands.length = line.from; s.bands.push(...line.bands.map((x) => ({ ...x, from: x.from - shift, to: x.to - shift }))); }
        }
        put();
        set(progress, status);
        draw();
      });
    }
    put();
    status = stamps.checked && skew ? "recorded " + plainSeconds(skew) + " after header.stamp" : "";
    set(progress, status);
    names();
    draw();
  });

  const load = async () => {
    csv.href = address("csv", { bag: state.bag, from: state.from, to: state.to, f: fields() });
    if (series.length === 0) { draw(); return; }
    skew = 0;
    series = [...series];
    try {
      await ask();
    } catch (e) {
      set(progress, "");
      say(e.message, true);
    }
    valuesSoon();
  };
  const loadSoon = settled(load, 200);

  const askValues = latest(async (signal) => {
    const at = pointedAt() ?? state.at, mine = selection;
    const all = [];
    for (const { bag, shift } of bags()) all.push(await get(signal, "values", { bag, at: at + shift, f: fields() }));
    if (mine !== selection) return;
    exact = all;
    exactAt = at;
    names();
  });
  const valuesSoon = settled(() => { if (series.length && exactAt !== (pointedAt() ?? state.at)) askValues().catch(() => {}); }, 120);

  const shade = (i, b) => color(state.other ? 2 * i + b : i);

  // names writes the legend: fields with their values under the cursor.
  function names() {
    legend.replaceChildren(...series.flatMap((s, i) => bags().map((_, b) => {
      const swatch = el("span", "swatch");
      swatch.style.background = shade(i, b);
      const set_ = s.sets[b], value = exact[b]?.[i];
      const bag = state.other ? plain(state.all[b ? state.other.bag : state.bag]?.name || "") + " " : "";
      const li = el("li", "", "", swatch, el("span", "mono name", bag + plain(s.topic) + " " + plain(s.path)), el("b", "mono", value ? plain(value.text || value.error || "") : ""));
      li.title = value ? clock(value.at, 1e-6) + "  " + plain(s.topic + " " + s.path) : plain(s.topic + " " + s.path);
      if (set_?.error) li.append(el("span", "problem", plain(set_.error)));
      else if (set_?.odd) li.append(el("span", "muted", set_.odd + " not finite"));
      if (b === 0) {
        const remove = el("button", "", "×");
        remove.type = "button";
        remove.setAttribute("aria-label", "Remove " + s.topic + " " + s.path);
        remove.addEventListener("click", () => { series = series.filter((o) => o !== s); changed(); });
        li.append(remove);
      }
      return li;
    })));
    canvas.setAttribute("aria-label", "Plot of " + series.map((s, i) => s.path + " of " + s.topic + (exact[0]?.[i] ? ", " + exact[0][i].text + " at the cursor" : "")).join("; "));
  }

  // parts yields each series of each bag.
  function* parts() {
    for (const [i, s] of series.entries()) for (const [b, x] of s.sets.entries()) yield { ...x, color: shade(i, b), label: s.path };
  }

  const draw = soon(() => {
    if (series.length === 0 || canvas.hidden) return;
    const c = palette(), s = strip(), all = [...parts()];
    const bands = all.filter((p) => p.bands.length), drawn = all.filter((p) => p.columns.length);
    const high = drawn.length || !bands.length ? least : 0;
    const height = high + bands.length * (bandHeight + 4) + 24;
    const g = sized(canvas, s.left + s.width + 40, height);
    const x = (t) => s.left + ((t - state.from) / (state.to - state.from)) * s.width;
    g.font = "11px " + getComputedStyle(document.body).fontFamily;
    const step = stepFor(state.to - state.from, s.width, 100);
    g.textBaseline = "top";
    g.textAlign = "center";
    for (let n = Math.ceil(state.from / step); n * step <= state.to; n++) {
      g.fillStyle = c.line;
      g.fillRect(x(n * step), 0, 1, height - 18);
      g.fillStyle = c.muted;
      g.fillText(clock(n * step, step), x(n * step), height - 15);
    }
    g.textAlign = "right";
    const scale = scales(drawn, own.checked, high);
    if (high) axis(g, s, high, scale.shared, c);
    g.save();
    g.beginPath();
    g.rect(s.left, 0, s.width, height - 18);
    g.clip();
    for (const p of drawn) line(g, p, x, own.checked ? scale.of(p) : scale.shared, high);
    bands.forEach((p, i) => band(g, p, x, high + 4 + i * (bandHeight + 4), c));
    for (const [t, shade_, wide] of [[pointedAt(), c.muted, 1], [state.at, c.text, 2]]) {
      if (t === null) continue;
      g.fillStyle = shade_;
      g.fillRect(x(t) - wide / 2, 0, wide, height - 18);
    }
    g.restore();
  });

  if (state.live) changed(); // no bag brings news

  // columnX returns where a column is.
  const columnX = (x, at) => x(data.from + ((at + 0.5) / data.columns) * (data.to - data.from));

  function line(g, p, x, range, high) {
    const y = (v) => high - bottom - ((v - range[0]) / (range[1] - range[0])) * (high - 12);
    g.strokeStyle = p.color;
    g.lineWidth = 1.5;
    g.lineJoin = "round";
    g.beginPath();
    let before = null;
    for (const [at, first, low, top, last, broken] of p.columns) {
      const px = columnX(x, at);
      if (before === null || broken) g.moveTo(px, y(first)); else g.lineTo(px, y(first));
      if (top > low) {
        g.moveTo(px, y(low));
        g.lineTo(px, y(top));
      } else if (before === null || broken) {
        g.lineTo(px + 0.75, y(first)); // a single value is seen
      }
      g.moveTo(px, y(last));
      before = at;
    }
    g.stroke();
  }

  function band(g, p, x, top, c) {
    g.textAlign = "left";
    g.textBaseline = "middle";
    for (const b of p.bands) {
      const from = x(b.from), to = Math.max(x(b.to), from + 1.5);
      if (to < left || from > canvas.clientWidth) continue;
      g.fillStyle = b.many ? c.edge : tint(b.text);
      g.fillRect(from, top, to - from, bandHeight);
      const text = b.many ? "many" : plain(b.text);
      if (to - from > 24) {
        g.save();
        g.beginPath();
        g.rect(from, top, to - from - 2, bandHeight);
        g.clip();
        g.fillStyle = dark.matches ? "#111" : "#fff";
        g.fillText(text, Math.max(from, left) + 5, top + bandHeight / 2);
        g.restore();
      }
    }
    g.fillStyle = p.color;
    g.fillRect(left, top + bandHeight, 4000, 2);
  }
}

// tint gives each text a color of its own; what robots report most has the one that people expect.
function tint(text) {
  const lightness = dark.matches ? 68 : 36;
  if (/^(false|0|debug)$/i.test(text)) return `hsl(30 4% ${lightness}%)`;
  if (/^(true|ok|info|succeeded|active)$/i.test(text)) return `hsl(160 45% ${lightness - 4}%)`;
  if (/warn|stale|pending/i.test(text)) return `hsl(40 80% ${lightness - 6}%)`;
  if (/error|fatal|fail|abort|lost/i.test(text)) return `hsl(4 65% ${lightness + 6}%)`;
  let h = 0;
  for (const ch of text) h = (h * 31 + ch.codePointAt(0)) >>> 0;
  return `hsl(${180 + (h % 160)} 40% ${lightness}%)`;
}

// scales returns the range of all series that is shown, and of each.
function scales(drawn) {
  const range = (list) => {
    let low = Infinity, high = -Infinity;
    for (const p of list) {
      for (const [at, , min, max] of p.columns) {
        const t = data.from + ((at + 0.5) / data.columns) * (data.to - data.from);
        if (t < state.from || t > state.to) continue;
        low = Math.min(low, min);
        high = Math.max(high, max);
      }
    }
    if (low > high) return [0, 1];
    const margin = high > low ? (high - low) * 0.06 : Math.max(Math.abs(high) * 0.01, 0.5);
    return [low - margin, high + margin];
  };
  return { shared: range(drawn), of: (p) => range([p]) };
}

function axis(g, s, high, [low, top], c) {
  const step = tenths((top - low) / 5);
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  for (let n = Math.ceil(low / step); n * step <= top; n++) {
    const y = high - bottom - ((n * step - low) / (top - low)) * (high - 12);
    g.fillStyle = c.line;
    g.fillRect(s.left, y, s.width, 1);
    g.fillStyle = c.muted;
    g.textBaseline = "middle";
    const v = n * step;
    g.fillText(digits > 6 || Math.abs(v) >= 1e7 ? v.toExponential(2) : v.toFixed(Math.min(digits, 20)), s.left - 6, Math.max(6, y));
  }
}

// tenths returns the next of 1, 2 and 5 times a power of ten.
function tenths(want) {
  const power = 10 ** Math.floor(Math.log10(want));
  for (const n of [1, 2, 5]) if (n * power >= want) return n * power;
  return 10 * power;
}
