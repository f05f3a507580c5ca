/** The attributes of the selected span: a list of yes-or-no attributes and of choices, set by number or by click. */

import { Popover, itemBeside } from "../editor/popover.js";
import { el } from "../editor/dom.js";
import { words } from "../editor/words.js";

const DIGITS = 9;

export class Attributes {
  #workbench;
  #popover;
  #root;
  #listed = null; // the span and its label as listed

  /** @param {import("./workbench.js").Workbench} workbench */
  constructor(workbench) {
    this.#workbench = workbench;
    this.#root = el("div", { class: "wb-pop wb-attributes-list", role: "dialog", "aria-label": words.attributes, hidden: true });
    document.getElementById("palette").after(this.#root);
    this.#popover = new Popover(this.#root, () => workbench.work.focusNote());
    this.#root.addEventListener("click", (event) => this.#click(event));
    this.#root.addEventListener("keydown", (event) => this.#key(event));
    workbench.on("drawn", () => this.#refresh());
    workbench.on("leave", () => this.#popover.close());
  }

  actions() {
    return [{ keys: ["F4"], group: words.groups.change, what: words.keys.attributes, run: () => this.open() }];
  }

  /** Open the list for the selected span. False where no span is selected. */
  open() {
    const { work, note, labels } = this.#workbench;
    const span = work.selected;
    if (!span) return false;
    if (!work.labeling.mayChange()) return true;
    if (!labels.get(span.label)?.attributes) {
      const message = words.noAttributes(work.labeling.nameOf(span.label));
      this.#workbench.say(message);
      work.hint(message);
      return true;
    }
    work.palette.close();
    this.#fill(span);
    this.#popover.open(note.layout.box(span.start, span.end));
    this.#items[0].focus();
    return true;
  }

  /** Show the attributes as they are after a change; close the list where the span is another one. */
  #refresh() {
    if (!this.#popover.isOpen) return;
    const span = this.#workbench.work.selected;
    const isSame = span && this.#listed?.key === span.key && this.#listed.label === span.label;
    if (!isSame) this.#popover.close();
    else this.#mark(span);
  }

  #fill(span) {
    const label = this.#workbench.labels.get(span.label);
    this.#listed = span;
    let number = 0;
    const item = (name, value, text) => {
      number += 1;
      const key = el("kbd", {}, number <= DIGITS ? String(number) : "\u00a0");
      return el("button", { type: "button", class: "wb-item", "data-name": name, "data-value": value }, key, el("span", { class: "wb-item-text" }, text));
    };
    const groups = label.attributes.map(({ name, values }) =>
      values
        ? el("div", { class: "wb-choice", role: "group", "aria-label": name }, el("p", { class: "wb-pop-hint" }, name), ...values.map((value) => item(name, value, value)))
        : item(name, null, name),
    );
    this.#root.replaceChildren(el("p", { class: "wb-pop-hint" }, words.attributesOf(label.name)), ...groups);
    this.#mark(span);
  }

  #mark({ attributes = {} }) {
    for (const button of this.#items) {
      const { name, value } = button.dataset;
      button.setAttribute("aria-pressed", String(attributes[name] === (value ?? true)));
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
    const { name, value } = button.dataset;
    const isSet = button.getAttribute("aria-pressed") === "true";
    this.#workbench.work.labeling.setAttribute(name, isSet ? null : (value ?? true));
  }

  #key(event) {
    const items = this.#items;
    const digit = items[Number(event.key) - 1];
    if (digit && !event.ctrlKey && !event.altKey) this.#toggle(digit);
    else if (event.key === "F4") this.#popover.close();
    else if (event.key.startsWith("Arrow") && !event.altKey && !event.shiftKey) itemBeside(items, document.activeElement, event.key).focus();
    else if (event.key === "Tab") itemBeside(items, document.activeElement, event.shiftKey ? "ArrowLeft" : "ArrowRight").focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
