// What leaves the page, by the clipboard or as a file; either is told.

import { h } from "./dom";
import { tell, warn } from "./notices";

export async function copy(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    tell(`${what} is on the clipboard.`);
  } catch {
    warn(`${what} could not be copied. Select it by hand.`);
  }
}

export function download(name: string, content: Blob | string, kind = "text/plain"): void {
  const blob = typeof content === "string" ? new Blob([content], { type: kind }) : content;
  const address = URL.createObjectURL(blob);
  const link = h("a", { attributes: { href: address, download: name } });
  link.click();
  URL.revokeObjectURL(address);
  tell(`${name} is with your downloads.`);
}
