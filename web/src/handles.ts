// What can be taken hold of in a drawing: a button over each state and each word, so that a keyboard, a screen reader
// and a finger reach them like any other button, and tools can be dropped on them.

import type { Core, NodeSingular } from "cytoscape";

import type { GraphEdge, GraphNode } from "./api";
import { isDirection, next, type Point } from "./compass";
import { fill, h } from "./dom";

export type Target = { kind: "state"; node: GraphNode } | { kind: "word"; edge: GraphEdge };

export interface Grips {
  /** What a button is called; nothing, if there is nothing to take hold of. */
  name: (target: Target) => string | null;
  pick: (target: Target, anchor: HTMLElement) => void;
  /** Something was dropped there; `side` tells on which side of a word. */
  drop?: (target: Target, side: "before" | "after", data: string, anchor: HTMLElement) => void;
}

/** What is dragged from the palette. */
export const DRAGGED = "application/x-accord-tool";

interface Handle extends Point {
  id: string;
  element: HTMLButtonElement;
  target: Target;
  width: number;
  height: number;
}

export class Handles {
  readonly layer = h("div", { class: "handles" });
  private handles = new Map<string, Handle>();
  private core: Core | null = null;
  private grips: Grips | null = null;
  private focused = "";

  constructor(private readonly canvas: HTMLElement) {
    canvas.addEventListener("dragover", (event) => {
      if (!this.grips?.drop || !event.dataTransfer?.types.includes(DRAGGED)) return;
      event.preventDefault();
      this.mark(this.under(event));
    });
    canvas.addEventListener("dragleave", (event) => {
      if (!canvas.contains(event.relatedTarget as Node)) this.mark(null);
    });
    canvas.addEventListener("drop", (event) => {
      const data = event.dataTransfer?.getData(DRAGGED);
      const found = this.under(event);
      this.mark(null);
      if (!data || !found || !this.grips?.drop) return;
      event.preventDefault();
      event.stopPropagation();
      this.grips.drop(found.handle.target, found.side, data, found.handle.element);
    });
  }

  /** Put a button over everything in a drawing that has a name. */
  cover(core: Core, grips: Grips | undefined): void {
    this.core = core;
    this.grips = grips ?? null;
    this.handles = new Map();
    if (grips) core.nodes().forEach((node) => this.add(node, grips));
    fill(this.layer, ...[...this.handles.values()].map((handle) => handle.element));
    if (!this.handles.has(this.focused)) this.focused = this.handles.keys().next().value ?? "";
    this.handles.get(this.focused)?.element.setAttribute("tabindex", "0");
    core.on("viewport", () => this.follow());
    this.follow();
  }

  /** The names may have changed, because the session moved on. */
  rename(grips: Grips): void {
    this.grips = grips;
    for (const handle of this.handles.values()) handle.element.setAttribute("aria-label", grips.name(handle.target) ?? "");
  }

  private add(node: NodeSingular, grips: Grips): void {
    const edge = node.data("edge") as GraphEdge | undefined;
    const target: Target = edge ? { kind: "word", edge } : { kind: "state", node: node.data("node") as GraphNode };
    const name = grips.name(target);
    if (name === null) return;
    const { x, y } = node.position();
    const [width, height] = [node.width(), node.height()];
    const element = h("button", {
      class: `handle ${target.kind}`,
      attributes: { type: "button", tabindex: "-1", "aria-label": name, "aria-haspopup": grips.drop ? "menu" : undefined },
      onclick: () => this.grips?.pick(target, element),
      onfocus: () => this.hold(node.id()),
      onkeydown: (event) => this.key(event, node.id()),
    });
    Object.assign(element.style, { left: `${x - width / 2}px`, top: `${y - height / 2}px`, width: `${width}px`, height: `${height}px` });
    this.handles.set(node.id(), { id: node.id(), element, target, x, y, width, height });
  }

  private hold(id: string): void {
    this.handles.get(this.focused)?.element.setAttribute("tabindex", "-1");
    this.focused = id;
    this.handles.get(id)?.element.setAttribute("tabindex", "0");
    const node = this.core?.getElementById(id);
    const core = this.core;
    if (!core || !node?.length) return;
    const { x, y } = node.renderedPosition();
    if (x < 0 || y < 0 || x > core.width() || y > core.height()) core.center(node);
    this.canvas.scrollTo(0, 0); // the browser scrolls to what has the focus; here the drawing moves instead
  }

  private key(event: KeyboardEvent, id: string): void {
    const here = this.handles.get(id);
    const node = this.core?.getElementById(id);
    if (!here || !node) return;
    let to: Handle | null | undefined = null;
    if (isDirection(event.key)) {
      const near = node.neighborhood("node").map((other) => this.handles.get(other.id())).filter((handle) => handle !== undefined);
      const others = [...this.handles.values()].filter((handle) => handle !== here);
      to = next(here, near, others, event.key);
    } else if (event.key === "Home") to = this.handles.values().next().value;
    else return;
    event.preventDefault();
    to?.element.focus({ preventScroll: true });
  }

  private follow(): void {
    const core = this.core;
    if (!core) return;
    const { x, y } = core.pan();
    this.layer.style.transform = `translate(${x}px, ${y}px) scale(${core.zoom()})`;
  }

  /** The nearest thing to where something is held, so that arrows need not be hit. */
  private under(event: DragEvent): { handle: Handle; side: "before" | "after" } | null {
    const core = this.core;
    if (!core) return null;
    const box = this.canvas.getBoundingClientRect();
    const at = { x: (event.clientX - box.left - core.pan().x) / core.zoom(), y: (event.clientY - box.top - core.pan().y) / core.zoom() };
    let best: Handle | null = null;
    let least = 70;
    for (const handle of this.handles.values()) {
      const far = Math.hypot(Math.max(Math.abs(at.x - handle.x) - handle.width / 2, 0), Math.max(Math.abs(at.y - handle.y) - handle.height / 2, 0));
      if (far < least) [best, least] = [handle, far];
    }
    if (!best) return null;
    const node = core.getElementById(best.id);
    const [from] = node.incomers("node").map((other) => (other as NodeSingular).position());
    const [to] = node.outgoers("node").map((other) => (other as NodeSingular).position());
    const away = (point: Point | undefined) => (point ? Math.hypot(at.x - point.x, at.y - point.y) : Infinity);
    return { handle: best, side: away(from) < away(to) ? "before" : "after" };
  }

  private mark(found: { handle: Handle; side: string } | null): void {
    for (const { element } of this.handles.values()) element.classList.remove("drop", "drop-before", "drop-after");
    if (found) found.handle.element.classList.add("drop", found.handle.target.kind === "word" ? `drop-${found.side}` : "drop");
  }
}
