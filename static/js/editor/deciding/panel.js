/** The parts around the note that review and adjudication share: the bar, notices, lists, and the selected item. */

import { Bar } from "../bar.js";
import { byId, el } from "../dom.js";

const UNKNOWN = { name: "?", hue: 0 };
// How long an undo is offered beside the text, in milliseconds.
const SHOWN = 10_000;

export class Panel extends Bar {
  labels;
  person;
  quote;
  #undoTimer = 0;

  /**
   * @param {object} parts
   * @param {Map<number, object>} parts.labels  by id
   * @param {string} parts.person  the user name
   * @param {(bounds: {start: number, end: number}) => string} parts.quote
   */
  constructor({ labels, person, quote }) {
    super();
    this.labels = labels;
    this.person = person;
    this.quote = quote;
  }

  label(id) {
    return this.labels.get(id) ?? UNKNOWN;
  }

  /**
   * Show what was just decided, with a button that undoes it, for some seconds; an empty message hides it. Screen readers hear it from `say`,
   * and the key and the button of the bar undo it at any time.
   */
  offerUndo(done) {
    clearTimeout(this.#undoTimer);
    const toast = byId("toast");
    toast.hidden = !done;
    if (!done) return;
    toast.firstElementChild.textContent = done;
    this.#undoTimer = setTimeout(() => {
      if (!toast.matches(":hover, :focus-within")) toast.hidden = true;
    }, SHOWN);
  }

  /** Call `act(button)` on clicks on the buttons in `root` that have the data attribute `name`. */
  listen(root, name, act) {
    root.addEventListener("click", (event) => {
      const button = event.target.closest(`[data-${name}]`);
      // Ignore the second click of a double click, which would act on the next item.
      if (button && event.detail < 2) act(button);
    });
  }

  /** Show the position of the selected item in its list, and the number of open items. `at` is -1 without selection. */
  count({ words, at, open, total, listed = total, before, after }) {
    byId("left").textContent = words.left(open, total);
    byId("position").textContent = at < 0 ? "" : words.position(at + 1, listed);
    byId(before).disabled = listed === 0 || at === 0;
    byId(after).disabled = listed === 0 || at === listed - 1;
    // The finish button stands out once nothing is open.
    byId("finish").classList.toggle("primary", open === 0);
  }

  /** Show the buttons for an open note, or those for a finished one. */
  state(finished, finishedForms) {
    byId("workbench").dataset.state = finished ? "finished" : "draft";
    byId("finish-form").hidden = finished;
    byId(finishedForms).hidden = !finished;
    for (const id of /** @type {const} */ (["undo", "redo"])) byId(id).disabled = finished;
  }
}

/**
 * Give `root` this content. Focus returns to the same button (by its data attribute `name`), or else to the note.
 * Content that is there already stays: a click is lost if its button is replaced while the mouse is down, as when an answer arrives.
 */
export function fill(root, nodes, name) {
  const focused = document.activeElement;
  const held = focused instanceof HTMLElement && root.contains(focused) ? focused.dataset[name] : undefined;
  const wanted = nodes.filter(Boolean);
  const now = [...root.childNodes];
  const most = Math.min(now.length, wanted.length);
  let head = 0;
  while (head < most && now[head].isEqualNode(wanted[head])) head += 1;
  let tail = 0;
  while (tail < most - head && now.at(-1 - tail).isEqualNode(wanted.at(-1 - tail))) tail += 1;
  const middle = wanted.slice(head, wanted.length - tail);
  const stays = new Set(middle);
  for (const old of now.slice(head, now.length - tail)) if (!stays.has(old)) old.remove();
  let next = root.childNodes[head] ?? null;
  for (const node of middle) {
    if (node === next) next = next.nextSibling;
    else root.insertBefore(node, next);
  }
  if (held === undefined || root.contains(document.activeElement)) return;
  const again = root.querySelector(`[data-${name}="${CSS.escape(held)}"]:not(:disabled)`);
  (again ?? byId("note")).focus({ preventScroll: true });
}

/** A row of a list in the side panel: quote, label chip and state; `more` is shown until it is folded. `data` is [attribute, value]. */
export function row({ look, data: [name, value], mark, quote, state, more = "" }) {
  return el(
    "li",
    {},
    el(
      "button",
      { type: "button", class: `de-row ${look}`, [`data-${name}`]: value },
      el("bdi", { class: "de-quote" }, quote),
      mark,
      el("span", { class: "de-state" }, state),
      more && el("span", { class: "de-more" }, more),
    ),
  );
}
