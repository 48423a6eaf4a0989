// Step: walk through a contract. Every verdict comes from the studio; this file shows it and asks for the next.

import { ask, type About, type Described, type EventLine, type Move, type Turn, type Walked } from "./api";
import { asking, VERDICTS } from "./asking";
import { Conversation } from "./crew";
import { button, fill, h, labelled, refresh, say, select } from "./dom";
import { copy } from "./giving";
import { Picture } from "./graph";
import { inline, markdown } from "./markdown";
import { clearWarning, complain, warn } from "./notices";
import { Chooser, openTemplate } from "./opening";
import { work } from "./state";

const SIGNS: Record<Move["kind"], string> = { send: "the agent does", receive: "reaches the agent", gate: "a person decides" };

export async function step(main: HTMLElement, about: About): Promise<void> {
  if (!work.text) await openTemplate(about.templates.find((one) => one.name === "booking")?.name ?? about.templates[0]!.name);
  const described = await ask<Described>("contract", { text: work.text });
  const head = h("section", { class: "card bar" }, h("h2", { class: "hidden", text: "Contract" }), new Chooser(about).element);
  if (!described.ok) {
    const findings = described.findings.map((finding) => h("pre", { class: "finding", text: finding.text }));
    const link = h("p", {}, "It is mended on the page ", h("a", { text: "Build", attributes: { href: "#build" } }), ".");
    fill(main, head, h("section", { class: "card" }, h("h2", { text: "The contract has errors" }), ...findings, link));
    return;
  }
  const names = described.protocols;
  const chosen = names.find((one) => one.name === work.protocol) ?? names[0]!;
  work.protocol = names.length > 1 ? chosen.name : null;
  if (names.length > 1) {
    const options = names.map((one): [string, string] => [one.name ?? "", one.name ?? "protocol"]);
    head.append(labelled("Protocol", select(options, chosen.name ?? "", (name) => { work.protocol = name; work.events = []; work.messages = []; refresh(); })));
  }
  if (chosen.kind === "roles") {
    await new Conversation(head, main, chosen).begin();
    return;
  }
  const walker = new Walker(head, main);
  await walker.begin();
}

/** One session on the page. */
class Walker {
  private readonly picture = new Picture();
  private readonly now = h("section", { class: "card now" });
  private readonly moves = h("section", { class: "card moves" });
  private readonly log = h("section", { class: "card log" });
  private readonly held = h("section", { class: "card held" });
  private readonly form = h("div");
  private everything = false;
  private busy = false;

  constructor(head: HTMLElement, main: HTMLElement) {
    const mode = select([["refuse", "refuse it and go on"], ["halt", "halt"]], work.mode, (value) => {
      work.mode = value as "refuse" | "halt";
      void this.walk();
    });
    head.append(labelled("After a violation", mode));
    const machine = h("section", { class: "card machine" }, h("h2", { text: "Machine" }), this.picture.element);
    fill(main, head, h("div", { class: "columns" }, h("div", { class: "left" }, this.now, this.moves, this.form), h("div", { class: "middle" }, machine, this.held), h("div", { class: "right" }, this.log, this.replay())), this.about());
    main.ondragover = (event) => event.preventDefault();
    main.ondrop = (event) => {
      event.preventDefault();
      const file = event.dataTransfer?.files[0];
      if (file) void file.text().then((text) => this.take(text));
    };
  }

  async begin(): Promise<void> {
    await this.walk();
  }

  private async walk(next?: object): Promise<void> {
    if (this.busy) return;
    this.busy = true;
    try {
      const { text, protocol, mode, events } = work;
      const walked = await ask<Walked>("walk", { text, protocol, mode, events, next: next ?? null, everything: this.everything });
      const before = work.events.length;
      work.events = walked.events;
      this.show(walked, next !== undefined && walked.events.length > before);
    } catch (error) {
      complain(error);
    } finally {
      this.busy = false;
    }
  }

  private show(walked: Walked, moved: boolean): void {
    const { now, turns } = walked;
    const focused = this.moves.contains(document.activeElement) || this.form.contains(document.activeElement);
    fill(this.form);
    if (walked.problem) warn(walked.problem);
    else clearWarning();
    const last = turns.at(-1);
    const status = h("p", { class: `status ${now.status}` }, h("strong", { text: now.status }), now.outcome ? `: ${now.outcome}` : "");
    const verdict = last && (moved || last.verdict !== "ok") ? this.verdict(last) : null;
    fill(this.now, h("h2", { text: "Now" }), status, now.clock ? h("p", { class: "clock", text: `Time ${now.clock}` }) : null, verdict);
    if (moved && last) say(`${last.text}: ${VERDICTS[last.verdict]}. ${last.explanation} The session is ${now.status}.`);
    this.offer(walked);
    if (now.graph) {
      const lit = new Set(now.moves.map((move) => move.word));
      const everything = [...now.moves, ...now.others];
      this.picture.element.hidden = false;
      this.picture.draw(now.graph, {
        current: now.states,
        lit,
        grips: {
          name: (target) => {
            const move = target.kind === "word" ? everything.find((one) => one.word === target.edge.word) : undefined;
            if (!move || target.kind !== "word") return null;
            const { from, text, to } = target.edge;
            return `${text}, from state ${from} to ${to}${now.states.includes(from) && lit.has(move.word) ? ", may happen now" : ""}`;
          },
          pick: (target) => {
            const move = target.kind === "word" ? everything.find((one) => one.word === target.edge.word) : undefined;
            if (move) this.choose(move);
          },
        },
        onMore: () => {
          this.everything = true;
          void this.walk();
        },
      });
    } else this.picture.element.hidden = true;
    this.hold(walked);
    this.tell(turns);
    if (focused && !walked.problem) (this.moves.querySelector("button") ?? this.log.querySelector("button"))?.focus();
  }

  private verdict(turn: Turn): HTMLElement {
    return h(
      "div",
      { class: `verdict ${turn.verdict}` },
      h("p", {}, h("code", { text: turn.text }), " ", h("span", { class: "badge", text: VERDICTS[turn.verdict] ?? "" })),
      turn.explanation ? h("p", { class: "why" }, ...inline(turn.explanation)) : null,
    );
  }

  private offer({ now }: Walked): void {
    const list = (moves: Move[], name: string) =>
      h("ul", { class: `actions ${name}` }, ...moves.map((move) => h("li", {}, this.action(move, name === "others"))));
    const extra = h("div", { class: "row" });
    if (!now.over) {
      extra.append(button("close the session", () => this.choose({ word: "end", text: "close", kind: "send", questions: now.asks_time }), { class: now.may_end ? "may-end" : "" }));
      if (now.timed) extra.append(button("let time pass", () => this.choose({ word: "tick", text: "let time pass", kind: "receive", questions: now.asks_time })));
    }
    const typed = h("input", { attributes: { type: "text", placeholder: '!pay {"amount": 3}', spellcheck: "false", autocomplete: "off" } });
    const typing = h("form", { class: "try", onsubmit: (event) => { event.preventDefault(); void this.walk({ text: typed.value }); } }, labelled("Try any event", typed, "such as !Ask, ?Approval by ana, @12.5 !Ask"), h("button", { text: "try it", attributes: { type: "submit" } }));
    const anything = now.anything ? h("p", { class: "hint", text: now.graph ? "Whatever the protocol does not name may happen too." : "There is no protocol: whatever the rules do not forbid may happen." }) : null;
    fill(
      this.moves,
      h("h2", { text: "May happen now" }),
      now.moves.length ? list(now.moves, "allowed") : h("p", { text: now.over ? "Nothing: the session is over. Undo or start again." : "Nothing that the contract names." }),
      anything,
      extra,
      now.others.length ? h("details", {}, h("summary", { text: `Not allowed now (${now.others.length}): try one` }), list(now.others, "others")) : null,
      now.over ? null : typing,
    );
  }

  private action(move: Move, other: boolean): HTMLElement {
    return button(move.text, () => this.choose(move), {
      class: `action ${move.kind}${other ? " other" : ""}`,
      attributes: { title: SIGNS[move.kind], "aria-haspopup": move.questions.length ? "dialog" : undefined },
    });
  }

  /** An action was chosen: it is taken, or first asked for what it needs. */
  private choose(move: Move): void {
    if (!move.questions.length) {
      void this.walk({ move: move.word, answers: [] });
      return;
    }
    const form = asking(
      move,
      (answers) => void this.walk({ move: move.word, answers }),
      () => {
        fill(this.form);
        this.moves.querySelector("button")?.focus();
      },
    );
    fill(this.form, form);
    form.querySelector("input")?.focus();
  }

  private hold({ now }: Walked): void {
    const parts: HTMLElement[] = [];
    if (now.rules.length) {
      const rows = now.rules.map((rule) =>
        h("li", {}, h("strong", { text: rule.name }), rule.owed ? h("span", { class: "badge owed", text: "owed" }) : "", h("code", { text: rule.text }), ...rule.seen.map((line) => h("p", { class: "hint", text: line }))),
      );
      parts.push(h("h2", { text: "Rules" }), h("ul", { class: "rules" }, ...rows));
    }
    if (now.registers.length) {
      const rows = now.registers.flatMap((one) => [h("dt", { text: one.name }), h("dd", { text: one.value ?? "not bound yet" })]);
      parts.push(h("h2", { text: now.registers_of ? `Registers of ${now.registers_of}` : "Registers" }), h("dl", {}, ...rows));
    }
    if (now.instances.length) {
      parts.push(h("h2", { text: "Instances" }), h("dl", {}, ...now.instances.flatMap((one) => [h("dt", { text: one.key }), h("dd", { text: one.text })])));
    }
    this.held.hidden = !parts.length;
    fill(this.held, ...parts);
  }

  private tell(turns: Turn[]): void {
    const first = work.events.length - turns.length;
    const rows = turns.map((turn, index) =>
      h(
        "li",
        { class: turn.verdict },
        h("div", { class: "row" }, h("code", { text: turn.text }), h("span", { class: "badge", text: VERDICTS[turn.verdict] ?? "" })),
        turn.explanation && turn.verdict !== "ok" ? h("p", { class: "why" }, ...inline(turn.explanation)) : null,
        index === turns.length - 1 ? null : button("back to here", () => this.back(first + index + 1), { class: "quiet", attributes: { "aria-label": `back to here: ${turn.text}` } }),
      ),
    );
    const list = h("ol", { class: "turns", attributes: { start: String(first + 1), tabindex: "0", "aria-label": "events" } }, ...rows);
    const none = !work.events.length;
    fill(
      this.log,
      h("h2", { text: "Events" }),
      h(
        "div",
        { class: "row" },
        button("undo", () => this.back(work.events.length - 1), { attributes: { disabled: none } }),
        button("reset", () => this.back(0), { attributes: { disabled: none } }),
        button("copy", () => void copy(work.events.join("\n"), "The trace"), { attributes: { disabled: none } }),
      ),
      none ? h("p", { class: "hint", text: "Nothing has happened yet." }) : list,
    );
    list.scrollTop = list.scrollHeight;
  }

  private back(count: number): void {
    work.events = work.events.slice(0, Math.max(count, 0));
    say(count ? `back to ${count} events` : "started again");
    void this.walk();
  }

  private replay(): HTMLElement {
    const area = h("textarea", { attributes: { rows: "4", spellcheck: "false", placeholder: "!search ?results …" } });
    const runs = work.template ? h("div", { class: "row" }, button("the good run", () => void this.take(work.template?.good ?? "")), button("the bad run", () => void this.take(work.template?.bad ?? ""))) : null;
    return h(
      "details",
      { class: "card" },
      h("summary", {}, h("h2", { text: "Replay a trace" })),
      runs,
      h("form", { onsubmit: (event) => { event.preventDefault(); void this.take(area.value); } }, labelled("Events", area, "as words or JSON lines, as `accord replay` reads them; a file can be dropped anywhere on the page"), h("button", { text: "replay", attributes: { type: "submit" } })),
    );
  }

  private async take(text: string): Promise<void> {
    try {
      work.events = (await ask<{ events: EventLine[] }>("events", { text })).events;
      say(`${work.events.length} events are replayed`);
      await this.walk();
    } catch (error) {
      complain(error);
    }
  }

  private about(): HTMLElement | null {
    if (!work.template) return null;
    return h("section", { class: "card about" }, markdown(work.template.page, 2), h("details", {}, h("summary", { text: "The contract" }), h("pre", { attributes: { tabindex: "0" } }, h("code", { text: work.text }))));
  }
}

