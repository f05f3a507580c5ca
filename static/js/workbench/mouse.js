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
    this.#touch = event.pointerType === "touch";
    this.#began = event.button === 0 && this.#note.contains(event.target);
    if (!this.#began && !event.target.closest("#palette, #side")) this.#work.palette.close();
  }

  #up(event) {
    if (!this.#began || event.button !== 0) return;
    this.#began = false;
    const { target, altKey, detail } = event;
    // The browser settles the selection after this event.
    setTimeout(() => this.#settled(target, altKey, detail), 0);
  }

  #settled(target, exact) {
    const selection = this.#work.places.selected();
    if (selection && selection.start < selection.end) {
      if (!this.#touch) this.#take(selection, exact, true);
      return;
    }
    const key = this.#spanUnder(target);
    if (key !== null) this.#work.selectSpan(key);
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

  /** The span that was clicked; clicking again where several lie goes to the next one outside. */
  #spanUnder(target) {
    const chain = [];
    for (let piece = target.closest?.(".span"); piece; piece = piece.parentElement.closest(".span")) {
      chain.push(piece.dataset.span);
    }
    if (!chain.length) return null;
    const here = chain.indexOf(this.#work.selected?.key);
    return chain[(here + 1) % chain.length];
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
