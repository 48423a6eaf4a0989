// Saving a file, and what there is to choose if it holds something else than was edited. Whatever is chosen, neither of
// the two texts is lost: the one that gives way is kept as a draft before anything else happens.

import { ask, Conflict, type About } from "./api";
import { button, fill, h } from "./dom";
import { difference } from "./difference";
import { complain, quiet, tell, warn } from "./notices";
import { isUnsaved, keep, setAside, shown, work } from "./state";

export class Saving {
  /** Where a conflict is told. */
  readonly element = h("div");
  readonly button: HTMLButtonElement;
  private busy = false;

  constructor(
    private readonly about: About,
    /** Another text is to be shown, as one change that can be taken back. */
    private readonly replace: (text: string) => void,
    private readonly saved: () => void,
  ) {
    this.button = button("save the file", () => void this.save(work.saved), { class: "primary" });
    this.update();
  }

  update(): void {
    this.button.hidden = !this.about.writable || !work.file;
    this.button.disabled = !isUnsaved();
  }

  private async save(before: string | null): Promise<void> {
    const { file, text } = work;
    if (this.busy || !file) return;
    this.busy = true;
    try {
      const answer = await ask<{ text: string }>("save", { number: file.number, path: file.path, text, before });
      if (work.file?.path !== file.path) return;
      work.saved = answer.text;
      keep();
      fill(this.element);
      tell(`${file.name} is saved.`);
      this.saved();
    } catch (error) {
      if (error instanceof Conflict) this.offer(error.theirs);
      else complain(error);
    } finally {
      this.busy = false;
    }
  }

  private offer(theirs: string | null): void {
    quiet();
    const file = work.file?.name ?? work.name;
    const compared = h("div");
    const title = h("h2", { text: theirs === null ? `${file} is not there any more` : `${file} was changed by somebody else`, attributes: { tabindex: "-1" } });
    const about = theirs === null ? "It was deleted or moved since you opened it. Nothing was saved." : "It holds another text than when you opened it. Nothing was saved. Whichever you choose, the other text is kept under “Not saved in a file” in the list of contracts.";
    const choices =
      theirs === null
        ? [button("write it again", () => void this.save(null), { class: "primary" })]
        : [
            button("show the difference", () => fill(compared, listed(shown(theirs), work.text))),
            button("load the file", () => this.load(theirs)),
            button("overwrite the file", () => this.overwrite(theirs)),
          ];
    fill(this.element, h("section", { class: "card complaint conflict", attributes: { role: "alert" } }, title, h("p", { text: about }), h("div", { class: "row" }, ...choices, button("not now", () => fill(this.element))), compared));
    title.focus();
  }

  private load(theirs: string): void {
    const problem = setAside(`${work.name} (yours)`, work.text);
    if (problem) {
      warn(`Your text could not be kept, so the file was not loaded: ${problem}.`);
      return;
    }
    work.saved = theirs;
    fill(this.element);
    this.replace(shown(theirs));
    tell("The text of the file is shown. Yours is in the list of contracts, and “undo” brings it back.");
  }

  private overwrite(theirs: string): void {
    const problem = setAside(`${work.name} (theirs)`, theirs);
    if (problem) warn(`The text of the file could not be kept, so it was not overwritten: ${problem}.`);
    else void this.save(theirs);
  }
}

const AROUND = 3;

/** What differs, with a few lines around. */
function listed(theirs: string, yours: string): HTMLElement {
  const lines = difference(theirs, yours);
  const near = lines.map((_, at) => lines.slice(Math.max(0, at - AROUND), at + AROUND + 1).some((line) => line.sign !== " "));
  const rows: HTMLElement[] = [];
  lines.forEach((line, at) => {
    if (near[at]) rows.push(h(line.sign === "-" ? "del" : line.sign === "+" ? "ins" : "span", { text: `${line.sign} ${line.text}\n` }));
    else if (near[at - 1] || at === 0) rows.push(h("span", { text: "  …\n" }));
  });
  return h("div", {}, h("p", { class: "hint", text: "Lines with − are in the file alone, those with + in your text alone." }), h("pre", { class: "difference", attributes: { tabindex: "0", "aria-label": "difference" } }, ...rows));
}
