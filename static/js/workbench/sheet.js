/** The `?` sheet: what is bound, made from the bindings themselves. */

import { el } from "./dom.js";

export class KeySheet {
  #dialog;

  constructor(dialog, list, keys) {
    this.#dialog = dialog;
    list.replaceChildren(
      ...keys.sheet().map(({ group, entries }) =>
        el(
          "section",
          {},
          el("h3", {}, group),
          el("dl", {}, ...entries.map(({ keys: bound, what }) => el("div", {}, el("dt", {}, ...inKbd(bound)), el("dd", {}, what)))),
        ),
      ),
    );
  }

  get isOpen() {
    return this.#dialog.open;
  }

  open() {
    if (!this.isOpen) this.#dialog.showModal();
  }
}

function inKbd(keys) {
  return keys.flatMap((key, at) => (at ? [" ", el("kbd", {}, key)] : [el("kbd", {}, key)]));
}
