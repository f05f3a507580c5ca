/**
 * A list of the attributes that spans may have, yes-or-no ones and choices, set by number or by click. It belongs to the element `palette`,
 * beside which it opens.
 *
 * @typedef {object} Target  a span
 * @property {string} key  the same while it is the same span
 * @property {number} start
 * @property {number} end
 * @property {number} label
 * @property {Record<string, string|true>} [attributes]
 */

import { Popover, itemBeside } from "./popover.js";
import { byId, el } from "./dom.js";
import { words } from "./words.js";

const DIGITS = 9;

export class AttributeList {
  #root;
  #popover;
  #labels;
  #targets;
  #set;
  #listed = "";

  /**
   * @param {object} parts
   * @param {Map<number, {name: string, attributes?: Array<{name: string, values?: string[]}>}>} parts.labels
   * @param {() => Target[]} parts.targets  the selected spans, as they are now
   * @param {(target: Target, name: string, value: string|true|null) => void} parts.set  null removes the attribute
   * @param {() => void} parts.back  gives the focus back to the note
   */
  constructor({ labels, targets, set, back }) {
    this.#labels = labels;
    this.#targets = targets;
    this.#set = set;
    this.#root = el("div", { class: "wb-pop wb-attributes-list", role: "dialog", "aria-label": words.attributes, hidden: true });
    byId("palette").after(this.#root);
    this.#popover = new Popover(this.#root, back);
    this.#root.addEventListener("click", (event) => this.#click(event));
    this.#root.addEventListener("keydown", (event) => this.#key(event));
  }

  /** Open the list beside some text. Returns why it can't be opened, or "". @param {{first: DOMRect, last: DOMRect}} box */
  open(box) {
    const targets = this.#targets();
    const having = targets.filter(({ label }) => this.#labels.get(label)?.attributes);
    if (!having.length) return words.noAttributes([...new Set(targets.map(({ label }) => this.#labels.get(label)?.name ?? "?"))].join(", "));
    this.#fill(having);
    this.#popover.open(box);
    this.#items[0].focus();
    return "";
  }

  close() {
    this.#popover.close();
  }

  /** Show the attributes as they are after a change; close the list where other spans are selected. */
  refresh() {
    if (!this.#popover.isOpen) return;
    const targets = this.#targets();
    if (this.#signature(targets) === this.#listed) this.#mark(targets);
    else this.close();
  }

  #signature(targets) {
    return targets.filter(({ label }) => this.#labels.get(label)?.attributes).map(({ key, label }) => `${key} ${label}`).join();
  }

  #fill(targets) {
    this.#listed = this.#signature(targets);
    let number = 0;
    const item = (key, name, value, text) => {
      number += 1;
      const digit = el("kbd", {}, number <= DIGITS ? String(number) : "\u00a0");
      return el("button", { type: "button", class: "wb-item", "data-key": key, "data-name": name, "data-value": value }, digit, el("span", { class: "wb-item-text" }, text));
    };
    const groups = targets.flatMap(({ key, label: id }) => {
      const label = this.#labels.get(id);
      return [
        el("p", { class: "wb-pop-hint" }, words.attributesOf(label.name)),
        ...label.attributes.map(({ name, values }) =>
          values
            ? el("div", { class: "wb-choice", role: "group", "aria-label": name }, el("p", { class: "wb-pop-hint" }, name), ...values.map((value) => item(key, name, value, value)))
            : item(key, name, null, name),
        ),
      ];
    });
    this.#root.replaceChildren(...groups);
    this.#mark(targets);
  }

  #mark(targets) {
    for (const button of this.#items) {
      const { key, name, value } = button.dataset;
      const given = targets.find((target) => target.key === key)?.attributes ?? {};
      button.setAttribute("aria-pressed", String(given[name] === (value ?? true)));
    }
  }

  get #items() {
    return [...this.#root.querySelectorAll("button")];
  }

  #click(event) {
    const button = event.target.closest("[data-name]");
    if (button) this.#toggle(button);
  }

  #toggle(button) {
    const { key, name, value } = button.dataset;
    const target = this.#targets().find((one) => one.key === key);
    const isSet = button.getAttribute("aria-pressed") === "true";
    if (target) this.#set(target, name, isSet ? null : (value ?? true));
  }

  #key(event) {
    const items = this.#items;
    const digit = items[Number(event.key) - 1];
    if (digit && !event.ctrlKey && !event.altKey) this.#toggle(digit);
    else if (event.key === "F4") this.close();
    else if (event.key.startsWith("Arrow") && !event.altKey && !event.shiftKey) itemBeside(items, document.activeElement, event.key).focus();
    else if (event.key === "Tab") itemBeside(items, document.activeElement, event.shiftKey ? "ArrowLeft" : "ArrowRight").focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
