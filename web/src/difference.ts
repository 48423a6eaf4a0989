// Two texts, line by line: what only one of them has.

export interface Line {
  sign: " " | "-" | "+";
  text: string;
}

/** Beyond this many pairs of lines nobody compares them one by one: what differs is shown as a whole. */
const MOST = 4_000_000;

/** Lines of the first alone have a minus, those of the second alone a plus. */
export function difference(first: string, second: string): Line[] {
  const [olds, news] = [first.split("\n"), second.split("\n")];
  let top = 0;
  while (top < olds.length && top < news.length && olds[top] === news[top]) top += 1;
  let end = 0;
  while (end < olds.length - top && end < news.length - top && olds.at(-1 - end) === news.at(-1 - end)) end += 1;
  const same = (lines: string[]): Line[] => lines.map((text) => ({ sign: " ", text }));
  const middle = between(olds.slice(top, olds.length - end), news.slice(top, news.length - end));
  return [...same(olds.slice(0, top)), ...middle, ...same(olds.slice(olds.length - end))];
}

function between(olds: string[], news: string[]): Line[] {
  const minus = (text: string): Line => ({ sign: "-", text });
  const plus = (text: string): Line => ({ sign: "+", text });
  if (olds.length * news.length > MOST) return [...olds.map(minus), ...news.map(plus)];
  // The longest sequence of lines that both have, of every pair of ends.
  const wide = news.length + 1;
  const common = new Uint32Array((olds.length + 1) * wide);
  for (let old = olds.length - 1; old >= 0; old -= 1) {
    for (let at = news.length - 1; at >= 0; at -= 1) {
      common[old * wide + at] = olds[old] === news[at] ? common[(old + 1) * wide + at + 1]! + 1 : Math.max(common[(old + 1) * wide + at]!, common[old * wide + at + 1]!);
    }
  }
  const lines: Line[] = [];
  let [old, at] = [0, 0];
  while (old < olds.length && at < news.length) {
    if (olds[old] === news[at]) {
      lines.push({ sign: " ", text: olds[old]! });
      [old, at] = [old + 1, at + 1];
    } else if (common[(old + 1) * wide + at]! >= common[old * wide + at + 1]!) lines.push(minus(olds[old++]!));
    else lines.push(plus(news[at++]!));
  }
  return [...lines, ...olds.slice(old).map(minus), ...news.slice(at).map(plus)];
}
