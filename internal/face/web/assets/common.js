// What both pages share. Names of topics and of bags come from anybody: they only ever
// become text.

export const $ = (id) => document.getElementById(id);

// el makes an element with a class, a text and children.
export function el(tag, cls = "", text = "", ...children) {
  const e = document.createElement(tag);
  if (cls) e.className = cls;
  if (text !== "") e.textContent = text;
  e.append(...children);
  return e;
}

// set changes a text only where it differs: a page that stays the same is not drawn again.
export function set(e, text) {
  if (e.textContent !== text) e.textContent = text;
}

// plain makes visible what would be drawn as nothing, or would turn around what follows.
export const plain = (s) => s.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (c) => "\\u{" + c.codePointAt(0).toString(16) + "}");

// act sends a command and tells what came of it.
export async function act(name, body) {
  try {
    const r = await fetch("/api/v1/" + name, {
      method: "POST",
      headers: body === undefined ? {} : { "Content-Type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const answer = await r.json();
    if (r.status === 401) location.assign("/login");
    if (!r.ok) throw new Error(answer.error || r.statusText);
    return answer;
  } catch (e) {
    say(e instanceof TypeError ? "No answer: it is not known whether that was done" : e.message, true);
    return null;
  }
}

let quiet;

// say shows a line for a while.
export function say(text, bad = false) {
  const e = $("said");
  e.textContent = text;
  e.classList.toggle("bad", bad);
  clearTimeout(quiet);
  quiet = setTimeout(() => { e.textContent = ""; }, bad ? 12000 : 6000);
}

// silence is longer than there is ever nothing to tell.
const silence = 6000;

let ending = false;

// ends notes whether the program is about to end.
export const ends = (on) => { ending = on; };

// follow calls show with each state. A connection that is lost, or dead without a word, is said and made anew. When another
// program answers then, the page begins anew, too.
export function follow(show) {
  let events, timer, began = null, heard = null;
  const connect = () => {
    events?.close();
    events = new EventSource("/api/v1/events");
    events.onmessage = (m) => {
      const e = JSON.parse(m.data);
      if (began !== null && e.began !== began) {
        location.reload();
        return;
      }
      began = e.began;
      heard = Date.now() / 1000;
      again(silence);
      link(e.master ? "live" : "warn", e.master ? "live" : "the ROS master does not answer");
      set($("node"), plain(e.node));
      $("gone").hidden = true;
      document.body.classList.remove("stale");
      viewers(e.live);
      show(e.state, e);
    };
    events.onerror = () => {
      lost();
      if (events.readyState === EventSource.CLOSED) refused();
      again(events.readyState === EventSource.CLOSED ? 3000 : silence);
    };
    again(silence);
  };
  const again = (after) => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      lost();
      connect();
    }, after);
  };
  const lost = () => {
    link(ending ? "" : "bad", ending ? "ended" : "no answer");
    $("gone").classList.toggle("bad", !ending);
    const who = document.querySelector("h1").textContent;
    set($("gone"), ending ? who + " has ended. What is shown is how things were then."
      : heard === null ? "No answer from " + who + ". Trying again …"
      : "No answer from " + who + " since " + at(heard) + ". What is shown is how things were then. Trying again …");
    $("gone").hidden = false;
    document.body.classList.add("stale");
  };
  addEventListener("pagehide", () => {
    clearTimeout(timer);
    events.close();
  });
  addEventListener("pageshow", (e) => { if (e.persisted) connect(); });
  connect();
}

// viewers shows who sees the messages live, and how to.
function viewers(live) {
  $("live").hidden = live === null;
  if (live === null) return;
  const address = location.origin.replace(/^http/, "ws") + "/" + (live.token ? "?token=TOKEN" : "");
  if ($("live-how").dataset.address !== address) {
    $("live-how").dataset.address = address;
    const links = live.apps.flatMap((app) => {
      const a = el("a", "", app.name);
      a.href = app.url + encodeURIComponent(address);
      a.rel = "noopener noreferrer";
      a.target = "_blank";
      return [", ", a];
    });
    $("live-how").replaceChildren("In Foxglove or Lichtblick, open a Foxglove WebSocket connection to ", el("code", "mono", address),
      ...live.token ? [", with the token in place of TOKEN."] : [". Open it now: ", ...links.slice(1), "."]);
  }
  const n = live.viewers.length;
  set($("live-count"), (n === 0 ? "" : n === 1 ? "1 viewer" : count(n) + " viewers") + (live.skipped ? (n === 0 ? "" : ", ") + count(live.skipped) + " messages skipped" : ""));
  $("live-viewers").replaceChildren(...live.viewers.map((v) => el("li", "", "", el("span", "mono", plain(v.peer)),
    el("span", "muted", count(v.topics) + (v.topics === 1 ? " topic" : " topics") + ", " + bytes(v.bytes) + " sent" + (v.skipped ? ", " + count(v.skipped) + " messages skipped: too slow for all" : "")))));
}

function link(state, text) {
  set($("link"), text);
  $("link").dataset.state = state;
}

// refused finds out why there are no events: a program that was started anew does not
// know who has logged in.
async function refused() {
  try {
    const r = await fetch("/api/v1/state");
    if (r.status === 401) location.assign("/login");
    else if (r.ok) set($("gone"), "Too many pages watch already. Close one of them.");
  } catch { /* no answer, as is said */ }
}

const whole = new Intl.NumberFormat("en-US");

export const count = (n) => whole.format(n);

// bytes writes a size with three digits that count, in binary units, as all programs do.
export function bytes(n) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let i = 0;
  while (n >= 999.5 && i < units.length - 1) {
    n /= 1024;
    i++;
  }
  return (i === 0 || n >= 99.95 ? Math.round(n) : n >= 9.995 ? n.toFixed(1) : n.toFixed(2)) + " " + units[i];
}

const compact = new Intl.NumberFormat("en-US", { notation: "compact", maximumSignificantDigits: 3 });

// short writes a number where there is little room.
export const short = (n) => (n >= 10000 ? compact.format(n) : count(n));

export function hertz(n) {
  return n >= 9999.5 ? short(n) : n >= 99.95 ? count(Math.round(n)) : n.toFixed(1);
}

const two = (n) => String(n).padStart(2, "0");

// clock writes a time as h:mm:ss.
export function clock(s) {
  s = Math.floor(s);
  return Math.floor(s / 3600) + ":" + two(Math.floor(s / 60) % 60) + ":" + two(s % 60);
}

// at writes a time since 1970 as one of today.
const at = (s) => new Date(s * 1000).toLocaleTimeString();

// when writes a time since 1970 as a date.
export function when(s) {
  return new Date(s * 1000).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });
}

// span writes a time in words.
export function span(s) {
  if (s < 90) return Math.round(s) + " s";
  if (s < 5400) return Math.round(s / 60) + " min";
  if (s < 172800) return (s / 3600).toFixed(s < 36000 ? 1 : 0) + " h";
  return Math.round(s / 86400) + " days";
}

// broken writes a name that is rather broken behind a word than in one.
export function broken(topic) {
  const n = el("span", "mono name", "", ...plain(topic).split(/(?<=.[/_])/).flatMap((part) => [part, el("wbr")]));
  n.title = plain(topic);
  return n;
}

// name is the cell of a topic: its name and, less loud, its type.
export function name(topic, type) {
  const cell = el("th", "topic");
  cell.scope = "row";
  cell.append(broken(topic), el("span", "type", plain(type)));
  return cell;
}

// topicTable returns the rows of the table of topics, by topic, and show, which makes a row for each new topic and has
// update set the cells of all rows.
export function topicTable(make) {
  const rows = new Map();
  const filter = filtered(rows);
  const body = [...$("topics").tBodies].at(-1); // before it are rows that belong at the top
  const place = (topic) => insert(rows, topic, rows.get(topic), body);
  const show = (topics, update) => {
    for (const t of topics) {
      let row = rows.get(t.topic);
      if (!row) {
        row = make(t);
        insert(rows, t.topic, row, body);
        filter();
      }
      update(row, t);
    }
    $("topics-none").hidden = topics.length > 0;
    $("topics").hidden = topics.length === 0;
    set($("topics-count"), topics.length ? count(topics.length) : "");
  };
  return { rows, show, place };
}

// insert puts the row of a topic where its name belongs.
function insert(rows, topic, row, body) {
  let next = null;
  for (const [other, r] of rows) if (r.tr.parentNode === body && other > topic && (next === null || other < next[0])) next = [other, r];
  rows.set(topic, row);
  body.insertBefore(row.tr, next && next[1].tr);
}

// filtered hides the rows whose name does not hold what was typed.
function filtered(rows) {
  const input = $("filter");
  const apply = () => {
    const want = input.value.toLowerCase();
    for (const [topic, row] of rows) row.tr.hidden = !topic.toLowerCase().includes(want);
  };
  input.addEventListener("input", apply);
  return apply;
}
