// The result of `accord audit --json`, opened on the page: what it tells, and in words what it does not.

import type { Judged, OneRun, Inquiry, Run, Status } from "./api";

export const STATUSES = ["conforming", "violating", "incomplete", "unrecognised"] as const satisfies readonly Status[];

/** What somebody looks for comes first. */
const ORDER: Status[] = ["violating", "incomplete", "unrecognised", "conforming"];
const SHOWN = 200;

/** What is asked about the runs of a result is answered here: it holds all of them. */
export interface Audited extends Pick<Judged, "lacks" | "never" | "excerpts" | "broken" | "unreadable" | "unmatched"> {
  every: Run[];
}

interface Finding {
  example?: { file?: string; run?: string; messages?: { number?: number; kind?: string; name?: string | null; text?: string; label?: string | null; refused?: boolean }[]; violation?: { sentence?: string } };
}

interface Audit {
  contract?: { name?: string; digest?: string };
  complete?: boolean;
  files?: { planned?: number; judged?: number };
  total?: { runs?: number; broken?: number };
  runs?: unknown[];
  broken?: Judged["broken"];
  unmatched?: Record<string, number>;
  violations?: Finding[];
  vacuous?: { steps?: { state: number; word: string; to: number }[] };
}

/** The result in a text, if it is one; `digest` is that of the contract that is open. */
export function auditIn(text: string, digest: string | undefined): Audited | null {
  let audit: Audit;
  try {
    audit = JSON.parse(text) as Audit;
  } catch {
    return null;
  }
  if (!audit || typeof audit !== "object" || !Array.isArray(audit.runs) || typeof audit.total !== "object") return null;
  const runs = (audit.runs as Partial<Run>[]).filter((run) => typeof run?.run === "string" && STATUSES.some((status) => status === run.status));
  const same = audit.contract?.digest !== undefined && audit.contract.digest === digest;
  const lacks = [`These are the verdicts of an audit of ${audit.contract?.name ?? "a contract"}. Messages are in it for the examples of each violation alone; open the files of the runs to see all of them.`];
  lacks.push(same ? "How often each arrow was taken is not in it; those that were never taken are dashed." : "It was made under another contract than the one that is open, so nothing is drawn on the machine.");
  if (audit.complete === false) lacks.push(`The audit was not finished: ${audit.files?.judged ?? 0} of ${audit.files?.planned ?? 0} files were judged.`);
  const all = audit.total?.runs ?? audit.runs.length;
  const broken: Judged["broken"] = Array.isArray(audit.broken) ? [...audit.broken] : [];
  if (runs.length < all) broken.unshift({ file: "the result of the audit", line: null, reason: `it speaks of ${all} runs, and ${all - runs.length} of them are not in it or cannot be read` });
  return {
    lacks,
    never: same ? (audit.vacuous?.steps ?? []).map((step) => ({ from: step.state, word: step.word, to: step.to })) : [],
    excerpts: excerptsIn(audit.violations ?? []),
    every: runs.map((run) => ({ run: run.run!, file: String(run.file ?? ""), number: -1, line: run.line ?? null, status: run.status!, violation: run.violation ?? null, events: run.events ?? 0, refused: run.refused ?? 0, metadata: run.metadata ?? {} })),
    broken,
    unreadable: (audit.total?.broken ?? 0) + Math.max(all - runs.length, 0),
    unmatched: audit.unmatched ?? {},
  };
}

function textOf(value: unknown): string {
  return value === undefined || value === null ? "" : typeof value === "string" ? value : JSON.stringify(value);
}

/** As the studio answers about files (see `accord.studio.runs`). */
export function answered(audit: Audited, question: Inquiry): Judged {
  const { every, ...rest } = audit;
  const keys = [...new Set(every.flatMap((run) => Object.keys(run.metadata)))].sort();
  const by = [question.by, "model", ...keys].find((key) => keys.includes(key)) ?? "";
  const none = (): Record<Status, number> => ({ conforming: 0, violating: 0, incomplete: 0, unrecognised: 0 });
  const statuses = none();
  const groups = new Map<string, Record<Status, number>>();
  for (const run of every) {
    statuses[run.status] += 1;
    const value = textOf(run.metadata[by]);
    const group = groups.get(value) ?? none();
    group[run.status] += 1;
    groups.set(value, group);
  }
  const wanted = question.search.toLowerCase();
  const matching = every.filter(
    (run) =>
      (!question.status || run.status === question.status) &&
      (question.value === null || textOf(run.metadata[by]) === question.value) &&
      (!wanted || `${run.run} ${run.file} ${run.violation?.clause ?? ""} ${run.violation?.sentence ?? ""}`.toLowerCase().includes(wanted)),
  );
  const ordered = ORDER.flatMap((status) => matching.filter((run) => run.status === status));
  const of = (group: Record<Status, number>) => STATUSES.reduce((sum, status) => sum + group[status], 0);
  return {
    ...rest,
    statuses,
    keys,
    by,
    groups: by ? [...groups].map(([value, counts]) => ({ value, statuses: counts })).sort((one, other) => of(other.statuses) - of(one.statuses)) : [],
    found: matching.length,
    first: question.first,
    runs: ordered.slice(question.first, question.first + SHOWN),
    traffic: [],
  };
}

export function excerptKey(file: string, run: string): string {
  return JSON.stringify([file, run]);
}

function excerptsIn(findings: Finding[]): Map<string, OneRun["messages"]> {
  const found = new Map<string, OneRun["messages"]>();
  for (const { example } of findings) {
    if (!example?.run || !Array.isArray(example.messages)) continue;
    const messages = example.messages.map((line) => ({
      index: line.number ?? 0,
      kind: line.kind ?? "",
      name: line.name ?? null,
      text: line.text ?? "",
      word: line.label ?? null,
      verdict: line.refused ? "refused" : "",
      follows: false,
      explanation: line.refused ? (example.violation?.sentence ?? "") : "",
      states: [],
    }));
    found.set(excerptKey(String(example.file ?? ""), example.run), messages);
  }
  return found;
}
