// What an action needs before it can be tried, asked in a small form.

import type { Move, Question } from "./api";
import { button, h, labelled } from "./dom";

function input(question: Question): HTMLElement {
  const label = { field: question.name, person: "By whom", time: "When" }[question.kind];
  const placeholder = question.kind === "time" ? "30, or +24h from now" : undefined;
  const control = h("input", { attributes: { type: "text", spellcheck: "false", autocomplete: "off", placeholder } });
  return labelled(label, control, question.hint);
}

export function asking(move: Move, done: (answers: string[]) => void, leave: () => void): HTMLFormElement {
  const inputs = move.questions.map(input);
  return h(
    "form",
    {
      class: "card asking",
      attributes: { "aria-label": `what ${move.text} needs` },
      onsubmit: (event) => {
        event.preventDefault();
        done(inputs.map((field) => field.querySelector("input")?.value ?? ""));
      },
      onkeydown: (event) => {
        if (event.key === "Escape") leave();
      },
    },
    h("h2", {}, h("code", { text: move.text })),
    ...inputs,
    h("p", { class: "hint", text: "JSON or plain text; what is left empty is left out." }),
    h(
      "div",
      { class: "row" },
      h("button", { class: "primary", text: "do it", attributes: { type: "submit" } }),
      button("call it off", leave),
    ),
  );
}

export const VERDICTS: Record<string, string> = {
  ok: "ok",
  violation: "refused",
  refused: "refused",
  blocked: "blocked",
  unrecognized: "not recognised",
  misuse: "cannot be told",
};
