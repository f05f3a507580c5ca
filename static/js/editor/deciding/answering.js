/**
 * Deciding on the items of a list that the server draws, by keys and clicks. An item has a form whose fields name it and whose buttons are the
 * answers. A card around several items may have a form for all of them in its head. After an answer, the next open item is selected; after
 * the last one, the way on. A button with `aria-pressed` is an answer of several: it is added or removed.
 */

/* global htmx */
import { byId } from "../dom.js";
import { Keys } from "../keys.js";
import { KeySheet } from "../sheet.js";
import { Answers } from "./answers.js";

/** Keys act on the item that was last clicked or reached, by `j` and `k` or by Tab. */
export class AnsweredList {
  #list;
  #items;
  #cards;
  #answers = null;
  #said;
  #onward;
  #sheet;
  #index = -1;
  #last = null; // the last answer, for undo

  /**
   * @param {HTMLElement} list  its data, where a person may answer: `person`, `decide` (the address), `state` (the filter of the page)
   * @param {object} parts
   * @param {string} parts.items  the selector of the items, which have ids and take the focus
   * @param {string} [parts.cards]  the selector of the cards, which have ids and which an answer replaces
   * @param {(change: any, quote: string) => string} [parts.said]  what to say of an answer
   * @param {() => HTMLElement | null} [parts.onward]  the link to go on with when nothing on the page is open
   */
  constructor(list, { items, cards = items, said, onward = () => document.querySelector(".pagination [rel=next]") }) {
    this.#list = list;
    this.#items = items;
    this.#cards = cards;
    this.#said = said;
    this.#onward = onward;
    list.addEventListener("focusin", ({ target }) => {
      const found = this.all.indexOf(/** @type {Element} */ (target).closest(items));
      if (found >= 0) this.#index = found;
    });
    const { person, decide, state } = list.dataset;
    if (!decide) return;
    this.#answers = new Answers({
      person: Number(person),
      url: decide,
      more: { state },
      answered: (answer) => this.#show(answer),
      refused: (change) => this.#mark(change, false),
    });
    this.#answers.undo = () => this.undoLast();
    list.addEventListener("submit", (event) => {
      const { submitter, target } = /** @type {SubmitEvent} */ (event);
      const form = /** @type {HTMLFormElement} */ (target);
      if (!(submitter instanceof HTMLButtonElement) || !submitter.name) return;
      event.preventDefault();
      const item = form.closest(items);
      this.#give(item ?? this.#cardOf(form).querySelector(items), submitter.value, { all: !item });
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
    const found = /** @type {HTMLElement | null} */ (this.here?.querySelector(selector) ?? null);
    if (found) this.go(this.here);
    found?.click();
    return Boolean(found);
  }

  /**
   * Bind the keys, and show them in the dialog `keys`. `typing` gets the keys pressed in a field.
   * @param {import("../keys.js").Action[]} actions @param {(event: KeyboardEvent) => void} [typing]
   */
  bind(actions, typing = () => {}) {
    const keys = new Keys(actions);
    this.#sheet = new KeySheet(byId("keys"), byId("keys-list"), keys);
    document.addEventListener("keydown", (event) => {
      if (event.defaultPrevented || this.#sheet.isOpen) return;
      if (event.target instanceof HTMLElement && event.target.matches("input:not([type=checkbox]), textarea, select")) typing(event);
      else keys.handle(event);
    });
    byId("show-keys")?.addEventListener("click", () => this.#sheet.open());
  }

  /** The keys that every list has. @returns {import("../keys.js").Action[]} */
  keys(group, what) {
    const undo = what.undo && { keys: ["u", "Ctrl+z"], group, what: what.undo, run: (event) => this.#undo(event) };
    return [
      { keys: ["j", "ArrowDown"], group, what: what.next, run: () => this.walk(1) },
      { keys: ["k", "ArrowUp"], group, what: what.before, run: () => this.walk(-1) },
      ...(what.open ? [{ keys: ["o"], group, what: what.open, run: () => this.press('[data-act="open"]') }] : []),
      ...(undo ? [undo] : []),
      { keys: ["?"], group, what: what.sheet, run: () => this.#sheet.open() },
    ];
  }

  /** A key that gives an answer to the selected item. With Shift it answers all of its card, or adds and removes without going on. */
  key(answer) {
    return (event) => this.here !== null && this.#give(this.here, answer, { all: event.shiftKey });
  }

  /** Undo the answer of the selected item if it has one, else the last answer. */
  #undo(event) {
    return (this.here !== null && this.#give(this.here, "undo", { all: event.shiftKey })) || this.undoLast();
  }

  undoLast() {
    const change = this.#last;
    const item = change && byId(change.item);
    if (!item) return false;
    this.#last = null;
    const { added, ...rest } = change;
    const undone = added ? { ...rest, removed: added } : { ...change, answer: "undo", of: change.change_id };
    this.#put({ ...undone, change_id: crypto.randomUUID() }, item);
    this.go(item);
    return true;
  }

  #cardOf = (item) => item.closest(this.#cards);

  #give(item, answer, { all }) {
    const buttonIn = (form) => /** @type {HTMLButtonElement | null} */ (form?.querySelector(`button[name][value="${answer}"]`) ?? null);
    const own = buttonIn(item.querySelector("form"));
    const isOneOfSeveral = own?.ariaPressed;
    const button = all && !isOneOfSeveral ? buttonIn(this.#cardOf(item).querySelector(".card-head form")) : own;
    if (!button || (button === own && item.classList.contains("is-sent"))) return false;
    const { csrfmiddlewaretoken: _token, ...fields } = Object.fromEntries(new FormData(button.form));
    const change = { change_id: crypto.randomUUID(), ...fields, [button.name]: answer, item: item.id, all: button !== own };
    this.#put(change, item);
    const isDone = answer === "undo" || button.name === "added"; // the button that was pressed has the other name now
    this.#last = isDone ? null : change;
    if (!isDone && !(all && isOneOfSeveral)) this.#goOn(item);
    return true;
  }

  #put(change, item) {
    this.#mark(change, true);
    const quote = this.#cardOf(item).querySelector("[data-quote]")?.textContent.trim() ?? "";
    this.#answers.put(change, this.#said(change, quote), this.#canUndo(change));
  }

  #canUndo = ({ answer, added }) => Boolean(added || (answer && answer !== "undo"));

  /** Show that an answer is being sent, or (`is` false) that it was refused. */
  #mark({ item, all, added, removed }, is) {
    const node = byId(item);
    const button = /** @type {HTMLButtonElement | null | undefined} */ (node?.querySelector(`button[value="${added ?? removed}"]`));
    if (button) {
      const present = Boolean(added) === is;
      button.ariaPressed = String(present);
      button.name = present ? "removed" : "added";
    } else if (node) for (const one of all ? this.#cardOf(node).querySelectorAll(this.#items) : [node]) one.classList.toggle("is-sent", is);
    if (!is) this.go(node);
  }

  /** Show the cards and counts of an answer. */
  #show({ parts, counts }) {
    const focused = document.activeElement?.closest(this.#items)?.id;
    for (const [id, html] of Object.entries(parts)) htmx.swap(byId(id), html, { swapStyle: "outerHTML" });
    for (const [id, count] of Object.entries(counts)) byId(id).textContent = count;
    for (const change of this.#answers.waiting) this.#mark(change, true);
    if (focused && document.activeElement === document.body) this.go(byId(focused));
  }

  /** Select the next open item, going round; without any, the way on. */
  #goOn(item) {
    const { all } = this;
    const at = all.indexOf(item);
    const isOpen = (one) => !one.classList.contains("is-sent") && one.querySelector("[data-open]") && !one.querySelector("[aria-pressed=true]");
    const next = [...all.slice(at + 1), ...all.slice(0, at)].find(isOpen);
    if (next) this.go(next);
    else this.#onward()?.focus();
  }
}
