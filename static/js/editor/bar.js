/** What every page over a note says of its work: how far it is saved, notices, and words for screen readers. */

import { byId, el } from "./dom.js";
import { saveWords, words } from "./words.js";

export class Bar {
  save(state, waiting) {
    const node = byId("save-state");
    const shown = saveWords(state, waiting);
    if (node.dataset.save === state && node.textContent === shown) return;
    node.dataset.save = state;
    node.textContent = shown;
  }

  /** A notice that stays until it is closed or answered by the next one. */
  tell(message, kind = "warn") {
    const root = byId("told");
    root.hidden = message === "";
    if (!message) {
      root.replaceChildren();
      return;
    }
    const close = el("button", { type: "button", class: "btn quiet small" }, words.close);
    close.addEventListener("click", () => this.tell(""));
    root.replaceChildren(el("div", { class: `notice ${kind}`, role: "status" }, el("span", {}, message), close));
  }

  /** For screen readers: what was just done. */
  say(message) {
    byId("said").textContent = message;
  }
}
