/** The `?` sheet: what is bound, made from the bindings themselves. */

import { breakable, el } from "./dom.js";
import { words } from "./words.js";

// Whoever binds first has a key, but the sheet reads from moving to labels.
const ORDER = Object.values(words.groups);
const placeOf = (group) => (ORDER.includes(group) ? ORDER.indexOf(group) : ORDER.length - 1.5);

export class KeySheet {
  #dialog;

  constructor(dialog, list, keys) {
    this.#dialog = dialog;
    list.replaceChildren(
      ...keys.sheet().sort((a, b) => placeOf(a.group) - placeOf(b.group)).map(({ group, entries }) =>
        el(
          "section",
          {},
          el("h3", {}, group),
          el("dl", {}, ...entries.map(({ keys: bound, what }) => el("div", {}, el("dt", {}, ...inKbd(bound)), el("dd", {}, ...breakable(what))))),
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
