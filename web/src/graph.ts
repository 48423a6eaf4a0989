// A machine as a picture, and the same as a table for whoever does not see pictures.

import cytoscape, { type Core } from "cytoscape";

import type { Graph, GraphEdge } from "./api";
import { button, fill, h } from "./dom";
import { svgOf } from "./drawing";
import { Handles, type Grips } from "./handles";
import { arrange, zoomIn, type Arrangement } from "./layout";
import { colour, looks } from "./looks";

const PAD = 16;
const LARGEST = 1.15;
/** Smaller than this nobody can read it: then a part is shown, around where the session is. */
const SMALLEST = 0.62;

export interface Marks {
  /** The states that the session is in. */
  current?: number[];
  /** Words of edges that may happen now. */
  lit?: Set<string>;
  /** How often each edge was taken, by `from word to`. */
  heat?: Map<string, number>;
  /** Edges that were never taken, by the same names. */
  never?: Set<string>;
  /** States that a run went through. */
  path?: Set<number>;
  /** What can be taken hold of. */
  grips?: Grips;
  onMore?: () => void;
}

/** What a step is about stands below its label, if it is long. */
function lines(text: string): string {
  const at = text.search(/\(| by human$/);
  return at > 0 && text.length > 24 ? `${text.slice(0, at)}\n${text.slice(at).trim()}` : text;
}

const pen = document.createElement("canvas").getContext("2d")!;

function sizeOf(label: string, counted: boolean): { width: number; height: number } {
  pen.font = "bold 11.5px system-ui, sans-serif"; // as it is when lit
  const rows = label.split("\n");
  const widest = Math.max(...rows.map((row) => pen.measureText(row).width));
  return { width: Math.ceil(widest) + (counted ? 60 : 18), height: 10 + 14 * rows.length };
}

/** A place on the page for one machine. It is laid out again only if the machine is another one. */
export class Picture {
  readonly element = h("div", { class: "picture" });
  private readonly drawing = h("div", { class: "drawing" });
  private readonly canvas = h("div", { class: "canvas" }, this.drawing);
  private readonly handles = new Handles(this.canvas);
  private readonly foot = h("div", { class: "picture-foot" });
  private readonly table = h("details", { class: "table" });
  private core: Core | null = null;
  private shown = "";
  private graph: Graph | null = null;
  private arrangements: Arrangement[] = [];
  private arranged: Arrangement | null = null;
  private grips: Grips | undefined;

  constructor() {
    this.canvas.append(this.handles.layer);
    this.element.append(this.canvas, this.foot, this.table);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.repaint());
    document.addEventListener("theme", () => this.repaint());
    new ResizeObserver(() => this.fit()).observe(this.canvas);
  }

  repaint(): void {
    this.core?.style(looks());
  }

  draw(graph: Graph, marks: Marks): void {
    this.graph = graph;
    const shape = JSON.stringify([graph.nodes, graph.edges]);
    if (shape === this.shown) {
      if (marks.grips) this.handles.rename(marks.grips);
    } else {
      performance.mark("draw");
      this.lay(graph, marks);
      performance.measure("drawn", "draw"); // so that a benchmark can tell how long it took
      this.shown = shape;
    }
    const core = this.core;
    if (core) {
      const most = Math.max(1, ...(marks.heat?.values() ?? []));
      core.batch(() => {
        core.nodes("[^word]").forEach((node) => {
          const id = Number(node.id());
          node.toggleClass("current", marks.current?.includes(id) ?? false);
          node.toggleClass("path", marks.path?.has(id) ?? false);
        });
        core.elements("[edge]").forEach((part) => {
          const edge = part.data("edge") as GraphEdge;
          const here = marks.current?.includes(edge.from) ?? false;
          part.toggleClass("lit", here && edge.word !== undefined && (marks.lit?.has(edge.word) ?? false));
          const name = `${edge.from} ${edge.word ?? edge.text} ${edge.to}`;
          const taken = marks.heat?.get(name) ?? 0;
          part.toggleClass("never", marks.never?.has(name) ?? false);
          part.data("heat", taken ? Math.max(0.15, taken / most) : 0);
          if (part.isNode()) part.data("label", taken ? `${lines(edge.text)} · ${taken}` : lines(edge.text));
        });
      });
    }
    if (core && core.zoom() <= SMALLEST * 1.01 && marks.current?.length) this.centre();
    this.describe(graph, marks);
  }

  private lay(graph: Graph, marks: Marks): void {
    this.core?.destroy();
    const core = cytoscape({
      container: this.drawing,
      style: looks(),
      elements: [
        ...graph.nodes.map((node) => ({
          data: { id: String(node.id), label: node.cut ? `${node.id}…` : String(node.id), kind: node.kind, stop: node.stop, node },
        })),
        ...graph.edges.flatMap((edge, index) => {
          const more = { kind: edge.kind, heat: 0, edge };
          const label = lines(edge.text);
          return [
            { data: { id: `w${index}`, word: "word", label, ...sizeOf(label, Boolean(marks.heat)), ...more } },
            { data: { id: `f${index}`, source: String(edge.from), target: `w${index}`, ...more } },
            { data: { id: `t${index}`, source: `w${index}`, target: String(edge.to), ...more }, classes: "into" },
          ];
        }),
      ],
      layout: { name: "preset" },
      minZoom: 0.05,
      maxZoom: 2.5,
      userZoomingEnabled: false,
      boxSelectionEnabled: false,
    });
    this.core = core;
    const boxes = core.nodes().map((node) => ({ id: node.id(), width: Number(node.data("width") ?? 34), height: Number(node.data("height") ?? 34) }));
    const arrows = core.edges().map((edge) => ({ id: edge.id(), from: edge.source().id(), to: edge.target().id() }));
    const ways = graph.nodes.length < 60 ? (["TB", "LR"] as const) : (["TB"] as const);
    this.arrangements = ways.map((way) => arrange(boxes, arrows, way));
    this.arranged = null;
    this.grips = marks.grips;
    this.fit();
  }

  /** Which way is better depends on the machine and on the place it has: the one in which its words are larger. */
  private fit(whole = false): void {
    const core = this.core;
    const width = this.canvas.clientWidth - 2 * PAD;
    if (!core || width <= 0) return;
    const tallest = parseFloat(getComputedStyle(this.canvas).maxHeight) - 2 * PAD;
    const zoom = (one: Arrangement) => zoomIn(one, width, tallest, LARGEST);
    const best = this.arrangements.reduce((one, other) => (zoom(other) > zoom(one) * 1.1 ? other : one));
    const shown = zoom(best);
    this.canvas.style.height = `${Math.ceil(Math.min(best.height * Math.max(shown, SMALLEST), tallest) + 2 * PAD)}px`;
    if (best !== this.arranged) this.put(core, best);
    core.resize().fit(undefined, PAD);
    if (core.zoom() > LARGEST) core.zoom(LARGEST).center();
    if (core.zoom() < SMALLEST && !whole) {
      core.zoom(SMALLEST);
      this.centre();
    }
  }

  private centre(): void {
    const core = this.core;
    if (!core) return;
    const current = core.nodes(".current");
    core.center(current.length ? current : core.nodes().first());
  }

  private put(core: Core, arrangement: Arrangement): void {
    this.arranged = arrangement;
    core.batch(() => {
      core.nodes().forEach((node) => void node.position(arrangement.places.get(node.id())!));
      core.edges().forEach((edge) => {
        const bend = arrangement.bends.get(edge.id());
        edge.toggleClass("bent", Boolean(bend));
        if (bend) edge.data({ weights: bend.weights, distances: bend.distances });
      });
    });
    this.handles.cover(core, this.grips);
  }

  private zoom(by: number): void {
    const core = this.core;
    if (!core) return;
    const middle = { x: core.width() / 2, y: core.height() / 2 };
    core.zoom({ level: core.zoom() * by, renderedPosition: middle });
  }

  private describe(graph: Graph, marks: Marks): void {
    const current = marks.current?.length ? `; the session is in ${marks.current.join(" and ")}` : "";
    const sliced = `${graph.open ? ", open" : ""}${graph.each ? `, ${graph.each}` : ""}`;
    this.canvas.setAttribute("role", marks.grips ? "application" : "img");
    if (marks.grips) this.canvas.setAttribute("aria-roledescription", "drawing");
    this.canvas.setAttribute("aria-label", `machine of ${graph.title}${sliced}, ${graph.states} states${current}`);
    const more = graph.hidden
      ? button(`show all ${graph.states} states`, () => marks.onMore?.(), { class: "quiet" })
      : null;
    const words = graph.hidden ? `${graph.nodes.length} of ${graph.states} states are drawn. ` : `${graph.states} states`;
    fill(
      this.foot,
      h("span", { text: `${graph.title}${sliced}: ${words}` }),
      marks.onMore ? more : null,
      button("+", () => this.zoom(1.3), { class: "quiet", attributes: { "aria-label": "larger" } }),
      button("−", () => this.zoom(1 / 1.3), { class: "quiet", attributes: { "aria-label": "smaller" } }),
      button("fit", () => this.fit(true), { class: "quiet" }),
    );
    const open = this.table.open;
    fill(this.table, h("summary", { text: "The machine as a table" }), this.rows(graph, marks));
    this.table.open = open;
  }

  private rows(graph: Graph, marks: Marks): HTMLElement {
    const body = h("tbody");
    for (const node of graph.nodes) {
      const ways = graph.edges.filter((edge) => edge.from === node.id).map((edge) => `${edge.text} → ${edge.to}`);
      if (node.stop) ways.push(node.stop === "end" ? "may end" : "may pause");
      const here = marks.current?.includes(node.id) ?? false;
      body.append(
        h(
          "tr",
          { class: here ? "here" : "" },
          h("th", { text: `${node.id}${here ? " (here)" : ""}`, attributes: { scope: "row" } }),
          h("td", { text: ways.join(", ") || "nothing" }),
        ),
      );
    }
    const head = h("tr", {}, h("th", { text: "State", attributes: { scope: "col" } }), h("th", { text: "What may happen, and where it leads", attributes: { scope: "col" } }));
    return h("table", {}, h("thead", {}, head), body);
  }

  png(): Blob | null {
    return this.core ? (this.core.png({ output: "blob", full: true, scale: 2, bg: colour("panel") }) as unknown as Blob) : null;
  }

  svg(): string | null {
    return this.core && this.graph ? svgOf(this.core, `machine of ${this.graph.title}`) : null;
  }
}
