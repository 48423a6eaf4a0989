// Which contract is open: the list of everything that can be opened, and the mark of a text that is not saved.

import { ask, type About, type FileName, type Template } from "./api";
import { fill, h, labelled, refresh } from "./dom";
import { openForm } from "./menu";
import { complain, tell } from "./notices";
import { drafts, isUnsaved, open, opened, openNew, work } from "./state";

export async function openTemplate(name: string): Promise<void> {
  const template = await ask<Template>("template", { name });
  open(template.text, { template, name, origin: `template ${name}` });
}

/** Open a file; if there is a draft of it, that. */
export async function openFile(number: number): Promise<void> {
  const { text, ...file } = await ask<FileName & { text: string }>("file", { number });
  const key = `file ${file.path}`;
  const draft = drafts.find(key);
  open(draft?.text ?? text, { name: nameOf(file), file, key, saved: draft ? draft.saved : text, origin: `file ${number}` });
}

/** Open a draft; one of a file that can be opened here is opened with it. */
export async function openDraft(about: About, key: string): Promise<void> {
  const file = about.files.find((one) => `file ${one.path}` === key);
  const draft = drafts.find(key);
  if (!draft) {
    if (file) await openFile(file.number);
    else open("", { key, origin: `draft ${key}` });
    return;
  }
  open(draft.text, { name: draft.name, key, origin: file ? `file ${file.number}` : `draft ${key}`, file: file ?? null, saved: draft.saved });
}

/** Open what this tab had open before it was loaded anew; false if it had nothing. */
export async function openAgain(about: About): Promise<boolean> {
  const [kind, name] = split(opened());
  if (kind === "template") await openTemplate(name);
  else if (kind === "draft") await openDraft(about, name);
  else if (kind === "file") await openDraft(about, `file ${name}`);
  else return false;
  return true;
}

/** The studio may be another one by now: find the file that is open among its files. */
export function findFile(about: About): void {
  if (!work.key?.startsWith("file ")) return;
  const file = about.files.find((one) => `file ${one.path}` === work.key);
  if (!file && work.file) tell(`The studio that answers now was not opened on ${work.file.name}. What is not saved stays kept in this browser.`);
  work.file = file ?? null;
  work.origin = file ? `file ${file.number}` : `draft ${work.key}`;
}

function nameOf(file: FileName): string {
  return file.name.split("/").at(-1)?.replace(/\.accord$/, "") ?? "contract";
}

/** The first word, and all behind it: names and paths may have spaces. */
function split(origin: string): [string, string] {
  const at = origin.indexOf(" ");
  return at < 0 ? ["", ""] : [origin.slice(0, at), origin.slice(at + 1)];
}

export class Chooser {
  readonly element: HTMLElement;
  private readonly control = h("select", { onchange: () => void this.choose().catch(complain) });
  private readonly mark = h("p", { class: "mark" });

  constructor(private readonly about: About) {
    this.element = labelled("Contract", this.control);
    this.element.append(this.mark);
    this.update();
  }

  /** Show anew what there is to be chosen, and whether what is open is saved. */
  update(): void {
    const kept = new Map(drafts.all().map((draft) => [draft.key, draft]));
    const files = this.about.files.map((file) => option(`file ${file.number}`, kept.delete(`file ${file.path}`) ? `${file.name}, not saved` : file.name));
    const others = [...kept.values()].map((draft) => option(`draft ${draft.key}`, `${draft.name}, ${moment(draft.at)}`));
    const templates = this.about.templates.map((one) => option(`template ${one.name}`, one.title));
    const values = [...files, ...others, ...templates].map((one) => one.value);
    const none = values.includes(work.origin) ? null : option(work.origin, work.key ? "a new text" : "choose …");
    fill(this.control, none, group("Not saved in a file", others), group("Files", files), group("Templates", templates));
    this.control.value = work.origin;
    const unsaved = isUnsaved();
    this.mark.hidden = !unsaved;
    const where = work.file ? (work.saved === null ? "the file is not there" : "the file holds another text") : "it is in no file";
    fill(this.mark, h("span", { class: "badge unsaved", text: "not saved" }), ` ${where}; a draft is kept in this browser`);
  }

  private async choose(): Promise<void> {
    const [kind, name] = split(this.control.value);
    try {
      if (kind === "template") await openTemplate(name);
      else if (kind === "draft") await openDraft(this.about, name);
      else await openFile(Number(name));
    } catch (error) {
      this.control.value = work.origin;
      throw error;
    }
    refresh();
  }
}

/** Ask, and then let a draft go. */
export function discard(about: About, anchor: HTMLElement): void {
  const back = work.file && work.saved !== null ? `${work.file.name} is shown as it is in its file.` : "Nothing else has this text.";
  const done = async () => {
    const { key, file } = work;
    if (!key) return null;
    const text = file ? (await ask<FileName & { text: string }>("file", { number: file.number }).catch(() => null))?.text : undefined;
    if (file && text === undefined && work.saved !== null) return { message: "the file cannot be read just now, so the draft stays", text: "" };
    drafts.drop(key);
    if (file && text !== undefined) await openFile(file.number);
    else if (about.files[0] && about.files[0].path !== file?.path) await openFile(about.files[0].number);
    else openNew();
    refresh();
    tell("The draft was discarded.");
    return null;
  };
  openForm(`Discard what is not saved of ${work.name}?`, "discard it", [h("p", { text: `It cannot be brought back. ${back}` })], done, anchor);
}

function option(value: string, text: string): HTMLOptionElement {
  return h("option", { text, attributes: { value } });
}

function group(label: string, options: HTMLOptionElement[]): HTMLElement | null {
  return options.length ? h("optgroup", { attributes: { label } }, ...options) : null;
}

function moment(at: number): string {
  return new Date(at).toLocaleString(undefined, { dateStyle: "short", timeStyle: "short" });
}
