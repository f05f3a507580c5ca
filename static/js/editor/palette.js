/**
 * The palette of labels at the selection, the last used labels first. Label keys choose a label; other letters filter the names. On
 * small screens the palette is a sheet at the bottom (windows.css).
 */

import { namesOf } from "./keys.js";
import { breakable, el } from "./dom.js";
import { itemBeside, putBeside } from "./popover.js";
import { words } from "./words.js";

// Labels that were used last and come first.
const RECENT = 5;
const fold = (text) => text.normalize("NFKD").replace(/[\p{M}\p{Pd}\s_]/gu, "").toLowerCase();

export class Palette {
  #root;
  #labels;
  #choose;
  #back;
  #recent = []; // ids of labels, the last used one first
  #typed = "";
  #ranks = []; // the digits that apply the labels in front
  #hint = el("p", { class: "wb-pop-hint", role: "status", hidden: true });
  #head = el("div", { class: "wb-palette-head", hidden: true });
  #quote = el("bdi", { class: "wb-item-text" });
  #widen = null;
  #buttons;

  /**
   * @param {HTMLElement} root
   * @param {object[]} labels
   * @param {(label: number) => void} choose
   * @param {() => void} back  gives the focus back when the palette closes
   */
  constructor(root, labels, choose, back) {
    this.#root = root;
    this.#labels = labels;
    this.#choose = choose;
    this.#back = back;
    this.#buttons = new Map(labels.map((label) => [label.id, buttonOf(label)]));
    this.#head.append(this.#quote, this.#tool(-1, words.narrower, "-"), this.#tool(1, words.wider, "+"));
    root.replaceChildren(...this.#buttons.values(), this.#hint, this.#head);
    // Pressing a button must keep selection and focus in the note.
    root.addEventListener("mousedown", (event) => event.preventDefault());
    root.addEventListener("click", (event) => this.#click(event));
    root.addEventListener("keydown", (event) => this.#keydown(event));
  }

  #tool(step, name, key) {
    const button = el("button", { type: "button", class: "btn quiet small" }, name, " ", el("kbd", {}, key));
    button.addEventListener("click", (event) => {
      event.stopPropagation();
      this.#widen?.(step);
    });
    return button;
  }

  get isOpen() {
    return !this.#root.hidden;
  }

  get hasFocus() {
    return this.#root.contains(document.activeElement);
  }

  /**
   * @param {{first: DOMRect, last: DOMRect}} box of the selection @param {boolean} focus whether the palette gets the focus
   * @param {{first?: number|null, ranked?: number[]|null, current?: number|null, quote?: string, widen?: (step: number) => void}} [options]
   *   `first`: the last label; `ranked`: the likeliest ones, which 1, 2 and 3 apply, else the last ones come first; `current`: the selected span's label; `widen`: makes the selection wider or narrower
   */
  open(box, focus, { first = null, ranked = null, current = null, quote = "", widen = null } = {}) {
    this.#filter("");
    this.#offerFirst(first, ranked);
    for (const [label, button] of this.#buttons) button.classList.toggle("is-current", label === current);
    this.#widen = widen;
    this.#head.hidden = widen === null;
    this.#quote.textContent = quote;
    this.#root.hidden = false;
    putBeside(this.#root, box);
    if (focus) this.#shown[0]?.focus();
  }

  /** A label was used, here or by its key: it comes first from now on. @param {number} label */
  used(label) {
    this.#recent = [label, ...this.#recent.filter((other) => other !== label)].slice(0, RECENT);
  }

  /** How recently a label was used here: the higher, the later; 0 for long ago or never. */
  recency(label) {
    const at = this.#recent.indexOf(label);
    return at < 0 ? 0 : RECENT - at;
  }

  /** Move the likeliest or the last used labels to the front, and show their keys and the key that repeats the last one. */
  #offerFirst(first, ranked) {
    const order = this.#labels.map(({ id }) => this.#buttons.get(id));
    const last = this.#buttons.get(first);
    for (const old of this.#root.querySelectorAll(".is-repeat, .is-rank")) old.remove();
    this.#ranks = (ranked ?? []).map((_, at) => String(at + 1)).filter((digit) => !this.#labels.some(({ key }) => key === digit));
    for (const digit of this.#ranks) this.#buttons.get(ranked[Number(digit) - 1]).append(el("kbd", { class: "is-rank" }, digit));
    if (last) last.append(el("kbd", { class: "is-repeat", title: words.keys.repeat }, "."));
    const front = [...new Set(ranked ?? [first, ...this.#recent])].map((id) => this.#buttons.get(id)).filter(Boolean);
    const wanted = [...front, ...order.filter((button) => !front.includes(button))];
    const now = [...this.#root.querySelectorAll(":scope > .wb-label")];
    if (wanted.some((button, index) => now[index] !== button)) this.#hint.before(...wanted);
  }

  close() {
    if (!this.isOpen) return;
    const hadFocus = this.hasFocus;
    this.#root.hidden = true;
    this.#widen = null;
    if (hadFocus) this.#back();
  }

  /** The buttons that can get the focus: the filtered labels and the tools. */
  get #shown() {
    return [...this.#root.querySelectorAll("button")].filter((button) => !button.matches(".is-out") && !button.closest("[hidden]"));
  }

  #filter(typed) {
    this.#typed = typed;
    const looked = fold(typed);
    let left = 0;
    for (const { id, name } of this.#labels) {
      const button = this.#buttons.get(id);
      // The others keep their places, so that nothing moves while somebody types.
      const isOut = typed !== "" && !fold(name).includes(looked);
      button.classList.toggle("is-out", isOut);
      left += isOut ? 0 : 1;
    }
    this.#hint.hidden = typed === "";
    this.#hint.textContent = typed === "" ? "" : left ? words.filter(typed) : words.noLabelLike(typed);
  }

  #click(event) {
    const button = event.target.closest("button");
    if (button) this.#choose(Number(button.dataset.labelId));
  }

  #keydown(event) {
    const { key } = event;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (key.startsWith("Arrow") && !event.shiftKey) itemBeside(this.#shown, document.activeElement, key)?.focus();
    else if (key === "Tab") itemBeside(this.#shown, document.activeElement, event.shiftKey ? "ArrowLeft" : "ArrowRight")?.focus();
    else if (key === "Backspace" && this.#typed) this.#type([...this.#typed].slice(0, -1).join(""));
    else if (key === "Escape" && this.#typed) this.#type("");
    else if (this.#isTyping(event)) this.#type(this.#typed + key);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** Whether a key is part of a label's name: a letter that is not a label's key, or typed with Shift, or after another letter. */
  #isTyping(event) {
    const { key, shiftKey } = event;
    // The search ignores these, but people type them.
    if (/^[\p{Pd}_]$/u.test(key)) return this.#typed !== "";
    if (!/^[\p{L}\p{N}]$/u.test(key)) return false;
    if (this.#typed === "" && this.#ranks.includes(key)) return false;
    return this.#typed !== "" || shiftKey || !this.#labels.some((label) => namesOf(event).includes(label.key));
  }

  #type(typed) {
    this.#filter(typed);
    this.#shown[0]?.focus();
  }
}

function buttonOf(label) {
  return el(
    "button",
    { type: "button", class: `wb-label hue-${label.hue}`, "data-label-id": label.id, title: label.name },
    el("span", { class: `swatch underline-${label.underline}`, "aria-hidden": "true" }, "\u00a0\u00a0\u00a0\u00a0"),
    el("span", { class: "name", title: label.name }, ...breakable(label.name)),
    label.key && el("kbd", {}, label.key),
  );
}
