import assert from "node:assert/strict";
import { test } from "node:test";

import { layered, type Arrow, type Box } from "../src/layers.js";

const box = (id: string): Box => ({ id, width: 34, height: 34 });
const arrow = (from: string, to: string): Arrow => ({ id: `${from} ${to}`, from, to });

function apart(boxes: Box[], places: Map<string, { x: number; y: number }>): boolean {
  const rows = new Map<number, number[]>();
  for (const { id } of boxes) {
    const { x, y } = places.get(id)!;
    rows.set(y, [...(rows.get(y) ?? []), x]);
  }
  return [...rows.values()].every((row) => row.sort((one, other) => one - other).every((x, index) => !index || x - row[index - 1]! >= 34));
}

test("a chain of any length is one column", () => {
  const boxes = Array.from({ length: 20_000 }, (_, number) => box(String(number)));
  const arrows = boxes.slice(1).map(({ id }) => arrow(String(Number(id) - 1), id));
  const { places, height } = layered(boxes, arrows);
  assert.equal(places.size, 20_000);
  assert.equal(new Set([...places.values()].map(({ x }) => x)).size, 1);
  assert.ok(height > 20_000 * 34 && apart(boxes.slice(0, 100), places));
});

test("branches stand side by side, loops lead back, and nothing is left out", () => {
  const boxes = ["a", "b", "c", "d", "alone"].map(box);
  const { places } = layered(boxes, [arrow("a", "b"), arrow("a", "c"), arrow("b", "d"), arrow("c", "d"), arrow("d", "a"), arrow("d", "nowhere")]);
  assert.equal(places.size, 5);
  assert.equal(places.get("b")!.y, places.get("c")!.y);
  assert.ok(places.get("d")!.y > places.get("b")!.y);
  assert.ok(apart(boxes, places));
});
