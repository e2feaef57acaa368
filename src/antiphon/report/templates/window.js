// The window on the run: the strip below, moving, zooming, and going to what matters.

// The strip below: everything, and where the window is.

let strip = null;
const paintStrip = () => {
  const tall = 46;
  strip = document.createElement("canvas");
  const painter = new CanvasPainter(strip, width, tall);
  const columns = Math.max(Math.floor(width - left - right), 1);
  const rows = new Float64Array(columns);
  for (const x of xs) rows[Math.min(Math.floor((x - lowest) / (highest - lowest) * columns), columns - 1)]++;
  const most = Math.max(...rows);
  rows.forEach((value, place) => value && painter.box(left + place, tall - 6 - Math.sqrt(value / most) * 30, 1.2, Math.sqrt(value / most) * 30 + 1, ink.lane, 0.6));
  const across = (event) => left + (xs[event] - lowest) / (highest - lowest) * columns;
  for (const view of views.values()) if (view.ordinal) painter.box(across(view.events[0]), 4, 1.5, tall - 8, ink.soft);
  for (const event of marks) {
    if (kindOf(event) === "crash" || kindOf(event) === "block") painter.box(across(event) - 1, 3, 3, 8, ink.violated);
  }
  for (const { chain } of data.witnesses) {
    for (const event of chain) if (event >= 0) painter.circle(across(event), 7, 3.2, ink.witness);
  }
};
const paintOverview = () => {
  const painter = new CanvasPainter(overview, width, 46);
  painter.to.drawImage(strip, 0, 0, width, 46);
  const across = (x) => left + (x - lowest) / (highest - lowest) * (width - left - right);
  const x0 = Math.max(across(from), left), x1 = Math.min(Math.max(across(until), x0 + 3), width - right);
  painter.box(x0, 1, x1 - x0, 44, ink.accent, 0.2);
  painter.lines([x0, 1, x1, 1, x1, 1, x1, 45, x1, 45, x0, 45, x0, 45, x0, 1], ink.accent, 1.5);
  painter.text("all", left - 18, 28, ink.soft, fontSize - 1, "end");
};

let pending = false;
const redraw = () => {
  if (pending) return;
  pending = true;
  requestAnimationFrame(draw);
};
const draw = () => {
  pending = false;
  paint(new CanvasPainter(picture, width, height));
  paintOverview();
};

// The window.

const show = (begin, end) => {
  const least = axis === "order" ? 4 : Math.max((highest - lowest) / 1e7, 2);
  const most = (highest - lowest) * 1.12;
  const span = Math.min(Math.max(end - begin, least), Math.max(most, least));
  const slack = span * 0.06, half = span / 2;
  let middle = Math.min(Math.max((begin + end) / 2, lowest - slack + half), highest + slack - half);
  if (span - 2 * slack > highest - lowest) middle = (lowest + highest) / 2;
  from = middle - span / 2;
  until = middle + span / 2;
  redraw();
};
const move = (part) => show(from + part * (until - from), until + part * (until - from));
const zoom = (factor, x = (from + until) / 2) => show(x - (x - from) * factor, x + (until - x) * factor);
const showAll = () => show(lowest - (highest - lowest) * 0.04, highest + (highest - lowest) * 0.04);

// A window with some events of every process on either side of an event.
const showAround = (event) => {
  const x = xs[event];
  let wanted = Math.max(Math.ceil((width < 520 ? 24 : 60) / laneCount), 3), reach = 0;
  // More, where so many happened at the very same time.
  for (; !reach && wanted < 2 * eventCount; wanted *= 2) {
    const near = [];
    for (let lane = 0; lane < laneCount; lane++) {
      const middle = bound(lane, x);
      for (let other = Math.max(middle - wanted, begins[lane]); other < Math.min(middle + wanted, begins[lane + 1]); other++) near.push(Math.abs(xs[other] - x));
    }
    near.sort((a, b) => a - b);
    reach = near[Math.floor(near.length * 0.8)];
  }
  reach = reach || 1;
  const isFirst = x - lowest < reach;
  show(isFirst ? lowest - reach * 0.15 : x - reach, isFirst ? lowest + reach * 1.85 : x + reach);
  bringIntoSight(laneOf[event]);
};
// A view change, from what led to it: the crash, suspicion or broken record before it.
const showChange = (event) => {
  const [, , of, name] = data.streams[stream[event]], view = views.get(of + "\n" + name);
  const before = [...views.values()].find((other) => other.group === of && other.ordinal === view.ordinal - 1);
  const since = before ? Math.max(...before.events.map((other) => xs[other])) : lowest;
  const end = Math.max(...view.events.map((other) => xs[other]));
  const signs = marks.filter((other) => kindOf(other) === "crash" || kindOf(other) === "suspect").concat([...cutOff]);
  const near = signs.map((other) => xs[other]).filter((x) => x > since && x <= end);
  const begin = Math.min(...near, ...view.events.map((other) => xs[other]));
  showAround(event);
  const edge = Math.max((end - begin) * 0.25, (until - from) * 0.12);
  if (end + edge > until || begin - edge < from) show(begin - edge, end + edge);
  else show((begin + end) / 2 - (until - from) / 2, (begin + end) / 2 + (until - from) / 2);
};
const showWitness = (number) => {
  witness = number;
  const { chain, late, text, title } = data.witnesses[number];
  const events = [...chain, late].filter((event) => event >= 0);
  if (!events.length) return say(`${title}: ${text} Its events are not in this picture.`);
  const places = events.map((event) => xs[event]);
  const begin = Math.min(...places), end = Math.max(...places), edge = Math.max((end - begin) * 0.22, (highest - lowest) * 1e-6, axis === "order" ? 1 : 20);
  show(begin - edge, end + edge);
  bringIntoSight(laneOf[events[events.length - 1]]);
  say(`${title}: ${text}`);
};
const bringIntoSight = (lane) => {
  const y = (lane + 0.5) * laneGap;
  if (y - laneTop < laneGap / 2 || y - laneTop > lanesHeight - laneGap / 2) {
    laneTop = Math.max(0, Math.min(y - lanesHeight / 2, laneGap * laneCount - lanesHeight));
  }
  redraw();
};
const say = (words) => { byId("said").textContent = words; };

// Moments: violations, crashes, views, the beginning, the end.

const momentList = byId("moment");
const stops = [];
data.witnesses.forEach(({ title, text }, number) => stops.push({ label: `✗ ${title}: ${text}`, go: () => showWitness(number) }));
for (const [what, label, event] of data.moments) {
  if (what === "violation") continue;
  const signs = { crash: "☠ ", view: "▥ ", suspect: "▼ ", block: "⏸ ", resume: "▷ ", cut: "☠ " };
  stops.push({
    label: (signs[what] || "") + label,
    isChange: what === "view",
    go: () => { witness = -1; what === "view" ? showChange(event) : showAround(event); if (what !== "begin" && what !== "end") point(event); else say(""); },
  });
}
stops.forEach(({ label }, number) => momentList.add(new Option(label.length > 90 ? label.slice(0, 89) + "…" : label, number)));
const goTo = (number) => {
  const wrapped = (number + stops.length) % stops.length;
  momentList.value = wrapped;
  pointed = -1;
  tip.hidden = true;
  stops[wrapped].go();
};
const step = (by) => goTo(momentList.selectedIndex + by);
