/** The labels to choose from, at the selection. A sheet at the bottom on small screens (workbench.css). */

import { el } from "./dom.js";

const GAP = 8;

export class Palette {
  #root;
  #choose;
  #back;

  /**
   * @param {HTMLElement} root
   * @param {object[]} labels
   * @param {(label: number) => void} choose
   * @param {() => void} back  where the focus goes when it closes
   */
  constructor(root, labels, choose, back) {
    this.#root = root;
    this.#choose = choose;
    this.#back = back;
    root.replaceChildren(
      ...labels.map((label) =>
        el(
          "button",
          { type: "button", class: `wb-label hue-${label.hue}`, "data-label-id": label.id },
          el("span", { class: `swatch underline-${label.underline}`, "aria-hidden": "true" }, "a"),
          el("span", { class: "name" }, label.name),
          label.key && el("kbd", {}, label.key),
        ),
      ),
    );
    // Selection and focus stay in the note while a button is pressed.
    root.addEventListener("mousedown", (event) => event.preventDefault());
    root.addEventListener("click", (event) => this.#click(event));
    root.addEventListener("keydown", (event) => this.#keydown(event));
  }

  get isOpen() {
    return !this.#root.hidden;
  }

  /** @param {{first: DOMRect, last: DOMRect}} box of the selection @param {boolean} focus for those who use keys */
  open(box, focus) {
    this.#root.hidden = false;
    const { width, height } = this.#root.getBoundingClientRect();
    const left = Math.max(GAP, Math.min(box.last.left, window.innerWidth - width - GAP));
    const below = box.last.bottom + GAP;
    const top = below + height < window.innerHeight ? below : Math.max(GAP, box.first.top - height - GAP);
    this.#root.style.setProperty("--left", `${Math.round(left)}px`);
    this.#root.style.setProperty("--top", `${Math.round(top)}px`);
    if (focus) this.#buttons[0]?.focus();
  }

  close() {
    if (!this.isOpen) return;
    const hadFocus = this.#root.contains(document.activeElement);
    this.#root.hidden = true;
    if (hadFocus) this.#back();
  }

  get #buttons() {
    return [...this.#root.querySelectorAll("button")];
  }

  #click(event) {
    const button = event.target.closest("button");
    if (button) this.#choose(Number(button.dataset.labelId));
  }

  #keydown(event) {
    const steps = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1, Tab: event.shiftKey ? -1 : 1 };
    const step = steps[event.key];
    if (step === undefined) return;
    const buttons = this.#buttons;
    const at = buttons.indexOf(document.activeElement);
    buttons[(at + step + buttons.length) % buttons.length]?.focus();
    event.preventDefault();
    event.stopPropagation();
  }
}
