// A drawing that is too large for dagre, which takes seconds for a thousand states and fails on long chains: layers by the
// distance from the first box, each box near what leads to it. Quick, and never nested deeper than a loop.

export interface Box {
  id: string;
  width: number;
  height: number;
}

export interface Arrow {
  id: string;
  from: string;
  to: string;
}

export interface Layered {
  width: number;
  height: number;
  places: Map<string, { x: number; y: number }>;
}

const BESIDE = 24;
const BELOW = 26;

export function layered(boxes: Box[], arrows: Arrow[]): Layered {
  const next = new Map<string, string[]>(boxes.map(({ id }) => [id, []]));
  for (const { from, to } of arrows) next.get(from)?.push(to);
  const layers: Box[][] = [];
  const found = new Map<string, number>();
  const byId = new Map(boxes.map((box) => [box.id, box]));
  for (const first of boxes) {
    // Whatever is not reached from the first box is reached from one of the others.
    let layer = found.has(first.id) ? [] : [first.id];
    for (let depth = 0; layer.length; depth += 1) {
      for (const id of layer) found.set(id, depth);
      (layers[depth] ??= []).push(...layer.map((id) => byId.get(id)!));
      const reached = new Set(layer.flatMap((id) => next.get(id) ?? []).filter((id) => byId.has(id) && !found.has(id)));
      layer = [...reached];
    }
  }
  return place(layers);
}

/** Layers one below the other, each in the middle. Boxes are met in the order of what leads to them, so they stay near it. */
function place(layers: Box[][]): Layered {
  const places = new Map<string, { x: number; y: number }>();
  const wide = (layer: Box[]) => layer.reduce((sum, box) => sum + box.width + BESIDE, -BESIDE);
  const width = layers.reduce((most, layer) => Math.max(most, wide(layer)), 1);
  let top = 0;
  for (const layer of layers) {
    const tall = layer.reduce((most, box) => Math.max(most, box.height), 0);
    let left = (width - wide(layer)) / 2;
    for (const box of layer) {
      places.set(box.id, { x: left + box.width / 2, y: top + tall / 2 });
      left += box.width + BESIDE;
    }
    top += tall + BELOW;
  }
  return { width, height: Math.max(top - BELOW, 1), places };
}
