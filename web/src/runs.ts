// Runs: recorded runs held against the contract; counts, a list, and one run message by message with its path drawn.

import { ask, Refusal, upload, type About, type Described, type Edge, type Judged, type OneRun, type Run } from "./api";
import { auditIn, excerptKey, STATUSES } from "./audited";
import { button, fill, h, labelled, say, select } from "./dom";
import { Picture } from "./graph";
import { inline } from "./markdown";
import { work } from "./state";
import { chooser, openTemplate } from "./step";

/** A file that was opened: its name, what it holds, and the name that the studio has given to its content. */
interface Opened {
  name: string;
  blob: Blob;
  file: string;
}

const SHOWN = 200;
const MEGABYTE = 1_000_000;

/** What was opened last, so that coming back to the page finds it. */
let files: Opened[] = [];
let audited: string | null = null;
let result: Judged | null = null;

export async function runs(main: HTMLElement, about: About): Promise<void> {
  if (!work.text) await openTemplate(about.templates[0]!.name);
  await new Bench(main, about).begin();
}

class Bench {
  private readonly trouble = h("div");
  private readonly sums = h("section", { class: "card" });
  private readonly list = h("section", { class: "card" });
  private readonly one = h("section", { class: "card one" });
  private readonly machine = h("section", { class: "card machine" });
  private readonly picture = new Picture();
  private readonly asked = ask<Described>("contract", { text: work.text });
  private described: Described | null = null;
  private status = "";
  private key = "";
  private value = "";
  private search = "";
  private shown: string | null = null;

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
      chooser(this.about),
      labelled("Recorded runs", file, `of any format that accord reads, up to ${this.about.upload_bytes / MEGABYTE} MB, or a result of accord audit --json; files can be dropped anywhere on the page`),
    );
    fill(this.main, head, this.trouble, h("div", { class: "columns" }, h("div", { class: "left" }, this.sums, this.list), h("div", { class: "middle" }, this.machine, this.one)));
    this.main.ondragover = (event) => event.preventDefault();
    this.main.ondrop = (event) => {
      event.preventDefault();
      void this.open([...(event.dataTransfer?.files ?? [])]);
    };
    this.described = await this.asked;
    if (!this.described.ok) {
      this.complain(new Refusal("the contract has errors; it is mended on the page Build"));
      return;
    }
    const local = this.described.protocols.filter((one) => one.graph);
    this.shown = local.find((one) => one.name === work.protocol)?.name ?? local[0]?.name ?? null;
    if (local.length > 1) head.append(labelled("Protocol", select(local.map((one): [string, string] => [one.name ?? "", one.name ?? ""]), this.shown ?? "", (name) => { this.shown = name; void this.judge(); })));
    if (audited) result = auditIn(audited, this.described.digest); // the contract may be another one by now
    if (files.length) await this.judge();
    else this.show();
  }

  private complain(error: unknown): void {
    if (!(error instanceof Refusal)) throw error;
    fill(this.trouble, h("section", { class: "card complaint", attributes: { role: "alert" } }, h("p", { text: error.message }), error.text ? h("pre", { text: error.text }) : null));
  }

  private async open(chosen: File[]): Promise<void> {
    if (!chosen.length) return;
    try {
      const [first] = chosen;
      const text = chosen.length === 1 && first!.name.endsWith(".json") ? await first!.text() : "";
      const audit = auditIn(text, (await this.asked).digest);
      if (audit) {
        [files, audited, result] = [[], text, audit];
        fill(this.trouble);
        this.show();
        say(`${audit.runs.length} runs of an audit`);
        return;
      }
      const large = chosen.find((file) => file.size > this.about.upload_bytes);
      if (large) throw new Refusal(`${large.name} is larger than ${this.about.upload_bytes / MEGABYTE} MB. Audit it in a terminal, and open the result here:`, `accord audit ${work.name}.accord ${large.name} --json > result.json`);
      const opened: Opened[] = [];
      for (const file of chosen) {
        say(`${file.name} is being read`);
        opened.push({ name: file.name, blob: file, file: await upload(file) });
      }
      [files, audited] = [opened, null];
      await this.judge();
    } catch (error) {
      this.complain(error);
    }
  }

  private names(): { name: string; file: string }[] {
    return files.map(({ name, file }) => ({ name, file }));
  }

  private async judge(): Promise<void> {
    try {
      const told = await this.again(() => ask<Judged>("runs", { text: work.text, protocol: this.shown, files: this.names() }));
      result = { ...told, lacks: [], never: [], excerpts: new Map() };
      fill(this.trouble);
      const bad = result.runs.filter((run) => run.status === "violating").length;
      say(`${result.runs.length} runs, ${bad} of them violating`);
      this.show();
    } catch (error) {
      this.complain(error);
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

  private matching(): Run[] {
    const wanted = this.search.toLowerCase();
    return (result?.runs ?? []).filter(
      (run) =>
        (!this.status || run.status === this.status) &&
        (!this.key || !this.value || String(run.metadata[this.key] ?? "none") === this.value) &&
        (!wanted || `${run.run} ${run.file} ${run.violation?.clause ?? ""} ${run.violation?.sentence ?? ""}`.toLowerCase().includes(wanted)),
    );
  }

  private show(): void {
    this.count();
    this.rows();
    this.heat(result?.traffic ?? [], []);
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
    const about = result?.lacks.length ? "Dashed words were never reached by any run." : traffic.length ? "The number behind a word says how often it was taken." : "";
    fill(this.machine, h("h2", { text: "Machine" }), this.picture.element, about ? h("p", { class: "hint", text: about }) : null);
    this.picture.draw(protocol.graph, { heat, path: new Set(path), never: new Set(result?.never.map(key)) });
  }

  private count(): void {
    if (!result) {
      fill(this.sums, h("h2", { text: "Runs" }), h("p", { class: "hint", text: "Open files of recorded runs, or drop them here." }));
      return;
    }
    const every = result.runs;
    const keys = [...new Set(every.flatMap((run) => Object.keys(run.metadata)))].sort();
    if (!keys.includes(this.key)) this.key = keys.includes("model") ? "model" : (keys[0] ?? "");
    const groups = new Map<string, Run[]>([["all runs", every]]);
    if (this.key) {
      for (const run of every) {
        const value = String(run.metadata[this.key] ?? "none");
        groups.set(value, [...(groups.get(value) ?? []), run]);
      }
    }
    const bars = [...groups].slice(0, 30).map(([name, of]) => this.bar(name, of, every.length));
    const legend = h("ul", { class: "legend" }, ...STATUSES.map((status) => h("li", { class: status, text: `${status} ${every.filter((run) => run.status === status).length}` })));
    const chooser = keys.length ? labelled("Counted by", select(keys.map((key): [string, string] => [key, key]), this.key, (key) => { this.key = key; this.value = ""; this.show(); })) : null;
    const broken = result.broken.length ? h("details", {}, h("summary", { text: `${result.unreadable} could not be read or judged` }), h("ul", {}, ...result.broken.map((one) => h("li", { text: `${one.file}${one.line ? `:${one.line}` : ""}: ${one.reason}` })))) : null;
    const unmatched = Object.entries(result.unmatched).map(([name, times]) => `${name} (${times})`).join(", ");
    fill(this.sums, h("h2", { text: `${every.length + result.more} runs` }), ...result.lacks.map((text) => h("p", { class: "hint", text })), legend, chooser, h("table", { class: "bars" }, h("tbody", {}, ...bars)), unmatched ? h("p", { class: "hint", text: `Not named by the contract: ${unmatched}` }) : null, broken);
  }

  /** One bar: the share of each status, in a row whose numbers can be read. */
  private bar(name: string, of: Run[], all: number): HTMLElement {
    const bar = h("div", { class: "bar-of" });
    const parts: string[] = [];
    for (const status of STATUSES) {
      const count = of.filter((run) => run.status === status).length;
      if (!count) continue;
      const part = h("span", { class: status, attributes: { "aria-hidden": "true" } });
      part.style.width = `${(100 * count) / all}%`;
      bar.append(part);
      parts.push(`${count} ${status}`);
    }
    return h("tr", {}, h("th", { text: name, attributes: { scope: "row" } }), h("td", {}, bar, h("span", { class: "hint", text: parts.join(", ") })));
  }

  private rows(): void {
    if (!result) {
      this.list.hidden = true;
      return;
    }
    this.list.hidden = false;
    const found = this.matching();
    const values = [...new Set(result.runs.map((run) => String(run.metadata[this.key] ?? "none")))].sort();
    const search = h("input", { attributes: { type: "search", value: this.search }, onchange: () => { this.search = search.value; this.rows(); } });
    const table = h("table", { class: "runs" }, h("thead", {}, h("tr", {}, ...["Run", "Status", "First violation"].map((text) => h("th", { text, attributes: { scope: "col" } })))));
    const body = h("tbody");
    for (const run of found.slice(0, SHOWN)) {
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
    const hidden = found.length - Math.min(found.length, SHOWN) + result.more;
    fill(
      this.list,
      h("h2", { text: `List (${found.length})` }),
      h(
        "div",
        { class: "filters" },
        labelled("Status", select([["", "any"], ...STATUSES.map((status): [string, string] => [status, status])], this.status, (status) => { this.status = status; this.rows(); })),
        this.key ? labelled(this.key, select([["", "any"], ...values.map((value): [string, string] => [value, value])], this.value, (value) => { this.value = value; this.rows(); })) : null,
        labelled("Search", search),
      ),
      h("div", { class: "scroller", attributes: { tabindex: "0", role: "region", "aria-label": "list of runs" } }, table),
      hidden ? h("p", { class: "hint", text: `${hidden} more are not listed` }) : null,
    );
  }

  private async look(run: Run): Promise<void> {
    const facts = Object.entries(run.metadata).map(([key, value]) => `${key} ${String(value)}`).join(", ");
    const title = h("h2", { text: `Run ${run.run}`, attributes: { tabindex: "-1" } });
    const about = h("p", { class: "hint", text: `${run.file}${run.line ? `:${run.line}` : ""}${facts ? ` · ${facts}` : ""}` });
    const violation = run.violation ? h("blockquote", {}, ...inline(run.violation.sentence)) : null;
    const file = this.names().find((one) => one.name === run.file);
    if (!file) {
      const excerpt = result?.excerpts.get(excerptKey(run.file, run.run));
      const lacks = excerpt ? "Those around the violation; the others are not in the result of the audit." : "The messages are not in the result of the audit; open the file of the runs to see them.";
      fill(this.one, title, about, excerpt ? null : violation, excerpt ? h("ol", { class: "turns messages", attributes: { tabindex: "0", "aria-label": "messages" } }, ...excerpt.map(messageRow)) : null, h("p", { class: "hint", text: lacks }));
      title.focus();
      return;
    }
    try {
      const told = await this.again(() => ask<OneRun>("run", { text: work.text, protocol: this.shown, file: this.names().find((one) => one.name === run.file), key: run.run }));
      const rows = told.messages.map(messageRow);
      const left = told.left_out ? h("p", { class: "hint", text: `${told.left_out} more messages are not shown` }) : null;
      fill(this.one, title, about, violation, h("ol", { class: "turns messages", attributes: { tabindex: "0", "aria-label": "messages" } }, ...rows), left, button("heat of all runs", () => this.heat(result?.traffic ?? [], []), { class: "quiet" }));
      this.heat(told.traffic, told.path);
      title.focus();
      say(`run ${run.run}, ${run.status}, ${told.messages.length} messages; its path is drawn on the machine`);
    } catch (error) {
      this.complain(error);
    }
  }
}

function messageRow(message: OneRun["messages"][number]): HTMLElement {
  return h(
    "li",
    { class: message.verdict === "refused" ? "violation" : message.verdict || "unnamed" },
    h("div", { class: "row" }, h("strong", { text: message.name ? `${message.kind} ${message.name}` : message.kind }), message.word ? h("code", { text: message.word }) : h("span", { class: "hint", text: "no label" }), message.verdict ? h("span", { class: "badge", text: message.verdict }) : null),
    h("p", { class: "said", text: message.text }),
    message.explanation ? h("p", { class: "why" }, ...inline(message.explanation)) : null,
  );
}
