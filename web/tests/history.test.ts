import assert from "node:assert/strict";
import { test } from "node:test";

import { History } from "../src/history.js";

function typing(history: History, text: string, from = ""): void {
  for (let at = 1; at <= text.length; at += 1) history.typed(from + text.slice(0, at), from.length + at);
}

test("a word is taken back at once, and the next one by itself", () => {
  const history = new History("");
  typing(history, "one two");
  assert.equal(history.undo()?.text, "one");
  assert.equal(history.undo()?.text, "");
  assert.equal(history.undo(), null);
  assert.equal(history.redo()?.text, "one");
  assert.equal(history.redo()?.text, "one two");
  assert.equal(history.redo(), null);
});

test("a change elsewhere stands by itself between what is typed", () => {
  const history = new History("");
  typing(history, "ab");
  history.changed("changed", 2);
  typing(history, "c", "changed");
  assert.equal(history.undo()?.text, "changed");
  assert.equal(history.undo()?.text, "ab");
  assert.equal(history.undo()?.text, "");
});

test("typing after going back forgets what was to come", () => {
  const history = new History("");
  typing(history, "a b");
  history.undo();
  history.typed("ac", 2);
  assert.equal(history.canRedo, false);
  assert.equal(history.undo()?.text, "a");
});

test("what was pasted is taken back as a whole, and so is a letter typed elsewhere", () => {
  const history = new History("start");
  history.typed("start pasted", 12);
  history.typed("xstart pasted", 1);
  assert.equal(history.undo()?.text, "start pasted");
  assert.equal(history.undo()?.text, "start");
});

test("nothing changed is nothing to take back", () => {
  const history = new History("same");
  history.typed("same", 2);
  history.changed("same", 1);
  assert.equal(history.canUndo, false);
});

test("only so much is remembered", () => {
  const history = new History("0");
  for (let number = 1; number <= 1000; number += 1) history.changed(String(number), 0);
  let last = "";
  for (let version = history.undo(); version; version = history.undo()) last = version.text;
  assert.ok(Number(last) > 600 && Number(last) < 800);
});
