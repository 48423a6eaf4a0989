import assert from "node:assert/strict";
import { test } from "node:test";

import { isDirection, next } from "../src/compass.js";

const here = { x: 0, y: 0 };

test("the nearest in the direction", () => {
  const below = { x: 0, y: 50 };
  const farther = { x: 0, y: 90 };
  assert.equal(next(here, [], [farther, below], "ArrowDown"), below);
  assert.equal(next(here, [], [farther, below], "ArrowUp"), null);
});

test("what is connected comes before what is only near", () => {
  const near = { x: 5, y: 20 };
  const connected = { x: 60, y: 80 };
  assert.equal(next(here, [connected], [near, connected], "ArrowDown"), connected);
  assert.equal(next(here, [], [near, connected], "ArrowDown"), near);
});

test("what lies aside is not in the direction", () => {
  const aside = { x: 200, y: 10 };
  assert.equal(next(here, [], [aside], "ArrowDown"), null);
  assert.equal(next(here, [], [aside], "ArrowRight"), aside);
});

test("the keys that are directions", () => {
  assert.deepEqual(["ArrowUp", "Enter", "Home", "ArrowLeft"].map(isDirection), [true, false, false, true]);
});
