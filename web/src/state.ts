// What is being looked at: one contract, and the events of one session of it. All pages share it. A text that is not
// saved is kept as a draft with every change; which contract this tab has open outlives a reload too.

import type { EventLine, FileName, Template, Tool } from "./api";
import { Drafts } from "./drafts";
import { warn } from "./notices";

export interface Work {
  /** As a text field has it: lines end with `\n`, whatever they end with in the file. */
  text: string;
  name: string;
  /** What the list of contracts has chosen: `template NAME`, `file NUMBER`, or `draft KEY`. */
  origin: string;
  /** The key of its draft, once it has one. */
  key: string | null;
  file: FileName | null;
  /** What the file held when it was opened, every byte; nothing if it is not there any more. */
  saved: string | null;
  template: Template | null;
  protocol: string | null;
  mode: "refuse" | "halt";
  events: EventLine[];
  /** The messages of a conversation between roles. */
  messages: object[];
  palette: Tool[];
}

const EMPTY: Work = {
  text: "",
  name: "contract",
  origin: "",
  key: null,
  file: null,
  saved: null,
  template: null,
  protocol: null,
  mode: "refuse",
  events: [],
  messages: [],
  palette: [],
};

const OPEN = "accord-studio-open";

export const work: Work = { ...EMPTY };
export const drafts = new Drafts(localStorage);

/** Why what is open is not kept, if it is not: leaving the page would lose it. */
let unkept: string | null = null;

/** A text as a text field has it. */
export function shown(text: string): string {
  return text.replace(/\r\n?/g, "\n");
}

/** Another contract: the session of the one before is over. */
export function open(text: string, more: Partial<Work> = {}): void {
  Object.assign(work, EMPTY, { palette: work.palette, mode: work.mode }, { text: shown(text) }, more);
  unkept = null;
  remember();
}

/** Another text of the same contract: events of the old one need not be legal any more. */
export function retype(text: string): void {
  if (text === work.text) return;
  work.text = text;
  work.events = [];
  work.messages = [];
  work.template = null;
  keep();
}

function freshKey(): string {
  return `own ${crypto.randomUUID()}`;
}

/** An empty text that is in no file. */
export function openNew(): void {
  const key = freshKey();
  open("", { key, origin: `draft ${key}` });
}

/** Whether the text is one that nothing but this page has. */
export function isUnsaved(): boolean {
  if (work.file) return work.saved === null || work.text !== shown(work.saved);
  return work.key !== null && work.text.trim() !== "";
}

/** Keep what is open as a draft, or forget its draft if there is nothing to be lost. */
export function keep(): void {
  if (!work.key) {
    work.key = freshKey();
    work.origin = `draft ${work.key}`;
  }
  if (isUnsaved()) {
    const problem = drafts.keep({ key: work.key, name: work.name, text: work.text, saved: work.saved, at: Date.now() });
    if (problem && problem !== unkept) warn(`The text is not kept, and a reload would lose it: ${problem}. Save it, or take it with you as a file.`);
    unkept = problem;
  } else {
    drafts.drop(work.key);
    unkept = null;
  }
  remember();
}

/** A copy of a text that is about to be replaced; what it says is why there is none. */
export function setAside(name: string, text: string): string | null {
  return drafts.keep({ key: freshKey(), name, text: shown(text), saved: null, at: Date.now() });
}

/** What this tab had open before it was loaded anew: an origin, but with the path of a file in place of its number. */
export function opened(): string {
  return sessionStorage.getItem(OPEN) ?? "";
}

function remember(): void {
  sessionStorage.setItem(OPEN, work.file ? `file ${work.file.path}` : work.origin);
}

addEventListener("beforeunload", (event) => {
  if (unkept && isUnsaved()) event.preventDefault(); // the browser asks
});
addEventListener("storage", (event) => {
  const draft = drafts.keyIn(event.key) === work.key && work.key ? drafts.find(work.key) : null;
  if (draft && isUnsaved() && draft.text !== work.text) warn(`${work.name} is being changed in another tab too. Of two drafts of one text, the browser keeps the one that was changed last.`);
});
