import assert from "node:assert/strict";
import { test } from "node:test";

import { difference } from "../src/difference.js";

function signs(first: string, second: string): string {
  return difference(first, second).map((line) => line.sign + line.text).join("|");
}

test("what only one of two texts has", () => {
  assert.equal(signs("a\nb\nc", "a\nx\nc"), " a|-b|+x| c");
  assert.equal(signs("a\nb\nc\nd", "b\nnew\nd"), "-a| b|-c|+new| d");
  assert.equal(signs("", "a"), "-|+a");
  assert.equal(signs("same\n", "same\n"), " same| ");
  assert.equal(signs("a\na", "a\na\na"), " a| a|+a");
});

test("both texts can be had back, however much differs", () => {
  for (const size of [10, 3000]) {
    const first = Array.from({ length: size }, (_, at) => `x${at % 7}`).join("\n");
    const second = Array.from({ length: size }, (_, at) => `x${at % 5}`).join("\n");
    const lines = difference(first, second);
    const back = (sign: string) => lines.filter((line) => line.sign !== sign).map((line) => line.text).join("\n");
    assert.equal(back("+"), first);
    assert.equal(back("-"), second);
  }
});
