// Pictures of cameras, with hints and a strip of small ones; the panel also has the scenes of other types.

import { $, el, set, plain } from "/static/common.js";
import { state, on, go, reveal, mark, latest, settled, address, failure, get, clock, plainSeconds } from "/static/view.js";
import { sized } from "/static/timeline.js";
import { scenePart } from "/static/scene.js";

const thumbs = 8;

// fetchPicture asks for a picture: what it shows, and what is known of it.
export async function fetchPicture(signal, parameters, name = "picture") {
  const r = await fetch(address(name, parameters), { signal });
  if (r.status === 204) return null; // the one that is known
  if (!r.ok) throw await failure(r);
  const about = JSON.parse(decodeURIComponent(r.headers.get("View-Picture")));
  const blob = await r.blob();
  try {
    return { about, bitmap: await createImageBitmap(blob) };
  } catch {
    throw new Error("this browser cannot decode the picture (" + blob.type + ", " + plain(about.encoding) + ")");
  }
}

// paint draws a bitmap in its own size, for CSS to scale.
export function paint(canvas, bitmap) {
  canvas.width = bitmap.width;
  canvas.height = bitmap.height;
  canvas.getContext("2d").drawImage(bitmap, 0, 0);
  canvas.classList.toggle("few", bitmap.width < canvas.clientWidth / 3);
}

// words says hints.
const words = { dark: "dark", overexposed: "overexposed", blurred: "blurred, compared with others of this topic", frozen: "frozen", uniform: "all of one color" };
export const hintTexts = (hints) => hints.map((h) => (words[h.word] || h.word) + (h.since !== undefined ? " since " + clock(h.since) + " (" + plainSeconds(h.since, 1) + ")" : ""));

// aboutTexts says what a picture is.
export function aboutTexts(about) {
  const r = about.range;
  return [about.width + " × " + about.height, plain(about.encoding), ...r ? ["black " + number(r.min) + " to white " + number(r.max) + (r.unit ? " " + r.unit : "")] : [], ...(about.notes || []).map(plain)];
}

const number = (v) => String(Math.abs(v) >= 100 ? Math.round(v) : parseFloat(v.toPrecision(4)));

export const items = (list, cls = "") => list.map((text) => el("li", cls, text));

export function picturePanel() {
  const panel = $("picture-panel");
  const title = el("h2", "", "Picture");
  title.id = "picture-title";
  const canvas = el("canvas");
  canvas.setAttribute("role", "img");
  const problem = el("p", "problem");
  const shown = el("div", "shown", "", canvas, problem);
  const hints = el("ul", "hints");
  hints.setAttribute("aria-label", "Hints about the picture");
  const strip = el("div", "thumbs");
  strip.setAttribute("role", "group");
  strip.setAttribute("aria-label", "Pictures over the time that is shown");
  const low = range("Value that is black"), high = range("Value that is white");
  const colors = el("input");
  colors.type = "checkbox";
  const labels = el("input");
  labels.type = "checkbox";
  const ranges = el("span", "", "", "from ", low, " to ", high, " ");
  const labelsLabel = el("label", "", "", labels, " classes");
  const options = el("div", "line", "", ranges, el("label", "", "", colors, " colors"), labelsLabel);
  const camera = el("div", "", "", shown, hints, strip, options);
  const scene = scenePart(undefined, () => reveal(scene.element));
  panel.append(el("div", "title", "", title), el("div", "card", "", camera, scene.element));

  function range(label) {
    const e = el("input");
    Object.assign(e, { type: "number", step: "any", placeholder: "auto" });
    e.setAttribute("aria-label", label);
    e.addEventListener("change", () => picture());
    return e;
  }

  let known = "";
  const which = () => (state.message ? { id: state.message.id } : { at: state.at });
  const isCamera = () => state.topic?.shows === "picture";

  const load = latest(async (signal) => {
    const width = Math.min(4096, Math.round(shown.clientWidth * Math.min(devicePixelRatio || 1, 2)));
    const p = await fetchPicture(signal, {
      bag: state.bag, topic: state.topic.name, ...which(), width, height: width, min: low.value, max: high.value, colors: colors.checked ? 1 : "", labels: labels.checked ? 1 : "", known: state.live && !canvas.hidden ? known : "",
    });
    if (p === null) return;
    known = state.live ? p.about.id : "";
    problem.hidden = true;
    canvas.hidden = false;
    paint(canvas, p.bitmap);
    mark("picture");
    reveal(shown);
    options.hidden = !p.about.range && !/^(8UC1|mono8)$/.test(p.about.encoding);
    labelsLabel.hidden = !/^(8UC1|mono8)$/.test(p.about.encoding);
    ranges.hidden = !p.about.range;
    canvas.setAttribute("aria-label", "Picture of " + state.topic.name + " at " + clock(p.about.at));
    set(title, "Picture at " + (state.live ? clock(p.about.at) : "+" + plainSeconds(p.about.at)));
    const facts = items(aboutTexts(p.about));
    hints.replaceChildren(...facts);
    const told = await get(signal, "hints", { bag: state.bag, topic: state.topic.name, id: p.about.id });
    hints.replaceChildren(...facts, ...items(hintTexts(told.hints), "odd"));
  });

  async function picture() {
    if (!isCamera()) return;
    try {
      await load();
    } catch (e) {
      canvas.hidden = true;
      problem.hidden = false;
      set(problem, plain(e.message));
      hints.replaceChildren();
    }
  }

  const loadStrip = latest(async (signal) => {
    for (const [i, b] of [...strip.children].entries()) {
      const at = state.from + ((state.to - state.from) * (i + 0.5)) / thumbs;
      b.disabled = at < 0 || at > state.duration;
      if (b.disabled) {
        sized(b.firstChild, 8, 6);
        continue;
      }
      try {
        const p = await fetchPicture(signal, { bag: state.bag, topic: state.topic.name, at, small: 1 });
        paint(b.firstChild, p.bitmap);
        b.dataset.at = p.about.at;
        b.setAttribute("aria-label", "Picture at " + clock(p.about.at));
      } catch (e) {
        if (signal.aborted) return;
        b.title = plain(e.message);
      }
    }
  });
  strip.hidden = state.live;
  const stripSoon = settled(() => { if (isCamera() && !state.live) loadStrip().catch(() => {}); }, 250);

  strip.append(...Array.from({ length: thumbs }, () => {
    const b = el("button", "", "", el("canvas"));
    b.type = "button";
    b.setAttribute("aria-label", "Picture");
    b.addEventListener("click", () => { if (b.dataset.at) go(parseFloat(b.dataset.at)); });
    return b;
  }));
  colors.addEventListener("change", picture);
  labels.addEventListener("change", picture);

  function topic() {
    known = "";
    const shows = state.topic?.shows;
    panel.hidden = !shows;
    camera.hidden = !isCamera();
    low.value = high.value = "";
    scene.topic(shows && !isCamera() ? shows : null);
    if (!isCamera()) set(title, scene.title(shows));
    picture();
    stripSoon();
  }
  on("topic", topic);
  on("state", topic);
  on("at", () => { picture(); scene.moved(); });
  on("range", () => { stripSoon(); scene.ranged(); });
}
