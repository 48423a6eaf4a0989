// Which of several points lies next in a direction: how arrow keys move through a drawing.

export interface Point {
  x: number;
  y: number;
}

export type Direction = "ArrowUp" | "ArrowDown" | "ArrowLeft" | "ArrowRight";

const WAYS: Record<Direction, Point> = {
  ArrowUp: { x: 0, y: -1 },
  ArrowDown: { x: 0, y: 1 },
  ArrowLeft: { x: -1, y: 0 },
  ArrowRight: { x: 1, y: 0 },
};

export function isDirection(key: string): key is Direction {
  return key in WAYS;
}

/** The nearest one ahead; what lies aside of the way counts as farther off. Those that are connected come first. */
export function next<T extends Point>(from: Point, connected: T[], others: T[], direction: Direction): T | null {
  const way = WAYS[direction];
  const nearest = (points: T[], widest: number): T | null => {
    let best: T | null = null;
    let least = Infinity;
    for (const point of points) {
      const ahead = (point.x - from.x) * way.x + (point.y - from.y) * way.y;
      const aside = Math.abs((point.x - from.x) * way.y + (point.y - from.y) * way.x);
      if (ahead <= 1 || aside > widest * ahead) continue;
      const far = ahead + 2 * aside;
      if (far < least) [best, least] = [point, far];
    }
    return best;
  };
  return nearest(connected, 4) ?? nearest(others, 1);
}
