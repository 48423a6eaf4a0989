// How drawings of machines look, in the colours of the page.

import type { EdgeSingular, StylesheetJson } from "cytoscape";

export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

export function looks(): StylesheetJson {
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
        height: "data(height)",
        "text-wrap": "wrap",
        "line-height": 1.15,
        "font-size": 11.5,
        "border-width": 1,
        "border-color": colour("line-strong"),
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
    { selector: "node[word][heat > 0]", style: { "background-color": colour("accent-soft"), color: colour("ink") } },
    {
      selector: "edge",
      style: {
        width: 1.5,
        "line-color": colour("line-strong"),
        "target-arrow-color": colour("line-strong"),
        "curve-style": "straight",
        "arrow-scale": 0.9,
      },
    },
    { selector: "edge.never, node.never", style: { "line-style": "dashed", "border-style": "dashed", "border-color": colour("warn") } },
    { selector: "edge[kind = 'late']", style: { "line-style": "dotted" } },
    { selector: "edge[kind = 'part'], edge[kind = 'join']", style: { "line-style": "dashed" } },
    {
      selector: "edge.bent",
      style: {
        "curve-style": "round-segments",
        "segment-weights": ((edge: EdgeSingular) => edge.data("weights") as number[]) as unknown as number[],
        "segment-distances": ((edge: EdgeSingular) => edge.data("distances") as number[]) as unknown as number[],
        "segment-radii": [14],
        "radius-type": "arc-radius",
        "edge-distances": "node-position",
      },
    },
    { selector: "edge.into", style: { "target-arrow-shape": "triangle" } },
    { selector: "edge.lit", style: { width: 3, "line-color": colour("good"), "target-arrow-color": colour("good") } },
    {
      selector: "edge[heat > 0]",
      style: {
        width: "mapData(heat, 0, 1, 1.5, 5)",
        "line-color": colour("accent"),
        "target-arrow-color": colour("accent"),
      },
    },
  ];
}
