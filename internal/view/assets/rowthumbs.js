// Small pictures on the rows of the time line, of the topics that have pictures. They are loaded one after the other, those
// of the present view only, and kept for a while.

import { state, tell, latest, settled } from "/static/view.js";
import { fetchPicture } from "/static/picture.js";

const apart = 130; // pixels between pictures, at least
const most = 300; // that are kept

const kept = new Map(); // by topic and time, the oldest first
let wanted = new Map(); // that are in view and not kept
const coming = new Set(); // keys that are being loaded

// drawThumbs draws what is there of a topic into its row, and has the rest loaded. Times are on a grid that stays where it is
// when the view is moved.
export function drawThumbs(g, topic, top, high, strip, xOf) {
  const step = 2 ** Math.ceil(Math.log2((apart / strip.width) * (state.to - state.from)));
  const to = Math.min(state.to, topic.last);
  let last = null;
  for (let n = Math.floor(Math.max(state.from, topic.first) / step); n * step <= to; n++) {
    const t = Math.max(n * step, topic.first), key = state.bag + " " + topic.name + " " + t;
    const p = kept.get(key);
    if (!p && !coming.has(key)) wanted.set(key, { topic: topic.name, t, step });
    if (!p?.bitmap || p.id === last) continue;
    last = p.id;
    const wide = Math.min((high * p.bitmap.width) / p.bitmap.height, apart);
    g.imageSmoothingEnabled = true;
    g.drawImage(p.bitmap, xOf(p.at, strip), top, wide, high);
  }
  if (wanted.size) loadSoon();
}

const load = latest(async (signal) => {
  const now = [...wanted].filter(([, w]) => w.t >= state.from - w.step && w.t <= state.to);
  wanted = new Map();
  coming.clear();
  for (const [key] of now) coming.add(key);
  for (const [key, w] of now) {
    let p = {};
    try {
      const { about, bitmap } = await fetchPicture(signal, { bag: state.bag, topic: w.topic, at: w.t, small: 1 });
      p = { bitmap, id: about.id, at: about.at };
    } catch (e) {
      if (signal.aborted) throw e; // what cannot be shown says so where it is large
    }
    kept.set(key, p);
    coming.delete(key);
    for (const [old, { bitmap }] of kept) {
      if (kept.size <= most) break;
      bitmap?.close();
      kept.delete(old);
    }
    tell("thumbs");
  }
});

const loadSoon = settled(() => load().catch(() => {}), 300);
