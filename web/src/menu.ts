// A small menu or form at a place of the page. One is open at a time; it closes by Escape, by a click elsewhere, and
// when what it was opened for is done. The focus goes back to where it was. When the place moves, because the page is
// scrolled or gets another size, a menu closes and a form follows: what was typed into it is not lost, least of all when
// a phone makes room for its keyboard.

import { fill, h, say, type Child } from "./dom";

export interface Item {
  text: string;
  run: () => void;
}

/** What a menu is opened at. */
export type Anchor = Element & { focus: () => void };

let close: ((back: boolean) => void) | null = null;

export function dismiss(): void {
  close?.(false);
}

/** A picture was drawn anew under whoever worked in it: go on where it is entered. */
export function regain(where: ParentNode): void {
  where.querySelector<HTMLElement>('.handle[tabindex="0"], .stop[tabindex="0"]')?.focus();
}

/** Beside what it was opened at if there is room, so that that can still be seen; else below, or above. */
function settle(box: HTMLElement, anchor: Element): void {
  const around = anchor.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = box;
  const beside = around.right + 8 + width <= innerWidth - 8;
  const below = around.bottom + 6 + height <= innerHeight;
  const left = beside ? around.right + 8 : Math.min(around.left, innerWidth - width - 8);
  const top = beside ? around.top : below ? around.bottom + 6 : around.top - height - 6;
  box.style.left = `${Math.max(8, left)}px`;
  box.style.top = `${Math.max(8, Math.min(top, innerHeight - height - 8))}px`;
}

function raise(box: HTMLElement, anchor: Anchor, moved: () => void): void {
  close?.(false);
  document.body.append(box);
  settle(box, anchor);
  const { x, y } = anchor.getBoundingClientRect();
  const scrolled = () => {
    const now = anchor.getBoundingClientRect();
    if (Math.abs(now.x - x) > 1 || Math.abs(now.y - y) > 1) moved(); // something else may be scrolled, or itself
  };
  addEventListener("resize", moved);
  document.addEventListener("scroll", scrolled, true);
  const outside = (event: Event) => {
    if (!box.contains(event.target as Node)) close?.(false);
  };
  const leave = (back: boolean) => {
    document.removeEventListener("pointerdown", outside, true);
    removeEventListener("resize", moved);
    document.removeEventListener("scroll", scrolled, true);
    box.remove();
    close = null;
    if (back && anchor.isConnected) anchor.focus();
    else if (back) regain(document);
  };
  close = leave;
  document.addEventListener("pointerdown", outside, true);
  box.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    leave(true);
  });
}

export function openMenu(title: string, items: Item[], anchor: Anchor): void {
  const entries = items.map((item) =>
    h("button", {
      text: item.text,
      attributes: { type: "button", role: "menuitem", tabindex: "-1" },
      onclick: () => {
        close?.(true);
        item.run();
      },
    }),
  );
  const move = (to: number) => entries[(to + entries.length) % entries.length]?.focus();
  const list = h(
    "div",
    {
      attributes: { role: "menu", "aria-label": title },
      onkeydown: (event) => {
        const at = entries.indexOf(document.activeElement as HTMLButtonElement);
        if (event.key === "ArrowDown") move(at + 1);
        else if (event.key === "ArrowUp") move(at - 1);
        else if (event.key === "Home") move(0);
        else if (event.key === "End") move(-1);
        else if (event.key === "Tab") close?.(true);
        else if (event.key.length === 1 && !event.ctrlKey && !event.metaKey) {
          const sign = event.key.toLowerCase();
          const found = [...entries.slice(at + 1), ...entries.slice(0, at + 1)].find((entry) => entry.textContent?.toLowerCase().startsWith(sign));
          if (!found || sign === " ") return;
          found.focus();
        } else return;
        event.preventDefault();
      },
    },
    ...entries,
  );
  raise(h("div", { class: "popup menu" }, h("p", { class: "popup-title", text: title, attributes: { "aria-hidden": "true" } }), list), anchor, dismiss);
  move(0);
}

/** What a form says when it could not be done: the sentence, and findings if there are any. */
export interface Problem {
  message: string;
  text: string;
}

/** `done` makes the change; the form stays open, with all that was typed, as long as that is refused. */
export function openForm(title: string, button: string, fields: Child[], done: () => Promise<Problem | null>, anchor: Anchor): void {
  const trouble = h("div");
  const form = h(
    "form",
    {
      class: "popup form",
      attributes: { role: "dialog", "aria-label": title },
      onsubmit: (event) => {
        event.preventDefault();
        void done().then((problem) => {
          if (!problem) {
            close?.(true);
            return;
          }
          say(problem.message);
          fill(trouble, h("div", { class: "complaint", attributes: { role: "alert" } }, h("p", { text: problem.message }), problem.text ? h("pre", { text: problem.text, attributes: { tabindex: "0" } }) : null));
          settle(form, anchor); // it has grown
        });
      },
      onkeydown: (event) => {
        if (event.key !== "Tab") return;
        const stops = [...form.querySelectorAll<HTMLElement>("input, select, textarea, button, summary, pre")].filter((stop) => stop.offsetParent !== null && !(stop as HTMLInputElement).disabled);
        const [first, last] = [stops[0], stops.at(-1)];
        const leaving = event.shiftKey ? first : last;
        if (document.activeElement !== leaving) return;
        event.preventDefault();
        (event.shiftKey ? last : first)?.focus();
      },
    },
    h("h2", { text: title }),
    ...fields,
    trouble,
    h("div", { class: "row" }, h("button", { class: "primary", text: button, attributes: { type: "submit" } }), h("button", { text: "call it off", attributes: { type: "button" }, onclick: () => close?.(true) })),
  );
  raise(form, anchor, () => settle(form, anchor));
  form.querySelector<HTMLElement>("input:not([type=checkbox]), select, button")?.focus();
}
