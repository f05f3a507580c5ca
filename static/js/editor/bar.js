/** The bar of every page over a note: state of saving, notices, and announcements for screen readers. */

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

  /** Show a notice until it is closed or replaced; an empty message closes it. */
  tell(message, kind = "warn") {
    const root = byId("notice");
    root.hidden = message === "";
    if (!message) {
      root.replaceChildren();
      return;
    }
    const close = el("button", { type: "button", class: "btn quiet small" }, words.close);
    close.addEventListener("click", () => this.tell(""));
    root.replaceChildren(el("div", { class: `notice ${kind}`, role: "status" }, el("span", {}, message), close));
  }

  /** Announce to screen readers what was just done. */
  say(message) {
    byId("said").textContent = message;
  }
}
