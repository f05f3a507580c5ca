/** Mouse, pen and finger. */

import { byId } from "./dom.js";

// A finger moves the ends of its selection after it was lifted: wait until they rest.
const TOUCH_REST = 350;

export class Mouse {
  #work;
  #note;
  #touch = false;
  #began = false; // the press began in the note
  #timer = 0;
  #unsettled = null; // what is to be done once the browser has settled the selection

  constructor(work, note) {
    this.#work = work;
    this.#note = note;
    document.addEventListener("pointerdown", (event) => this.#down(event));
    document.addEventListener("pointerup", (event) => this.#up(event));
    document.addEventListener("pointercancel", () => {
      this.#began = false;
    });
    document.addEventListener("selectionchange", () => this.#touched());
    byId("side").addEventListener("mousedown", (event) => {
      // Pressing a label must take neither the selection nor the focus away.
      if (event.target.closest("button")) event.preventDefault();
    });
    byId("side").addEventListener("click", (event) => this.#label(event));
  }

  #down(event) {
    this.settle();
    this.#touch = event.pointerType === "touch";
    this.#began = event.button === 0 && this.#note.contains(event.target);
    if (!this.#began && !event.target.closest("#palette, #side")) this.#work.palette.close();
  }

  #up(event) {
    if (!this.#began || event.button !== 0) return;
    this.#began = false;
    const { altKey } = event;
    const stack = stackUnder(event.target);
    // The browser settles the selection after this event.
    this.#unsettled = () => this.#settled(stack, altKey);
    setTimeout(() => this.settle(), 0);
  }

  /** Take what was selected now: a key was pressed right after the mouse was let go. */
  settle() {
    const settled = this.#unsettled;
    this.#unsettled = null;
    settled?.();
  }

  #settled(stack, exact) {
    const selection = this.#work.places.selected();
    if (selection && selection.start < selection.end) {
      if (!this.#touch) this.#take(selection, exact, true);
      return;
    }
    // Clicking again where several spans lie goes to the next one outside.
    const here = stack.indexOf(this.#work.selected?.key);
    if (stack.length) this.#work.selectSpan(stack[(here + 1) % stack.length]);
    else if (!this.#touch) this.#work.clearAll(selection?.start ?? null);
  }

  #take({ start, end }, exact, show) {
    if (!this.#work.selectText(start, end, { exact, show })) {
      this.#work.clearAll();
      return;
    }
    if (this.#work.armed !== null) this.#work.applyLabel(this.#work.armed);
    else this.#work.openPalette(false);
  }

  #touched() {
    if (!this.#touch) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      const selection = this.#work.places.selected();
      const range = this.#work.range;
      if (!selection || selection.start === selection.end) return;
      if (range && range.start <= selection.start && range.end >= selection.end && this.#work.palette.isOpen) return;
      this.#take(selection, false, false);
    }, TOUCH_REST);
  }

  #label(event) {
    const button = event.target.closest("[data-label-id]");
    // The second click of a double click would arm or relabel.
    if (button && event.detail < 2) this.#work.applyLabel(Number(button.dataset.labelId));
  }
}

/** The keys of the spans that lie under a click, the innermost first. */
function stackUnder(target) {
  const keys = [];
  for (let piece = target.closest(".span"); piece; piece = piece.parentElement.closest(".span")) {
    keys.push(piece.dataset.span);
  }
  return keys;
}
