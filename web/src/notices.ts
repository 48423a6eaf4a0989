// What has become of what somebody did, told where they look: at the top, which stays in sight however far they have
// scrolled. One sentence about what was done, one about what was not; each stays until the next, or until it is closed.

import { Lost, Refusal } from "./api";
import { button, byId, fill, h } from "./dom";

/** Something was done. */
export function tell(sentence: string): void {
  fill(byId("told"), h("p", { text: sentence }), closing("told"));
  clearWarning();
}

/** Something was not done, or needs to be known. */
export function warn(message: string, text = ""): void {
  const more = text ? h("pre", { text, attributes: { tabindex: "0" } }) : null;
  fill(byId("warned"), h("div", { class: "notice bad", attributes: { role: "alert" } }, h("div", {}, h("p", { text: message }), more), closing("warned")));
  clearTold();
}

/** What was done is not how things are any more. */
export function clearTold(): void {
  fill(byId("told"));
}

/** What was wrong is mended. */
export function clearWarning(): void {
  fill(byId("warned"));
}

/** Nothing that was told is of interest any more. */
export function quiet(): void {
  clearTold();
  clearWarning();
}

/** What the studio has refused is told; that it does not answer is told by the banner (see `connection`). */
export function complain(error: unknown): void {
  if (!(error instanceof Refusal)) throw error;
  if (!(error instanceof Lost)) warn(error.message, error.text);
}

function closing(where: "told" | "warned"): HTMLElement {
  return button("close", () => fill(byId(where)), { class: "quiet", attributes: { "aria-label": "close this message" } });
}
