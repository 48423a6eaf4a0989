// The pages of templates: headings, paragraphs, code. They are made here, as nodes; whatever else stands in them is text.

import { h, type Child } from "./dom";

export function markdown(text: string, level: number): HTMLElement {
  const out = h("div", { class: "prose" });
  let code: string[] | null = null;
  let kind = "";
  let paragraph: string[] = [];
  const flush = () => {
    if (paragraph.length) out.append(h("p", {}, ...inline(paragraph.join(" "))));
    paragraph = [];
  };
  for (const line of text.split("\n")) {
    if (line.startsWith("```")) {
      flush();
      if (code === null) {
        code = [];
        kind = line.slice(3);
      } else {
        const content = code.join("\n");
        out.append(kind === "explanation" ? h("blockquote", {}, ...inline(content)) : listing(content));
        code = null;
      }
    } else if (code !== null) code.push(line);
    else if (line.startsWith("#")) {
      flush();
      const depth = line.indexOf(" ");
      const tag = `h${Math.min(level + depth - 1, 6)}` as "h2";
      out.append(h(tag, { text: line.slice(depth + 1) }));
    } else if (!line.trim()) flush();
    else paragraph.push(line);
  }
  flush();
  return out;
}

/** Code that may be wider than its place can be reached by keyboard, to be scrolled. */
export function listing(content: string): HTMLElement {
  return h("pre", { attributes: { tabindex: "0", role: "region", "aria-label": "code" } }, h("code", { text: content }));
}

export function inline(text: string): Child[] {
  return text.split("`").map((part, index) => (index % 2 ? h("code", { text: part }) : part));
}
