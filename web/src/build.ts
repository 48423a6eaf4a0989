// Build: text and picture side by side. The text is the contract; the picture and the forms change it through the studio.

import { ask, Refusal, type About, type Described, type GraphEdge, type Protocol, type Tool } from "./api";
import { button, copy, download, fill, freshId, h, labelled, refresh, say, select } from "./dom";
import { Editor } from "./editor";
import { Picture } from "./graph";
import { pack } from "./link";
import { listing } from "./markdown";
import { sequence } from "./sequence";
import { open, retype, work } from "./state";
import { chooser } from "./step";

const CHANGES: [string, string][] = [
  ["after", "a step after"],
  ["before", "a step before"],
  ["beside", "a choice beside"],
  ["loop", "a loop from"],
  ["rename", "another label for"],
  ["remove", "remove"],
];

const RULES: [string, string][] = [
  ["before", "before … require …"],
  ["before each", "before each … require …"],
  ["after", "after … require …"],
  ["after each", "after each … require …"],
  ["never after", "after … forbid …"],
  ["then", "forbid … then …"],
  ["at most", "at most … times …"],
];

export async function build(main: HTMLElement, about: About): Promise<void> {
  await new Builder(main, about).begin();
}

class Builder {
  private readonly editor: Editor;
  private readonly findings = h("section", { class: "card findings" });
  private readonly pictures = h("div");
  private readonly picture = new Picture();
  private readonly trouble = h("div");
  private readonly output = h("div");
  private readonly palette = h("div", { class: "palette" });
  private readonly words = h("datalist", { id: freshId("words") });
  private readonly target = h("select");
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
      (text) => this.typed(text),
    );
  }

  async begin(): Promise<void> {
    const head = h(
      "section",
      { class: "card bar" },
      h("h2", { class: "hidden", text: "Contract" }),
      chooser(this.about),
      h(
        "div",
        { class: "row" },
        button("new", () => { open("", { name: "contract" }); refresh(); }),
        button("format", () => void this.format()),
        button("step through it", () => { location.hash = "#step"; }, { class: "primary" }),
      ),
    );
    const text = h("section", { class: "card text" }, h("h2", { text: "Text" }), this.editor.element, h("p", { class: "hint", text: "Ctrl+Space completes. Tab moves on unless completions are open." }));
    const picture = h("section", { class: "card machine" }, h("h2", { text: "Picture" }), this.pictures);
    fill(
      this.main,
      head,
      h("div", { class: "columns" }, h("div", { class: "left" }, text, this.findings), h("div", { class: "middle" }, picture, this.trouble), h("div", { class: "right" }, this.stepForm(), this.ruleForm(), this.toolForm(), this.outputs())),
      this.words,
    );
    await this.look();
  }

  /** What is built is not what was opened any more. */
  private own(): void {
    work.origin = "";
    const control = this.main.querySelector<HTMLSelectElement>(".bar select");
    if (!control || control.value === "") return;
    control.prepend(h("option", { text: `${work.name}, changed`, attributes: { value: "" } }));
    control.value = "";
  }

  private typed(text: string): void {
    retype(text);
    this.own();
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.look(), 120);
  }

  /** Ask what the text means now. */
  private async look(chosen?: string): Promise<void> {
    const mine = ++this.asked;
    const described = await ask<Described>("contract", { text: work.text, everything: this.everything });
    if (mine !== this.asked) return;
    if (!work.text.trim()) described.findings = []; // nobody has written anything yet
    this.described = described;
    this.editor.set(work.text); // the text, what is found in it and its steps change together
    this.editor.mark(described.findings);
    const rows = described.findings.map((finding) =>
      h("li", { class: finding.severity }, h("pre", { text: finding.text, attributes: { tabindex: "0" } }), button(`go to ${finding.line}:${finding.column}`, () => this.editor.select(finding.span), { class: "quiet" })),
    );
    const count = described.findings.length;
    fill(this.findings, h("h2", { text: count ? `${count} finding${count === 1 ? "" : "s"}` : "Findings" }), count ? h("ul", {}, ...rows) : h("p", { class: "hint", text: work.text.trim() ? "The contract is fine." : "Type a contract, choose one above, or add a first step." }));
    if (count) say(`${count} findings; the first: ${described.findings[0]!.message}`);
    fill(this.words, ...[...described.labels, ...work.palette.map((tool) => tool.name)].map((label) => h("option", { attributes: { value: label } })));
    const step = chosen ?? this.target.value;
    fill(this.target, ...described.steps.map((step) => h("option", { text: `${step.word} (line ${step.line})`, attributes: { value: String(step.number) } })));
    if (!described.steps.length) this.target.append(h("option", { text: "the beginning", attributes: { value: "0" } }));
    this.target.value = [...this.target.options].some((option) => option.value === step) ? step : (this.target.options[this.target.options.length - 1]?.value ?? "0");
    if (described.ok) this.draw(described);
  }

  private draw(described: Described): void {
    const shown = described.protocols.find((one) => one.name === work.protocol) ?? described.protocols[0];
    const parts: HTMLElement[] = [];
    if (described.protocols.length > 1) {
      const options = described.protocols.map((one): [string, string] => [one.name ?? "", one.name ?? "protocol"]);
      parts.push(labelled("Protocol", select(options, shown?.name ?? "", (name) => { work.protocol = name; this.draw(described); })));
    }
    if (shown?.kind === "roles") parts.push(sequence(shown.name ?? "", shown.roles ?? [], shown.sequence ?? []), ...this.roleGraphs(shown));
    if (shown?.graph) parts.push(this.picture.element);
    if (described.rules.length) {
      parts.push(h("h3", { text: "Rules" }), h("ul", { class: "rules" }, ...described.rules.map((rule) => h("li", {}, h("strong", { text: rule.name }), h("code", { text: rule.text })))));
    }
    if (!parts.length) parts.push(h("p", { class: "hint", text: "There is nothing to draw yet." }));
    fill(this.pictures, ...parts);
    if (shown?.graph) {
      this.picture.draw(shown.graph, { onEdge: (edge) => this.edge(edge), onMore: () => { this.everything = true; void this.look(); } });
    }
  }

  private roleGraphs(protocol: Protocol): HTMLElement[] {
    return Object.entries(protocol.graphs ?? {}).map(([role, graph]) => {
      const picture = new Picture();
      requestAnimationFrame(() => picture.draw(graph, {}));
      return h("section", { class: "inner" }, h("h3", { text: role }), picture.element);
    });
  }

  /** An edge of the picture stands for steps of the text: the first is selected there and in the form. */
  private edge(edge: GraphEdge): void {
    const steps = this.described?.steps.filter((step) => step.word === edge.word) ?? [];
    const first = steps[0];
    if (!first) return;
    this.target.value = String(first.number);
    this.editor.select(first.span, false);
    this.picture.choose(new Set([edge.word ?? ""]));
    say(`${first.word} in line ${first.line} is chosen`);
  }

  private async change(change: string, step: number, what: string): Promise<void> {
    try {
      const answer = await ask<{ text: string; formatted: boolean }>("edit", { text: work.text, change, step, what });
      fill(this.trouble);
      retype(answer.text);
      this.own();
      say(answer.formatted ? "the contract was changed" : "the contract was changed and has findings");
      // What was put behind a step is the one that the next is put behind.
      const next = change === "after" && this.described?.steps.length ? step + 1 : step;
      await this.look(String(next));
    } catch (error) {
      this.refused(error);
    }
  }

  private refused(error: unknown): void {
    if (!(error instanceof Refusal)) throw error;
    fill(this.trouble, h("section", { class: "card complaint", attributes: { role: "alert" } }, h("p", { text: error.message }), error.text ? h("pre", { text: error.text }) : null));
  }

  private stepForm(): HTMLElement {
    const change = select(CHANGES, "after", () => {
      const without = change.value === "remove" || change.value === "loop";
      sign.disabled = without || change.value === "rename";
      what.disabled = change.value === "remove";
      details.disabled = without || change.value === "rename";
    });
    const sign = select([["!", "! the agent does"], ["?", "? reaches the agent"]], "!", () => undefined);
    const what = h("input", { attributes: { type: "text", list: this.words.id, spellcheck: "false", autocomplete: "off" } });
    const details = h("input", { attributes: { type: "text", spellcheck: "false", autocomplete: "off", placeholder: "(amount <= 100) by human" } });
    return h(
      "details",
      { class: "card", attributes: { open: true } },
      h("summary", {}, h("h2", { text: "Steps" })),
      h(
        "form",
        {
          onsubmit: (event) => {
            event.preventDefault();
            const plain = change.value === "rename" || change.value === "loop";
            const label = /^[\p{L}_][\p{L}\p{N}_:-]*$/u.test(what.value.trim()) ? what.value.trim() : JSON.stringify(what.value.trim());
            const text = plain ? what.value : what.value.trim() ? `${sign.value}${label}${details.value.trim()}` : "";
            void this.change(change.value, Number(this.target.value), text.replace(/([^\s(])(by human|within)/, "$1 $2"));
            what.value = "";
          },
        },
        labelled("Add or change", change),
        labelled("Step of the text", this.target, "clicking a word in the picture chooses it"),
        labelled("Direction", sign),
        labelled("Label", what),
        labelled("Conditions", details, "may be left empty"),
        h("button", { class: "primary", text: "change the contract", attributes: { type: "submit" } }),
      ),
    );
  }

  private ruleForm(): HTMLElement {
    const name = h("input", { attributes: { type: "text", placeholder: "confirm first", autocomplete: "off" } });
    const first = h("input", { attributes: { type: "text", list: this.words.id, autocomplete: "off", spellcheck: "false" } });
    const second = h("input", { attributes: { type: "text", list: this.words.id, autocomplete: "off", spellcheck: "false" } });
    const kind = select(RULES, "before", () => { second.disabled = false; });
    return h(
      "details",
      { class: "card" },
      h("summary", {}, h("h2", { text: "Rules" })),
      h(
        "form",
        {
          onsubmit: (event) => {
            event.preventDefault();
            const [one, two] = [first.value.trim(), second.value.trim()];
            const body = {
              "before": `before ${one} require ${two}`,
              "before each": `before each ${one} require ${two}`,
              "after": `after ${one} require ${two}`,
              "after each": `after each ${one} require ${two}`,
              "never after": `after ${one} forbid ${two}`,
              "then": `forbid ${one} then ${two}`,
              "at most": `at most ${one} ${two}`,
            }[kind.value];
            void this.change("rule", 0, `rule ${JSON.stringify(name.value || `${kind.value} ${one}`)} { ${body} }`);
          },
        },
        labelled("Kind", kind),
        labelled("First", first, "a label, or the number in `at most`"),
        labelled("Second", second, "a label, with conditions if you like"),
        labelled("Name", name),
        h("button", { class: "primary", text: "add the rule", attributes: { type: "submit" } }),
      ),
    );
  }

  private toolForm(): HTMLElement {
    const area = h("textarea", { attributes: { rows: "3", spellcheck: "false" } });
    const file = h("input", { attributes: { type: "file", accept: ".json,.yaml,.yml,.py" }, onchange: () => { const first = file.files?.[0]; if (first) void first.text().then((text) => this.bring(text)); } });
    this.showPalette();
    return h(
      "details",
      { class: "card", attributes: { open: work.palette.length > 0 } },
      h("summary", {}, h("h2", { text: "Tools" })),
      this.palette,
      labelled("File", file, "an MCP manifest, an OpenAPI file, function schemas, or Python code, which is read and never run"),
      h("form", { onsubmit: (event) => { event.preventDefault(); void this.bring(area.value); } }, labelled("Or paste it", area), h("button", { text: "bring them in", attributes: { type: "submit" } })),
    );
  }

  private async bring(text: string): Promise<void> {
    try {
      work.palette = (await ask<{ tools: Tool[] }>("tools", { text })).tools;
      fill(this.trouble);
      this.showPalette();
      say(`${work.palette.length} tools are in the palette`);
      await this.look();
    } catch (error) {
      this.refused(error);
    }
  }

  private showPalette(): void {
    const chips = work.palette.map((tool) =>
      h("li", {}, button(tool.name, () => void this.change("after", Number(this.target.value), `!${/^[\p{L}_][\p{L}\p{N}_:-]*$/u.test(tool.name) ? tool.name : JSON.stringify(tool.name)}`), { class: "action send", attributes: { title: `${tool.about} (${tool.fields.join(", ") || "no fields"})` } })),
    );
    fill(this.palette, work.palette.length ? h("p", { class: "hint", text: "A tool is put behind the chosen step." }) : h("p", { class: "hint", text: "No tools yet." }), h("ul", { class: "actions" }, ...chips));
  }

  private async format(): Promise<void> {
    try {
      const { text } = await ask<{ text: string }>("format", { text: work.text });
      retype(text);
      fill(this.trouble);
      await this.look();
    } catch (error) {
      this.refused(error);
    }
  }

  private outputs(): HTMLElement {
    const kinds = this.about.snippets.map((one): [string, string] => [one.kind, one.title]);
    const kind = select(kinds, "guard", () => undefined);
    const save = this.about.writable && work.file !== null ? button("save the file", () => void this.save(), { class: "primary" }) : null;
    return h(
      "details",
      { class: "card" },
      h("summary", {}, h("h2", { text: "Take it with you" })),
      h(
        "div",
        { class: "row" },
        save,
        button("contract file", () => download(`${work.name}.accord`, work.text)),
        button("link", () => void this.link()),
        button("mermaid", () => void this.text("mermaid", {})),
        button("SVG", () => { const svg = this.picture.svg(); if (svg) download(`${work.name}.svg`, svg, "image/svg+xml"); }),
        button("PNG", () => { const png = this.picture.png(); if (png) download(`${work.name}.png`, png); }),
      ),
      labelled("Python", kind),
      button("show the code", () => void this.text("snippet", { kind: kind.value })),
      this.output,
    );
  }

  private async text(name: string, more: object): Promise<void> {
    try {
      const { text } = await ask<{ text: string }>(name, { text: work.text, ...more });
      fill(this.output, listing(text), button("copy", () => void copy(text, "the code")));
      say("the code is shown below");
    } catch (error) {
      this.refused(error);
    }
  }

  private async link(): Promise<void> {
    const packed = await pack({ text: work.text, name: work.name });
    const address = `${location.origin}/#build&c=${packed}`;
    fill(this.output, labelled("Link", h("input", { attributes: { type: "text", readonly: true, value: address } }), "it holds the whole contract, and opens it in any studio that runs here"), button("copy", () => void copy(address, "the link")));
  }

  private async save(): Promise<void> {
    try {
      await ask("save", { number: work.file, text: work.text, before: work.saved });
      work.saved = work.text;
      say("the file is saved");
      fill(this.trouble);
    } catch (error) {
      this.refused(error);
    }
  }
}
