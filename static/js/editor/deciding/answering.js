/**
 * Deciding on the items of a list that the server draws, by keys and clicks. An item has a form whose fields name it and whose buttons, named
 * `answer`, are the answers. A card around several items may have a form for all of them in its head. After an answer, the next open item is
 * selected; after the last one, the way on.
 */

/* global htmx */
import { byId } from "../dom.js";
import { Listing } from "../listing.js";
import { Answers } from "./answers.js";

export class AnsweredList extends Listing {
  #items;
  #cards;
  #answers;
  #words;
  #onward;
  #last = null; // the last answer, for undo: {change, item}

  /**
   * @param {HTMLElement} list  its data: `person`, `decide` (the address for answers), `state` (the filter of the page)
   * @param {object} parts
   * @param {string} parts.items  the selector of the items, which have ids
   * @param {string} [parts.cards]  the selector of the cards, which have ids and which an answer replaces
   * @param {Record<string, (quote: string) => string>} parts.words  what to say, by answer
   * @param {() => HTMLElement | null} parts.onward  the link to go on with when nothing on the page is open
   */
  constructor(list, { items, cards = items, words, onward }) {
    super(list, items);
    this.#items = items;
    this.#cards = cards;
    this.#words = words;
    this.#onward = onward;
    this.#answers = new Answers({
      person: Number(list.dataset.person),
      url: list.dataset.decide,
      more: { state: list.dataset.state },
      answered: (answer) => this.#show(answer),
      refused: ({ item }) => this.go(byId(item)),
    });
    this.#answers.undo = () => this.undoLast();
    list.addEventListener("submit", (event) => {
      const { submitter, target } = /** @type {SubmitEvent} */ (event);
      if (!(submitter instanceof HTMLButtonElement) || submitter.name !== "answer") return;
      event.preventDefault();
      const item = /** @type {Element} */ (target).closest(items);
      this.#give(item ?? this.#cardOf(target).querySelector(items), submitter.value, !item);
    });
  }

  #cardOf = (item) => item.closest(this.#cards);
  #quoteOf = (item) => this.#cardOf(item).querySelector("[data-quote]").textContent.trim();

  /** A key that gives an answer to the selected item; with Shift, to all of its card. */
  key(answer) {
    return (event) => this.here !== null && this.#give(this.here, answer, event.shiftKey);
  }

  /** Undo the answer of the selected item if it has one, else the last answer. */
  undo(event) {
    return (this.here !== null && this.#give(this.here, "undo", event.shiftKey)) || this.undoLast();
  }

  undoLast() {
    const item = this.#last && byId(this.#last.change.item);
    if (!item) return false;
    const { change } = this.#last;
    this.#last = null;
    this.#put({ ...change, change_id: crypto.randomUUID(), answer: "undo", of: change.change_id }, item);
    this.go(item);
    return true;
  }

  #give(item, answer, all) {
    const form = all ? this.#cardOf(item).querySelector(".card-head form") : item.querySelector("form");
    const button = form?.querySelector(`[name=answer][value="${answer}"]`);
    if (!button || (!all && item.classList.contains("is-sent"))) return false;
    const { csrfmiddlewaretoken: _token, ...fields } = Object.fromEntries(new FormData(form));
    const change = { change_id: crypto.randomUUID(), ...fields, answer, item: item.id, all };
    this.#put(change, item);
    this.#last = answer === "undo" ? null : { change };
    if (answer !== "undo") this.#goOn(item);
    return true;
  }

  #put(change, item) {
    this.#mark(change);
    this.#answers.put(change, this.#words[change.answer](this.#quoteOf(item)), change.answer !== "undo");
  }

  /** Show that answers are being sent. */
  #mark({ item, all }) {
    const node = byId(item);
    if (node) for (const one of all ? this.#cardOf(node).querySelectorAll(this.#items) : [node]) one.classList.add("is-sent");
  }

  /** Show the cards and counts of an answer. */
  #show({ parts, counts }) {
    const focused = document.activeElement?.closest(this.#items)?.id;
    for (const [id, html] of Object.entries(parts)) htmx.swap(byId(id), html, { swapStyle: "outerHTML" });
    for (const [id, count] of Object.entries(counts)) byId(id).textContent = count;
    for (const change of this.#answers.waiting) this.#mark(change);
    if (focused && document.activeElement === document.body) this.go(byId(focused));
  }

  /** Select the next open item, going round; without any, the way on. */
  #goOn(item) {
    const { all } = this;
    const at = all.indexOf(item);
    const isOpen = (one) => !one.classList.contains("is-sent") && one.querySelector("[data-open]");
    const next = [...all.slice(at + 1), ...all.slice(0, at)].find(isOpen);
    if (next) this.go(next);
    else this.#onward()?.focus();
  }
}
