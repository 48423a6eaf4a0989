// The palette: tools from a manifest, an OpenAPI file, schemas or Python code, to be put into a contract.

import { ask, Refusal, type Tool } from "./api";
import { draggable } from "./changing";
import { button, fill, h, labelled, say } from "./dom";
import type { Problem } from "./menu";
import { work } from "./state";

export class Palette {
  readonly element: HTMLElement;
  private readonly chips = h("div", { class: "palette" });

  constructor(
    private readonly put: (label: string, anchor: HTMLElement) => void,
    private readonly brought: () => void,
    private readonly refuse: (problem: Problem) => void,
  ) {
    const area = h("textarea", { attributes: { rows: "3", spellcheck: "false" } });
    const file = h("input", { attributes: { type: "file", accept: ".json,.yaml,.yml,.py" }, onchange: () => { const first = file.files?.[0]; if (first) void first.text().then((text) => this.bring(text)); } });
    this.show();
    this.element = h(
      "details",
      { class: "card", attributes: { open: work.palette.length > 0 } },
      h("summary", {}, h("h2", { text: "Tools" })),
      this.chips,
      labelled("File", file, "an MCP manifest, an OpenAPI file, function schemas, or Python code, which is read and never run"),
      h("form", { onsubmit: (event) => { event.preventDefault(); void this.bring(area.value); } }, labelled("Or paste it", area), h("button", { text: "bring them in", attributes: { type: "submit" } })),
    );
  }

  private async bring(text: string): Promise<void> {
    try {
      work.palette = (await ask<{ tools: Tool[] }>("tools", { text })).tools;
      this.show();
      say(`${work.palette.length} tools are in the palette`);
      this.brought();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      this.refuse(error);
    }
  }

  private show(): void {
    const rows = work.palette.map((tool) => {
      const chip = button(tool.name, () => this.put(tool.name, chip), { class: "action send", attributes: { title: `${tool.about} (${tool.fields.join(", ") || "no fields"})` } });
      draggable(chip, tool.name);
      return h("li", {}, chip);
    });
    const hint = rows.length ? "Drag a tool onto a state or a word of the picture, or click it to put it behind the last step." : "Bring in the tools you have; then drag them into the picture.";
    fill(this.chips, h("p", { class: "hint", text: hint }), h("ul", { class: "actions" }, ...rows));
  }
}
