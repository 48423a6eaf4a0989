import assert from "node:assert/strict";
import { test } from "node:test";

import { Drafts, type Draft, type Shelf } from "../src/drafts.js";

class Memory implements Shelf {
  private readonly kept = new Map<string, string>();
  constructor(private readonly room = Infinity) {}
  get length(): number {
    return this.kept.size;
  }
  key(at: number): string | null {
    return [...this.kept.keys()][at] ?? null;
  }
  getItem(key: string): string | null {
    return this.kept.get(key) ?? null;
  }
  removeItem(key: string): void {
    this.kept.delete(key);
  }
  setItem(key: string, value: string): void {
    if (value.length > this.room) throw new RangeError("full");
    this.kept.set(key, value);
  }
}

function draft(key: string, text: string, at = 0): Draft {
  return { key, name: "n", text, saved: null, at };
}

test("the last draft of a key is kept, and the newest comes first", () => {
  const drafts = new Drafts(new Memory());
  assert.equal(drafts.keep(draft("file /a b", "1", 1)), null);
  assert.equal(drafts.keep(draft("file /a b", "2", 2)), null);
  assert.equal(drafts.keep(draft("own x", "3", 3)), null);
  assert.deepEqual(drafts.all().map((one) => one.text), ["3", "2"]);
  drafts.drop("own x");
  assert.equal(drafts.find("own x"), null);
  assert.equal(drafts.find("file /a b")?.text, "2");
});

test("what does not fit is told, and no other goes for it", () => {
  const drafts = new Drafts(new Memory(1000));
  assert.equal(drafts.keep(draft("own a", "kept")), null);
  assert.ok(/no room/.test(drafts.keep(draft("own b", "x".repeat(2000))) ?? ""));
  assert.equal(drafts.find("own a")?.text, "kept");
  const many = new Drafts(new Memory());
  for (let at = 0; at < 40; at += 1) assert.equal(many.keep(draft(`own ${at}`, "x")), null);
  assert.ok(/40 unsaved texts/.test(many.keep(draft("own more", "x")) ?? ""));
  assert.equal(many.keep(draft("own 7", "changed")), null);
  assert.equal(many.all().length, 40);
  const long = new Drafts(new Memory());
  assert.equal(long.keep(draft("own a", "x".repeat(1_500_000))), null);
  assert.ok(/too long/.test(long.keep(draft("own b", "x".repeat(600_000))) ?? ""));
});

test("what somebody else has put there is no draft", () => {
  const shelf = new Memory();
  shelf.setItem("accord-studio-draft own a", "{");
  shelf.setItem("accord-studio-draft own b", "{}");
  shelf.setItem("accord-studio-theme", "dark");
  const drafts = new Drafts(shelf);
  assert.deepEqual(drafts.all(), []);
  assert.equal(drafts.keyIn("accord-studio-draft file /a b"), "file /a b");
  assert.equal(drafts.keyIn("accord-studio-theme"), null);
});
