/** Keys for a list of items, each with buttons. Everything that a key does also works by click. */

import { byId } from "./dom.js";
import { Keys } from "./keys.js";
import { KeySheet } from "./sheet.js";

/** Keys act on the item that was last clicked or reached, by `j` and `k` or by Tab. */
export class Listing {
  #list;
  #items;
  #index = -1;
  #sheet;
  #swapped;
  /** @type {[Element, string][]} */
  #waiting = []; // keys pressed while the server answers the last one

  /**
   * @param {Element} list
   * @param {string} items  the selector of its items, which take the focus
   * @param {string} [swapped]  the selector of what an answer replaces, if that is more than the item
   */
  constructor(list, items, swapped = items) {
    this.#list = list;
    this.#items = items;
    this.#swapped = swapped;
    list.addEventListener("focusin", (event) => {
      const found = this.all.indexOf(/** @type {Element} */ (event.target).closest(items));
      if (found >= 0) this.#index = found;
    });
    // A swap of buttons loses the focus: return it to the item.
    document.body.addEventListener("htmx:afterSwap", () => {
      if (document.activeElement === document.body) this.here?.focus({ preventScroll: true });
    });
    document.body.addEventListener("htmx:afterRequest", () => {
      // An item that was replaced has the same id as before.
      for (const [item, selector] of this.#waiting.splice(0)) this.click(item.isConnected ? item : byId(item.id), selector);
    });
  }

  get all() {
    return /** @type {HTMLElement[]} */ ([...this.#list.querySelectorAll(this.#items)]);
  }

  /** The item that keys act on, or null. */
  get here() {
    return this.all[this.#index] ?? null;
  }

  walk(step) {
    this.go(this.all[Math.max(0, Math.min(this.all.length - 1, this.#index + step))]);
  }

  /** Make an item the one that keys act on, and open what it is folded in. */
  go(item) {
    this.#index = this.all.indexOf(item);
    const fold = item?.closest("details");
    if (fold) fold.open = true;
    item?.focus({ preventScroll: true });
    item?.scrollIntoView({ block: "nearest" });
  }

  /** Click the first match inside the item; false if there is none. */
  press(selector) {
    if (!this.here?.querySelector(selector)) return false;
    this.click(this.here, selector);
    return true;
  }

  /** Whether an answer is awaited that replaces the buttons of the item. */
  waits(item) {
    return Boolean(item?.closest(this.#swapped)?.querySelector(".htmx-request"));
  }

  /** Click the first match inside the item, which has an id; while an answer is awaited, the click waits too. */
  click(item, selector) {
    if (this.waits(item)) this.#waiting.push([item, selector]);
    else /** @type {HTMLElement|null} */ (item?.querySelector(selector))?.click();
  }

  /**
   * Bind the keys, and show them in the dialog `keys`. `typing` gets the keys pressed in a field.
   * @param {import("./keys.js").Action[]} actions @param {(event: KeyboardEvent) => void} [typing]
   */
  bind(actions, typing = () => {}) {
    const keys = new Keys(actions);
    this.#sheet = new KeySheet(byId("keys"), byId("keys-list"), keys);
    document.addEventListener("keydown", (event) => {
      if (event.defaultPrevented || this.#sheet.isOpen) return;
      if (event.target instanceof HTMLElement && event.target.matches("input, textarea, select")) typing(event);
      else keys.handle(event);
    });
    byId("show-keys")?.addEventListener("click", () => this.#sheet.open());
  }

  /** The keys that every list has. @returns {import("./keys.js").Action[]} */
  keys(group, what) {
    return [
      { keys: ["j", "ArrowDown"], group, what: what.next, run: () => this.walk(1) },
      { keys: ["k", "ArrowUp"], group, what: what.before, run: () => this.walk(-1) },
      { keys: ["o"], group, what: what.open ?? what.adjudicate, run: () => this.press('[data-act="open"]') },
      { keys: ["?"], group, what: what.sheet, run: () => this.#sheet.open() },
    ];
  }
}
