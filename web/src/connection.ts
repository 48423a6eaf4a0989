// Whether the studio answers. If it does not, a banner says so and what is kept, everything on the page stays as it is,
// and it is asked again until it answers: the same studio, or one that was started anew, whose address has another token.

import { ask, Lost, takeToken, type About } from "./api";
import { byId, fill, h, labelled } from "./dom";
import { pack } from "./link";
import { tell, warn } from "./notices";
import { work } from "./state";

const BETWEEN = 1000;

/** What the banner is about; nothing if the studio answers. */
let lost: Lost["why"] | null = null;

/** `back` is told about the studio that answers again. */
export function watch(back: (about: About) => void): void {
  let recovering = false;
  const recover = async (why: string) => {
    if (recovering) return;
    recovering = true;
    try {
      const about = await ask<About>("about");
      lost = null;
      fill(byId("banner"));
      tell(why);
      back(about);
    } finally {
      recovering = false;
    }
  };
  const retry = () => {
    if (lost === null) return; // it was found again in another way
    void recover("The studio answers again.").catch(() => setTimeout(retry, BETWEEN));
  };
  document.addEventListener("lost", (event) => {
    const { why } = (event as CustomEvent<Lost>).detail;
    if (lost === why) return;
    const first = lost === null;
    lost = why;
    show(why, () => void recover("The studio answers again.").catch(() => warn("The studio does not take this address. Is it the one that was printed last?")));
    if (first) setTimeout(retry, BETWEEN);
  });
  document.addEventListener("renewed", () => {
    void recover("The studio was started anew; this page goes on with it.").catch(() => undefined);
  });
}

function show(why: Lost["why"], again: () => void): void {
  const kept = "What you have typed stays here, and is kept in this browser for this address.";
  const silent = [h("p", {}, h("strong", { text: "The studio does not answer. " }), kept), h("p", {}, "Start it again, with ", h("code", { text: `accord studio … --port ${location.port}` }), ": this page goes on by itself.")];
  const locked = [h("p", {}, h("strong", { text: "The studio was started anew, or does not know this page: open the address that the studio printed when it was started, " }), "in this tab or in another, or paste it here. ", kept), pasting(again)];
  fill(byId("banner"), h("div", { class: "notice bad", attributes: { role: "alert" } }, h("div", {}, ...(why === "silent" ? silent : locked))));
}

/** A field for the address; one of another port leads to a page that does not see what this one has kept. */
function pasting(again: () => void): HTMLElement {
  const field = h("input", { attributes: { type: "text", spellcheck: "false", autocomplete: "off", placeholder: `${location.origin}/#token=…` } });
  const trouble = h("p", { class: "hint" });
  const take = async () => {
    let address: URL;
    try {
      address = new URL(field.value.trim());
    } catch {
      fill(trouble, "This is not an address.");
      return;
    }
    const parameters = new URLSearchParams(address.hash.slice(1));
    if (address.protocol !== "http:" || !["127.0.0.1", "localhost"].includes(address.hostname) || !parameters.has("token")) {
      fill(trouble, "The address of a studio begins with http://127.0.0.1: and has a token.");
      return;
    }
    if (address.origin === location.origin) {
      takeToken(parameters);
      again();
      return;
    }
    const there = `${address.origin}/#build&token=${encodeURIComponent(parameters.get("token") ?? "")}&c=${await pack({ text: work.text, name: work.name })}`;
    fill(trouble, `That studio listens on another port, so its page does not see what is kept for ${location.origin}. `, h("a", { text: "Go there with the text that is open", attributes: { href: there } }), `; other drafts stay kept for this address, and are there again when a studio is started with --port ${location.port}.`);
  };
  return h("form", { class: "pasting", onsubmit: (event) => { event.preventDefault(); void take(); } }, labelled("Address", field), h("button", { text: "go on", attributes: { type: "submit" } }), trouble);
}
