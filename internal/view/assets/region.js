// The selected part of the time line: how large it is, and where it goes.

import { $, set, bytes, count, say } from "/static/common.js";
import { state, on, get, latest, settled, address, failure, select, show, typed } from "/static/view.js";

export function regionPanel() {
  const parameters = () => ({ bag: state.bag, from: state.region[0].toFixed(9), to: state.region[1].toFixed(9), topic: $("cut-topic").checked ? state.topic?.name : "" });
  const load = latest(async (signal) => {
    const size = await get(signal, "size", parameters());
    set($("cut-what"), "about " + bytes(size.bytes) + ", " + count(size.messages) + " messages");
  });
  const from = $("cut-from"), length = $("cut-for");
  typed(from, (t) => select([t, t + (parseFloat(length.value) || 5)]));
  length.onchange = () => { if (parseFloat(length.value) > 0) select([state.region[0], state.region[0] + parseFloat(length.value)]); };
  const soonest = settled(() => { if (state.region) load().catch((e) => say(e.message, true)); }, 150);
  const changed = () => {
    $("cut").hidden = !state.region;
    if (!state.region) return;
    $("cut-download").hidden = !state.canCut;
    $("cut-save").hidden = !state.canSave;
    $("cut-topic").parentElement.hidden = !state.topic;
    from.value = state.region[0].toFixed(3);
    length.value = parseFloat((state.region[1] - state.region[0]).toFixed(3));
    set($("cut-what"), "…");
    $("cut-download").href = address("cut", parameters());
    soonest();
  };
  on("region", changed);
  on("topic", changed);
  on("state", changed);
  $("cut-topic").onchange = changed;
  $("cut-clear").addEventListener("click", () => select(null));
  $("cut-zoom").addEventListener("click", () => show(...state.region));
  $("cut-save").addEventListener("click", async () => {
    $("cut-save").disabled = true;
    try {
      const r = await fetch(address("save", parameters()), { method: "POST" });
      if (!r.ok) throw await failure(r);
      say((await r.json()).message);
    } catch (e) {
      say(e.message, true);
    }
    $("cut-save").disabled = false;
  });
}
