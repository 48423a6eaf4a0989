// Build: text and picture side by side. The text is the contract; the picture changes it through the studio, and whatever
// is changed, here or there, can be taken back.

import { ask, Refusal, type About, type Described, type Finding, type Protocol } from "./api";
import { Changing } from "./changing";
import { button, fill, freshId, h, labelled, refresh, say, select } from "./dom";
import { Editor } from "./editor";
import { Picture } from "./graph";
import { History, type Version } from "./history";
import { dismiss, regain, type Problem } from "./menu";
import { clearTold, complain, quiet, warn } from "./notices";
import { Chooser, discard } from "./opening";
import { Palette } from "./palette";
import { sequence } from "./sequence";
import { Saving } from "./saving";
import { isUnsaved, openNew, retype, shown, work } from "./state";
import { Taking } from "./taking";

export async function build(main: HTMLElement, about: About): Promise<() => void> {
  const builder = new Builder(main, about);
  await builder.begin();
  return () => builder.again();
}

class Builder {
  private readonly editor: Editor;
  private readonly history = new History(work.file && work.saved !== null ? shown(work.saved) : work.text);
  private readonly findings = h("section", { class: "card findings" });
  private readonly pictures = h("div");
  private readonly picture = new Picture();
  private readonly words = h("datalist", { id: freshId("words") });
  private readonly undoing = button("undo", () => this.back(), { attributes: { title: "Ctrl+Z" } });
  private readonly redoing = button("redo", () => this.forth(), { attributes: { title: "Ctrl+Shift+Z" } });
  private readonly changing: Changing;
  private readonly taking: Taking;
  private readonly chooser: Chooser;
  private readonly saving: Saving;
  private readonly discarding: HTMLButtonElement = button("discard the draft…", () => discard(this.about, this.discarding));
  private described: Described | null = null;
  private everything = false;
  private timer = 0;
  private asked = 0;

  constructor(
    private readonly main: HTMLElement,
    private readonly about: About,
  ) {
    this.editor = new Editor(
      work.text,
      () => work.palette.map((tool) => tool.name),
      (text, caret) => this.typed(text, caret),
    );
    this.history.changed(work.text, work.text.length); // what was opened may be a draft, and the file can be gone back to
    this.taking = new Taking(about, () => (this.picture.element.isConnected ? this.picture : null));
    this.chooser = new Chooser(about);
    this.saving = new Saving(about, (text) => { this.replace(text); void this.look(); }, () => this.marked());
    this.changing = new Changing({
      described: () => this.described,
      change: (request, said) => this.change(request, said),
      refuse: (problem) => this.refuse(problem),
      show: (span) => this.editor.select(span),
      words: this.words,
    });
  }

  async begin(): Promise<void> {
    const rule = button("add a rule…", () => this.changing.rule("", rule));
    const head = h(
      "section",
      { class: "card bar" },
      h("h2", { class: "hidden", text: "Contract" }),
      this.chooser.element,
      h(
        "div",
        { class: "row" },
        this.saving.button,
        this.discarding,
        button("new", () => { openNew(); refresh(); }),
        this.undoing,
        this.redoing,
        rule,
        button("format", () => void this.format()),
        button("step through it", () => { location.hash = "#step"; }, { class: "primary" }),
      ),
    );
    const text = h("section", { class: "card text" }, h("h2", { text: "Text" }), this.editor.element, h("p", { class: "hint", text: "Ctrl+Space completes. Tab moves on unless completions are open." }));
    const picture = h("section", { class: "card machine" }, h("h2", { text: "Picture" }), this.pictures);
    const palette = new Palette((label, anchor) => this.putLast(label, anchor), () => void this.look(), (problem) => this.refuse(problem));
    fill(
      this.main,
      head,
      this.saving.element,
      h("div", { class: "columns" }, h("div", { class: "left" }, text, this.findings), h("div", { class: "middle" }, picture), h("div", { class: "right" }, palette.element, this.taking.element)),
      this.words,
    );
    this.main.addEventListener("keydown", (event) => this.key(event));
    addEventListener("hashchange", dismiss, { once: true });
    this.marked();
    await this.look();
  }

  /** The studio answers again: it may be another one, with other files. */
  again(): void {
    this.marked();
    void this.look();
  }

  // -- what was before -------------------------------------------------------------------------------------------------

  private key(event: KeyboardEvent): void {
    const field = event.target instanceof HTMLElement && event.target.matches("input, textarea, select") && event.target !== this.editor.area;
    if (field || !(event.ctrlKey || event.metaKey) || event.altKey) return;
    const key = event.key.toLowerCase();
    if (key === "z" && !event.shiftKey) this.back();
    else if ((key === "z" && event.shiftKey) || key === "y") this.forth();
    else return;
    event.preventDefault();
  }

  private back(): void {
    this.restore(this.history.undo(), "taken back");
  }

  private forth(): void {
    this.restore(this.history.redo(), "made again");
  }

  private restore(version: Version | null, said: string): void {
    if (!version) return;
    retype(version.text);
    this.marked();
    this.editor.set(version.text, version.caret);
    say(`the change was ${said}`);
    void this.look();
  }

  /** Show whether the text is saved. */
  private marked(): void {
    this.chooser.update();
    this.saving.update();
    this.discarding.hidden = !isUnsaved();
  }

  // -- the text --------------------------------------------------------------------------------------------------------

  private typed(text: string, caret: number): void {
    retype(text);
    this.history.typed(text, caret);
    clearTold();
    this.marked();
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.look(), 120);
  }

  private async change(request: object, said: string): Promise<Problem | null> {
    try {
      const { text } = await ask<{ text: string }>("edit", { text: work.text, ...request });
      this.replace(text);
      await this.look();
      say(said);
      return null;
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return error;
    }
  }

  /** Another text, as one change that can be taken back. */
  private replace(text: string): void {
    retype(text);
    this.editor.set(text);
    this.history.changed(text, this.editor.area.selectionStart);
    this.marked();
    quiet();
  }

  private async format(): Promise<void> {
    try {
      this.replace((await ask<{ text: string }>("format", { text: work.text })).text);
      await this.look();
    } catch (error) {
      complain(error);
    }
  }

  /** A tool of the palette was clicked: it comes behind the last step. */
  private putLast(label: string, anchor: HTMLElement): void {
    const last = this.described?.steps.at(-1);
    void this.change({ change: "after", at: last?.number ?? 0, put: { sign: "!", label } }, `${label} was put in`).then((problem) => {
      if (problem) this.refuse(problem);
      anchor.focus();
    });
  }

  private refuse(problem: Problem | null): void {
    if (problem) warn(problem.message, problem.text);
    else quiet();
  }

  // -- what it means ---------------------------------------------------------------------------------------------------

  private async look(): Promise<void> {
    const mine = ++this.asked;
    const described = await ask<Described>("contract", { text: work.text, everything: this.everything });
    if (mine !== this.asked) return;
    if (!work.text.trim()) described.findings = []; // nobody has written anything yet
    this.described = described;
    this.editor.mark(described.findings);
    this.tell(described.findings);
    fill(this.words, ...[...new Set([...work.palette.map((tool) => tool.name), ...described.labels])].map((label) => h("option", { attributes: { value: label } })));
    this.undoing.disabled = !this.history.canUndo;
    this.redoing.disabled = !this.history.canRedo;
    this.pictures.classList.toggle("stale", !described.ok && Boolean(work.text.trim()));
    if (described.ok || !work.text.trim()) this.draw(described);
    else dismiss();
  }

  private tell(findings: Finding[]): void {
    const rows = findings.map((finding) =>
      h("li", { class: finding.severity }, h("pre", { text: finding.text, attributes: { tabindex: "0" } }), button(`go to ${finding.line}:${finding.column}`, () => this.editor.select(finding.span), { class: "quiet" })),
    );
    const count = findings.length;
    const none = work.text.trim() ? "The contract is fine." : "Type a contract, choose one above, or begin in the picture.";
    fill(this.findings, h("h2", { text: count ? `${count} finding${count === 1 ? "" : "s"}` : "Findings" }), count ? h("ul", {}, ...rows) : h("p", { class: "hint", text: none }));
    if (count) say(`${count} findings; the first: ${findings[0]!.message}`);
  }

  private draw(described: Described): void {
    const shown = described.protocols.find((one) => one.name === work.protocol) ?? described.protocols[0];
    this.taking.fit(shown ?? null);
    const parts: HTMLElement[] = [h("p", { class: "hint old", text: "This is the last text that could be read; mend the findings first." })];
    if (described.protocols.length > 1) {
      const options = described.protocols.map((one): [string, string] => [one.name ?? "", one.name ?? "protocol"]);
      parts.push(labelled("Protocol", select(options, shown?.name ?? "", (name) => { work.protocol = name; this.draw(described); })));
    }
    if (shown?.kind === "roles") parts.push(this.hint("Click a message to change it; by keyboard, arrows move and Enter opens."), sequence(shown.name ?? "", shown.roles ?? [], shown.sequence ?? [], (row, anchor) => this.changing.message(row, anchor)), ...this.roleGraphs(shown));
    else if (shown?.graph) parts.push(this.hint("Click a state or a word to change it; by keyboard, arrows move along and Enter opens."), this.picture.element);
    else parts.push(this.beginning());
    if (described.rules.length) {
      parts.push(h("h3", { text: "Rules" }), h("ul", { class: "rules" }, ...described.rules.map((rule) => h("li", {}, h("strong", { text: rule.name }), h("code", { text: rule.text })))));
    }
    const focused = this.pictures.contains(document.activeElement);
    fill(this.pictures, ...parts);
    if (shown?.graph) {
      this.picture.draw(shown.graph, { grips: this.changing.grips, onMore: () => { this.everything = true; void this.look(); } });
    }
    if (focused) regain(this.pictures);
  }

  private hint(text: string): HTMLElement {
    return h("p", { class: "hint", text });
  }

  /** There is no protocol yet. */
  private beginning(): HTMLElement {
    const step = button("add a first step…", () => this.changing.put("The first step", "after", 0, step), { class: "primary" });
    const roles = button("begin between roles…", () => this.changing.beginRoles(roles));
    return h("div", {}, this.hint("There is no protocol yet."), h("div", { class: "row" }, step, roles));
  }

  private roleGraphs(protocol: Protocol): HTMLElement[] {
    return Object.entries(protocol.graphs ?? {}).map(([role, graph]) => {
      const picture = new Picture();
      requestAnimationFrame(() => picture.draw(graph, {}));
      return h("section", { class: "inner" }, h("h3", { text: role }), picture.element);
    });
  }
}
