/** Selecting and labeling by mouse, pen and finger. */

import { byId } from "./dom.js";
import { Sweep } from "./sweep.js";

// Milliseconds to wait after a touch: people still move the ends of the selection after lifting the finger.
const TOUCH_REST = 350;
// Pixels from which on a press is a drag.
const MOVED = 4;

export class Mouse {
  #work;
  #note;
  #touch = false;
  #isMouse = false;
  #began = null; // position of the press, if it began in the note
  #clicks = 0; // 2 for a double click
  #timer = 0;
  #pending = null; // what to do once the browser has set the selection
  #sweep;

  /**
   * @param {object} work  the page's acts: selectText, selectSpan, applyLabel …; optional: `growing.expandAt`, `pick`, `pressed`, `struck`
   * @param {HTMLElement} note
   */
  constructor(work, note) {
    this.#work = work;
    this.#note = note;
    this.#sweep = new Sweep(work, note);
    document.addEventListener("pointerdown", (event) => this.#down(event));
    document.addEventListener("pointerup", (event) => this.#up(event));
    document.addEventListener("pointercancel", () => {
      this.#began = null;
      this.#sweep.cancel();
    });
    document.addEventListener("mousedown", (event) => {
      this.#clicks = event.detail;
      if (this.#began && this.#isMouse) this.#sweep.begin(event);
    });
    // At a click the browser has set the selection; a timer would run a frame later. On `window`, because clicks on the page
    // close popovers first.
    window.addEventListener("click", () => this.finishSelection());
    document.addEventListener("selectionchange", () => this.#touched());
    byId("side").addEventListener("mousedown", (event) => {
      // Pressing a label must keep selection and focus in the note.
      if (/** @type {Element} */ (event.target).closest("button")) event.preventDefault();
    });
    byId("side").addEventListener("click", (event) => this.#label(event));
  }

  #down(event) {
    this.finishSelection();
    this.#work.pressed?.();
    this.#touch = event.pointerType === "touch";
    this.#isMouse = event.pointerType === "mouse";
    const isInNote = event.button === 0 && this.#note.contains(event.target);
    this.#began = isInNote ? { x: event.clientX, y: event.clientY } : null;
    if (!isInNote && !event.target.closest("#palette, #side, .wb-end")) this.#work.palette.close();
  }

  #up(event) {
    if (!this.#began || event.button !== 0) return;
    const { clientX, clientY, altKey, target } = event;
    const isDrag = Math.hypot(clientX - this.#began.x, clientY - this.#began.y) >= MOVED;
    this.#began = null;
    const stack = stackUnder(target);
    const swept = this.#sweep.end(event);
    // The browser sets its own selection, and counts the clicks, only after this event.
    this.#pending = () =>
      this.#handle(swept ?? this.#work.layout.selected(), stack, { exact: altKey, clicks: isDrag ? 0 : this.#clicks, x: clientX, y: clientY });
    setTimeout(() => this.finishSelection(), 0); // in case no click follows, because the button was released outside the window
  }

  /** Handle the last mouse selection now, for example because a key was pressed right after it. */
  finishSelection() {
    const pending = this.#pending;
    this.#pending = null;
    pending?.();
  }

  /** Handle a click on an element above the text as a click on the text. */
  clickThrough({ clientX, clientY, altKey, detail }) {
    const under = document.elementFromPoint(clientX, clientY);
    if (!under || !this.#note.contains(under)) return;
    this.#work.layout.clear();
    this.#handle(null, stackUnder(under), { exact: altKey, clicks: detail, x: clientX, y: clientY });
  }

  #handle(selection, stack, { exact, clicks, x, y }) {
    const isEmpty = !selection || selection.start === selection.end;
    if (clicks > 1 && !exact && !this.#touch && this.#expand(isEmpty || clicks > 2 ? null : selection.start, x, y)) return;
    if (!isEmpty) {
      if (!this.#touch) this.#take(selection, exact, true);
      return;
    }
    if (exact && clicks === 1 && stack.length && this.#work.struck?.(stack)) return;
    if (stack.length > 1 && this.#work.pick) {
      this.#work.pick(stack);
      return;
    }
    // Clicking again on overlapping spans selects the next outer one.
    const here = stack.indexOf(this.#work.selected?.key);
    if (stack.length) this.#work.selectSpan(stack[(here + 1) % stack.length]);
    else if (!this.#touch) this.#work.clearAll(selection?.start ?? null);
  }

  /** A double click expands from the character under the pointer; the browser's own selection may begin at the character after it. */
  #expand(offset, x, y) {
    const character = this.#work.layout.characterUnder(x, y) ?? offset ?? this.#work.layout.under(x, y);
    if (character === null || !this.#work.growing?.expandAt(character)) return false;
    this.#offer();
    return true;
  }

  #take({ start, end }, exact, show) {
    if (!this.#work.selectText(start, end, { exact, show })) {
      this.#work.clearAll();
      return;
    }
    this.#offer();
  }

  /** Label the selected text with the armed label, or show the labels. */
  #offer() {
    if (this.#work.armed !== null) this.#work.applyLabel(this.#work.armed);
    else this.#work.openPalette(false);
  }

  #touched() {
    if (!this.#touch) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      const selection = this.#work.layout.selected();
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

/** The keys of the spans under a click, the innermost first. */
function stackUnder(target) {
  const keys = [];
  for (let piece = target.closest(".span"); piece; piece = piece.parentElement.closest(".span")) {
    keys.push(piece.dataset.span);
  }
  return keys;
}
