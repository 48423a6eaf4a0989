// A conversation between roles, walked through: the messages as a sequence diagram, each role's machine beside the others.

import { ask, type Move, type Protocol, type Talked } from "./api";
import { asking, VERDICTS } from "./asking";
import { button, fill, h, labelled, say, select } from "./dom";
import { Picture } from "./graph";
import { inline, markdown } from "./markdown";
import { clearWarning, complain, warn } from "./notices";
import { sequence } from "./sequence";
import { work } from "./state";

export class Conversation {
  private readonly now = h("section", { class: "card now" });
  private readonly moves = h("section", { class: "card moves" });
  private readonly form = h("div");
  private readonly log = h("section", { class: "card log" });
  private readonly told = h("section", { class: "card wide" });
  private readonly pictures = new Map<string, { picture: Picture; card: HTMLElement; heading: HTMLElement }>();

  constructor(
    head: HTMLElement,
    main: HTMLElement,
    private readonly protocol: Protocol,
  ) {
    const mode = select([["refuse", "refuse it and go on"], ["halt", "halt"]], work.mode, (value) => {
      work.mode = value as "refuse" | "halt";
      void this.talk();
    });
    head.append(labelled("After a violation", mode));
    const side = h("div", { class: "side" });
    for (const role of protocol.roles ?? []) {
      const picture = new Picture();
      const heading = h("h2", { text: role });
      const card = h("section", { class: "card" }, heading, picture.element);
      side.append(card);
      this.pictures.set(role, { picture, card, heading });
    }
    const whole = h(
      "details",
      { class: "card wide" },
      h("summary", {}, h("h2", { text: `The whole protocol ${protocol.name ?? ""}` })),
      sequence(protocol.name ?? "", protocol.roles ?? [], protocol.sequence ?? []),
    );
    fill(
      main,
      head,
      h(
        "div",
        { class: "columns" },
        h("div", { class: "left" }, this.now, this.moves, this.form),
        h("div", { class: "middle" }, this.told, side),
        h("div", { class: "right" }, this.log, this.replay()),
      ),
      whole,
      work.template ? h("section", { class: "card about" }, markdown(work.template.page, 2)) : null,
    );
    main.ondragover = (event) => event.preventDefault();
    main.ondrop = (event) => {
      event.preventDefault();
      void event.dataTransfer?.files[0]?.text().then((text) => this.take(text));
    };
  }

  async begin(): Promise<void> {
    await this.talk();
  }

  private async talk(next?: object): Promise<void> {
    try {
      const { text, mode, messages } = work;
      const talked = await ask<Talked>("talk", { text, protocol: this.protocol.name, mode, messages, next: next ?? null });
      const moved = next !== undefined && talked.messages.length > messages.length;
      work.messages = talked.messages;
      this.show(talked, moved);
    } catch (error) {
      complain(error);
    }
  }

  private show(talked: Talked, moved: boolean): void {
    const { now, turns } = talked;
    const focused = this.moves.contains(document.activeElement) || this.form.contains(document.activeElement);
    fill(this.form);
    if (talked.problem) warn(talked.problem);
    else clearWarning();
    const last = turns.at(-1);
    const blamed = last && last.verdict === "violation" ? last.blamed : [];
    fill(
      this.now,
      h("h2", { text: "Now" }),
      h("p", { class: `status ${now.status}` }, h("strong", { text: now.status })),
      ...now.under_way.map((one) => h("p", { class: "hint", text: `under way from ${one.sender} to ${one.receiver}: ${one.labels.join(", ")}` })),
      last && (moved || last.verdict !== "ok") ? this.verdict(last) : null,
    );
    if (moved && last) {
      const guilty = blamed.length ? ` To blame: ${blamed.join(" or ")}.` : "";
      say(`${last.text}: ${VERDICTS[last.verdict]}. ${last.explanation}${guilty}`);
    }
    const list = (moves: Move[], name: string) =>
      h("ul", { class: `actions ${name}` }, ...moves.map((move) => h("li", {}, button(move.text, () => this.choose(move), { class: `action send${name === "others" ? " other" : ""}` }))));
    fill(
      this.moves,
      h("h2", { text: "May be said now" }),
      now.moves.length ? list(now.moves, "allowed") : h("p", { text: now.over ? "Nothing: the conversation is over." : "Nothing more." }),
      now.over ? null : button("close the conversation", () => void this.talk({ move: "end", answers: [] }), { class: now.may_end ? "may-end" : "" }),
      now.others.length ? h("details", {}, h("summary", { text: `Not allowed now (${now.others.length}): try one` }), list(now.others, "others")) : null,
    );
    for (const one of now.roles) {
      const place = this.pictures.get(one.role);
      if (!place) continue;
      const guilty = blamed.includes(one.role);
      place.card.classList.toggle("blamed", guilty);
      fill(place.heading, one.role, guilty ? h("span", { class: "badge", text: "to blame" }) : null);
      place.picture.draw(one.graph, { current: [one.state], lit: new Set(one.lit) });
    }
    const rows = turns.filter((turn) => turn.label !== null).map((turn) => ({
      row: "message" as const,
      depth: 0,
      from: turn.sender,
      to: turn.receiver,
      text: turn.label ?? "",
      refused: turn.verdict !== "ok",
    }));
    fill(this.told, h("h2", { text: "What was said" }), sequence("this conversation", this.protocol.roles ?? [], rows));
    this.tell(turns);
    if (focused) this.moves.querySelector("button")?.focus();
  }

  private verdict(turn: Talked["turns"][number]): HTMLElement {
    return h(
      "div",
      { class: `verdict ${turn.verdict}` },
      h("p", {}, h("code", { text: turn.text }), " ", h("span", { class: "badge", text: VERDICTS[turn.verdict] ?? "" })),
      turn.explanation ? h("p", { class: "why" }, ...inline(turn.explanation)) : null,
      turn.blamed.length ? h("p", {}, "To blame: ", h("strong", { text: turn.blamed.join(" or ") })) : null,
    );
  }

  private choose(move: Move): void {
    if (!move.questions.length) {
      void this.talk({ move: move.word, answers: [] });
      return;
    }
    const form = asking(
      move,
      (answers) => void this.talk({ move: move.word, answers }),
      () => {
        fill(this.form);
        this.moves.querySelector("button")?.focus();
      },
    );
    fill(this.form, form);
    form.querySelector("input")?.focus();
  }

  private tell(turns: Talked["turns"]): void {
    const none = !work.messages.length;
    const back = (count: number) => {
      work.messages = work.messages.slice(0, Math.max(count, 0));
      say(count > 0 ? `back to ${count} messages` : "started again");
      void this.talk();
    };
    fill(
      this.log,
      h("h2", { text: "Messages" }),
      h(
        "div",
        { class: "row" },
        button("undo", () => back(work.messages.length - 1), { attributes: { disabled: none } }),
        button("reset", () => back(0), { attributes: { disabled: none } }),
      ),
      none ? h("p", { class: "hint", text: "Nothing has been said yet." }) : h("ol", { class: "turns", attributes: { tabindex: "0", "aria-label": "messages" } }, ...turns.map((turn) => h("li", { class: turn.verdict }, this.verdict(turn)))),
    );
  }

  private replay(): HTMLElement {
    const area = h("textarea", { attributes: { rows: "4", spellcheck: "false", placeholder: "Traveller -> Desk: Request {…}" } });
    const { template } = work;
    return h(
      "details",
      { class: "card" },
      h("summary", {}, h("h2", { text: "Replay a conversation" })),
      template ? h("div", { class: "row" }, button("the good run", () => void this.take(template.good)), button("the bad run", () => void this.take(template.bad))) : null,
      h("form", { onsubmit: (event) => { event.preventDefault(); void this.take(area.value); } }, labelled("Messages", area, "a line for each; a file can be dropped anywhere on the page"), h("button", { text: "replay", attributes: { type: "submit" } })),
    );
  }

  private async take(text: string): Promise<void> {
    try {
      work.messages = (await ask<{ messages: object[] }>("messages", { text })).messages;
      say(`${work.messages.length} messages are replayed`);
      await this.talk();
    } catch (error) {
      complain(error);
    }
  }
}
