// What readers do: pointing, dragging, keys, buttons; the legend; and the beginning.

// Pointing at things.

const nearest = (x, y) => {
  let best = -1, distance = 14;
  const reach = (until - from) / (width - left - right) * distance;
  const world = from + (x - left) / (width - left - right) * (until - from);
  for (let lane = 0; lane < laneCount; lane++) {
    if (Math.abs(py(lane) - y) > Math.min(distance, laneGap / 2)) continue;
    for (let event = bound(lane, world - reach), end = bound(lane, world + reach); event < end; event++) {
      if (!isShown(event)) continue;
      const away = Math.hypot(px(xs[event]) - x, py(lane) - y) - (kind[event] === code.receive ? 0 : 0.5);
      if (away < distance) { distance = away; best = event; }
    }
  }
  return best;
};
const point = (event, isTipped = false) => {
  pointed = event;
  if (event < 0) {
    tip.hidden = true;
    return redraw();
  }
  say(`${sentence(event)} · ${facts(event)}`);
  tip.hidden = !isTipped;
  if (isTipped) {
    const [x, y] = at(event), dim = document.createElement("span");
    dim.className = "dim";
    dim.textContent = facts(event);
    tip.replaceChildren(sentence(event), dim);
    tip.style.left = Math.max(4, Math.min(x + 14, width - tip.offsetWidth - 6)) + "px";
    tip.style.top = (y + 16 + tip.offsetHeight > height ? y - tip.offsetHeight - 14 : y + 16) + "px";
  }
  redraw();
};

const fingers = new Map();
let moved = 0;
const place = (happening) => {
  const box = picture.getBoundingClientRect();
  return [happening.clientX - box.left, happening.clientY - box.top];
};
picture.addEventListener("pointerdown", (happening) => {
  picture.setPointerCapture(happening.pointerId);
  fingers.set(happening.pointerId, place(happening));
  moved = 0;
  picture.classList.add("moving");
});
picture.addEventListener("pointermove", (happening) => {
  const now = place(happening), before = fingers.get(happening.pointerId);
  if (!before) return point(nearest(...now), true);
  const [dx, dy] = [now[0] - before[0], now[1] - before[1]];
  const others = [...fingers].filter(([id]) => id !== happening.pointerId);
  const unit = (until - from) / (width - left - right);
  fingers.set(happening.pointerId, now);
  moved += Math.abs(dx) + Math.abs(dy);
  if (others.length) {
    const other = others[0][1][0], middle = (now[0] + other) / 2;
    const factor = Math.max(Math.abs(before[0] - other), 8) / Math.max(Math.abs(now[0] - other), 8);
    return zoom(factor, from + (middle - left) * unit);
  }
  laneTop = Math.max(0, Math.min(laneTop - (happening.pointerType === "touch" ? 0 : dy), laneGap * laneCount - lanesHeight));
  tip.hidden = true;
  show(from - dx * unit, until - dx * unit);
});
const release = (happening) => {
  fingers.delete(happening.pointerId);
  picture.classList.remove("moving");
  if (moved < 6 && happening.type === "pointerup") point(nearest(...place(happening)), true);
};
picture.addEventListener("pointerup", release);
picture.addEventListener("pointercancel", release);
picture.addEventListener("pointerleave", () => { if (!fingers.size && pointed >= 0) point(-1); });
picture.addEventListener("wheel", (happening) => {
  const unit = (until - from) / (width - left - right);
  if (happening.ctrlKey || happening.metaKey) {
    happening.preventDefault();
    zoom(Math.exp(Math.max(-60, Math.min(happening.deltaY, 60)) * 0.008), from + (place(happening)[0] - left) * unit);
  } else if (Math.abs(happening.deltaX) > Math.abs(happening.deltaY) || happening.shiftKey) {
    happening.preventDefault();
    const by = (happening.deltaX || happening.deltaY) * unit;
    show(from + by, until + by);
  }
}, { passive: false });

const walk = (by) => {
  if (pointed < 0) return point(Math.min(bound(0, from), eventCount - 1));
  const lane = laneOf[pointed], next = Math.max(begins[lane], Math.min(pointed + by, begins[lane + 1] - 1));
  if (xs[next] < from || xs[next] > until) show(xs[next] - (until - from) / 2, xs[next] + (until - from) / 2);
  point(next, true);
};
const changeLane = (by) => {
  const lane = pointed < 0 ? 0 : Math.max(0, Math.min(laneOf[pointed] + by, laneCount - 1));
  bringIntoSight(lane);
  const x = pointed < 0 ? from : xs[pointed];
  point(Math.min(bound(lane, x), begins[lane + 1] - 1), true);
};
const keys = {
  ArrowLeft: () => move(-0.2), ArrowRight: () => move(0.2), ArrowUp: () => changeLane(-1), ArrowDown: () => changeLane(1),
  "+": () => zoom(0.7), "=": () => zoom(0.7), "-": () => zoom(1.4), 0: showAll,
  Home: () => show(lowest, lowest + until - from), End: () => show(highest - until + from, highest),
  n: () => step(1), p: () => step(-1), ",": () => walk(-1), ".": () => walk(1), Escape: () => { witness = -1; point(-1); },
};
picture.addEventListener("keydown", (happening) => {
  const act = keys[happening.key];
  if (!act || happening.ctrlKey || happening.metaKey || happening.altKey) return;
  happening.preventDefault();
  act();
});

const travel = (happening) => {
  if (!(happening.buttons & 1)) return;
  const x = happening.clientX - overview.getBoundingClientRect().left;
  const middle = lowest + (x - left) / (width - left - right) * (highest - lowest), half = (until - from) / 2;
  show(middle - half, middle + half);
};
overview.addEventListener("pointerdown", (happening) => { overview.setPointerCapture(happening.pointerId); travel(happening); });
overview.addEventListener("pointermove", travel);

// Buttons.

const on = (id, act) => byId(id).addEventListener("click", act);
on("earlier", () => move(-0.5));
on("later", () => move(0.5));
on("out", () => zoom(1.6));
on("in", () => zoom(0.625));
on("all", showAll);
on("before", () => step(-1));
on("next", () => step(1));
momentList.addEventListener("change", () => goTo(momentList.selectedIndex));
const axisList = byId("axis");
if (axes.time) axisList.add(new Option("by time", "time"));
axisList.add(new Option("by causal order", "order"));
axisList.value = axis;
axisList.addEventListener("change", () => {
  axis = axisList.value;
  xs = axes[axis];
  measure();
  paintStrip();
  goTo(momentList.selectedIndex);
});
const groupList = byId("group");
if (groups.length > 1) {
  groupList.hidden = false;
  groupList.add(new Option("all groups", ""));
  for (const name of groups) groupList.add(new Option(name, name));
  groupList.addEventListener("change", () => { group = groupList.value; redraw(); });
}
for (const button of document.querySelectorAll("button.show")) {
  button.addEventListener("click", () => {
    goTo(+button.dataset.witness);
    picture.focus({ preventScroll: true });
    byId("space-time").scrollIntoView({ block: "start" });
  });
}
on("save", () => {
  const painter = new SvgPainter(width, height);
  paint(painter);
  save(painter.done(), "space-time.svg");
});

// The legend: what is in this run, drawn as it is drawn above.

const fillLegend = () => {
  const legend = document.querySelector(".legend"), present = new Set(kind);
  const entries = [];
  const entry = (words, draw) => entries.push([words, draw]);
  entry("multicast", (to) => to.circle(17, 9, 4.5, ink.c0));
  entry("delivery", (to) => to.circle(17, 9, 4, ink.panel, ink.c0, 1.8));
  if (present.has(code.receive)) {
    entry("arrival", (to) => to.lines([17, 4, 17, 14], ink.c0, 1.5));
    entry("held back", (to) => to.lines([5, 9, 29, 9], ink.hold, 6, 0.85));
  }
  if (views.size) entry("view", (to) => { to.box(0, 0, 17, 18, ink.band0); to.box(17, 0, 17, 18, ink.band1); to.lines([17, 0, 17, 18], ink.soft, 1.2); });
  const sign = (name, words, draw) => present.has(code[name]) && entry(words, draw);
  sign("crash", "crash", (to) => to.lines([12, 4, 22, 14, 12, 14, 22, 4], ink.violated, 3));
  sign("suspect", "suspicion", (to) => to.polygon([[11, 14], [23, 14], [17, 4]].map(([x, y]) => [x, 18 - y]), ink.unknown));
  sign("block", "blocked", (to) => { to.box(13, 3, 3, 12, ink.violated); to.box(18, 3, 3, 12, ink.violated); });
  sign("resume", "goes on", (to) => to.polygon([[13, 3], [23, 9], [13, 15]], ink.accent));
  sign("stop", "stop", (to) => to.lines([17, 3, 17, 15], ink.lane, 3));
  sign("decide", "decision", (to) => diamond(to, 17, 9, 6, ink.accent));
  if (cutOff.size) entry("record breaks off", (to) => paintCut(to, 14, 9, 7));
  if (Object.keys(data.gaps).length) entry("left out", (to) => to.lines([4, 9, 30, 9], ink.lane, 2, 1, [1, 7]));
  if (data.witnesses.length) entry("the events of a violation", (to) => to.circle(17, 9, 7, ink.page, ink.witness, 2.5));
  legend.replaceChildren(...entries.map(([words, draw]) => {
    const item = document.createElement("li"), canvas = document.createElement("canvas");
    canvas.setAttribute("aria-hidden", "true");
    draw(new CanvasPainter(canvas, 34, 18));
    item.append(canvas, words);
    return item;
  }));
};

// Begin.

const start = () => {
  readInk();
  layout();
  paintStrip();
  fillLegend();
};
if (!eventCount) {
  document.documentElement.dataset.drawnMs = Math.round(performance.now());
  say("The trace has no event that can be drawn.");
  return;
}
document.querySelector(".tools").hidden = false;
byId("stage").hidden = overview.hidden = false;
picture.setAttribute("aria-label", `Space-time diagram of ${laneCount} processes and ${eventCount.toLocaleString("en")} events`);
measure();
start();
const change = data.moments.length ? stops.findIndex((stop) => stop.isChange) : -1;
goTo(data.witnesses.length || change < 0 ? 0 : change);
let known = width;
window.addEventListener("resize", () => { if (byId("stage").clientWidth !== known) { known = byId("stage").clientWidth; start(); redraw(); } });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { start(); redraw(); });
draw();
document.documentElement.dataset.drawnMs = Math.round(performance.now());
