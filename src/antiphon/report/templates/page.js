// The space-time diagram: draws what the page's data say, and nothing from anywhere else.
"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId("data").textContent);

  // ---- The data, unpacked. -------------------------------------------------------------------

  const unpack = (text) => {
    const bytes = atob(text), column = [];
    let value = 0, at = 0;
    while (at < bytes.length) {
      let rest = 0, scale = 1, byte;
      do {
        byte = bytes.charCodeAt(at++);
        rest += (byte & 127) * scale;
        scale *= 128;
      } while (byte > 127);
      value += rest % 2 ? -(rest + 1) / 2 : rest / 2;
      column.push(value);
    }
    return Float64Array.from(column);
  };
  const column = {};
  for (const name of Object.keys(data.columns)) column[name] = unpack(data.columns[name]);
  const { kind, stream, first, count, depth, hold } = column;
  const eventCount = kind.length, laneCount = data.lanes.length;
  const kindOf = (event) => data.kinds[kind[event]];
  const code = Object.fromEntries(data.kinds.map((name, at) => [name, at]));

  const begins = [], laneOf = new Int32Array(eventCount);
  let total = 0;
  data.sizes.forEach((size, lane) => {
    begins.push(total);
    laneOf.fill(lane, total, total + size);
    total += size;
  });
  begins.push(total);

  // A lane never runs backwards: where a clock was set back, its line stands still.
  const onward = (values) => {
    const places = Float64Array.from(values);
    for (let event = 1; event < eventCount; event++) {
      const same = laneOf[event] === laneOf[event - 1];
      if (same && places[event] < places[event - 1]) places[event] = places[event - 1];
    }
    return places;
  };
  const axes = { order: onward(column.level) };
  if (column.time) axes.time = onward(column.time);
  let axis = axes[data.axis] ? data.axis : "order";
  let xs = axes[axis];

  const groups = [...new Set(data.streams.map((entry) => entry[2]))].filter((name) => name);
  let group = "";
  const isShown = (event) => {
    const of = data.streams[stream[event]][2];
    return !group || !of || of === group;
  };

  const arrowCount = column.from.length;
  const arrowsFrom = new Map(), arrowsTo = new Map();
  for (let arrow = 0; arrow < arrowCount; arrow++) {
    const add = (map, key) => map.has(key) ? map.get(key).push(arrow) : map.set(key, [arrow]);
    add(arrowsFrom, column.from[arrow]);
    add(arrowsTo, column.to[arrow]);
  }
  const marks = [];       // events that are drawn whatever the scale
  const views = new Map();  // group and view: the events that installed it
  const cutOff = new Set(data.cut_off);
  const isMark = new Set(["start", "crash", "stop", "suspect", "block", "resume", "decide"].map((name) => code[name]));
  for (let event = 0; event < eventCount; event++) {
    if (isMark.has(kind[event])) marks.push(event);
    if (kind[event] !== code.view) continue;
    const [, , of, view] = data.streams[stream[event]];
    const key = of + "\n" + view;
    if (!views.has(key)) views.set(key, { group: of, name: view, events: [] });
    views.get(key).events.push(event);
  }
  // Views of a group alternate in tint, in the order in which they were installed.
  const placed = new Map();
  [...views.values()]
    .sort((a, b) => column.level[a.events[0]] - column.level[b.events[0]])
    .forEach((view) => {
      view.ordinal = placed.get(view.group) || 0;
      placed.set(view.group, view.ordinal + 1);
    });

  // ---- Words. --------------------------------------------------------------------------------

  const timeWords = (us) => {
    const size = Math.abs(us);
    if (size < 1e3) return +us.toFixed(1) + " µs";
    if (size < 1e6) return +(us / 1e3).toFixed(3) + " ms";
    return +(us / 1e6).toFixed(6) + " s";
  };
  const messages = (event) => {
    const [sender] = data.streams[stream[event]];
    if (count[event] === 1) return `message ${first[event]} of ${sender}`;
    return `messages ${first[event]} to ${first[event] + count[event] - 1} of ${sender}`;
  };
  const sentence = (event) => {
    const who = data.lanes[laneOf[event]], detail = data.details[event] || "";
    const [sender, , , view] = data.streams[stream[event]];
    const tail = detail ? ` (${detail})` : "";
    switch (kindOf(event)) {
      case "multicast": return `${who} multicast ${messages(event)}`;
      case "receive": return `${who} received ${messages(event)}`;
      case "deliver": return `${who} delivered ${messages(event)}`;
      case "view": return `${who} installed ${view}${tail}`;
      case "suspect": return `${who} suspects ${sender}${tail}`;
      case "block": return `${who} is blocked${tail}`;
      case "resume": return `${who} goes on${tail}`;
      case "crash": return `${who} crashed${tail}`;
      case "start": return `${who} started${tail}`;
      case "stop": return `${who} stopped${tail}`;
      case "vote": return `${who} voted ${detail} on transaction ${first[event]} of ${sender}`;
      case "decide": return `${who} decided to ${detail} transaction ${first[event]} of ${sender}`;
      case "send": return `${who} sent letter ${first[event]} to ${detail}`;
      case "take": return `${who} took letter ${first[event]} of ${sender}`;
      default: return `${who}: ${kindOf(event)}${tail}`;
    }
  };
  const facts = (event) => {
    const said = [], [, , of, view] = data.streams[stream[event]];
    if (column.time) said.push(`at ${timeWords(column.time[event])}`);
    if (hold[event] && column.time) {
      const us = column.time[event] - column.time[event - hold[event]];
      if (us > 0) said.push(`held back for ${timeWords(us)}`);
    }
    if (depth[event]) said.push(`${depth[event]} in the delay queue`);
    if (kind[event] !== code.view) said.push(of ? `${view} of ${of}` : view);
    const file = data.files[column.file[event]];
    if (file) said.push(`${file}:${column.line[event]}`);
    return said.join(" · ");
  };

  // ---- Painters: the same picture on a canvas, and as SVG. -------------------------------------

  let ink = {};
  const readInk = () => {
    const style = getComputedStyle(document.documentElement);
    const names = ["page", "panel", "ink", "soft", "rule", "band0", "band1", "lane", "hold", "witness", "accent", "violated", "unknown"];
    for (let at = 0; at < 8; at++) names.push("c" + at);
    ink = Object.fromEntries(names.map((name) => [name, style.getPropertyValue("--" + name).trim()]));
  };
  const laneInk = (lane) => lane < 0 ? ink.soft : ink["c" + lane % 8];
  const face = "system-ui, sans-serif";

  class CanvasPainter {
    constructor(canvas, width, height) {
      const ratio = window.devicePixelRatio || 1;
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
      this.to = canvas.getContext("2d");
      this.to.setTransform(ratio, 0, 0, ratio, 0, 0);
      this.to.clearRect(0, 0, width, height);
      this.to.lineJoin = this.to.lineCap = "round";
    }
    inside(x, y, width, height, draw) {
      this.to.save();
      this.to.beginPath();
      this.to.rect(x, y, width, height);
      this.to.clip();
      draw();
      this.to.restore();
    }
    lines(points, color, width = 1, alpha = 1, dash = []) {
      const to = this.to;
      to.globalAlpha = alpha;
      to.strokeStyle = color;
      to.lineWidth = width;
      to.setLineDash(dash);
      to.beginPath();
      for (let at = 0; at < points.length; at += 4) {
        to.moveTo(points[at], points[at + 1]);
        to.lineTo(points[at + 2], points[at + 3]);
      }
      to.stroke();
      to.setLineDash([]);
      to.globalAlpha = 1;
    }
    bow(x0, y0, x1, y1, x2, y2, color, width, dash) {
      const to = this.to;
      to.strokeStyle = color;
      to.lineWidth = width;
      to.setLineDash(dash);
      to.beginPath();
      to.moveTo(x0, y0);
      to.quadraticCurveTo(x1, y1, x2, y2);
      to.stroke();
      to.setLineDash([]);
    }
    polygon(points, color, alpha = 1) {
      const to = this.to;
      to.globalAlpha = alpha;
      to.fillStyle = color;
      to.beginPath();
      points.forEach(([x, y], at) => at ? to.lineTo(x, y) : to.moveTo(x, y));
      to.closePath();
      to.fill();
      to.globalAlpha = 1;
    }
    box(x, y, width, height, color, alpha = 1) {
      this.to.globalAlpha = alpha;
      this.to.fillStyle = color;
      this.to.fillRect(x, y, width, height);
      this.to.globalAlpha = 1;
    }
    circle(x, y, radius, fill, stroke = "", width = 1.5) {
      const to = this.to;
      to.beginPath();
      to.arc(x, y, radius, 0, 2 * Math.PI);
      if (fill) { to.fillStyle = fill; to.fill(); }
      if (stroke) { to.strokeStyle = stroke; to.lineWidth = width; to.stroke(); }
    }
    text(words, x, y, color, size = 13, anchor = "start", weight = 400) {
      const to = this.to;
      to.font = `${weight} ${size}px ${face}`;
      to.textAlign = anchor === "middle" ? "center" : anchor;
      to.fillStyle = color;
      to.fillText(words, x, y);
    }
  }

  const escaped = (words) => String(words).replace(/[<>&"']/g, (found) => `&#${found.charCodeAt(0)};`);
  class SvgPainter {
    constructor(width, height) {
      this.parts = [`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="${face}">`];
      this.clips = 0;
    }
    inside(x, y, width, height, draw) {
      const id = `clip${this.clips++}`;
      this.parts.push(`<clipPath id="${id}"><rect x="${x}" y="${y}" width="${width}" height="${height}"/></clipPath><g clip-path="url(#${id})">`);
      draw();
      this.parts.push("</g>");
    }
    lines(points, color, width = 1, alpha = 1, dash = []) {
      let path = "";
      for (let at = 0; at < points.length; at += 4) {
        path += `M${points[at].toFixed(1)} ${points[at + 1].toFixed(1)}L${points[at + 2].toFixed(1)} ${points[at + 3].toFixed(1)}`;
      }
      if (path) this.parts.push(`<path d="${path}" stroke="${color}" stroke-width="${width}" stroke-opacity="${alpha}" stroke-dasharray="${dash}" stroke-linecap="round" fill="none"/>`);
    }
    bow(x0, y0, x1, y1, x2, y2, color, width, dash) {
      this.parts.push(`<path d="M${x0} ${y0}Q${x1} ${y1} ${x2} ${y2}" stroke="${color}" stroke-width="${width}" stroke-dasharray="${dash}" fill="none"/>`);
    }
    polygon(points, color, alpha = 1) {
      this.parts.push(`<path d="M${points.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`).join("L")}Z" fill="${color}" fill-opacity="${alpha}"/>`);
    }
    box(x, y, width, height, color, alpha = 1) {
      this.parts.push(`<rect x="${x.toFixed(1)}" y="${y.toFixed(1)}" width="${width.toFixed(1)}" height="${height.toFixed(1)}" fill="${color}" fill-opacity="${alpha}"/>`);
    }
    circle(x, y, radius, fill, stroke = "", width = 1.5) {
      this.parts.push(`<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="${radius}" fill="${fill || "none"}" stroke="${stroke || "none"}" stroke-width="${width}"/>`);
    }
    text(words, x, y, color, size = 13, anchor = "start", weight = 400) {
      this.parts.push(`<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" fill="${color}" font-size="${size}" font-weight="${weight}" text-anchor="${anchor}">${escaped(words)}</text>`);
    }
    done() { return this.parts.join("") + "</svg>"; }
  }

  // ---- The picture. ----------------------------------------------------------------------------

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
    shown.sort((a, b) => xs[a.events[0]] - xs[b.events[0]]);
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
      const x = px(Math.min(...view.events.map((event) => xs[event])));
      const name = groups.length > 1 && !group ? `${view.name} · ${view.group}` : view.name;
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
    const { chain, late } = data.witnesses[witness];
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
        arrowHead(painter, ...middle, ...stopShort(...middle, x1, y1, 6), ink.witness, 10);
      }
      const [x, y] = at(late);
      painter.circle(x, y, 6, ink.panel, ink.witness, 2.5);
      painter.text("too late", Math.min(x, width - right - fontSize * 2.6), y + fontSize + 9, ink.witness, fontSize, "middle", 600);
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
    } else {
      painter.lines([x0, y0, x1, y1], ink.witness, wide * 0.5, 0.7, [1, 6]);
    }
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
    let step = niceStep(until - from, Math.max((width - left) / 130, 2));
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
      painter.text(shown, left - 18, y + fontSize * 0.35, laneInk(lane), fontSize, "end", 600);
    });
    paintAxis(painter);
    if (every > 1) painter.text(`1 of ${every} arrows is drawn: zoom in for all`, width - right, top - 10, ink.soft, fontSize - 1, "end");
  };

  // ---- The strip below: everything, and where the window is. ------------------------------------

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

  // ---- The window. -------------------------------------------------------------------------------

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
    const x = xs[event], wanted = Math.max(Math.ceil((width < 520 ? 24 : 60) / laneCount), 2);
    const near = [];
    for (let lane = 0; lane < laneCount; lane++) {
      const middle = bound(lane, x);
      for (let other = Math.max(middle - wanted, begins[lane]); other < Math.min(middle + wanted, begins[lane + 1]); other++) near.push(Math.abs(xs[other] - x));
    }
    near.sort((a, b) => a - b);
    const reach = near[Math.floor(near.length * 0.8)] || near[near.length - 1] || 1;
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

  // ---- Moments: violations, crashes, views, the beginning, the end. -----------------------------

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

  // ---- Pointing at things. -----------------------------------------------------------------------

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
    if (pointed < 0) return point(bound(0, from));
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

  // ---- Buttons. ----------------------------------------------------------------------------------

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
  const save = (text, name) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
  on("save", () => {
    const painter = new SvgPainter(width, height);
    paint(painter);
    save(painter.done(), "space-time.svg");
  });
  for (const figure of document.querySelectorAll("figure")) {
    const button = figure.querySelector(".save"), plot = figure.querySelector("svg");
    button.hidden = false;
    button.setAttribute("aria-label", `Save the figure ${figure.querySelector("h3").textContent} as SVG`);
    button.addEventListener("click", () => save(standalone(plot), figure.querySelector("h3").textContent.toLowerCase().replaceAll(" ", "-") + ".svg"));
  }
  // A figure with its colours written into it, as it is without the page's style.
  const standalone = (plot) => {
    const copy = plot.cloneNode(true), parts = copy.querySelectorAll("*");
    copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    copy.setAttribute("font-family", face);
    plot.querySelectorAll("*").forEach((part, place) => {
      const style = getComputedStyle(part);
      for (const name of ["fill", "fill-opacity", "stroke", "stroke-width", "font-size"]) parts[place].setAttribute(name, style.getPropertyValue(name));
    });
    return copy.outerHTML;
  };

  // ---- The legend: what is in this run, drawn as it is drawn above. --------------------------------

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

  // ---- Begin. --------------------------------------------------------------------------------------

  const begin = () => {
    readInk();
    layout();
    paintStrip();
    fillLegend();
  };
  document.querySelector(".tools").hidden = false;
  byId("stage").hidden = overview.hidden = false;
  picture.setAttribute("aria-label", `Space-time diagram of ${laneCount} processes and ${eventCount.toLocaleString("en")} events`);
  measure();
  begin();
  const change = data.moments.length ? stops.findIndex((stop) => stop.isChange) : -1;
  goTo(data.witnesses.length || change < 0 ? 0 : change);
  let known = width;
  window.addEventListener("resize", () => { if (byId("stage").clientWidth !== known) { known = byId("stage").clientWidth; begin(); redraw(); } });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { begin(); redraw(); });
  draw();
  document.documentElement.dataset.drawnMs = Math.round(performance.now());
})();
