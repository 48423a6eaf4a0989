// What is taken away: the contract as a file, a link, code, or a picture.

import { ask, type About, type Protocol } from "./api";
import { button, fill, h, labelled, select } from "./dom";
import { copy, download } from "./giving";
import type { Picture } from "./graph";
import { pack } from "./link";
import { listing } from "./markdown";
import { complain, tell, warn } from "./notices";
import { work } from "./state";

export class Taking {
  readonly element: HTMLElement;
  private readonly output = h("div");
  private readonly kind = select([], "", () => this.choose());
  private readonly role = h("select");
  private readonly whose = labelled("Role", this.role);
  private between: Protocol | null = null;

  constructor(
    private readonly about: About,
    private readonly picture: () => Picture | null,
  ) {
    this.element = h(
      "details",
      { class: "card" },
      h("summary", {}, h("h2", { text: "Take it with you" })),
      h(
        "div",
        { class: "row" },
        button("contract file", () => download(`${work.name}.accord`, work.text)),
        button("link", () => void this.link()),
        button("mermaid", () => void this.text("mermaid", {})),
        button("SVG", () => this.image((picture) => picture.svg(), "svg", "image/svg+xml")),
        button("PNG", () => this.image((picture) => picture.png(), "png", "image/png")),
      ),
      labelled("Python", this.kind),
      this.whose,
      button("show the code", () => void this.text("snippet", { kind: this.kind.value, ...(this.between ? { protocol: this.between.name, role: this.role.value } : {}) })),
      this.output,
    );
  }

  /** Offer the code that fits what is built: for one agent, or for roles. */
  fit(protocol: Protocol | null): void {
    const chosen = this.kind.value;
    this.between = protocol?.kind === "roles" ? protocol : null;
    const fitting = this.about.snippets.filter((one) => one.roles === Boolean(this.between));
    fill(this.kind, ...fitting.map((one) => h("option", { text: one.title, attributes: { value: one.kind } })));
    this.kind.value = fitting.some((one) => one.kind === chosen) ? chosen : this.between ? "session" : "guard";
    fill(this.role, ...(this.between?.roles ?? []).map((role) => h("option", { text: role, attributes: { value: role } })));
    this.choose();
  }

  private choose(): void {
    this.whose.hidden = this.kind.value !== "role";
  }

  private image(make: (picture: Picture) => Blob | string | null, suffix: string, kind: string): void {
    const picture = this.picture();
    const made = picture ? make(picture) : null;
    if (made) download(`${work.name}.${suffix}`, made, kind);
    else warn("There is no machine to be drawn; mermaid draws protocols between roles.");
  }

  private async text(name: string, more: object): Promise<void> {
    try {
      const { text } = await ask<{ text: string }>(name, { text: work.text, ...more });
      fill(this.output, listing(text), button("copy", () => void copy(text, "The code")));
      tell("The code is shown below the buttons.");
      this.output.scrollIntoView({ block: "nearest" });
    } catch (error) {
      complain(error);
    }
  }

  private async link(): Promise<void> {
    const packed = await pack({ text: work.text, name: work.name });
    const address = `${location.origin}/#build&c=${packed}`;
    fill(this.output, labelled("Link", h("input", { attributes: { type: "text", readonly: true, value: address } }), "it holds the whole contract, and opens it in any studio that runs here"), button("copy", () => void copy(address, "The link")));
  }
}
