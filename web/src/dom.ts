// Elements of the page. Text only ever becomes text: nothing here reads markup, so nothing that a contract, a payload or
// a trace holds can become an element, an attribute or a script. And what cannot be seen is made visible, so that no text
// can reorder or hide what stands beside it.

export type Child = Node | string | null | undefined | false;

type Listeners = { [K in keyof HTMLElementEventMap as `on${K}`]?: (event: HTMLElementEventMap[K]) => void };

export type Props = Listeners & {
  class?: string;
  id?: string;
  text?: string;
  attributes?: Record<string, string | boolean | undefined>;
};

const HIDDEN = /[^\P{C}\n\t]|\p{Zl}|\p{Zp}/gu;

/** Text with every hidden character written as an escape. */
export function visible(text: string): string {
  return text.replace(HIDDEN, (letter) => `\\u{${letter.codePointAt(0)?.toString(16) ?? ""}}`);
}

export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  props: Props = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  const { class: name, id, text, attributes, ...listeners } = props;
  if (name) element.className = name;
  if (id) element.id = id;
  if (text !== undefined) element.textContent = visible(text);
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (value === true) element.setAttribute(key, "");
    else if (value !== undefined && value !== false) element.setAttribute(key, key === "value" ? value : visible(value));
  }
  for (const [key, listener] of Object.entries(listeners)) {
    element.addEventListener(key.slice(2), listener as EventListener);
  }
  element.append(...kept(children));
  return element;
}

function kept(children: Child[]): (Node | string)[] {
  return children
    .filter((child): child is Node | string => child !== null && child !== undefined && child !== false)
    .map((child) => (typeof child === "string" ? visible(child) : child));
}

export function fill(element: Element, ...children: Child[]): void {
  element.replaceChildren(...kept(children));
}

export function byId(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no #${id}`);
  return found;
}

/** Told to whoever listens to the page instead of looking at it. */
export function say(sentence: string): void {
  byId("said").textContent = sentence;
}

let last = 0;

export function freshId(prefix: string): string {
  last += 1;
  return `${prefix}-${last}`;
}

export function button(text: string, onclick: () => void, props: Props = {}): HTMLButtonElement {
  const { attributes, ...rest } = props;
  return h("button", { ...rest, onclick, text, attributes: { type: "button", ...attributes } });
}

/** A control with its label and, below it, what there is to know about it. */
export function labelled(label: string, control: HTMLElement, hint = ""): HTMLElement {
  control.id ||= freshId("field");
  const about = hint ? h("p", { class: "hint", text: hint, id: `${control.id}-hint` }) : null;
  if (about) control.setAttribute("aria-describedby", about.id);
  return h("div", { class: "field" }, h("label", { text: label, attributes: { for: control.id } }), control, about);
}

export function select(options: [value: string, text: string][], chosen: string, onchange: (value: string) => void) {
  const control = h("select", { onchange: () => onchange(control.value) });
  for (const [value, text] of options) control.append(h("option", { text, attributes: { value } }));
  control.value = chosen;
  return control;
}

/** Have the page that is shown made anew: another contract is open. */
export function refresh(): void {
  document.dispatchEvent(new Event("refresh"));
}
