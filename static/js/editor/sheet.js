/** The `?` sheet: the list of keys, made from the bindings. */

import { breakable, el } from "./dom.js";
import { words } from "./words.js";

// The order of groups on the sheet, which is not the order of binding.
const ORDER = Object.values(words.groups);
const rankOf = (group) => (ORDER.includes(group) ? ORDER.indexOf(group) : ORDER.length - 1.5);

export class KeySheet {
  #dialog;

  constructor(dialog, list, keys) {
    this.#dialog = dialog;
    list.replaceChildren(
      ...keys.sheet().sort((a, b) => rankOf(a.group) - rankOf(b.group)).map(({ group, entries }) =>
        el(
          "section",
          { class: group === words.groups.touch && "is-touch" },
          el("h3", {}, group),
          el("dl", {}, ...entries.map(({ keys: bound, what }) => el("div", {}, el("dt", {}, ...inKbd(bound)), el("dd", { title: what }, ...breakable(what))))),
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
  return keys.flatMap((key, index) => (index ? [" ", el("kbd", {}, key)] : [el("kbd", {}, key)]));
}
