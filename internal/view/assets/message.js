// One message as a tree, the way to the next and the previous one, the search, and the copy.

import { $, el, set, plain, bytes, say } from "/static/common.js";
import { state, on, tell, get, lines, latest, arrive, address, clock, plainSeconds, failure } from "/static/view.js";

const opened = new Map(); // what the user has opened or closed, by path

function button(text, label, action) {
  const b = el("button", "", text);
  b.type = "button";
  if (label) b.setAttribute("aria-label", label);
  b.title = label || "";
  b.addEventListener("click", action);
  return b;
}

export function messagePanel() {
  const panel = $("message-panel");
  const title = el("h2", "", "Message");
  title.id = "message-title";
  const previous = button("‹", "Previous message of the topic (p)", () => step("previous"));
  const next = button("›", "Next message of the topic (n)", () => step("next"));
  const copy = button("Copy as JSON", "", copied);
  const search = el("input");
  Object.assign(search, { id: "search", type: "search", placeholder: "text, or m.level >= 4", autocomplete: "off", spellcheck: false });
  search.setAttribute("aria-label", "Search for a text, or an expression over m, the message");
  const everywhere = el("input");
  everywhere.type = "checkbox";
  const back = button("Search ‹", "Search backwards", () => find(true));
  const forth = button("Search ›", "Search forwards", () => find(false));
  search.onkeydown = (e) => { if (e.key === "Enter") find(e.shiftKey); };
  const progress = el("span", "muted");
  progress.setAttribute("role", "status");
  const facts = el("p", "muted line");
  const tree = el("div", "tree");
  tree.tabIndex = 0;
  tree.setAttribute("role", "group");
  tree.setAttribute("aria-label", "Fields of the message");
  panel.append(el("div", "title", "", title, previous, next, copy), el("div", "card", "",
    el("div", "line", "", search, back, forth, el("label", "", "", everywhere, " all topics"), progress), facts, tree));

  const load = latest(async (signal, parameters) => get(signal, "message", { bag: state.bag, topic: state.topic.name, ...parameters }));

  if (state.live) for (const e of [previous, next, search.parentElement]) e.hidden = true;
  let held = 0; // until then the tree stays as it is: somebody clicks
  tree.addEventListener("pointerdown", () => { held = performance.now() + 1500; });

  const show = (m) => {
    if (state.live && performance.now() < held) return;
    state.message = state.live ? null : { id: m.id, at: m.at };
    state.newest = m.at;
    set(title, plain(state.topic.name));
    facts.replaceChildren(el("span", "mono", clock(m.at, 1e-6)), ...state.live ? [] : [el("span", "mono", "+" + plainSeconds(m.at, 6))], el("span", "", plain(m.type)), el("span", "", bytes(m.size)),
      ...m.caller ? [el("span", "mono", plain(m.caller))] : [], ...!state.live && m.at > state.at + 1e-9 ? [el("span", "bad", "the first one; nothing is there before")] : []);
    const [top, focus] = [tree.scrollTop, document.activeElement?.getAttribute("aria-label")];
    tree.replaceChildren(...m.error ? [el("p", "problem", plain(m.error))] : [], el("ul", "", "", ...(m.tree.nodes || []).map((n) => node(n, 0))));
    tree.scrollTop = top;
    if (state.live && focus) tree.querySelector(`[aria-label=${CSS.escape(focus)}]`)?.focus();
    tell("message");
  };
  const fail = (e) => {
    tree.replaceChildren(el("p", "problem", plain(e.message)));
    facts.replaceChildren();
  };

  async function refresh() {
    for (const b of [previous, next, copy]) b.disabled = !state.topic;
    if (!state.topic) {
      set(title, "Message");
      tree.replaceChildren(el("p", "muted", "Choose a topic on the time line."));
      facts.replaceChildren();
      return;
    }
    try {
      const m = await load(state.message ? { id: state.message.id } : { at: state.at });
      if (m) show(m);
    } catch (e) {
      fail(e);
    }
  }

  async function step(where) {
    if (!state.topic || !state.message) return;
    try {
      const m = await load({ id: state.message.id, go: where });
      if (m) arrive(state.topic.name, m);
    } catch (e) {
      say(where === "next" ? "This is the last message of the topic" : "This is the first message of the topic");
    }
  }

  const search_ = latest(async (signal, backwards) => {
    let found = null, note = "";
    const began = state.at;
    await lines(signal, "search", {
      bag: state.bag, q: search.value, topic: everywhere.checked ? "" : state.topic?.name, at: state.message?.at ?? state.at,
      id: everywhere.checked ? "" : state.message?.id, backwards: backwards ? 1 : "",
    }, (line) => {
      if (line.done) ({ found = null, note = "" } = line);
      else set(progress, "at " + plainSeconds(line.at, 1));
    });
    set(progress, "");
    if (found) arrive(found.topic, found);
    else say("Nothing found " + (backwards ? "before " : "after ") + plainSeconds(began, 1) + (note ? ": " + plain(note) : ""));
  });

  async function find(backwards) {
    if (!search.value) { search.focus(); return; }
    set(progress, "searching …");
    try {
      await search_(backwards);
    } catch (e) {
      set(progress, "");
      say(e.message, true);
    }
  }

  async function copied() {
    if (!state.message && !state.live) return;
    try {
      const r = await fetch(address("copy", { bag: state.bag, topic: state.topic.name, id: state.message?.id }));
      if (!r.ok) throw await failure(r);
      await put(await r.text());
      say("The message is in the clipboard");
    } catch (e) {
      say(e.message, true);
    }
  }

  // node makes the part of the tree for a value.
  function node(n, depth) {
    const name = el("span", "key mono", plain(n.name));
    if (n.nodes === undefined && n.len === undefined) {
      const text = el("span", "text mono", n.note ? n.note : textOf(n));
      const row = el("li", "leaf", "", name, text);
      if (n.cut) row.append(el("span", "kind", "of " + bytes(n.cut)), more(n));
      if (n.plot) row.append(button("plot", "Plot " + plain(n.path), () => tell2(n.path)));
      return row;
    }
    const d = el("details");
    d.open = opened.get(n.path) ?? (n.len === undefined ? depth < 6 : !n.name.endsWith("covariance") && n.len <= (n.nodes?.[0]?.nodes ? 3 : 12));
    const size = n.len !== undefined ? " [" + n.len + "]" : "";
    const summary = el("summary", "", "", name, el("span", "kind", " " + plain(n.type.replace(/\[\d*\]$/, "")) + size));
    if (n.text) summary.append(el("span", "kind mono", " " + n.text.slice(0, 48)));
    d.append(summary);
    d.addEventListener("toggle", () => { if (d.isConnected) opened.set(n.path, d.open); });
    const list = el("ul");
    list.append(...(n.nodes || []).map((c) => node(c, depth + 1)));
    if (n.note) list.append(el("li", "muted", n.note));
    const shown = n.nodes?.length || 0;
    if (n.len > (n.from || 0) + shown || n.from) list.append(el("li", "line", "", ...pages(n, shown)));
    d.append(list);
    return el("li", "", "", d);
  }

  // pages leads to the other elements of an array.
  function pages(n, shown) {
    const from = n.from || 0;
    const turn = (to) => async (e) => {
      const place = e.target.closest("details").parentElement;
      try {
        const m = await get(undefined, "message", { bag: state.bag, topic: state.topic.name, id: state.message?.id, path: n.path, from: to });
        if (m.error) throw new Error(m.error);
        opened.set(n.path, true);
        place.replaceWith(node({ ...m.tree, name: n.name }, 0));
      } catch (e2) {
        say(e2.message, true);
      }
    };
    const list = [el("span", "muted", shown ? "elements " + from + " to " + (from + shown - 1) + " of " + n.len : n.len + " elements")];
    if (from > 0) list.push(button("‹ before", "Elements before", turn(Math.max(0, from - 100))));
    if (from + shown < n.len) list.push(button("more ›", "More elements of " + plain(n.path), turn(shown === 100 || from > 0 ? from + shown : 0)));
    return list;
  }

  function more(n) {
    return button("more", "Show more of " + plain(n.path), async (e) => {
      const place = e.target.closest("li").querySelector(".text");
      try {
        const m = await get(undefined, "message", { bag: state.bag, topic: state.topic.name, id: state.message?.id, path: n.path });
        set(place, plain2(m.tree.text) + (m.tree.cut ? " …" : ""));
        e.target.remove();
      } catch (e2) {
        say(e2.message, true);
      }
    });
  }

  const tell2 = (path) => { state.asked = { topic: state.topic.name, path }; tell("plot"); };

  on("at", refresh);
  on("topic", refresh);
  on("state", refresh);
  on("next", () => step("next"));
  on("previous", () => step("previous"));
}

// plain2 is plain, but for the breaks of lines.
const plain2 = (s) => (s || "").split("\n").map(plain).join("\n");

// textOf writes a value; beside a time, what it is on the clock.
function textOf(n) {
  const text = n.type === "string" ? JSON.stringify(plain2(n.text || "")).replace(/\\n/g, "\n") : n.text || "";
  if (n.type === "time" && parseFloat(n.text) > 1e8) return text + "  " + new Date(parseFloat(n.text) * 1000).toTimeString().slice(0, 8);
  if (n.type === "degrees") return text ? text + "°" : "unknown";
  return text;
}

// put puts a text into the clipboard. Browsers offer that only to pages of this machine, or with TLS; for others there is the old way.
async function put(text) {
  if (navigator.clipboard) {
    await navigator.clipboard.writeText(text);
    return;
  }
  const area = el("textarea", "off-screen");
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  if (!done) throw new Error("this browser does not let the page use the clipboard");
}
