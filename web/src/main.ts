// The frame of the page: which of its parts is shown, the theme, and what an address says.

import "./colours.css";
import "./base.css";
import "./frame.css";
import "./steps.css";
import "./pictures.css";
import "./popups.css";
import "./editor.css";
import "./runs.css";

import { ask, Lost, Refusal, takeToken, type About } from "./api";
import { build } from "./build";
import { watch } from "./connection";
import { button, byId, fill, h, say, select } from "./dom";
import { unpack } from "./link";
import { complain, quiet, tell, warn } from "./notices";
import { findFile, openAgain, openFile, openTemplate } from "./opening";
import { reviews } from "./reviews";
import { runs } from "./runs";
import { drafts, keep, open, work } from "./state";
import { step } from "./step";

export interface Page {
  name: string;
  title: string;
  /** What it returns is called when the studio answers again. */
  show: (main: HTMLElement, about: About) => Promise<void | (() => void)>;
}

const PAGES: Page[] = [
  { name: "step", title: "Step", show: step },
  { name: "build", title: "Build", show: build },
  { name: "runs", title: "Runs", show: runs },
  { name: "reviews", title: "Reviews", show: reviews },
];

const THEMES: [string, string][] = [
  ["auto", "Theme: as the system"],
  ["light", "Theme: light"],
  ["dark", "Theme: dark"],
];

function setTheme(theme: string): void {
  localStorage.setItem("accord-studio-theme", theme);
  if (theme === "auto") document.documentElement.removeAttribute("data-theme");
  else document.documentElement.setAttribute("data-theme", theme);
  document.dispatchEvent(new Event("theme"));
}

/** What stands behind `#`: `#build&c=…` is a page and a contract. */
function address(): { page: string; parameters: URLSearchParams } {
  const text = location.hash.slice(1);
  const parameters = new URLSearchParams(text);
  const page = PAGES.find((known) => parameters.has(known.name))?.name ?? "step";
  return { page, parameters };
}

let about: About | null = null;
let shown = 0;
let again: (() => void) | void;
let missed = false; // whether a page could not be shown

/** Something failed: it is told, and what is on the page stays; only a page that could not be shown is one to be tried again. */
function fail(error: unknown): void {
  const known = error instanceof Refusal ? error : new Refusal(`the page failed: ${String(error)}`);
  complain(known);
  const stage = byId("main").firstElementChild;
  if (stage?.childElementCount) return;
  missed = true;
  const about = known instanceof Lost ? "This page is shown as soon as the studio answers." : "This page could not be shown.";
  fill(byId("main"), h("section", { class: "card" }, h("h2", { text: about }), button("try again", () => void show())));
}

/** Open what the address names, or what this tab had open, or the first file. */
async function openFirst(known: About, parameters: URLSearchParams): Promise<void> {
  if (parameters.has("c")) {
    const packed = await unpack(parameters.get("c") ?? "").catch(() => {
      throw new Refusal("the link is damaged; the contract in it cannot be read");
    });
    const { text, name } = packed as { text?: unknown; name?: unknown };
    open(typeof text === "string" ? text : "", { name: typeof name === "string" ? name : "contract" });
    keep(); // nothing else has it once the address is left
  } else if (parameters.has("template")) await openTemplate(parameters.get("template") ?? "");
  else if (work.origin || work.key) return;
  else if (!(await openAgain(known)) && parameters.has("token")) {
    const others = drafts.all().length;
    if (known.files.length) await openFile(known.files[0]!.number);
    if (others) tell(`${others === 1 ? "A text that is" : `${others} texts that are`} not saved ${others === 1 ? "is" : "are"} kept from before, in the list of contracts.`);
  }
}

async function show(): Promise<void> {
  const { page, parameters } = address();
  const mine = ++shown;
  again = undefined;
  missed = false;
  quiet();
  try {
    about ??= await ask<About>("about");
    await openFirst(about, parameters).catch((error: unknown) => {
      if (error instanceof Lost) throw error;
      fail(error); // a file that cannot be read is no reason to show nothing
    });
    if (mine !== shown) return; // somebody was quicker to go elsewhere
    if (["c", "template", "token"].some((name) => parameters.has(name))) history.replaceState(null, "", `#${page}`);
    const chosen = PAGES.find((known) => known.name === page) ?? PAGES[0]!;
    document.title = `${chosen.title} · accord studio`;
    for (const link of byId("pages").querySelectorAll("a")) {
      if (link.hash === `#${chosen.name}`) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    // Each time a new stage: what an earlier one still waits for can change nothing that is seen.
    const stage = h("div", { class: `stage ${chosen.name}` });
    fill(byId("main"), stage);
    const begun = await chosen.show(stage, about);
    if (mine === shown) again = begun;
  } catch (error) {
    if (mine === shown) fail(error);
  }
}

/** The address has changed: to another page, or to that of a studio that was started anew. */
function moved(): void {
  const { parameters } = address();
  if (parameters.has("token") && about && !parameters.has("c")) {
    takeToken(parameters);
    const current = byId("pages").querySelector<HTMLAnchorElement>("a[aria-current]")?.hash ?? "#step";
    history.replaceState(null, "", current);
    void ask("about").catch(() => warn("The studio does not take this address. Is it the one that was printed last?"));
    return;
  }
  if (parameters.has("token")) takeToken(parameters);
  void show();
}

watch((fresh) => {
  about = Object.assign(about ?? fresh, fresh);
  findFile(about);
  if (missed || !byId("main").firstElementChild) void show();
  else again?.();
});
takeToken(address().parameters);
const theme = localStorage.getItem("accord-studio-theme") ?? "auto";
setTheme(theme);
const chooser = select(THEMES, theme, (value) => {
  setTheme(value);
  say(`theme ${value}`);
});
chooser.setAttribute("aria-label", "Theme");
byId("tools").append(chooser);
fill(byId("pages"), h("ul", {}, ...PAGES.map((page) => h("li", {}, h("a", { text: page.title, attributes: { href: `#${page.name}` } })))));
document.querySelector<HTMLAnchorElement>(".skip")?.addEventListener("click", (event) => {
  event.preventDefault();
  byId("main").focus();
});
addEventListener("hashchange", moved);
document.addEventListener("refresh", () => {
  void show().then(() => byId("main").querySelector<HTMLSelectElement>(".bar select")?.focus());
});
addEventListener("unhandledrejection", (event) => fail(event.reason));
void show();
