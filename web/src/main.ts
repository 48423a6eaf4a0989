// The frame of the page: which of its parts is shown, the theme, and what an address says.

import "./colours.css";
import "./base.css";
import "./frame.css";
import "./steps.css";
import "./pictures.css";
import "./popups.css";
import "./editor.css";
import "./runs.css";

import { ask, Refusal, takeToken, type About } from "./api";
import { build } from "./build";
import { button, byId, fill, h, say, select } from "./dom";
import { unpack } from "./link";
import { reviews } from "./reviews";
import { runs } from "./runs";
import { open } from "./state";
import { openFile, openTemplate, step } from "./step";

export interface Page {
  name: string;
  title: string;
  show: (main: HTMLElement, about: About) => void | Promise<void>;
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

function complain(error: unknown): void {
  const refusal = error instanceof Refusal ? error : new Refusal(`the page failed: ${String(error)}`);
  fill(
    byId("main"),
    h(
      "section",
      { class: "card complaint", attributes: { role: "alert" } },
      h("h2", { text: "That did not work" }),
      h("p", { text: refusal.message }),
      refusal.text ? h("pre", { text: refusal.text }) : null,
      button("try again", () => void show()),
    ),
  );
}

async function show(): Promise<void> {
  const { page, parameters } = address();
  const mine = ++shown;
  try {
    about ??= await ask<About>("about");
    if (parameters.has("c")) {
      const packed = await unpack(parameters.get("c") ?? "").catch(() => {
        throw new Refusal("the link is damaged; the contract in it cannot be read");
      });
      const { text, name } = packed as { text?: unknown; name?: unknown };
      open(typeof text === "string" ? text : "", { name: typeof name === "string" ? name : "contract", origin: "link" });
      history.replaceState(null, "", `#${page}`);
    } else if (parameters.has("template")) {
      await openTemplate(parameters.get("template") ?? "");
      history.replaceState(null, "", `#${page}`);
    } else if (parameters.has("token")) {
      history.replaceState(null, "", `#${page}`);
      if (about.files.length) await openFile(0);
    }
    if (mine !== shown) return; // somebody was quicker to go elsewhere
    const chosen = PAGES.find((known) => known.name === page) ?? PAGES[0]!;
    document.title = `${chosen.title} · accord studio`;
    for (const link of byId("pages").querySelectorAll("a")) {
      if (link.hash === `#${chosen.name}`) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    // Each time a new stage: what an earlier one still waits for can change nothing that is seen.
    const stage = h("div", { class: `stage ${chosen.name}` });
    fill(byId("main"), stage);
    await chosen.show(stage, about);
  } catch (error) {
    complain(error);
  }
}

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
addEventListener("hashchange", () => void show());
document.addEventListener("refresh", () => {
  void show().then(() => byId("main").querySelector<HTMLSelectElement>(".bar select")?.focus());
});
addEventListener("unhandledrejection", (event) => complain(event.reason));
void show();
