// What a text was before: everything that is typed, and every change that is made in the picture, can be taken back. The
// browser's own memory knows nothing of the picture, so this one replaces it.

export interface Version {
  text: string;
  caret: number;
}

interface Entry extends Version {
  /** Whether more typing may be added to it. */
  growing: boolean;
}

const MOST = 300;

export class History {
  private past: Entry[];
  private future: Entry[] = [];

  constructor(text: string) {
    this.past = [{ text, caret: text.length, growing: false }];
  }

  get canUndo(): boolean {
    return this.past.length > 1;
  }

  get canRedo(): boolean {
    return this.future.length > 0;
  }

  /** A letter was typed or deleted, or a piece pasted: letters of one word are taken back together. */
  typed(text: string, caret: number): void {
    const last = this.past.at(-1)!;
    if (text === last.text) return;
    const by = text.length - last.text.length;
    const letter = text.slice(caret - 1, caret);
    const one = Math.abs(by) === 1;
    const grows = one && last.growing && Math.abs(caret - last.caret) <= 1 && (by < 0 || !/\s/.test(letter));
    if (grows) this.past.pop();
    this.push({ text, caret, growing: one });
  }

  /** A change that is taken back by itself. */
  changed(text: string, caret: number): void {
    if (text !== this.past.at(-1)!.text) this.push({ text, caret, growing: false });
  }

  undo(): Version | null {
    if (!this.canUndo) return null;
    this.future.push(this.past.pop()!);
    const entry = this.past.at(-1)!;
    entry.growing = false;
    return entry;
  }

  redo(): Version | null {
    const entry = this.future.pop();
    if (!entry) return null;
    entry.growing = false;
    this.past.push(entry);
    return entry;
  }

  private push(entry: Entry): void {
    this.past.push(entry);
    this.future = [];
    if (this.past.length > MOST) this.past.shift();
  }
}
