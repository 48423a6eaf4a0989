// The picture edits the text: what can be done at a state, at a step and at a message between roles. The studio makes each
// change in the text; here is only what it is asked for.

import type { Described, GraphEdge, Message, Place, SequenceRow, Step } from "./api";
import { freshId, h, labelled, say, select, type Child } from "./dom";
import { DRAGGED, type Grips, type Target } from "./handles";
import { openForm, openMenu, type Anchor, type Item, type Problem } from "./menu";

export interface Changes {
  described: () => Described | null;
  /** Ask for a change of the text; what came in its way, if it was refused. */
  change: (request: object, said: string) => Promise<Problem | null>;
  /** Say what came in the way where no form is open. */
  refuse: (problem: Problem) => void;
  /** Choose a stretch of the text, so that it is seen. */
  show: (span: [number, number]) => void;
  words: HTMLDataListElement;
}

const RULES: [string, string][] = [
  ["before", "before it … must have happened"],
  ["before each", "before each of it … must have happened, anew"],
  ["after", "after it … must happen before the end"],
  ["after each", "after each of it … must happen"],
  ["after forbid", "after it never …"],
  ["then", "right after it never …"],
  ["at most", "at most so many times"],
  ["within", "within a time after it … must happen"],
];

export class Changing {
  constructor(private readonly on: Changes) {}

  get grips(): Grips {
    return {
      name: (target) => this.name(target),
      pick: (target, anchor) => this.pick(target, anchor),
      drop: (target, side, label, anchor) => this.drop(target, side, label, anchor),
    };
  }

  private name(target: Target): string | null {
    if (target.kind === "word") return target.edge.steps?.length ? `${target.edge.text}, from state ${target.edge.from} to ${target.edge.to}` : null;
    const { id, stop, places } = target.node;
    const may = stop === "end" ? ", may end" : stop === "pause" ? ", may pause" : "";
    return places?.length ? `state ${id}${may}` : null;
  }

  private pick(target: Target, anchor: Anchor): void {
    if (target.kind === "state") this.state(target.node.places ?? [], `State ${target.node.id}`, anchor);
    else this.which(target.edge, anchor, (step) => this.step(step, target.edge, anchor));
  }

  private drop(target: Target, side: "before" | "after", label: string, anchor: Anchor): void {
    const put = { sign: "!", label };
    const said = `${label} was put in`;
    if (target.kind === "state") this.place(target.node.places ?? [], anchor, (place) => void this.now({ change: place.change, at: place.at, put }, said));
    else this.which(target.edge, anchor, (step) => void this.now({ change: side, at: step.number, put }, said));
  }

  /** A change that needs no form. */
  private async now(request: object, said: string): Promise<void> {
    const problem = await this.on.change(request, said);
    if (problem) this.on.refuse(problem);
  }

  /** An arrow may stand for several steps of the text. */
  private which(edge: GraphEdge, anchor: Anchor, then: (step: Step) => void): void {
    const steps = this.on.described()?.steps.filter((step) => edge.steps?.includes(step.number)) ?? [];
    if (steps.length > 1) openMenu(`${edge.text} stands in the text ${steps.length} times`, steps.map((step) => ({ text: `line ${step.line}, column ${step.column}`, run: () => then(step) })), anchor);
    else if (steps[0]) then(steps[0]);
  }

  private place(places: Place[], anchor: Anchor, then: (place: Place) => void): void {
    if (places.length > 1) openMenu("Where in the text", places.map((place) => ({ text: place.text, run: () => then(place) })), anchor);
    else if (places[0]) then(places[0]);
  }

  private state(places: Place[], title: string, anchor: Anchor): void {
    const at = (then: (place: Place) => void) => () => this.place(places, anchor, then);
    const inner = places.filter((place) => place.change === "before");
    const items: Item[] = [
      { text: "Insert a step here…", run: at((place) => this.put("Insert a step", place.change, place.at, anchor)) },
    ];
    if (inner.length) {
      const among = (then: (place: Place) => void) => () => this.place(inner, anchor, then);
      items.push({ text: "Add an alternative here…", run: among((place) => this.put("Add an alternative", "beside", place.at, anchor)) });
      items.push({ text: "Let the session end here", run: among((place) => void this.now({ change: "may end", at: place.at }, "the session may end there")) });
    }
    openMenu(title, items, anchor);
  }

  private step(step: Step, edge: GraphEdge, anchor: Anchor): void {
    const at = step.number;
    const one = (text: string, change: string, said: string): Item => ({ text, run: () => void this.now({ change, at }, said) });
    const put = (text: string, change: string): Item => ({ text: `${text}…`, run: () => this.put(text, change, at, anchor) });
    const items = [
      put("Insert a step after", "after"),
      put("Insert a step before", "before"),
      put("Add an alternative", "beside"),
      put("Add a step side by side", "parallel"),
      one("Make it optional", "optional", `${step.word} is optional`),
      one("Repeat it any number of times", "repeat", `${step.word} can be repeated`),
      { text: "After it, go back to…", run: () => this.back(step, anchor) },
      { text: "Conditions, person, deadline…", run: () => this.details(step, anchor) },
      { text: "Rename…", run: () => this.rename(step.label, at, anchor) },
      { text: "Add a rule about it…", run: () => this.rule(step.label, anchor) },
      { text: "Show it in the text", run: () => this.on.show(step.span) },
      one(step.branch ? "Delete this branch" : "Delete it", "remove", `${step.word} is gone`),
    ];
    openMenu(edge.kind === "late" ? `Deadline of ${step.word}` : step.word, edge.kind === "late" ? items.filter((item) => /deadline|text/i.test(item.text)) : items, anchor);
  }

  // -- forms -----------------------------------------------------------------------------------------------------------

  private text(value = "", more: Record<string, string> = {}): HTMLInputElement {
    const input = h("input", { attributes: { type: "text", spellcheck: "false", autocomplete: "off", ...more } });
    input.value = value;
    return input;
  }

  private label(value = ""): HTMLInputElement {
    return this.text(value, { list: this.on.words.id });
  }

  private check(text: string, on: boolean): { field: HTMLElement; box: HTMLInputElement } {
    const box = h("input", { id: freshId("check"), attributes: { type: "checkbox" } });
    box.checked = on;
    return { box, field: h("div", { class: "check" }, box, h("label", { text, attributes: { for: box.id } })) };
  }

  /** A step that is put in. */
  put(title: string, change: string, at: number, anchor: Anchor): void {
    const sign = select([["!", "! the agent does it"], ["?", "? it reaches the agent"]], "!", () => undefined);
    const label = this.label();
    const guards = this.text("", { placeholder: "amount <= 100, id as order" });
    const person = this.check("only a person can make this step", false);
    openForm(
      title,
      "put it in",
      [labelled("Label", label, "a tool, or what comes back"), labelled("Direction", sign), labelled("Conditions", guards, "may be left empty"), person.field],
      () => this.on.change({ change, at, put: { sign: sign.value, label: label.value, guards: guards.value, gated: person.box.checked } }, `${label.value} was put in`),
      anchor,
    );
  }

  private back(step: Step, anchor: Anchor): void {
    const earlier = (this.on.described()?.steps ?? []).filter((one) => one.protocol === step.protocol && one.number <= step.number);
    const to = select(earlier.map((one): [string, string] => [String(one.number), `${one.word}, line ${one.line}`]), String(earlier[0]?.number ?? ""), () => undefined);
    openForm(`After ${step.word}`, "go back there", [labelled("Back to where this is waited for", to)], () => this.on.change({ change: "back", at: step.number, to: Number(to.value) }, `${step.word} leads back`), anchor);
  }

  private details(step: Step, anchor: Anchor): void {
    const guards = this.text(step.guards, { placeholder: "amount <= 100, id as order" });
    const person = this.check("only a person can make this step", step.gated);
    const within = this.text(step.within, { placeholder: "24h" });
    const late = this.text(step.otherwise, { placeholder: "end" });
    openForm(
      step.word,
      "change it",
      [
        labelled("Conditions on what it carries", guards),
        person.field,
        labelled(step.branch ? "One of the branches must happen within" : "It must happen within", within, "left empty, there is no deadline"),
        labelled("Else", late, "what happens when the time is over"),
      ],
      () => this.on.change({ change: "details", at: step.number, put: { sign: step.sign, label: step.label, guards: guards.value, gated: person.box.checked, within: within.value, otherwise: within.value.trim() || !step.within ? late.value : "" } }, `${step.word} was changed`),
      anchor,
    );
  }

  private rename(old: string, at: number | null, anchor: Anchor): void {
    const name = this.label(old);
    const where = select([["rename everywhere", "everywhere in the contract"], ["rename", "this step alone"]], "rename everywhere", () => undefined);
    openForm(
      `Rename ${old}`,
      "rename it",
      [labelled("New name", name), at === null ? null : labelled("Where", where)],
      () => this.on.change({ change: where.value, at: at ?? 0, what: name.value, put: { sign: "!", label: old } }, `${old} is ${name.value} now`),
      anchor,
    );
  }

  rule(about: string, anchor: Anchor): void {
    const first = this.label(about);
    const second = this.label();
    const number = this.text("", { placeholder: "3, or 24h" });
    const name = this.text("", { placeholder: "confirm first" });
    const fields = [labelled("The other label", second, "with conditions if you like"), labelled("How many, or how long", number)] as const;
    const fit = () => {
      fields[0].hidden = kind.value === "at most";
      fields[1].hidden = kind.value !== "at most" && kind.value !== "within";
    };
    const kind = select(RULES, "before", fit);
    fit();
    openForm(
      about ? `A rule about ${about}` : "A rule",
      "add the rule",
      [labelled("Label", first), labelled("Kind", kind), ...fields, labelled("Name", name, "how refusals call it")],
      () => this.on.change({ change: "rule", rule: { kind: kind.value, first: first.value, second: second.value, number: number.value, name: name.value } }, "the rule was added"),
      anchor,
    );
  }

  // -- between roles ---------------------------------------------------------------------------------------------------

  message(row: SequenceRow, anchor: Anchor): void {
    const message = this.on.described()?.messages.find((one) => one.number === row.exchange);
    if (!message) return;
    const at = message.number;
    const put = (text: string, change: string): Item => ({ text: `${text}…`, run: () => this.say(text, change, at, null, anchor, message) });
    openMenu(
      `${message.sender} → ${message.receiver}: ${message.label}`,
      [
        put("Insert a message after", "message after"),
        put("Insert a message before", "message before"),
        put("Add an alternative", "message beside"),
        { text: "Repeat it any number of times", run: () => void this.now({ change: "message repeat", at }, `${message.label} can be repeated`) },
        { text: "Change from, to, label, payload…", run: () => this.say("Change the message", "message change", at, message, anchor, message) },
        { text: "Rename…", run: () => this.rename(message.label, null, anchor) },
        { text: "Add a rule about it…", run: () => this.rule(message.label, anchor) },
        { text: "Show it in the text", run: () => this.on.show(message.span) },
        { text: "Delete it", run: () => void this.now({ change: "message remove", at }, `${message.label} is gone`) },
      ],
      anchor,
    );
  }

  private say(title: string, change: string, at: number, now: Message | null, anchor: Anchor, near: Message | null): void {
    const known = [...new Set((this.on.described()?.messages ?? []).flatMap((one) => [one.sender, one.receiver]))];
    const list = h("datalist", { id: freshId("roles") }, ...known.map((role) => h("option", { attributes: { value: role } })));
    const role = (value: string) => this.text(value, { list: list.id });
    const sender = role(now?.sender ?? (change === "message beside" ? (near?.sender ?? "") : ""));
    const receiver = role(now?.receiver ?? "");
    const label = this.label(now?.label);
    const carried = this.text(now?.fields, { placeholder: "city: String, price: Int" });
    const name = this.text("Main");
    const begins: Child = change === "begin roles" ? labelled("Name of the protocol", name) : null;
    openForm(
      title,
      now ? "change it" : "put it in",
      [begins, labelled("From", sender), labelled("To", receiver), labelled("Label", label), labelled("Payload", carried, "fields of its record; may be left empty"), list],
      () => this.on.change({ change, at, what: change === "begin roles" ? name.value : "", message: { sender: sender.value, receiver: receiver.value, label: label.value, fields: carried.value } }, `${label.value} was put in`),
      anchor,
    );
  }

  beginRoles(anchor: Anchor): void {
    this.say("A protocol between roles", "begin roles", 0, null, anchor, null);
  }
}

/** A tool that can be dragged into the picture. */
export function draggable(element: HTMLElement, label: string): void {
  element.draggable = true;
  element.addEventListener("dragstart", (event) => {
    event.dataTransfer?.setData(DRAGGED, label);
    event.dataTransfer?.setData("text/plain", label);
    say(`${label} is held over the picture; drop it on a state or a word`);
  });
}
