// The picture: what is drawn of the window, from the bands of views up to the witness.

const picture = byId("picture"), overview = byId("overview"), tip = byId("tip");
let width = 800, height = 400, left = 90, laneGap = 44, laneTop = 0, lanesHeight = 300, fontSize = 13;
const top = 34, bottom = 30, right = 14;
let from = 0, until = 1, witness = -1, pointed = -1, lowest = 0, highest = 1;

const measure = () => {
  lowest = Infinity;
  highest = -Infinity;
  for (const x of xs) { if (x < lowest) lowest = x; if (x > highest) highest = x; }
  if (!(highest > lowest)) { highest = lowest + 1; }
};
const px = (x) => left + (x - from) / (until - from) * (width - left - right);
const py = (lane) => top + (lane + 0.5) * laneGap - laneTop;
const at = (event) => [px(xs[event]), py(laneOf[event])];

const layout = () => {
  width = Math.max(byId("stage").clientWidth, 260);
  fontSize = width < 520 ? 12 : width > 1500 ? 16 : 13;
  const widest = Math.max(...data.lanes.map((name) => Math.min(name.length, 16)));
  left = Math.min(Math.max(widest * fontSize * 0.6 + 26, fontSize * 2.2 + 24), width * 0.28);
  const room = Math.max(Math.min(window.innerHeight * 0.62, 760), 260) - top - bottom;
  laneGap = Math.max(Math.min(room / laneCount, width < 520 ? 56 : 92), 18);
  lanesHeight = Math.min(laneGap * laneCount, Math.max(room, 200));
  height = top + lanesHeight + bottom;
  picture.style.height = height + "px";
  laneTop = Math.max(0, Math.min(laneTop, laneGap * laneCount - lanesHeight));
};

const arrowHead = (painter, x0, y0, x1, y1, color, size) => {
  const angle = Math.atan2(y1 - y0, x1 - x0);
  const corner = (turn) => [x1 - size * Math.cos(angle + turn), y1 - size * Math.sin(angle + turn)];
  painter.polygon([[x1, y1], corner(0.4), corner(-0.4)], color);
};

const paintBands = (painter) => {
  const strips = group ? [group] : groups.length ? groups.slice(0, 4) : [""];
  if (!group && groups.length > 4) return;
  const tall = laneGap / strips.length;
  for (let lane = 0; lane < laneCount; lane++) {
    for (const [strip, name] of strips.entries()) {
      let since = -1, tint = 0;
      const close = (end) => {
        if (since < 0) return;
        const x0 = Math.max(px(xs[since]), left - 12), x1 = Math.min(px(end), width - right);
        if (x1 > x0) painter.box(x0, py(lane) - laneGap / 2 + strip * tall, x1 - x0, tall, tint ? ink.band1 : ink.band0);
      };
      for (const event of laneViews[lane]) {
        const [, , of, view] = data.streams[stream[event]];
        if (of !== name) continue;
        close(xs[event]);
        since = event;
        tint = views.get(of + "\n" + view).ordinal % 2;
      }
      close(xs[begins[lane + 1] - 1]);
    }
  }
};
const laneViews = data.lanes.map((_, lane) => {
  const found = [];
  for (let event = begins[lane]; event < begins[lane + 1]; event++) if (kind[event] === code.view) found.push(event);
  return found;
});

// The line through the places where a view was installed, and its name above.
const paintViews = (painter) => {
  let taken = -Infinity;
  const shown = [...views.values()].filter((view) => !group || view.group === group || !view.group);
  for (const view of shown) view.begin = Math.min(...view.events.map((event) => xs[event]));
  shown.sort((a, b) => a.begin - b.begin);
  const named = new Map();  // views that begin at the same place are named together
  for (const view of shown) {
    const key = Math.round(px(view.begin) / 8) + "\n" + view.name;
    view.first = !named.has(key);
    if (view.first) named.set(key, view.together = []); else view.together = named.get(key);
    view.together.push(view.group);
  }
  for (const view of shown) {
    const line = [];
    view.events.forEach((event, place) => {
      const [x, y] = at(event);
      line.push(x, y - laneGap / 2, x, y + laneGap / 2);
      const next = view.events[place + 1];
      if (next !== undefined && laneOf[next] === laneOf[event] + 1) {
        line.push(x, y + laneGap / 2, px(xs[next]), y + laneGap / 2);
      }
    });
    painter.inside(left - 12, top, width - left - right + 12, lanesHeight, () => painter.lines(line, ink.soft, 1.2, 0.75));
    const x = px(view.begin);
    if (!view.first) continue;
    const of = view.together.length > 4 ? `${view.together.length} groups` : view.together.join(", ");
    const name = groups.length > 1 && !group ? `${view.name} · ${of}` : view.name;
    const shownAt = Math.max(x, left);
    if (x < width - 60 && shownAt > taken && (x >= left || isCurrent(view, shown))) {
      painter.text(name, shownAt + 3, top - 9, ink.soft, fontSize, "start", 600);
      taken = shownAt + name.length * fontSize * 0.6 + 14;
    }
  }
};
// Whether a view that was installed left of the window is still the one at its left edge.
const isCurrent = (view, shown) => {
  const later = shown.filter((other) => other.group === view.group && other.ordinal > view.ordinal);
  return later.every((other) => px(Math.min(...other.events.map((event) => xs[event]))) > left + 60);
};

const paintLanes = (painter) => {
  const solid = [], missing = [];
  for (let lane = 0; lane < laneCount; lane++) {
    const y = py(lane);
    if (begins[lane] === begins[lane + 1]) continue;
    let since = begins[lane];
    for (const event of laneGaps[lane]) {
      if (event > since) solid.push(px(xs[since]), y, px(xs[event - 1]), y);
      if (event > begins[lane]) missing.push(px(xs[event - 1]), y, px(xs[event]), y);
      since = event;
    }
    solid.push(px(xs[since]), y, px(xs[begins[lane + 1] - 1]), y);
  }
  painter.lines(clamped(solid), ink.lane, 1.6);
  painter.lines(clamped(missing), ink.lane, 2, 1, [1, 7]);
};
const laneGaps = data.lanes.map(() => []);
for (const key of Object.keys(data.gaps)) laneGaps[laneOf[+key]].push(+key);
for (const list of laneGaps) list.sort((a, b) => a - b);
// Ends far outside of the window are brought near: dashes would be drawn all the way.
const clamped = (points) => points.map((value, place) => place % 2 ? value : Math.max(-50, Math.min(value, width + 50)));

const visibleEvents = () => {
  let seen = 0;
  for (let lane = 0; lane < laneCount; lane++) seen += bound(lane, until) - bound(lane, from);
  return seen;
};
// The first event of a lane at or after a place.
const bound = (lane, x) => {
  let low = begins[lane], high = begins[lane + 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (xs[middle] < x) low = middle + 1; else high = middle;
  }
  return low;
};

const ARROWS_MAX = 6000;
const paintArrows = (painter) => {
  const seen = [];
  for (let arrow = 0; arrow < arrowCount; arrow++) {
    const source = column.from[arrow], target = column.to[arrow];
    if (xs[source] <= until && xs[target] >= from && isShown(source)) seen.push(arrow);
  }
  const every = Math.ceil(seen.length / ARROWS_MAX), dim = witness >= 0 ? 0.35 : 1;
  const alpha = dim * (seen.length > 1500 ? 0.22 : seen.length > 300 ? 0.5 : 0.85);
  const byLane = data.lanes.map(() => []);
  for (let place = 0; place < seen.length; place += every) {
    const source = column.from[seen[place]];
    byLane[laneOf[source]].push(...at(source), ...at(column.to[seen[place]]));
  }
  byLane.forEach((points, lane) => points.length && painter.lines(points, laneInk(lane), seen.length > 300 ? 1 : 1.5, alpha));
  if (seen.length <= 300) {
    for (const arrow of seen) {
      const source = column.from[arrow];
      const end = stopShort(...at(source), ...at(column.to[arrow]), 3);
      arrowHead(painter, ...at(source), ...end, witness < 0 ? laneInk(laneOf[source]) : faded(laneInk(laneOf[source])), fontSize * 0.6);
    }
  }
  return every;
};
const stopShort = (x0, y0, x1, y1, by) => {
  const size = Math.hypot(x1 - x0, y1 - y0) || 1;
  return [x1 - (x1 - x0) / size * by, y1 - (y1 - y0) / size * by];
};
const faded = (color) => color + (color.length === 7 ? "70" : "");

const paintHolds = (painter) => {
  const bars = [];
  for (let lane = 0; lane < laneCount; lane++) {
    const y = py(lane), end = Math.min(bound(lane, until) + 400, begins[lane + 1]);
    let covered = -Infinity;
    for (let event = bound(lane, from); event < end; event++) {
      if (!hold[event] || hold[event] < 2 || !isShown(event)) continue;
      const x0 = px(xs[event - hold[event]]), x1 = px(xs[event]);
      if (x1 - x0 < 2 || x1 <= covered || x0 > width) continue;
      bars.push(Math.max(x0, covered, left - 5), y, Math.min(x1, width), y);
      covered = x1;
    }
  }
  painter.lines(bars, ink.hold, Math.min(6, laneGap / 5), witness < 0 ? 0.8 : 0.35);
};

const paintEvents = (painter, isDense) => {
  const size = isDense ? 2 : Math.min(4.6, laneGap / 6) * (fontSize / 13);
  for (let lane = 0; lane < laneCount; lane++) {
    const y = py(lane);
    let last = -Infinity;
    for (let event = bound(lane, from), end = bound(lane, until); event < end; event++) {
      const name = kindOf(event), x = px(xs[event]);
      if (!isShown(event) || isMark.has(kind[event]) || name === "view") continue;
      if (isDense && x - last < 1.5) continue;
      last = x;
      const sender = data.streams[stream[event]][1], color = laneInk(sender);
      if (name === "multicast") painter.circle(x, y, size, color);
      else if (name === "deliver" && sender !== lane) painter.circle(x, y, size * 0.85, ink.panel, color, 1.8);
      else if (name === "receive" && !isDense) painter.lines([x, y - size, x, y + size], color, 1.3);
      else if (name === "send" || name === "take" || name === "vote") diamond(painter, x, y, size, color);
    }
  }
  for (const event of marks) if (isShown(event)) paintMark(painter, event);
  for (const event of cutOff) paintCut(painter, ...at(event), Math.max(Math.min(7, laneGap / 4), 4) * (fontSize / 13));
  if (!isDense) paintNumbers(painter, size);
};
// Where the record of a process breaks off: it was killed, or its last rows are lost.
const paintCut = (painter, x, y, size) =>
  painter.lines([x + 3, y - size, x + 3 - size * 0.6, y - size * 0.3, x + 3 - size * 0.6, y - size * 0.3, x + 3 + size * 0.6, y + size * 0.3, x + 3 + size * 0.6, y + size * 0.3, x + 3, y + size], ink.violated, 2.4);
// Which messages a run is, where there is room to say so.
const paintNumbers = (painter, size) => {
  if (laneGap < 34 || witness >= 0) return;
  for (let lane = 0; lane < laneCount; lane++) {
    let taken = -Infinity;
    for (let event = bound(lane, from), end = bound(lane, until); event < end; event++) {
      if (kind[event] !== code.multicast || !isShown(event)) continue;
      const last = first[event] + count[event] - 1, x = px(xs[event]);
      const label = count[event] > 1 ? `${first[event]}-${last}` : `${first[event]}`;
      const half = label.length * fontSize * 0.29 + 3;
      if (x - half < taken) continue;
      painter.text(label, x, py(lane) - size - 4, laneInk(lane), fontSize - 2, "middle");
      taken = x + half;
    }
  }
};
const diamond = (painter, x, y, size, color) =>
  painter.polygon([[x - size, y], [x, y - size], [x + size, y], [x, y + size]], color);
const paintMark = (painter, event) => {
  const [x, y] = at(event), size = Math.max(Math.min(7, laneGap / 4), 4) * (fontSize / 13);
  if (x < left - 10 || x > width + 10) return;
  switch (kindOf(event)) {
    case "crash":
      painter.lines([x - size, y - size, x + size, y + size, x - size, y + size, x + size, y - size], ink.violated, 3);
      break;
    case "suspect":
      painter.polygon([[x - size, y - 4 - size * 1.6], [x + size, y - 4 - size * 1.6], [x, y - 4]], ink.unknown);
      break;
    case "block": painter.box(x - 3, y - size - 2, 2.4, 2 * size + 4, ink.violated); painter.box(x + 1.5, y - size - 2, 2.4, 2 * size + 4, ink.violated); break;
    case "resume": painter.polygon([[x - size / 2, y - size], [x + size, y], [x - size / 2, y + size]], ink.accent); break;
    case "stop": painter.lines([x, y - size, x, y + size], ink.lane, 3); break;
    case "decide": diamond(painter, x, y, size, ink.accent); break;
    default: painter.lines([x, y - size * 0.7, x, y + size * 0.7], ink.lane, 2);
  }
};

// The chain of the chosen violation: its arrows and steps, numbered, in the colour of wrong.
const paintWitness = (painter) => {
  if (witness < 0) return;
  const { chain, late, never } = data.witnesses[witness];
  const wide = fontSize / 13 * 3;
  for (let step = 1; step < chain.length; step++) {
    if (chain[step] < 0 || chain[step - 1] < 0) continue;
    paintStep(painter, chain[step - 1], chain[step], wide);
  }
  if (late >= 0) {
    for (const arrow of arrowsTo.get(late - hold[late]) || []) {
      const [x0, y0] = at(column.from[arrow]), [x1, y1] = at(late);
      // Bent, lest it seem to pass through events of the chain.
      const aside = Math.min(laneGap * 0.7, 50), middle = [(x0 + x1) / 2 + aside * 0.6, (y0 + y1) / 2 - aside];
      painter.bow(x0, y0, ...middle, x1, y1, ink.witness, wide * 0.7, [6, 5]);
      paintGroup(painter, late, (x0 + 2 * middle[0] + x1) / 4, (y0 + 2 * middle[1] + y1) / 4);
      arrowHead(painter, ...middle, ...stopShort(...middle, x1, y1, 6), ink.witness, 10);
    }
    const [x, y] = at(late);
    painter.circle(x, y, 6, ink.panel, ink.witness, 2.5);
    const isNear = chain.some((event) => event >= 0 && laneOf[event] === laneOf[late] && Math.abs(at(event)[0] - x) < 4 * fontSize);
    painter.text("too late", Math.min(x, width - right - fontSize * 2.6), y + fontSize * (isNear ? 2.1 : 1.7), ink.witness, fontSize, "middle", 600);
  }
  const ending = chain[chain.length - 1];
  if (never && ending >= 0) {
    const [x, y] = at(ending), half = never.length * fontSize * 0.29;
    painter.text(never, Math.max(left + half, Math.min(x, width - right - half)), y + fontSize * 2, ink.witness, fontSize, "middle", 600);
  }
  const stacked = new Map();
  chain.forEach((event, step) => {
    if (event < 0) return;
    const [x, y] = at(event), radius = fontSize * 0.8, above = stacked.get(event) || 0;
    stacked.set(event, above + 1);
    painter.circle(x, y - above * 2 * radius, radius, step === chain.length - 1 ? ink.witness : ink.page, ink.witness, 2.5);
    painter.text(step + 1, x, y - above * 2 * radius + fontSize * 0.35, step === chain.length - 1 ? ink.page : ink.witness, fontSize, "middle", 700);
  });
};
const paintStep = (painter, before, after, wide) => {
  const arrived = after - hold[after];
  const isMessage = (arrowsTo.get(arrived) || []).some((arrow) => column.from[arrow] === before);
  const [x0, y0] = at(before), [x1, y1] = at(after), [x2] = at(arrived);
  if (laneOf[before] === laneOf[after]) {
    painter.lines([x0, y0, x1, y1], ink.witness, wide);
  } else if (isMessage) {
    painter.lines([x0, y0, x2, y1, x2, y1, x1, y1], ink.witness, wide);
    arrowHead(painter, x0, y0, ...stopShort(x0, y0, x2, y1, x2 === x1 ? fontSize * 0.9 : 2), ink.witness, fontSize);
    paintGroup(painter, after, (x0 + x2) / 2, (y0 + y1) / 2);
  } else {
    painter.lines([x0, y0, x1, y1], ink.witness, wide * 0.5, 0.7, [1, 6]);
  }
};

// In which group a message of the chain was multicast, where there are several.
const paintGroup = (painter, event, x, y) => {
  const name = data.streams[stream[event]][2];
  if (groups.length < 2 || !name) return;
  const shown = name.length > 12 ? name.slice(0, 11) + "…" : name;
  const half = shown.length * fontSize * 0.31 + 4, tall = fontSize * 0.72;
  painter.box(x - half, y - tall, 2 * half, 2 * tall, ink.page);
  painter.text(shown, x, y + fontSize * 0.35, ink.witness, fontSize, "middle", 700);
};

const paintPointed = (painter) => {
  if (pointed < 0) return;
  const [x, y] = at(pointed);
  const related = [...arrowsFrom.get(pointed) || [], ...arrowsTo.get(pointed - hold[pointed]) || [], ...arrowsTo.get(pointed) || []];
  for (const arrow of related) {
    const source = at(column.from[arrow]), target = at(column.to[arrow]);
    painter.lines([...source, ...target], ink.ink, 2.6);
    arrowHead(painter, ...source, ...stopShort(...source, ...target, 4), ink.ink, 9);
  }
  painter.circle(x, y, 8, "", ink.ink, 2.4);
};

const niceStep = (span, ticks) => {
  const raw = span / ticks, power = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= raw);
};
const paintAxis = (painter) => {
  const y = top + lanesHeight;
  painter.lines([left, y + 0.5, width - right, y + 0.5], ink.rule);
  let step = niceStep(until - from, Math.max((width - left) / 120, 3));
  if (axis === "order") step = Math.max(step, 1);
  for (let x = Math.ceil(from / step) * step; x <= until; x += step) {
    if (x < lowest - step || x > highest + step) continue;
    painter.lines([px(x), y, px(x), y + 5], ink.lane);
    const label = Math.abs(x) < step / 2 ? "0" : axis === "time" ? timeWords(Math.round(x * 1e3) / 1e3) : Math.round(x).toLocaleString("en");
    painter.text(label, px(x), y + 7 + fontSize, ink.soft, fontSize - 1, "middle");
  }
  painter.text(axis === "time" ? "time" : "step", left - 18, y + 7 + fontSize, ink.soft, fontSize - 1, "end");
};

const paint = (painter) => {
  painter.box(0, 0, width, height, ink.panel);
  const isDense = visibleEvents() > 2500;
  let every = 1;
  painter.inside(left - 12, top, width - left - right + 12, lanesHeight, () => {
    paintBands(painter);
  });
  paintViews(painter);
  painter.inside(left - 12, top, width - left - right + 12, lanesHeight, () => {
    paintLanes(painter);
    paintHolds(painter);
    every = paintArrows(painter);
    paintEvents(painter, isDense);
    paintPointed(painter);
    paintWitness(painter);
  });
  painter.box(0, top, left - 12, lanesHeight, ink.panel);
  const letters = Math.floor((left - 20) / (fontSize * 0.56));
  data.lanes.forEach((name, lane) => {
    const y = py(lane);
    if (y < top || y > top + lanesHeight) return;
    const shown = name.length > letters ? name.slice(0, letters - 1) + "…" : name;
    const own = groups.length > 1 && laneGap > 3 * fontSize ? laneGroups[lane].join(" ") : "";
    painter.text(shown, left - 18, y + fontSize * (own ? 0 : 0.35), laneInk(lane), fontSize, "end", 600);
    if (own) painter.text(own.length > letters ? own.slice(0, letters - 1) + "…" : own, left - 18, y + fontSize * 1.2, ink.soft, fontSize - 2, "end");
  });
  paintAxis(painter);
  if (laneGap * laneCount > lanesHeight + 1) {
    const upper = Math.round(laneTop / laneGap) + 1, lower = Math.min(Math.floor((laneTop + lanesHeight) / laneGap), laneCount);
    painter.text(`processes ${upper} to ${lower} of ${laneCount}: drag up or down`, width - right, 12, ink.soft, fontSize - 1, "end");
  }
  if (every > 1) painter.text(`1 of ${every} arrows is drawn: zoom in for all`, width - right, top - 10, ink.soft, fontSize - 1, "end");
};
