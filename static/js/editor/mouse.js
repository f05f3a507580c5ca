/** Mouse, pen and finger. */

import { byId } from "./dom.js";
import { Sweep } from "./sweep.js";

// A finger moves the ends of its selection after it was lifted: wait until they rest.
const TOUCH_REST = 350;
// A press that moves more is a drag.
const MOVED = 4;

export class Mouse {
  #work;
  #note;
  #touch = false;
  #isMouse = false;
  #began = null; // where the press began, if it began in the note
  #clicks = 0; // 2 for a double click
  #timer = 0;
  #unsettled = null; // what is to be done once the browser has settled the selection
  #sweep;

  /**
   * @param {object} work  what a person does: selectText, selectSpan, applyLabel …; `growing.expandAt`, `pick`, `pressed`, `struck` where there are
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
    // By now the browser has settled the selection; a timer would come after another frame. Last, since windows close by clicks.
    window.addEventListener("click", () => this.settle());
    document.addEventListener("selectionchange", () => this.#touched());
    byId("side").addEventListener("mousedown", (event) => {
      // Pressing a label must take neither the selection nor the focus away.
      if (event.target.closest("button")) event.preventDefault();
    });
    byId("side").addEventListener("click", (event) => this.#label(event));
  }

  #down(event) {
    this.settle();
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
    // Where the selection is the browser's, it settles it after this event, and says how many clicks it was.
    this.#unsettled = () =>
      this.#settled(swept ?? this.#work.places.selected(), stack, { exact: altKey, clicks: isDrag ? 0 : this.#clicks, x: clientX, y: clientY });
    setTimeout(() => this.settle(), 0); // where no click follows: the button was let go outside the window
  }

  /** Take what was selected now: a key was pressed right after the mouse was let go. */
  settle() {
    const settled = this.#unsettled;
    this.#unsettled = null;
    settled?.();
  }

  /** A click on something that lies over the text is for the text. */
  clickThrough({ clientX, clientY, altKey, detail }) {
    const under = document.elementFromPoint(clientX, clientY);
    if (!under || !this.#note.contains(under)) return;
    this.#work.places.clear();
    this.#settled(null, stackUnder(under), { exact: altKey, clicks: detail, x: clientX, y: clientY });
  }

  #settled(selection, stack, { exact, clicks, x, y }) {
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
    // Clicking again where several spans lie goes to the next one outside.
    const here = stack.indexOf(this.#work.selected?.key);
    if (stack.length) this.#work.selectSpan(stack[(here + 1) % stack.length]);
    else if (!this.#touch) this.#work.clearAll(selection?.start ?? null);
  }

  /** A double click: on the character under it. (The browser's own selection begins at the nearer end of a character: of "H." it may be the dot.) */
  #expand(offset, x, y) {
    const at = this.#work.places.characterUnder(x, y) ?? offset ?? this.#work.places.under(x, y);
    if (at === null || !this.#work.growing?.expandAt(at)) return false;
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

  /** Text is selected: label it at once, or show the labels. */
  #offer() {
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
