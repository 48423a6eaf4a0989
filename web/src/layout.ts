// Where everything of a drawing stands, and which way its arrows take: dagre finds both. Arrows bend where dagre leads
// them around what stands in between.

import dagre from "@dagrejs/dagre";

import { layered, type Arrow, type Box } from "./layers";

/** With more than so many boxes dagre takes longer than anybody waits. */
const MOST = 500;

interface Point {
  x: number;
  y: number;
}

export interface Arrangement {
  way: "TB" | "LR";
  width: number;
  height: number;
  places: Map<string, Point>;
  /** Of arrows that are not straight: how far along the line between their ends they bend, and how far off it. */
  bends: Map<string, { weights: number[]; distances: number[] }>;
}

export function arrange(boxes: Box[], arrows: Arrow[], way: "TB" | "LR"): Arrangement {
  if (boxes.length > MOST) return { way, ...layered(boxes, arrows), bends: new Map() };
  const graph = new dagre.graphlib.Graph({ multigraph: true });
  graph.setGraph({ rankdir: way, nodesep: 24, edgesep: 16, ranksep: way === "TB" ? 24 : 30, marginx: 0, marginy: 0 });
  for (const { id, width, height } of boxes) graph.setNode(id, { width, height });
  for (const { id, from, to } of arrows) graph.setEdge(from, to, {}, id);
  dagre.layout(graph);
  const places = new Map(boxes.map(({ id }) => [id, { x: graph.node(id).x, y: graph.node(id).y }]));
  const bends = new Map<string, { weights: number[]; distances: number[] }>();
  for (const { id, from, to } of arrows) {
    const points = (graph.edge(from, to, id) as { points: Point[] }).points;
    const bend = bent(places.get(from)!, places.get(to)!, points.slice(1, -1));
    if (bend) bends.set(id, bend);
  }
  const { width, height } = graph.graph() as { width?: number; height?: number };
  return { way, width: width ?? 1, height: height ?? 1, places, bends };
}

/** Points on the way as a drawing wants them, relative to the line between both ends; nothing if the line is the way. */
export function bent(start: Point, end: Point, points: Point[]): { weights: number[]; distances: number[] } | null {
  const along = { x: end.x - start.x, y: end.y - start.y };
  const length = Math.hypot(along.x, along.y) || 1;
  const weights: number[] = [];
  const distances: number[] = [];
  const way = [start, ...points, end];
  points.forEach((point, index) => {
    if (straight(way[index]!, point, way[index + 2]!)) return;
    const off = { x: point.x - start.x, y: point.y - start.y };
    weights.push((off.x * along.x + off.y * along.y) / length ** 2);
    distances.push((off.y * along.x - off.x * along.y) / length);
  });
  return weights.length ? { weights, distances } : null;
}

function straight(before: Point, point: Point, after: Point): boolean {
  const [x, y] = [after.x - before.x, after.y - before.y];
  const length = Math.hypot(x, y) || 1;
  return Math.abs((point.y - before.y) * x - (point.x - before.x) * y) / length < 3;
}

/** How large it can be shown in a place of that width that may grow to that height. */
export function zoomIn(arrangement: Arrangement, width: number, tallest: number, largest: number): number {
  return Math.min(largest, width / arrangement.width, tallest / arrangement.height);
}
