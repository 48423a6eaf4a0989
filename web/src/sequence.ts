// A protocol between roles as a sequence diagram, and the same as a list.

import type { SequenceRow } from "./api";
import { h } from "./dom";

const SPACE = "http://www.w3.org/2000/svg";
const WIDE = 170;
const HIGH = 34;

function make(tag: string, attributes: Record<string, string | number>, text = ""): SVGElement {
  const element = document.createElementNS(SPACE, tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  if (text) element.textContent = text;
  return element;
}

export function sequence(name: string, roles: string[], rows: SequenceRow[], pick?: (row: SequenceRow, anchor: SVGElement) => void): HTMLElement {
  const width = Math.max(roles.length * WIDE, WIDE * 2);
  const height = (rows.length + 2) * HIGH;
  const place = new Map(roles.map((role, index) => [role, WIDE / 2 + index * WIDE]));
  const root = make("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: pick ? "group" : "img", class: "sequence", "aria-label": `sequence diagram of ${name} between ${roles.join(", ")}` });
  for (const [role, x] of place) {
    root.append(make("line", { x1: x, x2: x, y1: HIGH, y2: height, class: "life" }));
    root.append(make("rect", { x: x - WIDE / 2 + 12, y: 6, width: WIDE - 24, height: HIGH - 8, rx: 6, class: "role" }));
    root.append(make("text", { x, y: 26, class: "name" }, role));
  }
  const stops: SVGElement[] = [];
  const opened: { y: number; depth: number }[] = [];
  rows.forEach((row, index) => {
    const y = (index + 1.7) * HIGH;
    const inset = 4 + row.depth * 8;
    if (row.row === "message") {
      const from = place.get(row.from ?? "") ?? 0;
      const to = place.get(row.to ?? "") ?? 0;
      const end = to > from ? to - 7 : to + 7;
      const whole = make("g", {});
      root.append(whole);
      if (pick && row.exchange !== undefined) stops.push(stop(whole, row, pick, stops, [Math.min(from, to), y, Math.abs(to - from)]));
      whole.append(make("line", { x1: from, x2: end, y1: y, y2: y, class: row.refused ? "message refused" : "message" }));
      whole.append(make("path", { d: `M${to} ${y}L${end} ${y - 5}L${end} ${y + 5}z`, class: row.refused ? "head refused" : "head" }));
      whole.append(make("text", { x: (from + to) / 2, y: y - 6, class: "word" }, `${row.text ?? ""}${row.refused ? " ✗" : ""}`));
    } else if (row.row === "open" || row.row === "divide") {
      if (row.row === "open") opened.push({ y: y - HIGH / 2, depth: row.depth });
      else root.append(make("line", { x1: inset, x2: width - inset, y1: y - HIGH / 2, y2: y - HIGH / 2, class: "divide" }));
      root.append(make("text", { x: inset + 6, y: y - 2, class: "frame-name" }, row.text ?? ""));
    } else if (row.row === "close") {
      const start = opened.pop();
      if (start) root.append(make("rect", { x: inset, y: start.y, width: width - 2 * inset, height: y - HIGH / 3 - start.y, rx: 6, class: "frame" }));
    } else {
      root.append(make("text", { x: width / 2, y, class: "note" }, row.row === "more" ? "… and more" : (row.text ?? "")));
    }
  });
  stops[0]?.setAttribute("tabindex", "0");
  const list = h("ol");
  for (const row of rows) {
    if (row.row === "message") list.append(h("li", { text: `${row.from} sends ${row.text} to ${row.to}${row.refused ? ", which is refused" : ""}` }));
    else if (row.row !== "close") list.append(h("li", { text: row.text ?? "and more" }));
  }
  const scroller = h("div", { class: "scroller", attributes: { tabindex: pick ? undefined : "0", role: "group", "aria-label": "sequence diagram" } });
  scroller.append(root);
  return h("div", {}, scroller, h("details", { class: "table" }, h("summary", { text: "The diagram as a list" }), list));
}

/** A message that can be taken hold of; arrows lead to the one before and the one behind. */
function stop(whole: SVGElement, row: SequenceRow, pick: (row: SequenceRow, anchor: SVGElement) => void, stops: SVGElement[], [x, y, width]: [number, number, number]): SVGElement {
  const at = stops.length;
  for (const [key, value] of Object.entries({ role: "button", tabindex: "-1", class: "stop", "aria-haspopup": "menu", "aria-label": `${row.from} sends ${row.text} to ${row.to}` })) whole.setAttribute(key, value);
  whole.append(make("rect", { x, y: y - HIGH / 2 - 4, width, height: HIGH - 6, rx: 6, class: "hold" }));
  whole.addEventListener("click", () => pick(row, whole));
  whole.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === " ") pick(row, whole);
    else if (event.key === "ArrowDown") stops[at + 1]?.focus();
    else if (event.key === "ArrowUp") stops[at - 1]?.focus();
    else return;
    event.preventDefault();
  });
  whole.addEventListener("focus", () => {
    for (const other of stops) other.setAttribute("tabindex", other === whole ? "0" : "-1");
  });
  return whole;
}
