// A drawing as a file: SVG from the places that the layout has found. Text becomes text.

import type { Core } from "cytoscape";

import { colour } from "./looks";

const SPACE = "http://www.w3.org/2000/svg";
const PAD = 20;

function make(tag: string, attributes: Record<string, string | number>, text = ""): SVGElement {
  const element = document.createElementNS(SPACE, tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  if (text) element.textContent = text;
  return element;
}

const point = (place: { x: number; y: number }) => `${place.x.toFixed(1)} ${place.y.toFixed(1)}`;

export function svgOf(core: Core, title: string): string {
  const box = core.elements().boundingBox({});
  const root = make("svg", {
    xmlns: SPACE,
    viewBox: [box.x1 - PAD, box.y1 - PAD, box.w + 2 * PAD, box.h + 2 * PAD].map((n) => n.toFixed(1)).join(" "),
    width: Math.ceil(box.w + 2 * PAD),
    height: Math.ceil(box.h + 2 * PAD),
    "font-family": "system-ui, sans-serif",
    "font-size": 11.5,
  });
  root.append(make("title", {}, title));
  const marker = make("marker", { id: "arrow", viewBox: "0 0 10 10", refX: 9, refY: 5, markerWidth: 8, markerHeight: 8, orient: "auto-start-reverse" });
  marker.append(make("path", { d: "M0 0L10 5L0 10z", fill: colour("line-strong") }));
  const defs = make("defs", {});
  defs.append(marker);
  root.append(defs, make("rect", { x: box.x1 - PAD, y: box.y1 - PAD, width: box.w + 2 * PAD, height: box.h + 2 * PAD, fill: colour("panel") }));
  core.edges().forEach((edge) => {
    const bends = edge.hasClass("bent") ? edge.segmentPoints() : [];
    const way = [...bends, edge.targetEndpoint()].map((place) => `L${point(place)}`).join("");
    const line = make("path", { d: `M${point(edge.sourceEndpoint())}${way}`, fill: "none", stroke: colour("line-strong"), "stroke-width": 1.5, "stroke-linejoin": "round" });
    const dashes = DASHES[String(edge.data("kind"))];
    if (dashes) line.setAttribute("stroke-dasharray", dashes);
    if (edge.hasClass("into")) line.setAttribute("marker-end", "url(#arrow)");
    root.append(line);
  });
  core.nodes().forEach((node) => {
    const { x, y } = node.position();
    for (const shape of node.data("word") ? word(x, y, Number(node.data("width")), Number(node.data("height")), String(node.data("kind"))) : state(x, y, String(node.data("kind")), String(node.data("stop")))) root.append(shape);
    const rows = String(node.data("label")).split("\n");
    rows.forEach((row, index) => root.append(make("text", { x: x.toFixed(1), y: (y + 4 + 14 * (index - (rows.length - 1) / 2)).toFixed(1), "text-anchor": "middle", fill: colour("ink") }, row)));
  });
  return new XMLSerializer().serializeToString(root);
}

/** As on the page: time dotted, parts of a fork and their join dashed. */
const DASHES: Record<string, string> = { late: "2 3", part: "6 4", join: "6 4" };

function word(x: number, y: number, width: number, height: number, kind: string): SVGElement[] {
  const box = make("rect", { x: (x - width / 2).toFixed(1), y: (y - height / 2).toFixed(1), width, height, rx: 6, fill: colour("panel"), stroke: colour("line-strong"), "stroke-width": 1 });
  if (DASHES[kind]) box.setAttribute("stroke-dasharray", "4 3");
  return [box];
}

function state(x: number, y: number, kind: string, stop: string): SVGElement[] {
  const look = { fill: colour("panel"), stroke: colour("line-strong"), "stroke-width": 1.5 };
  if (kind === "fork") return [make("path", { ...look, d: `M${point({ x, y: y - 17 })}L${point({ x: x + 17, y })}L${point({ x, y: y + 17 })}L${point({ x: x - 17, y })}z` })];
  const centre = { cx: x.toFixed(1), cy: y.toFixed(1) };
  const shapes = [make("circle", { ...look, ...centre, r: 17 })];
  if (stop === "pause") shapes[0]!.setAttribute("stroke-dasharray", "4 3");
  if (stop === "end") shapes.push(make("circle", { ...look, ...centre, r: 13, fill: "none" }));
  return shapes;
}
