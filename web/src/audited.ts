// The result of `accord audit --json`, opened on the page: what it tells, and in words what it does not.

import type { Judged, OneRun, Run } from "./api";

export const STATUSES = ["conforming", "violating", "incomplete", "unrecognised"] as const;

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
export function auditIn(text: string, digest: string | undefined): Judged | null {
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
  if (runs.length < audit.runs.length) lacks.push(`${audit.runs.length - runs.length} of its runs cannot be read.`);
  return {
    lacks,
    never: same ? (audit.vacuous?.steps ?? []).map((step) => ({ from: step.state, word: step.word, to: step.to })) : [],
    excerpts: excerptsIn(audit.violations ?? []),
    runs: runs.map((run) => ({ run: run.run!, file: String(run.file ?? ""), line: run.line ?? null, status: run.status!, violation: run.violation ?? null, events: run.events ?? 0, refused: run.refused ?? 0, metadata: run.metadata ?? {} })),
    more: 0,
    broken: Array.isArray(audit.broken) ? audit.broken : [],
    unreadable: audit.total?.broken ?? 0,
    unmatched: audit.unmatched ?? {},
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
      explanation: line.refused ? (example.violation?.sentence ?? "") : "",
      states: [],
    }));
    found.set(excerptKey(String(example.file ?? ""), example.run), messages);
  }
  return found;
}
