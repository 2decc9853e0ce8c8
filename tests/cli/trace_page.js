// SPDX-License-Identifier: Apache-2.0
// Runs the page of `gantry trace --html` against a small document of its own, as a browser would: the picture has bars,
// the search finds, the buttons and the mouse work, tables have rows, and no text of the trace becomes HTML.
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
const calls = {fillRect: [], fillText: []};
const paint = new Proxy({}, {get: (o, name) => name in o ? o[name] : (...args) => { if (calls[name]) calls[name].push(args); }});
const elements = new Map();
for (const id of [...html.matchAll(/ id="([a-z]+)"/g)].map((m) => m[1])) elements.set(id, new Element(id));
elements.get("data").textContent = data[1];
const canvas = elements.get("picture");
canvas.getContext = () => paint;
canvas.clientWidth = 1000;
const window = new Element("window");
window.devicePixelRatio = 1;
window.getComputedStyle = () => ({color: "#000"});
const document = {getElementById: (id) => elements.get(id) || null, createElement: (tag) => new Element(tag), body: new Element("body")};
vm.runInNewContext(scripts[0][1], {document, window, console});

// ---- the picture ----
const bars = () => calls.fillRect.filter((r) => r[0] >= 170 && r[3] === 14);
const clear = () => { calls.fillRect.length = calls.fillText.length = 0; };
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
expect(elements.get("about").textContent.includes(wanted), "next does not show " + wanted);
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
console.log("page ok");
