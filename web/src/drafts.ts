// Texts that are not saved, kept in this browser: a reload, another contract or a studio that was ended loses none. They
// belong to the address of the studio, as all that browsers keep. Nothing here forgets one because another needs room.

export interface Draft {
  /** `file PATH` for a file, `own ID` for a text that is in none. */
  key: string;
  name: string;
  text: string;
  /** What the file held when it was opened, every byte; nothing if there is no file, or not any more. */
  saved: string | null;
  /** When it was last changed, in milliseconds. */
  at: number;
}

/** As much of a browser's store as is needed. */
export type Shelf = Pick<Storage, "getItem" | "setItem" | "removeItem" | "key" | "length">;

const PREFIX = "accord-studio-draft ";
const MOST = 40;
const MOST_CHARACTERS = 2_000_000;

export class Drafts {
  constructor(private readonly shelf: Shelf) {}

  /** Keep a draft in place of an earlier one of its key; a sentence that says why if it cannot be kept. */
  keep(draft: Draft): string | null {
    const others = this.all().filter((one) => one.key !== draft.key);
    if (others.length >= MOST) return `there are ${others.length} unsaved texts already; discard some that you do not need`;
    const characters = [draft, ...others].reduce((sum, one) => sum + one.text.length + (one.saved?.length ?? 0), 0);
    if (characters > MOST_CHARACTERS) return "all unsaved texts together are too long; discard some that you do not need";
    try {
      this.shelf.setItem(PREFIX + draft.key, JSON.stringify(draft));
      return null;
    } catch (error) {
      return `the browser has no room for it (${error instanceof Error ? error.name : String(error)})`;
    }
  }

  find(key: string): Draft | null {
    return read(this.shelf.getItem(PREFIX + key));
  }

  drop(key: string): void {
    this.shelf.removeItem(PREFIX + key);
  }

  /** The one that was changed last comes first. */
  all(): Draft[] {
    const found: Draft[] = [];
    for (let at = 0; at < this.shelf.length; at += 1) {
      const name = this.shelf.key(at);
      const draft = name?.startsWith(PREFIX) ? read(this.shelf.getItem(name)) : null;
      if (draft) found.push(draft);
    }
    return found.sort((one, other) => other.at - one.at);
  }

  /** The key of the draft that something was written to in another tab. */
  keyIn(name: string | null): string | null {
    return name?.startsWith(PREFIX) ? name.slice(PREFIX.length) : null;
  }
}

function read(stored: string | null): Draft | null {
  try {
    const draft = JSON.parse(stored ?? "null") as Partial<Draft> | null;
    const whole = draft && typeof draft.key === "string" && typeof draft.name === "string" && typeof draft.text === "string" && typeof draft.at === "number";
    return whole ? { key: draft.key!, name: draft.name!, text: draft.text!, saved: draft.saved ?? null, at: draft.at! } : null;
  } catch {
    return null;
  }
}
