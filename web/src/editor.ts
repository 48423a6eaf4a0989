// A text with its findings marked, and what could be typed at the caret. It is a plain text field, so everything that
// people and their aids know about text fields holds; the marks lie behind it.

import { ask, type Finding } from "./api";
import { fill, freshId, h } from "./dom";

interface Option {
  text: string;
  kind: string;
}

export class Editor {
  readonly element: HTMLElement;
  readonly area: HTMLTextAreaElement;
  private readonly marks = h("div", { class: "marks", attributes: { "aria-hidden": "true" } });
  private readonly list: HTMLUListElement;
  private options: Option[] = [];
  private chosen = 0;
  private range: [number, number] = [0, 0];
  private asked = 0;

  constructor(
    text: string,
    private readonly palette: () => string[],
    private readonly changed: (text: string, caret: number) => void,
  ) {
    this.list = h("ul", { class: "completions", id: freshId("completions"), attributes: { role: "listbox", "aria-label": "completions" } });
    this.list.hidden = true;
    this.area = h("textarea", {
      class: "code",
      attributes: { spellcheck: "false", autocapitalize: "off", autocomplete: "off", wrap: "off", "aria-label": "text", "aria-controls": this.list.id, "aria-autocomplete": "list" },
      oninput: () => {
        this.changed(this.area.value, this.area.selectionEnd);
        void this.complete();
      },
      onbeforeinput: (event) => {
        // What was before is remembered by whoever holds the editor, together with changes made elsewhere.
        if (event.inputType === "historyUndo" || event.inputType === "historyRedo") event.preventDefault();
      },
      onkeydown: (event) => this.key(event),
      onscroll: () => this.follow(),
      onblur: () =>
        setTimeout(() => {
          if (document.activeElement !== this.area) this.close();
        }, 150),
    });
    this.area.value = text;
    this.element = h("div", { class: "editor" }, this.marks, this.area, this.list);
  }

  /** Replace the text from outside; the caret stays where it is as far as that is possible. */
  set(text: string, caret = this.area.selectionStart): void {
    if (text === this.area.value) return;
    const { scrollTop, scrollLeft } = this.area;
    this.area.value = text;
    const at = Math.min(caret, text.length);
    this.area.setSelectionRange(at, at);
    this.area.scrollTo(scrollLeft, scrollTop);
  }

  /** Underline findings. */
  mark(findings: Finding[]): void {
    const text = this.area.value;
    const pieces: (Node | string)[] = [];
    let at = 0;
    for (const { span, severity } of [...findings].sort((one, other) => one.span[0] - other.span[0])) {
      const start = Math.max(span[0], at);
      const end = Math.max(span[1], start + 1);
      if (start > text.length) continue;
      pieces.push(text.slice(at, start), h("mark", { class: severity, text: text.slice(start, end) || " " }));
      at = Math.min(end, text.length);
    }
    pieces.push(text.slice(at), "\n");
    fill(this.marks, ...pieces);
    this.follow();
  }

  /** Select a stretch of the text, so that it is seen. */
  select(span: [number, number], focus = true): void {
    if (focus) this.area.focus();
    this.area.setSelectionRange(...span);
    const line = this.area.value.slice(0, span[0]).split("\n").length - 1;
    this.area.scrollTop = Math.max(0, line * 20 - this.area.clientHeight / 2);
  }

  private follow(): void {
    this.marks.scrollTop = this.area.scrollTop;
    this.marks.scrollLeft = this.area.scrollLeft;
  }

  private async complete(): Promise<void> {
    const at = this.area.selectionStart;
    const text = this.area.value;
    const mine = ++this.asked;
    const before = text.slice(0, at);
    if (!/[!?\p{L}\p{N}_{.,[]$/u.test(before)) return this.close();
    const answer = await ask<{ from: number; to: number; options: Option[] }>("complete", { text, at, palette: this.palette() });
    if (mine !== this.asked || document.activeElement !== this.area) return;
    this.options = answer.options.slice(0, 8);
    this.range = [answer.from, answer.to];
    this.chosen = 0;
    this.offer();
  }

  private offer(): void {
    if (!this.options.length) return this.close();
    this.list.hidden = false;
    fill(
      this.list,
      ...this.options.map((option, index) =>
        h("li", {
          id: `${this.list.id}-${index}`,
          text: option.text,
          class: option.kind,
          attributes: { role: "option", "aria-selected": index === this.chosen ? "true" : "false" },
          onmousedown: (event) => {
            event.preventDefault();
            this.take(index);
          },
        }),
      ),
    );
    this.area.setAttribute("aria-activedescendant", `${this.list.id}-${this.chosen}`);
    const lines = this.area.value.slice(0, this.range[0]).split("\n");
    this.list.style.top = `${Math.min(lines.length * 20 + 12 - this.area.scrollTop, this.area.clientHeight)}px`;
    this.list.style.left = `${Math.min((lines.at(-1)?.length ?? 0) * 8 + 8 - this.area.scrollLeft, Math.max(this.area.clientWidth - 180, 0))}px`;
  }

  private close(): void {
    this.asked += 1;
    this.options = [];
    this.list.hidden = true;
    this.area.removeAttribute("aria-activedescendant");
  }

  private take(index: number): void {
    const option = this.options[index];
    if (!option) return;
    this.area.setRangeText(option.text, ...this.range, "end");
    this.close();
    this.changed(this.area.value, this.area.selectionEnd);
  }

  private key(event: KeyboardEvent): void {
    if (event.key === " " && event.ctrlKey) {
      event.preventDefault();
      void this.complete();
      return;
    }
    if (this.list.hidden) return;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      const step = event.key === "ArrowDown" ? 1 : -1;
      this.chosen = (this.chosen + step + this.options.length) % this.options.length;
      this.offer();
    } else if (event.key === "Enter" || event.key === "Tab") this.take(this.chosen);
    else if (event.key === "Escape") this.close();
    else return;
    event.preventDefault();
  }
}
