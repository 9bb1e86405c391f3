// The panels on the pages of gorecord and goplay: the latest message of the topic that is clicked, as a tree, a picture or a
// scene, and plots of the last minute. They ask again only after all answers have come: so they follow a slow link.

import { $, el, set, plain, say } from "/static/common.js";
import { state, get, on, tell } from "/static/view.js";
import { readColors } from "/static/timeline.js";
import { messagePanel } from "/static/message.js";
import { plotPanel } from "/static/plot.js";
import { picturePanel } from "/static/picture.js";

const interval = 400; // milliseconds
const lasts = 60; // seconds of a plot
const near = 30; // seconds between the clock and a message that was received now

let box = null;
let newest = null; // time of the latest message, in seconds since the server began

// look makes the names of topics in the table open the panels.
export function look() {
  Object.assign(state, { base: "/api/v1/look/", live: true });
  const css = el("link");
  css.rel = "stylesheet";
  css.href = "/static/panels.css";
  document.head.append(css);
  readColors();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", readColors);
  const body = $("topics");
  const open = (e) => {
    const name = e.target.closest(".topic")?.querySelector(".name");
    if (name) choose(name.title);
  };
  body.addEventListener("click", open);
  body.addEventListener("keydown", (e) => { if (e.key === "Enter") open(e); });
  const opens = () => {
    for (const n of body.querySelectorAll(".topic .name:not([role])")) {
      n.setAttribute("role", "button");
      n.tabIndex = 0;
      n.classList.add("opens");
    }
  };
  new MutationObserver(opens).observe(body, { childList: true, subtree: true });
  opens();
}

// panel makes the element of a panel.
function panel(name) {
  const e = el("section");
  e.id = name + "-panel";
  e.setAttribute("aria-labelledby", name + "-title");
  return e;
}

function build() {
  const close = el("button", "", "Close");
  close.type = "button";
  close.addEventListener("click", () => {
    box.hidden = true;
    state.topic = null;
  });
  box = el("div", "look", "", el("div", "title", "", el("h2", "mono"), close), el("div", "panels", "", panel("picture"), panel("message"), panel("plot")));
  $("topics").closest("section").after(box);
  messagePanel();
  picturePanel();
  plotPanel();
  on("message", () => { newest = state.newest; });
  setInterval(tick, interval);
}

async function choose(shown) {
  try {
    const told = await get(undefined, "state", {});
    const topic = told.topics.find((t) => plain(t.name) === shown);
    if (!topic) throw new Error("There is nothing of " + shown + " to look at yet");
    Object.assign(state, { start: told.start, topics: told.topics, topic, message: null });
    if (box === null) build();
    newest = null;
    box.hidden = false;
    set(box.querySelector("h2"), shown);
    move();
    tell("topic");
    box.scrollIntoView({ block: "nearest" });
  } catch (e) {
    say(e.message, true);
  }
}

// move moves the end of what is shown to now or, of a bag that is played, to the latest message.
function move() {
  const clock = Date.now() / 1000 - parseFloat(state.start);
  state.at = state.duration = newest === null || Math.abs(newest - clock) < near ? clock : newest;
  state.to = state.duration + lasts * 0.02;
  state.from = state.to - lasts;
}

// tick asks for what is new, unless nobody sees it, or the last answers are still on their way.
function tick() {
  if (!state.topic || document.hidden || state.asking > 0 || document.body.classList.contains("stale")) return;
  move();
  tell("at");
  tell("range");
}
