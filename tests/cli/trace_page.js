// SPDX-License-Identifier: Apache-2.0
// Runs the page of `gantry trace --html` against a small document of its own, as a browser would: the picture has bars,
// the search finds, the buttons and the mouse work, tables have rows, and no text of the trace becomes HTML. Memory is
// drawn as steps that keep their peaks, and the axis has round times.
// node trace_page.js page.html TEXT: TEXT is an op that the trace has. Prints "page ok", or what is wrong.
"use strict";
const fs = require("fs"), vm = require("vm");
const html = fs.readFileSync(process.argv[2], "utf8"), wanted = process.argv[3];
function expect(condition, what) {
  if (!condition) {
    console.log("page: " + what);
    process.exit(1);
  }
}
const data = /<script id="data" type="application\/json">([^]*?)<\/script>/.exec(html);
expect(data, "no data");
const scripts = [...html.matchAll(/<script>([^]*?)<\/script>/g)];
expect(scripts.length === 1, scripts.length + " scripts");
expect(!/https?:|src=|href=|url\(/.test(html.replace(data[1], "")), "the page names another resource");
expect(/default-src 'none'/.test(html), "no policy against the network");

// ---- a document ----
class Element {
  constructor(tag) { Object.assign(this, {tag, children: [], listeners: {}, style: {}, textContent: "", value: "", className: ""}); }
  appendChild(child) { this.children.push(child); return child; }
  addEventListener(kind, call) { (this.listeners[kind] = this.listeners[kind] || []).push(call); }
  fire(kind, event) { for (const call of this.listeners[kind] || []) call(Object.assign({target: this, preventDefault() {}}, event)); }
  set innerHTML(text) { expect(false, "innerHTML is set"); }
}
const calls = {fillRect: [], fillText: [], moveTo: [], lineTo: []};
const paint = new Proxy({}, {get: (o, name) => name in o ? o[name] : (...args) => { if (calls[name]) calls[name].push(args); }});
const clear = () => { for (const name in calls) calls[name].length = 0; };
const window = new Element("window");
window.devicePixelRatio = 1;
window.getComputedStyle = () => ({color: "#000"});
function open(text) {
  const elements = new Map();
  for (const id of [...html.matchAll(/ id="([a-z]+)"/g)].map((m) => m[1])) elements.set(id, new Element(id));
  elements.get("data").textContent = text;
  elements.get("picture").getContext = () => paint;
  elements.get("picture").clientWidth = 1000;
  const document = {getElementById: (id) => elements.get(id) || null, createElement: (tag) => new Element(tag), body: new Element("body")};
  clear();
  vm.runInNewContext(scripts[0][1], {document, window, console});
  return elements;
}
const elements = open(data[1]), canvas = elements.get("picture");

// ---- the picture ----
const bars = () => calls.fillRect.filter((r) => r[0] >= 170 && r[3] === 14);
expect(bars().length > 0, "no bars");
for (const [x, y, w, h] of calls.fillRect) expect([x, y, w, h].every(Number.isFinite), "a bar without numbers");
const first = bars()[0];
canvas.fire("mousedown", {offsetX: first[0] + first[2] / 2, offsetY: first[1] + 5});
window.fire("mouseup", {target: canvas, offsetX: first[0] + first[2] / 2, offsetY: first[1] + 5});
expect(elements.get("about").textContent.includes(" us at "), "a click shows no details");
clear();
for (let i = 0; i < 20; ++i) canvas.fire("wheel", {offsetX: first[0] + 1, deltaY: -1});
expect(calls.fillText.some((t) => / us$| ms$/.test(String(t[0]))), "no axis after zooming");
canvas.fire("mousedown", {offsetX: 400, offsetY: 30});
window.fire("mousemove", {target: canvas, offsetX: 300, offsetY: 30});
window.fire("mouseup", {target: canvas, offsetX: 300, offsetY: 30});
clear();
elements.get("all").fire("click", {});
expect(bars().length > 0, "no bars of the whole trace");

// ---- the search, the tables ----
elements.get("search").value = wanted.toLowerCase();
elements.get("search").fire("input", {});
expect(parseInt(elements.get("found").textContent, 10) > 0, wanted + " is not found");
elements.get("next").fire("click", {});
expect(elements.get("about").textContent.toLowerCase().includes(wanted.toLowerCase()), "next does not show " + wanted);
elements.get("search").value = "no such name";
elements.get("search").fire("input", {});
expect(parseInt(elements.get("found").textContent, 10) === 0, "something is found for no such name");
const cells = [];
const walk = (element) => { if (element.tag === "td") cells.push(element.textContent); element.children.forEach(walk); };
walk(elements.get("tables"));
expect(cells.includes(wanted), wanted + " is in no table");
const titles = elements.get("tables").children.filter((e) => e.tag === "h2").map((e) => e.textContent);
for (const title of ["Top ops by time", "Devices"]) expect(titles.includes(title), "no table " + title);
const click = (element) => { if (element.tag === "tr") element.fire("click", {}); element.children.forEach(click); };
click(elements.get("tables"));

// ---- memory and the axis, of levels of the test's own ----
const LABEL = 170, WIDTH = 830;
function expectSteps(what) {
  let [x, y] = calls.moveTo[calls.moveTo.length - 1];
  expect(x === LABEL, what + ": the curve begins at " + x);
  for (const [nextX, nextY] of calls.lineTo) {
    expect(nextX === x || nextY === y, what + ": a line is neither level nor upright");
    expect(nextX >= x, what + ": a line goes back");
    [x, y] = [nextX, nextY];
  }
  expect(x === LABEL + WIDTH, what + ": the curve ends at " + x);
}
function expectRoundAxis(what) {
  const texts = calls.fillText.map((t) => String(t[0])).filter((t) => /^[0-9.]+ (us|ms|s)$/.test(t));
  const times = texts.map(parseFloat);
  expect(times.length >= 3 && times.length <= 13, what + ": " + times.length + " ticks");
  const step = times[1] - times[0], digits = (step / 10 ** Math.floor(Math.log10(step) + 1e-9));
  expect([1, 2, 5].some((d) => Math.abs(digits - d) < 1e-6), what + ": a step of " + step + " in " + texts);
  times.forEach((time, i) => {
    expect(Math.abs(time / step - Math.round(time / step)) < 1e-6, what + ": " + time + " is no multiple of " + step);
    expect(i === 0 || Math.abs(time - times[i - 1] - step) < 1e-6 * step, what + ": uneven ticks " + texts);
  });
}
const own = JSON.parse(data[1]), long = 8300000; // 10 us for each column
own.report.duration_ns = long;
own.levels = [[0, 100], [1000000, 200], [4000000, 200], [4000100, 900], [4000200, 50], [4000300, 300], [6000000, 0]]
  .flatMap(([ns, bytes]) => [0, ns, bytes]);
const page = open(JSON.stringify(own));
expectSteps("memory");
expectRoundAxis("the whole trace");
const ys = calls.lineTo.map((p) => p[1]), top = Math.min(...ys), bottom = Math.max(...ys);
const yOf = (bytes) => bottom - bytes / 900 * (bottom - top);
const has = (x, bytes) => calls.lineTo.some((p) => p[0] === x && Math.abs(p[1] - yOf(bytes)) < 1e-6);
expect(has(LABEL + 400, 900) && has(LABEL + 400, 50) && has(LABEL + 400, 300), "a column lost its peak, its lowest or its last level");
expect(has(LABEL + 100, 100) && has(LABEL + 100, 200), "no step at 1 ms");
expect(has(LABEL + WIDTH, 0), "the last level does not hold");
for (let i = 0; i < 30; ++i) {
  clear();
  page.get("picture").fire("wheel", {offsetX: LABEL + 300 + i, deltaY: -1});
  expectSteps("zoom " + i);
  expectRoundAxis("zoom " + i);
}
console.log("page ok");
