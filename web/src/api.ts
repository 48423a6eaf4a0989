// The studio's interface. Everything that is decided comes from here; the page only shows it.

export interface Question {
  kind: "field" | "person" | "time";
  name: string;
  hint: string;
}

export interface Move {
  word: string;
  text: string;
  kind: "send" | "receive" | "gate";
  questions: Question[];
}

export interface GraphNode {
  id: number;
  kind: "state" | "fork";
  stop: "end" | "pause" | null;
  first: boolean;
  cut: number;
  /** The places of the text that it is. */
  places?: Place[];
}

/** Where something can be put in, and by which change. */
export interface Place {
  at: number;
  change: "before" | "after";
  text: string;
}

export interface GraphEdge {
  from: number;
  to: number;
  kind: "send" | "receive" | "gate" | "late" | "part" | "join";
  text: string;
  word?: string;
  /** The steps of the text that it stands for. */
  steps?: number[];
}

export interface Graph {
  title: string;
  open: boolean;
  each: string | null;
  states: number;
  hidden: number;
  nodes: GraphNode[];
  edges: GraphEdge[];
  registers: string[];
}

export interface Finding {
  code: string;
  severity: "error" | "warning";
  message: string;
  line: number;
  column: number;
  span: [number, number];
  text: string;
}

export interface SequenceRow {
  row: "message" | "note" | "open" | "divide" | "close" | "more";
  depth: number;
  refused?: boolean;
  from?: string;
  to?: string;
  text?: string;
  /** The number of the message in the text. */
  exchange?: number;
}

export interface Protocol {
  name: string | null;
  kind: "local" | "rules" | "roles";
  timed: boolean;
  graph?: Graph | null;
  roles?: string[];
  graphs?: Record<string, Graph>;
  sequence?: SequenceRow[];
}

export interface Step {
  number: number;
  /** Which declaration it is in. */
  protocol: number;
  word: string;
  sign: "!" | "?";
  label: string;
  partner: string | null;
  guards: string;
  gated: boolean;
  within: string;
  otherwise: string;
  branch: boolean;
  span: [number, number];
  line: number;
  column: number;
}

export interface Message {
  number: number;
  protocol: number;
  sender: string;
  receiver: string;
  label: string;
  fields: string;
  span: [number, number];
  line: number;
}

export interface Described {
  ok: boolean;
  findings: Finding[];
  labels: string[];
  steps: Step[];
  messages: Message[];
  protocols: Protocol[];
  rules: { name: string; text: string }[];
  digest?: string;
}

/** A line of JSON, never read here: numbers beyond 2^53 would not be the same any more. */
export type EventLine = string;

export interface Turn {
  event: string;
  verdict: "ok" | "violation" | "blocked" | "unrecognized" | "misuse";
  explanation: string;
  position: number;
  text: string;
  states: number[];
  clause?: string;
  role?: string | null;
}

export interface Now {
  status: string;
  over: boolean;
  states: number[];
  graph: Graph | null;
  moves: Move[];
  others: Move[];
  anything: boolean;
  sliced: boolean;
  may_end: boolean;
  timed: boolean;
  asks_time: Question[];
  clock: string;
  outcome: string;
  registers: { name: string; value: string | null }[];
  registers_of: string | null;
  instances: { key: string; text: string }[];
  rules: { name: string; text: string; seen: string[]; owed: boolean }[];
}

export interface Walked {
  problem: string;
  turns: Turn[];
  events: EventLine[];
  now: Now;
}

export interface Talked {
  problem: string;
  turns: {
    text: string;
    sender: string;
    receiver: string;
    label: string | null;
    verdict: Turn["verdict"];
    explanation: string;
    blamed: string[];
  }[];
  messages: object[];
  now: {
    status: string;
    over: boolean;
    may_end: boolean;
    moves: Move[];
    others: Move[];
    roles: { role: string; state: number; graph: Graph; lit: string[] }[];
    under_way: { sender: string; receiver: string; labels: string[] }[];
  };
}

export type Status = "conforming" | "violating" | "incomplete" | "unrecognised";

export interface Run {
  run: string;
  file: string;
  /** Which of the opened files it is in. */
  number: number;
  line: number | null;
  status: Status;
  violation: { clause: string; arrived: string; sentence: string } | null;
  events: number;
  refused: number;
  metadata: Record<string, unknown>;
}

export interface Edge {
  from: number;
  word: string;
  to: number;
  times: number;
}

/** What is asked about runs: counts by a key, and from some place on those that fit a filter. */
export interface Inquiry {
  by: string;
  status: Status | "";
  /** What they have under that key; nothing for any. */
  value: string | null;
  search: string;
  first: number;
}

/** Every figure is one of all runs; listed are those from `first` on. */
export interface Judged {
  /** What is not in the result of an audit, told in sentences; nothing if the runs were judged here. */
  lacks: string[];
  /** Edges that no run has taken, where only that is known. */
  never: { from: number; word: string; to: number }[];
  /** Messages of some runs, by file and run. */
  excerpts: Map<string, OneRun["messages"]>;
  statuses: Record<Status, number>;
  keys: string[];
  by: string;
  groups: { value: string; statuses: Record<Status, number> }[];
  /** How many runs fit the filter. */
  found: number;
  first: number;
  runs: Run[];
  broken: { file: string; line: number | null; reason: string }[];
  unreadable: number;
  unmatched: Record<string, number>;
  traffic: Edge[];
}

export interface OneRun {
  messages: {
    index: number;
    kind: string;
    name: string | null;
    text: string;
    word: string | null;
    verdict: string;
    follows: boolean;
    explanation: string;
    states: number[];
  }[];
  left_out: number;
  status: string;
  path: number[];
  traffic: Edge[];
}

export interface Review {
  session: string;
  review: string;
  state: string;
  word: string;
  gate: string | null;
  shown: string;
  expires: number | null;
  by: string | null;
  reason: string | null;
}

export interface SessionInfo {
  key: string;
  status: string | null;
  protocol: string | null;
  events: number | null;
  mode: string | null;
  fault: string | null;
}

export interface Desk {
  sessions: SessionInfo[];
  more: number;
  reviews: Review[];
  more_reviews: number;
  writable: boolean;
}

export interface StoredSession extends SessionInfo {
  head: string | null;
  ledger: { ok: boolean; entries: number; finding: string | null } | null;
  entries: { word: string; verdict: string; at: string | null; text: string }[];
  before: number;
}

export interface LedgerFile {
  number: number;
  name: string;
  ok: boolean;
  /** Whether it could be verified at all. */
  read: boolean;
  entries: number;
  head?: string;
  finding: string | null;
}

export interface OpenedLedger extends LedgerFile {
  shown: StoredSession["entries"];
  before: number;
}

export interface Template {
  name: string;
  title: string;
  text: string;
  page: string;
  good: string;
  bad: string;
}

export interface Tool {
  name: string;
  about: string;
  fields: string[];
}

/** A file that the studio was opened on; a studio that was started anew may give it another number. */
export interface FileName {
  number: number;
  name: string;
  path: string;
}

export interface About {
  version: string;
  templates: { name: string; title: string; summary: string }[];
  files: FileName[];
  writable: boolean;
  store: boolean;
  /** How many ledgers were found in files. */
  ledgers: number;
  /** How large a file of recorded runs may be. */
  upload_bytes: number;
  snippets: { kind: string; title: string; roles: boolean }[];
}

/** The studio did not do what it was asked; `text` has findings, where there are any. */
export class Refusal extends Error {
  constructor(
    message: string,
    readonly text = "",
  ) {
    super(message);
  }
}

/** The file holds something else than was edited: `theirs`, or nothing if it is not there any more. */
export class Conflict extends Refusal {
  constructor(
    message: string,
    readonly theirs: string | null,
  ) {
    super(message);
  }
}

/** Nobody answers, or somebody who does not know this page: whatever was asked is to be asked again later. */
export class Lost extends Refusal {
  constructor(
    message: string,
    readonly why: "silent" | "locked",
  ) {
    super(message);
  }
}

const KEY = "accord-studio-token";

/** The token of this page's address, until the studio has taken it. */
let given: string | null = null;
/** The token that the studio has taken last. */
let taken: string | null = null;

/** The token stands behind `#` in the address that the studio printed. */
export function takeToken(parameters: URLSearchParams): void {
  given = parameters.get("token");
}

/** Once the studio has taken a token it is kept for links that are opened later. Before, it may be anybody's: each page can open this one. */
function settle(response: Response, used: string): boolean {
  if (response.ok && used !== taken) {
    if (taken !== null) document.dispatchEvent(new Event("renewed")); // the studio is not the one it was
    taken = used;
  }
  if (given === null || (!response.ok && response.status !== 401)) return true;
  const kept = localStorage.getItem(KEY);
  if (response.ok) localStorage.setItem(KEY, given);
  const again = !response.ok && kept !== null && kept !== given;
  if (response.ok || again) given = null;
  return !again;
}

function lose(why: Lost["why"], message: string): Lost {
  const lost = new Lost(message, why);
  document.dispatchEvent(new CustomEvent("lost", { detail: lost }));
  return lost;
}

async function send(name: string, kind: string, body: BodyInit, signal?: AbortSignal): Promise<Response> {
  const used = given ?? localStorage.getItem(KEY) ?? "";
  let response: Response;
  try {
    response = await fetch(`/api/${name}`, {
      method: "POST",
      headers: { "Content-Type": kind, Authorization: `Bearer ${used}` },
      body,
      credentials: "omit",
      cache: "no-store",
      signal: signal ?? null,
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw lose("silent", "the studio does not answer");
  }
  if (!settle(response, used)) return send(name, kind, body, signal);
  if (response.status === 401) throw lose("locked", "open the address that the studio printed when it was started");
  return response;
}

interface Answer {
  error?: string;
  text?: string;
  theirs?: string | null;
}

function received(status: number, answer: Answer): unknown {
  if (status === 409) throw new Conflict(answer.error ?? "", answer.theirs ?? null);
  if (status !== 200) throw new Refusal(answer.error ?? "the studio refused the request", answer.text);
  return answer;
}

async function readAll(response: Response): Promise<unknown> {
  let answer: Answer;
  try {
    answer = (await response.json()) as Answer;
  } catch {
    throw lose("silent", "the studio does not answer"); // it was ended in the middle of it
  }
  return received(response.status, answer);
}

export async function ask<T>(name: string, request: object = {}): Promise<T> {
  return (await readAll(await send(name, "application/json", JSON.stringify(request)))) as T;
}

/** Ask for what takes a while; `progress` is told how far it is, line by line, and whoever aborts the signal ends it. */
export async function follow<T, P>(name: string, request: object, progress: (word: P) => void, signal: AbortSignal): Promise<T> {
  const response = await send(name, "application/json", JSON.stringify(request), signal);
  if (!response.ok || !response.body) return (await readAll(response)) as T;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read().catch((error: unknown) => {
      if (signal.aborted) throw error;
      return { done: true, value: undefined };
    });
    if (done) throw lose("silent", "the studio does not answer");
    const lines = (rest + value).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const told = JSON.parse(line) as { progress?: P; status?: number; answer?: Answer };
      if (told.status !== undefined) return received(told.status, told.answer ?? {}) as T;
      if (told.progress !== undefined) progress(told.progress);
    }
  }
}

/** Send a file, as it is read; the studio names it by its content. */
export async function upload(file: Blob): Promise<string> {
  await file.slice(0, 1).arrayBuffer().catch(() => {
    throw new Refusal("the file was changed or is gone since it was opened; open it again");
  });
  return ((await readAll(await send("upload", "application/octet-stream", file))) as { file: string }).file;
}
