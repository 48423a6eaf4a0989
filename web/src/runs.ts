// Runs: recorded runs held against the contract; counts, a list, and one run message by message with its path drawn.

import { ask, follow, Lost, Refusal, upload, type About, type Described, type Edge, type Judged, type OneRun, type Inquiry, type Run, type Status } from "./api";
import { answered, auditIn, excerptKey, STATUSES, type Audited } from "./audited";
import { button, fill, h, labelled, say, select } from "./dom";
import { Picture } from "./graph";
import { inline } from "./markdown";
import { complain, warn } from "./notices";
import { Chooser, openTemplate } from "./opening";
import { work } from "./state";

/** A file that was opened: its name, what it holds, and the name that the studio has given to its content. */
interface Opened {
  name: string;
  blob: Blob;
  file: string;
}

/** A file of which no run is in any figure, and what to do about it. */
interface Failed {
  name: string;
  reason: string;
  command: string;
}

const DRAWN = 30;
const MEGABYTE = 1_000_000;
const PAGE = 200;
/** How the studio calls values that there is no room for. */
const OTHERS = "(others)";
const ANY: Inquiry = { by: "", status: "", value: null, search: "", first: 0 };

/** What was opened last, so that coming back to the page finds it. */
let files: Opened[] = [];
let failed: Failed[] = [];
let audited: string | null = null;

export async function runs(main: HTMLElement, about: About): Promise<() => void> {
  if (!work.text) await openTemplate(about.templates[0]!.name);
  const bench = new Bench(main, about);
  await bench.begin();
  return () => void bench.judge();
}

class Bench {
  private readonly trouble = h("div");
  private readonly working = h("div");
  private readonly far = h("p");
  private readonly sums = h("section", { class: "card" });
  private readonly list = h("section", { class: "card" });
  private readonly one = h("section", { class: "card one" });
  private readonly machine = h("section", { class: "card machine" });
  private readonly picture = new Picture();
  private readonly asked = ask<Described>("contract", { text: work.text });
  private described: Described | null = null;
  private audit: Audited | null = null;
  /** The files that were judged, as the studio was asked about them. */
  private judged: Opened[] = [];
  private result: Judged | null = null;
  private question = ANY;
  private shown: string | null = null;
  /** Ends the judging that is under way. */
  private ending = new AbortController();

  constructor(
    private readonly main: HTMLElement,
    private readonly about: About,
  ) {}

  async begin(): Promise<void> {
    const file = h("input", { attributes: { type: "file", multiple: true }, onchange: () => void this.open([...(file.files ?? [])]) });
    const head = h(
      "section",
      { class: "card bar" },
      h("h2", { class: "hidden", text: "Contract and runs" }),
      new Chooser(this.about).element,
      labelled("Recorded runs", file, `of any format that accord reads, up to ${this.about.upload_bytes / MEGABYTE} MB, or a result of accord audit --json; files can be dropped anywhere on the page`),
    );
    fill(this.main, head, this.working, this.trouble, h("div", { class: "columns" }, h("div", { class: "left" }, this.sums, this.list), h("div", { class: "middle" }, this.machine, this.one)));
    this.main.ondragover = (event) => event.preventDefault();
    this.main.ondrop = (event) => {
      event.preventDefault();
      void this.open([...(event.dataTransfer?.files ?? [])]);
    };
    this.described = await this.asked;
    if (!this.described.ok) {
      warn("The contract has errors; they are mended on the page Build.");
      return;
    }
    const local = this.described.protocols.filter((one) => one.graph);
    this.shown = local.find((one) => one.name === work.protocol)?.name ?? local[0]?.name ?? null;
    if (local.length > 1) head.append(labelled("Protocol", select(local.map((one): [string, string] => [one.name ?? "", one.name ?? ""]), this.shown ?? "", (name) => { this.shown = name; void this.judge(); })));
    await this.judge();
  }

  private async open(chosen: File[]): Promise<void> {
    if (!chosen.length) return;
    try {
      const [first] = chosen;
      const most = this.about.upload_bytes;
      const text = chosen.length === 1 && first!.name.endsWith(".json") && first!.size <= most ? await first!.text() : "";
      [files, failed, audited] = [[], [], auditIn(text, undefined) ? text : null];
      for (const file of audited ? [] : chosen) {
        if (file.size > most) {
          failed.push({ name: file.name, reason: `${file.name} is larger than ${most / MEGABYTE} MB. Audit it in a terminal, and open the result here:`, command: `accord audit ${work.name}.accord ${file.name} --json > result.json` });
          continue;
        }
        this.wait(`${file.name} is being read`);
        try {
          files.push({ name: file.name, blob: file, file: await upload(file) });
        } catch (error) {
          this.note(file.name, error);
        }
      }
      this.question = ANY;
      await this.judge();
    } catch (error) {
      complain(error);
    } finally {
      fill(this.working);
    }
  }

  /** A file could not be judged, and the others can. */
  private note(name: string, error: unknown): void {
    if (!(error instanceof Refusal) || error instanceof Lost) throw error;
    failed.push({ name, reason: `${name} was not judged: ${error.message}`, command: error.text });
  }

  private wait(sentence: string): void {
    fill(this.far, sentence);
    if (!this.working.firstChild) fill(this.working, h("section", { class: "card working" }, h("progress", { attributes: { "aria-label": "judging" } }), this.far, button("stop", () => this.ending.abort())));
  }

  /** Judge all files that are open, one by one, and show what there is to know about them. */
  async judge(): Promise<void> {
    if (!this.described?.ok) return;
    this.ending.abort();
    const { signal } = (this.ending = new AbortController());
    this.result = null;
    this.audit = audited ? auditIn(audited, this.described?.digest) : null;
    failed = failed.filter((one) => !files.some((file) => file.name === one.name));
    const fine: Opened[] = [];
    try {
      for (const file of files) {
        this.wait(`${file.name} is being judged`);
        const far = ({ judged }: { judged: number }) => {
          if (this.main.isConnected) this.wait(`${file.name}: ${judged} runs judged so far`);
          else this.ending.abort();
        };
        try {
          await this.again(() => follow<object, { judged: number }>("judge", { text: work.text, protocol: this.shown, file: named(file) }, far, signal));
          fine.push(file);
        } catch (error) {
          if (signal.aborted) throw error;
          this.note(file.name, error);
        }
      }
      this.judged = fine;
      if (this.audit || fine.length) await this.answer();
      this.show();
      if (this.result) say(`${total((this.result as Judged).statuses)} runs, ${(this.result as Judged).statuses.violating} of them violating`);
    } catch (error) {
      if (!signal.aborted) complain(error);
      else if (signal === this.ending.signal && this.main.isConnected) {
        this.show();
        warn("Judging was stopped; nothing is counted.");
      }
    } finally {
      if (signal === this.ending.signal) fill(this.working);
    }
  }

  /** Ask what the page is to show. */
  private async answer(): Promise<void> {
    if (this.audit) this.result = answered(this.audit, this.question);
    else {
      const told = await this.again(() => ask<Judged>("runs", { text: work.text, protocol: this.shown, files: this.judged.map(named), ...this.question }));
      this.result = { ...told, lacks: [], never: [], excerpts: new Map() };
    }
  }

  /** Other runs of the same files, or the same counted by another key. */
  private async turn(change: Partial<Inquiry>): Promise<void> {
    this.question = { ...this.question, first: 0, ...change };
    try {
      await this.answer();
      this.count();
      this.rows();
    } catch (error) {
      complain(error);
    }
  }

  /** The studio may have let files go, or have been started anew: they are sent once more, and it is asked again. */
  private async again<T>(request: () => Promise<T>): Promise<T> {
    try {
      return await request();
    } catch (error) {
      if (!(error instanceof Refusal) || !error.message.includes("not here any more")) throw error;
      for (const one of files) one.file = await upload(one.blob);
      return request();
    }
  }

  private show(): void {
    this.count();
    this.rows();
    this.heat(this.result?.traffic ?? [], []);
    fill(this.one, h("h2", { text: "One run" }), h("p", { class: "hint", text: "Choose a run in the list." }));
  }

  private heat(traffic: Edge[], path: number[]): void {
    const protocols = this.described?.protocols ?? [];
    const protocol = protocols.find((one) => one.graph && one.name === this.shown) ?? protocols.find((one) => one.graph);
    if (!protocol?.graph) {
      const why = protocols.some((one) => one.kind === "roles") ? "Runs are those of one agent. The protocol is between roles; accord project writes the contract of each, and runs are held against that." : "The contract has rules alone, so there is no machine to draw paths on.";
      fill(this.machine, h("h2", { text: "Machine" }), h("p", { class: "hint", text: why }));
      return;
    }
    const key = (edge: { from: number; word: string; to: number }) => `${edge.from} ${edge.word} ${edge.to}`;
    const heat = new Map(traffic.map((edge) => [key(edge), edge.times]));
    const about = this.result?.lacks.length ? "Dashed words were never reached by any run." : traffic.length ? "The number behind a word says how often it was taken." : "";
    fill(this.machine, h("h2", { text: "Machine" }), this.picture.element, about ? h("p", { class: "hint", text: about }) : null);
    this.picture.draw(protocol.graph, { heat, path: new Set(path), never: new Set(this.result?.never.map(key)) });
  }

  /** What is in no figure, in red, before any figure. */
  private lament(): void {
    const result = this.result;
    const missing = failed.map((one) => h("div", {}, h("p", { text: one.reason }), one.command ? h("pre", { text: one.command }) : null));
    if (result?.unreadable) {
      const rest = result.unreadable - result.broken.length;
      const rows = result.broken.map((one) => h("li", { text: `${one.file}${one.line ? `:${one.line}` : ""}: ${one.reason}` }));
      missing.push(h("div", {}, h("p", {}, h("strong", { text: `${result.unreadable} could not be read or judged` }), ", and not counted below."), h("ul", {}, ...rows, rest > 0 ? h("li", { text: `and ${rest} more` }) : null)));
    }
    fill(this.trouble, missing.length ? h("section", { class: "card complaint missing", attributes: { role: "alert" } }, ...missing) : null);
  }

  private count(): void {
    this.lament();
    const result = this.result;
    if (!result) {
      fill(this.sums, h("h2", { text: "Runs" }), h("p", { class: "hint", text: "Open files of recorded runs, or drop them here." }));
      return;
    }
    const every = total(result.statuses);
    const drawn = result.groups.slice(0, DRAWN);
    const rest = result.groups.slice(DRAWN);
    const bars = [this.bar("all runs", result.statuses, every), ...drawn.map((group) => this.bar(group.value || "none", group.statuses, every))];
    if (rest.length) {
      const sum = (status: Status) => rest.reduce((all, group) => all + group.statuses[status], 0);
      bars.push(this.bar(`${rest.length} more values`, { conforming: sum("conforming"), violating: sum("violating"), incomplete: sum("incomplete"), unrecognised: sum("unrecognised") }, every));
    }
    const legend = h("ul", { class: "legend" }, ...STATUSES.map((status) => h("li", { class: status, text: `${status} ${result.statuses[status]}` })));
    const chooser = result.keys.length ? labelled("Counted by", select(result.keys.map((key): [string, string] => [key, key]), result.by, (by) => void this.turn({ by, value: null }))) : null;
    const unmatched = Object.entries(result.unmatched).map(([name, times]) => `${name} (${times})`).join(", ");
    fill(this.sums, h("h2", { text: `${every} runs` }), ...result.lacks.map((text) => h("p", { class: "hint", text })), legend, chooser, h("table", { class: "bars" }, h("tbody", {}, ...bars)), unmatched ? h("p", { class: "hint", text: `Not named by the contract: ${unmatched}` }) : null);
  }

  /** One bar: the share of each status, in a row whose numbers can be read. */
  private bar(name: string, of: Record<Status, number>, all: number): HTMLElement {
    const bar = h("div", { class: "bar-of" });
    const parts: string[] = [];
    for (const status of STATUSES) {
      const count = of[status];
      if (!count) continue;
      const part = h("span", { class: status, attributes: { "aria-hidden": "true" } });
      part.style.width = `${(100 * count) / all}%`;
      bar.append(part);
      parts.push(`${count} ${status}`);
    }
    return h("tr", {}, h("th", { text: name, attributes: { scope: "row" } }), h("td", {}, bar, h("span", { class: "hint", text: parts.join(", ") })));
  }

  private rows(): void {
    const result = this.result;
    this.list.hidden = !result;
    if (!result) return;
    const { question } = this;
    const search = h("input", { attributes: { type: "search", value: question.search }, onchange: () => void this.turn({ search: search.value }) });
    const table = h("table", { class: "runs" }, h("thead", {}, h("tr", {}, ...["Run", "Status", "First violation"].map((text) => h("th", { text, attributes: { scope: "col" } })))));
    const body = h("tbody");
    for (const run of result.runs) {
      body.append(
        h(
          "tr",
          {},
          h("th", { attributes: { scope: "row" } }, button(run.run, () => void this.look(run), { class: "quiet" })),
          h("td", {}, h("span", { class: `badge ${run.status}`, text: run.status })),
          h("td", { text: run.violation ? `${run.violation.clause}: ${run.violation.arrived}` : "" }),
        ),
      );
    }
    table.append(body);
    const last = result.first + result.runs.length;
    const values = result.groups.map(({ value }) => value).filter((value) => value !== OTHERS);
    const status = select([["", "any"], ...STATUSES.map((one): [string, string] => [one, one])], question.status, (chosen) => void this.turn({ status: chosen as Status | "" }));
    const value = select([["any", "any"], ...values.map((one): [string, string] => [`=${one}`, one || "none"])], question.value === null ? "any" : `=${question.value}`, (chosen) => void this.turn({ value: chosen === "any" ? null : chosen.slice(1) }));
    const pages = h(
      "div",
      { class: "row pages" },
      button("previous", () => void this.turn({ first: Math.max(result.first - PAGE, 0) }), { attributes: { disabled: !result.first } }),
      h("span", { text: `${result.runs.length ? result.first + 1 : 0} to ${last} of ${result.found}` }),
      button("next", () => void this.turn({ first: last }), { attributes: { disabled: last >= result.found } }),
    );
    const focused = this.list.contains(document.activeElement) ? document.activeElement?.textContent : null;
    fill(
      this.list,
      h("h2", { text: `List (${result.found})` }),
      h("div", { class: "filters" }, labelled("Status", status), result.by ? labelled(result.by, value) : null, labelled("Search", search)),
      h("div", { class: "scroller", attributes: { tabindex: "0", role: "region", "aria-label": "list of runs" } }, table),
      last - result.first < result.found ? pages : null,
    );
    if (focused === "next" || focused === "previous") [...pages.querySelectorAll("button")].find((one) => one.textContent === focused)?.focus();
  }

  private async look(run: Run): Promise<void> {
    const facts = Object.entries(run.metadata).map(([key, value]) => `${key} ${String(value)}`).join(", ");
    const title = h("h2", { text: `Run ${run.run}`, attributes: { tabindex: "-1" } });
    const about = h("p", { class: "hint", text: `${run.file}${run.line ? `:${run.line}` : ""}${facts ? ` · ${facts}` : ""}` });
    const violation = run.violation ? h("blockquote", {}, ...inline(run.violation.sentence)) : null;
    const file = this.judged[run.number];
    if (!file) {
      const excerpt = this.result?.excerpts.get(excerptKey(run.file, run.run));
      const lacks = excerpt ? "Those around the violation; the others are not in the result of the audit." : "The messages are not in the result of the audit; open the file of the runs to see them.";
      fill(this.one, title, about, excerpt ? null : violation, excerpt ? h("ol", { class: "turns messages", attributes: { tabindex: "0", "aria-label": "messages" } }, ...excerpt.map(messageRow)) : null, h("p", { class: "hint", text: lacks }));
      title.focus();
      return;
    }
    try {
      const told = await this.again(() => ask<OneRun>("run", { text: work.text, protocol: this.shown, file: named(file), key: run.run }));
      const rows = told.messages.map(messageRow);
      const left = told.left_out ? h("p", { class: "hint", text: `${told.left_out} more messages are not shown` }) : null;
      fill(this.one, title, about, violation, h("ol", { class: "turns messages", attributes: { tabindex: "0", "aria-label": "messages" } }, ...rows), left, button("heat of all runs", () => this.heat(this.result?.traffic ?? [], []), { class: "quiet" }));
      this.heat(told.traffic, told.path);
      title.focus();
      say(`run ${run.run}, ${run.status}, ${told.messages.length} messages; its path is drawn on the machine`);
    } catch (error) {
      complain(error);
    }
  }
}

/** The first refusal of a run is a cause; what is refused behind it may follow from that, as reports have it. */
function messageRow(message: OneRun["messages"][number]): HTMLElement {
  const refused = message.verdict === "refused";
  const badge = refused ? (message.follows ? "refused, follows" : "refused first") : message.verdict;
  return h(
    "li",
    { class: refused ? (message.follows ? "violation follows" : "violation") : message.verdict || "unnamed" },
    h("div", { class: "row" }, h("strong", { text: message.name ? `${message.kind} ${message.name}` : message.kind }), message.word ? h("code", { text: message.word }) : h("span", { class: "hint", text: "no label" }), badge ? h("span", { class: "badge", text: badge }) : null),
    h("p", { class: "said", text: message.text }),
    message.explanation ? h("p", { class: "why" }, ...inline(message.explanation)) : null,
  );
}

function named({ name, file }: Opened): { name: string; file: string } {
  return { name, file };
}

function total(statuses: Record<Status, number>): number {
  return STATUSES.reduce((sum, status) => sum + statuses[status], 0);
}
