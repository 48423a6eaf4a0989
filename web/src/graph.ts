// A machine as a picture, and the same as a table for whoever does not see pictures.

import cytoscape, { type Core, type NodeSingular, type StylesheetJson } from "cytoscape";
import dagre from "cytoscape-dagre";

import type { Graph, GraphEdge } from "./api";
import { button, fill, h } from "./dom";

cytoscape.use(dagre);

export interface Marks {
  /** The states that the session is in. */
  current?: number[];
  /** Words of edges that may happen now. */
  lit?: Set<string>;
  /** How often each edge was taken, by `from word to`. */
  heat?: Map<string, number>;
  /** States that a run went through. */
  path?: Set<number>;
  onEdge?: (edge: GraphEdge) => void;
  onMore?: () => void;
}

function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

function looks(): StylesheetJson {
  const font = "system-ui, sans-serif";
  return [
    {
      selector: "node",
      style: {
        width: 34,
        height: 34,
        label: "data(label)",
        "text-valign": "center",
        "font-size": 12,
        "font-family": font,
        color: colour("ink"),
        "background-color": colour("panel"),
        "border-width": 1.5,
        "border-color": colour("line-strong"),
      },
    },
    { selector: "node[kind = 'fork']", style: { shape: "diamond" } },
    { selector: "node[stop = 'end']", style: { "border-style": "double", "border-width": 5 } },
    { selector: "node[stop = 'pause']", style: { "border-style": "dashed" } },
    { selector: "node.path", style: { "border-color": colour("accent"), "border-width": 3 } },
    {
      selector: "node.current",
      style: { "background-color": colour("accent"), color: colour("on-accent"), "border-color": colour("accent") },
    },
    // What happens is a node of its own between two states, so that the layout leaves room for its word.
    {
      selector: "node[word]",
      style: {
        shape: "round-rectangle",
        width: "data(width)",
        height: 24,
        "font-size": 11.5,
        color: colour("ink-soft"),
        "border-width": 1,
        "border-color": colour("line"),
        "border-style": "solid",
        "background-color": colour("panel"),
      },
    },
    { selector: "node[kind = 'late'], node[kind = 'part'], node[kind = 'join']", style: { "border-style": "dashed" } },
    {
      selector: "node[word].lit",
      style: {
        color: colour("good"),
        "font-weight": "bold",
        "border-width": 2,
        "border-color": colour("good"),
        "background-color": colour("good-soft"),
      },
    },
    { selector: "node[word].chosen", style: { "border-width": 2, "border-color": colour("accent"), color: colour("accent") } },
    { selector: "node[word][heat > 0]", style: { "background-color": colour("accent-soft"), color: colour("ink") } },
    {
      selector: "edge",
      style: {
        width: 1.5,
        "line-color": colour("line-strong"),
        "target-arrow-color": colour("line-strong"),
        "curve-style": "bezier",
        "arrow-scale": 0.9,
      },
    },
    { selector: "edge[kind = 'late']", style: { "line-style": "dotted" } },
    { selector: "edge[kind = 'part'], edge[kind = 'join']", style: { "line-style": "dashed" } },
    { selector: "edge.into", style: { "target-arrow-shape": "triangle" } },
    { selector: "edge.lit", style: { width: 3, "line-color": colour("good"), "target-arrow-color": colour("good") } },
    {
      selector: "edge[heat > 0]",
      style: {
        width: "mapData(heat, 0, 1, 1.5, 7)",
        "line-color": colour("accent"),
        "target-arrow-color": colour("accent"),
      },
    },
  ];
}

/** A place on the page for one machine. It is laid out again only if the machine is another one. */
export class Picture {
  readonly element = h("div", { class: "picture" });
  private readonly canvas = h("div", { class: "canvas", attributes: { role: "img" } });
  private readonly foot = h("div", { class: "picture-foot" });
  private readonly table = h("details", { class: "table" });
  private core: Core | null = null;
  private shown = "";
  private graph: Graph | null = null;

  constructor() {
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
    if (shape !== this.shown) {
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
          const taken = marks.heat?.get(`${edge.from} ${edge.word ?? edge.text} ${edge.to}`) ?? 0;
          part.data("heat", taken ? Math.max(0.15, taken / most) : 0);
          if (part.isNode()) part.data("label", taken ? `${edge.text} · ${taken}` : edge.text);
        });
      });
    }
    this.describe(graph, marks);
  }

  choose(words: Set<string>): void {
    this.core?.nodes("[word]").forEach((node) => {
      node.toggleClass("chosen", words.has((node.data("edge") as GraphEdge).word ?? ""));
    });
  }

  private lay(graph: Graph, marks: Marks): void {
    this.core?.destroy();
    const pen = document.createElement("canvas").getContext("2d")!;
    pen.font = "bold 11.5px system-ui, sans-serif"; // as it is when lit
    const core = cytoscape({
      container: this.canvas,
      style: looks(),
      elements: [
        ...graph.nodes.map((node) => ({
          data: { id: String(node.id), label: node.cut ? `${node.id}…` : String(node.id), kind: node.kind, stop: node.stop },
        })),
        ...graph.edges.flatMap((edge, index) => {
          const more = { kind: edge.kind, heat: 0, edge };
          const width = Math.ceil(pen.measureText(edge.text).width) + (marks.heat ? 60 : 18);
          return [
            { data: { id: `w${index}`, word: "word", label: edge.text, width, ...more } },
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
    // Which way is better depends on the machine: the one in which its words are larger.
    const zooms = (graph.nodes.length < 60 ? (["TB", "LR"] as const) : (["TB"] as const)).map((way) => {
      this.arrange(way);
      return [core.zoom(), way] as const;
    });
    const [best] = [...zooms].sort((one, other) => other[0] - one[0]);
    if (best && zooms.at(-1)?.[1] !== best[1]) this.arrange(best[1]);
    this.fit();
    core.on("tap", "node[word]", (event) => marks.onEdge?.((event.target as NodeSingular).data("edge") as GraphEdge));
    core.on("mouseover", "node[word]", () => this.canvas.classList.toggle("pointing", Boolean(marks.onEdge)));
    core.on("mouseout", "node[word]", () => this.canvas.classList.remove("pointing"));
  }

  private arrange(way: "TB" | "LR"): void {
    const layout = { name: "dagre", rankDir: way, nodeSep: 22, rankSep: way === "TB" ? 26 : 34, edgeSep: 12, fit: true, padding: 16 };
    this.core?.layout(layout as cytoscape.LayoutOptions).run();
  }

  private fit(): void {
    const core = this.core;
    if (!core) return;
    core.resize().fit(undefined, 16);
    if (core.zoom() > 1.25) {
      core.zoom(1.25);
      core.center();
    }
  }

  private zoom(by: number): void {
    const core = this.core;
    if (!core) return;
    const middle = { x: core.width() / 2, y: core.height() / 2 };
    core.zoom({ level: core.zoom() * by, renderedPosition: middle });
  }

  private describe(graph: Graph, marks: Marks): void {
    const current = marks.current?.length ? `; the session is in ${marks.current.join(" and ")}` : "";
    const sliced = graph.each ? `, ${graph.each}` : "";
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
      button("fit", () => this.fit(), { class: "quiet" }),
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

  /** The picture as SVG, from the places that the layout has found. Text becomes text. */
  svg(): string | null {
    const core = this.core;
    if (!core || !this.graph) return null;
    const box = core.elements().boundingBox({});
    const space = "http://www.w3.org/2000/svg";
    const make = (tag: string, attributes: Record<string, string | number>, text = "") => {
      const element = document.createElementNS(space, tag);
      for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
      if (text) element.textContent = text;
      return element;
    };
    const pad = 20;
    const root = make("svg", {
      xmlns: space,
      viewBox: [box.x1 - pad, box.y1 - pad, box.w + 2 * pad, box.h + 2 * pad].map((n) => n.toFixed(1)).join(" "),
      width: Math.ceil(box.w + 2 * pad),
      height: Math.ceil(box.h + 2 * pad),
      "font-family": "system-ui, sans-serif",
      "font-size": 11,
    });
    root.append(make("title", {}, `machine of ${this.graph.title}`));
    const marker = make("marker", { id: "arrow", viewBox: "0 0 10 10", refX: 9, refY: 5, markerWidth: 8, markerHeight: 8, orient: "auto-start-reverse" });
    marker.append(make("path", { d: "M0 0L10 5L0 10z", fill: colour("line-strong") }));
    const defs = make("defs", {});
    defs.append(marker);
    root.append(defs, make("rect", { x: box.x1 - pad, y: box.y1 - pad, width: box.w + 2 * pad, height: box.h + 2 * pad, fill: colour("panel") }));
    const point = (place: { x: number; y: number }) => `${place.x.toFixed(1)} ${place.y.toFixed(1)}`;
    core.edges().forEach((edge) => {
      const bends = edge.controlPoints() ?? [];
      const to = point(edge.targetEndpoint());
      const way = bends.length ? `Q${point(bends[0]!)} ${to}` : `L${to}`;
      const line = make("path", { d: `M${point(edge.sourceEndpoint())} ${way}`, fill: "none", stroke: colour("line-strong"), "stroke-width": 1.5 });
      if (edge.hasClass("into")) line.setAttribute("marker-end", "url(#arrow)");
      root.append(line);
    });
    core.nodes().forEach((node) => {
      const { x, y } = node.position();
      const look = { fill: colour("panel"), stroke: colour("line-strong"), "stroke-width": 1.5 };
      if (node.data("word")) {
        const width = Number(node.data("width"));
        root.append(make("rect", { ...look, x: (x - width / 2).toFixed(1), y: (y - 12).toFixed(1), width, height: 24, rx: 6, stroke: colour("line") }));
      } else {
        const centre = { cx: x.toFixed(1), cy: y.toFixed(1) };
        root.append(make("circle", { ...look, ...centre, r: 17 }));
        if (node.data("stop") === "end") root.append(make("circle", { ...look, ...centre, r: 13, fill: "none" }));
      }
      root.append(make("text", { x: x.toFixed(1), y: (y + 4).toFixed(1), "text-anchor": "middle", fill: colour("ink") }, String(node.data("label"))));
    });
    return new XMLSerializer().serializeToString(root);
  }
}
