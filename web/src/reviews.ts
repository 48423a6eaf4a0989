// Reviews: what people are asked, decided with a reason; sessions and their ledgers.

import { ask, type About, type Desk, type LedgerFile, type OpenedLedger, type Review, type SessionInfo, type StoredSession } from "./api";
import { button, fill, h, labelled, say } from "./dom";
import { listing } from "./markdown";
import { complain, tell, warn } from "./notices";
import { VERDICTS } from "./asking";

export async function reviews(main: HTMLElement, about: About): Promise<void> {
  if (!about.store && !about.ledgers) {
    fill(
      main,
      h(
        "section",
        { class: "card" },
        h("h2", { text: "No store is open" }),
        h("p", {}, "Sessions that guards keep in a store are shown here, with what people are asked in them. Open one with ", h("code", { text: "accord studio FOLDER --store sessions.db" }), ", and add ", h("code", { text: "--write" }), " to decide."),
        h("p", {}, "Ledgers in files are verified and shown here too: every ", h("code", { text: "*.ledger" }), " in the folder, and those given by ", h("code", { text: "--ledger FILE" }), "."),
      ),
    );
    return;
  }
  await new Office(main, about).begin();
}

class Office {
  private readonly open = h("section", { class: "card" });
  private readonly past = h("section", { class: "card" });
  private readonly list = h("section", { class: "card" });
  private readonly files = h("section", { class: "card" });
  private readonly one = h("section", { class: "card" });
  private desk: Desk | null = null;

  constructor(
    private readonly main: HTMLElement,
    private readonly about: About,
  ) {}

  async begin(): Promise<void> {
    const { store, ledgers } = this.about;
    fill(this.main, h("div", { class: "columns" }, h("div", { class: "left" }, store ? this.open : null, store ? this.past : null, ledgers ? this.files : null), h("div", { class: "middle" }, store ? this.list : null, this.one)));
    fill(this.one, h("h2", { text: store ? "One session" : "One ledger" }), h("p", { class: "hint", text: store ? "Choose a session or a ledger in the lists." : "Choose a ledger in the list." }));
    if (store) await this.look();
    if (ledgers) await this.ledgers();
  }

  private async look(): Promise<void> {
    try {
      this.desk = await ask<Desk>("sessions");
    } catch (error) {
      complain(error);
      return;
    }
    const { reviews: asked, sessions, more_reviews: more } = this.desk;
    const rest = more ? h("p", { class: "hint", text: `${more} more are not shown; accord review lists them` }) : null;
    const waiting = asked.filter((review) => review.state === "open");
    const decided = asked.filter((review) => review.state !== "open");
    fill(this.open, h("h2", { text: `To be decided (${waiting.length})` }), ...(waiting.length ? waiting.map((review) => this.review(review)) : [h("p", { class: "hint", text: "Nothing waits for a person." })]), rest, button("look again", () => void this.look()));
    const rows = decided.map((review) => h("li", {}, h("code", { text: review.word }), ` in ${review.session}: `, h("strong", { text: review.state }), review.by ? ` by ${review.by}` : "", review.reason ? ` (${review.reason})` : ""));
    this.past.hidden = !decided.length;
    fill(this.past, h("h2", { text: "Decided" }), h("ul", {}, ...rows));
    this.sessions(sessions);
  }

  private review(review: Review): HTMLElement {
    const by = h("input", { attributes: { type: "text", autocomplete: "name", required: true } });
    const reason = h("input", { attributes: { type: "text", autocomplete: "off" } });
    const payload = h("textarea", { attributes: { rows: "5", spellcheck: "false" } });
    payload.value = review.shown;
    const decide = (answer: "allow" | "deny" | "modify") => void this.decide(review, answer, by.value, reason.value, payload.value);
    const question = review.gate ? `May this happen, once, with exactly this payload? To allow it is the step ${review.gate} by human.` : "May the agent go on? It was refused this again and again.";
    const until = review.expires === null ? null : h("p", { class: "hint", text: `can be decided until ${moment(review.expires)}` });
    const form = this.desk?.writable
      ? h(
          "form",
          { onsubmit: (event) => event.preventDefault() },
          labelled("Who decides", by),
          labelled("Why", reason, "the agent is told, and it stands in the ledger"),
          h("details", {}, h("summary", { text: "Another payload" }), labelled("Payload", payload), button("allow with this payload", () => decide("modify"))),
          h("div", { class: "row" }, button("allow", () => decide("allow"), { class: "primary" }), button("deny", () => decide("deny"), { class: "deny" })),
        )
      : h("p", { class: "hint", text: "The studio only reads; start it with --write to decide." });
    return h("article", { class: "review" }, h("h3", {}, h("code", { text: review.word }), ` in ${review.session}`), h("p", { text: question }), until, listing(review.shown), form);
  }

  private async decide(review: Review, answer: string, by: string, reason: string, text: string): Promise<void> {
    let payload: unknown = null;
    if (answer === "modify") {
      try {
        payload = JSON.parse(text);
      } catch {
        warn("The payload is not JSON; nothing was decided.");
        return;
      }
    }
    try {
      const decided = await ask<Review>("decide", { session: review.session, review: review.review, answer, by, reason, payload });
      await this.look();
      tell(`${decided.word} in ${review.session} was ${decided.state} by ${decided.by}.`);
    } catch (error) {
      complain(error);
    }
  }

  private async ledgers(): Promise<void> {
    const { ledgers } = await ask<{ ledgers: LedgerFile[] }>("ledgers");
    const rows = ledgers.map((one) =>
      h(
        "tr",
        {},
        h("th", { attributes: { scope: "row" } }, button(one.name, () => void this.ledger(one.number), { class: "quiet" })),
        h("td", {}, h("span", { class: `badge ${one.ok ? "conforming" : one.read ? "violating" : "incomplete"}`, text: one.ok ? "whole" : one.read ? "bad" : "not verified" })),
        h("td", { text: String(one.entries) }),
      ),
    );
    const head = h("tr", {}, ...["File", "Verified", "Entries"].map((text) => h("th", { text, attributes: { scope: "col" } })));
    fill(this.files, h("h2", { text: `Ledgers (${ledgers.length})` }), h("div", { class: "scroller", attributes: { tabindex: "0", role: "region", "aria-label": "list of ledgers" } }, h("table", {}, h("thead", {}, head), h("tbody", {}, ...rows))), button("verify again", () => void this.ledgers()));
  }

  private async ledger(number: number): Promise<void> {
    try {
      const told = await ask<OpenedLedger>("ledger", { number });
      const title = h("h2", { text: `Ledger ${told.name}`, attributes: { tabindex: "-1" } });
      const verified = told.ok ? `it is whole: ${told.entries} entries` : `it is ${told.read ? "bad" : "not verified"}: ${told.finding ?? ""}`;
      fill(
        this.one,
        title,
        h("p", { class: told.ok ? "verdict ok" : "verdict violation", text: verified }),
        told.ok ? h("p", { class: "hint", text: `That its end was not cut off shows only against a head kept elsewhere; its head is ${told.head ?? ""}` }) : told.read ? h("p", { class: "hint", text: "The entries before the bad one are sound; what stands behind it proves nothing." }) : null,
        told.before ? h("p", { class: "hint", text: `${told.before} entries before` }) : null,
        this.entries(told.shown, told.before),
      );
      title.focus();
      say(`ledger ${told.name}: ${verified}`);
    } catch (error) {
      complain(error);
    }
  }

  private entries(every: StoredSession["entries"], before: number): HTMLElement {
    const rows = every.map((entry) =>
      h("li", { class: entry.verdict || "unnamed" }, h("div", { class: "row" }, h("code", { text: entry.word }), entry.verdict ? h("span", { class: "badge", text: VERDICTS[entry.verdict] ?? entry.verdict }) : null, entry.at === null ? null : h("span", { class: "hint", text: moment(Number(entry.at)) })), h("details", {}, h("summary", { text: "entry" }), listing(entry.text))),
    );
    return h("ol", { class: "turns entries", attributes: { start: String(before), tabindex: "0", "aria-label": "entries" } }, ...rows);
  }

  private sessions(every: SessionInfo[]): void {
    const body = h("tbody");
    for (const one of every) {
      body.append(
        h(
          "tr",
          {},
          h("th", { attributes: { scope: "row" } }, button(one.key, () => void this.session(one.key), { class: "quiet" })),
          h("td", { text: one.fault ? "corrupted" : (one.status ?? "") }),
          h("td", { text: String(one.events ?? "") }),
          h("td", { text: one.protocol ?? "" }),
        ),
      );
    }
    const head = h("tr", {}, ...["Session", "Status", "Events", "Protocol"].map((text) => h("th", { text, attributes: { scope: "col" } })));
    fill(this.list, h("h2", { text: `Sessions (${every.length + (this.desk?.more ?? 0)})` }), h("div", { class: "scroller", attributes: { tabindex: "0", role: "region", "aria-label": "list of sessions" } }, h("table", {}, h("thead", {}, head), body)), this.desk?.more ? h("p", { class: "hint", text: `${this.desk.more} more are not listed; accord sessions lists them` }) : null);
  }

  private async session(key: string): Promise<void> {
    try {
      const told = await ask<StoredSession>("session", { key });
      const { ledger } = told;
      const verified = ledger === null ? "its ledger is gone" : ledger.ok ? `its ledger is whole: ${ledger.entries} entries` : `its ledger is bad: ${ledger.finding ?? ""}`;
      const title = h("h2", { text: `Session ${key}`, attributes: { tabindex: "-1" } });
      fill(
        this.one,
        title,
        told.fault ? h("p", { class: "verdict violation", text: told.fault }) : null,
        h("p", { class: ledger && !ledger.ok ? "verdict violation" : "verdict ok", text: verified }),
        h("dl", {}, ...[["status", told.status], ["protocol", told.protocol], ["mode", told.mode], ["events", told.events], ["head", told.head]].flatMap(([name, value]) => (value === null || value === undefined ? [] : [h("dt", { text: String(name) }), h("dd", { text: String(value) })]))),
        told.before ? h("p", { class: "hint", text: `${told.before} entries before` }) : null,
        this.entries(told.entries, told.before),
      );
      title.focus();
      say(`session ${key}: ${verified}`);
    } catch (error) {
      complain(error);
    }
  }
}

function moment(seconds: number): string {
  return seconds > 1e8 && seconds < 1e11 ? new Date(seconds * 1000).toISOString() : String(seconds);
}
