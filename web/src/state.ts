// What is being looked at: one contract, and the events of one session of it. All pages share it.

import type { EventLine, Template, Tool } from "./api";

export interface Work {
  text: string;
  name: string;
  /** The template or the file it came from. */
  origin: string;
  file: number | null;
  /** What the file held when it was opened. */
  saved: string;
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
  file: null,
  saved: "",
  template: null,
  protocol: null,
  mode: "refuse",
  events: [],
  messages: [],
  palette: [],
};

export const work: Work = { ...EMPTY };

/** Another contract: the session of the one before is over. */
export function open(text: string, more: Partial<Work> = {}): void {
  Object.assign(work, EMPTY, { palette: work.palette, mode: work.mode }, { text }, more);
}

/** Another text of the same contract: events of the old one need not be legal any more. */
export function retype(text: string): void {
  if (text === work.text) return;
  work.text = text;
  work.events = [];
  work.messages = [];
  work.template = null;
}
