/**
 * Selecting and labeling by mouse, pen and finger. A finger selects a word by a tap, the expression around it by a double tap, and
 * text by a drag along the line; a drag across the lines scrolls. A long press selects text as elsewhere in the browser.
 */

import { byId } from "./dom.js";
import { Sweep } from "./sweep.js";

// Milliseconds to wait after a touch: people still move the ends of the selection after lifting the finger.
const TOUCH_REST = 350;
// Milliseconds from which on a press may be a long one; browsers wait longer.
const LONG = 300;
// Pixels between the taps of a double tap.
const TAPPED = 24;
// Pixels between the selected text and the labels below it: room for the handles.
const UNDER = 40;
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
  #tap = { at: 0, x: 0, y: 0 }; // the last tap
  /** Whether the selected text was selected by a tap or a drag of a finger, so that the browser shows no handles for it. */
  isByFinger = false;

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
    const selected = this.#touch && this.#work.layout.selected();
    this.#began = isInNote ? { x: event.clientX, y: event.clientY, at: event.timeStamp, selected } : null;
    if (!event.target.closest(".wb-end")) this.isByFinger = false;
    if (isInNote && this.#touch) this.#sweep.begin(event, { isFinger: true });
    if (!isInNote && !event.target.closest("#palette, #side, .wb-end")) this.#work.palette.close();
  }

  #up(event) {
    if (!this.#began || event.button !== 0) return;
    const { clientX, clientY, altKey, target } = event;
    const isDrag = Math.hypot(clientX - this.#began.x, clientY - this.#began.y) >= MOVED;
    const began = this.#began;
    this.#began = null;
    const stack = stackUnder(target);
    const swept = this.#sweep.end(event);
    if (this.#touch) {
      this.#touchEnded(swept, began, event.timeStamp, () => this.#tapped(stack, clientX, clientY, event.timeStamp));
      return;
    }
    // The browser sets its own selection, and counts the clicks, only after this event.
    this.#pending = () =>
      this.#handle(swept ?? this.#work.layout.selected(), stack, { exact: altKey, clicks: isDrag ? 0 : this.#clicks, x: clientX, y: clientY });
    setTimeout(() => this.finishSelection(), 0); // in case no click follows, because the button was released outside the window
  }

  /**
   * After a long press the browser has selected a word, which `#touched` handles. It may also select one at a double tap, whose
   * presses are short.
   */
  #touchEnded(swept, { at, selected }, now, tapped) {
    const after = this.#work.layout.selected();
    const isOther = after && after.start < after.end && (after.start !== selected?.start || after.end !== selected?.end);
    const isLong = isOther && now - at >= LONG;
    if (swept && swept.start < swept.end) this.#pending = () => this.#finger(() => this.#take(swept, false, true));
    else if (!isLong) this.#pending = tapped;
    setTimeout(() => this.finishSelection(), 0);
  }

  /** Handle the last mouse selection now, for example because a key was pressed right after it. */
  finishSelection() {
    const pending = this.#pending;
    this.#pending = null;
    pending?.();
  }

  /** Handle a click on an element above the text as a click on the text. */
  clickThrough({ clientX, clientY, altKey, detail, timeStamp }) {
    const under = document.elementFromPoint(clientX, clientY);
    if (!under || !this.#note.contains(under)) return;
    this.#work.layout.clear();
    if (this.#touch) {
      this.#pending = () => this.#tapped(stackUnder(under), clientX, clientY, timeStamp);
      setTimeout(() => this.finishSelection(), 0);
    } else this.#handle(null, stackUnder(under), { exact: altKey, clicks: detail, x: clientX, y: clientY });
  }

  #handle(selection, stack, { exact, clicks, x, y }) {
    const isEmpty = !selection || selection.start === selection.end;
    if (clicks > 1 && !exact && this.#expand(isEmpty || clicks > 2 ? null : selection.start, x, y)) return;
    if (!isEmpty) {
      this.#take(selection, exact, true);
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
    else this.#work.clearAll(selection?.start ?? null);
  }

  /** A tap selects the span or the word under it, a second one the expression. The labels wait for the second one. */
  #tapped(stack, x, y, at) {
    const isSecond = at - this.#tap.at < TOUCH_REST && Math.hypot(x - this.#tap.x, y - this.#tap.y) < TAPPED;
    this.#tap = { at: isSecond ? 0 : at, x, y };
    clearTimeout(this.#timer);
    const character = this.#work.layout.characterUnder(x, y);
    if (isSecond && this.#finger(() => this.#expand(null, x, y))) return;
    if (stack.length || character === null) {
      this.#work.layout.clear();
      this.#handle(null, stack, { exact: false, clicks: 1, x, y });
    } else if (this.#finger(() => this.#work.selectText(character, character + 1))) {
      this.#timer = setTimeout(() => this.#work.range && this.#offer(), TOUCH_REST);
    }
  }

  /** Scroll the selected text out from under the labels, which are a sheet at the bottom of a phone. */
  #uncover() {
    const { range, layout } = this.#work;
    const { top, left } = byId("palette").getBoundingClientRect();
    if (!range || left > 0) return;
    byId("scroll").scrollTop += Math.max(0, layout.box(range.start, range.end).last.bottom + UNDER - top);
  }

  /** Select text for a finger: the page shows handles at its ends. */
  #finger(select) {
    this.isByFinger = true;
    return select();
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
    if (this.#touch && this.#work.palette.isOpen) this.#uncover();
  }

  #touched() {
    if (!this.#touch || this.isByFinger) return;
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
