// What the page holds, unpacked: events by number, lane by lane, and the words for them.
//
// Law: these files are one script, in one function; nothing is taken from anywhere but the
// element `data`, and text of the trace reaches the page as text only.

const byId = (id) => document.getElementById(id);
const data = JSON.parse(byId("data").textContent);

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
const laneGroups = data.lanes.map((_, lane) => {
  const own = new Set();
  for (let event = begins[lane]; event < begins[lane + 1]; event++) own.add(data.streams[stream[event]][2]);
  return groups.filter((name) => own.has(name));
});
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

// Words.

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
  if (!["view", "start", "stop", "crash"].includes(kindOf(event))) said.push(of ? `${view} of ${of}` : view);
  const file = data.files[column.file[event]];
  if (file) said.push(`${file}:${column.line[event]}`);
  return said.join(" · ");
};
