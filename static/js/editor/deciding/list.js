/**
 * A list of any length in the side panel. Decided items fold into one line, until they are chosen or focused. Of a long list, only the rows near
 * the window are elements: a row is as high as an open or a folded one, and padding stands for the others. Unchanged rows stay as they are.
 */

import { fill } from "./panel.js";

// Shorter lists are drawn whole, with rows as high as their text.
const LONG = 150;
// Rows are drawn in steps of so many, at least one step beyond the window on either side.
const STEP = 10;

const idOf = ({ id, start, end }) => id ?? `${start}-${end}`;

export class WindowedList {
  #root;
  #box; // the folding part that the list is in, which may scroll it
  #name;
  #row;
  #folds;
  #items = [];
  #chosen = -1;
  #focused = null; // the id of the item with the focus of the keyboard
  #from = 0; // the index of the first row that is an element
  #isDrawing = false;
  #tops = [0]; // of the rows of a long list, and the end of the last one, in pixels
  #shown = ""; // the chosen item and its index when the list was last scrolled to it
  #rows = new WeakMap(); // item -> its row, for an item is never changed but replaced
  #size = null; // of the window and of rows; null until measured

  /**
   * @param {HTMLElement} root  the list
   * @param {string} name  the data attribute of the rows' buttons
   * @param {(item: object) => HTMLElement} row
   * @param {(item: object) => boolean} [folds]  whether the item is decided; without it, each row has one line
   */
  constructor(root, name, row, folds = null) {
    this.#root = root;
    this.#box = root.closest("details");
    this.#name = name;
    this.#row = row;
    this.#folds = folds;
    const redraw = () => {
      this.#size = null;
      if (this.#isLong) this.#draw();
    };
    document.addEventListener("scroll", ({ target }) => target instanceof Node && target.contains(root) && redraw(), { capture: true, passive: true });
    // In the next frame, because it may change the size of what is observed.
    new ResizeObserver(() => requestAnimationFrame(redraw)).observe(this.#box);
    root.addEventListener("focusin", ({ target }) => target instanceof Element && target.matches(":focus-visible") && this.#focus(target.parentElement));
    root.addEventListener("focusout", () => this.#focus(null));
  }

  /** Open the row with the focus. While rows are drawn, they lose and regain it. */
  #focus(row) {
    if (this.#isDrawing || (!row && !this.#focused)) return;
    this.#focused = row && idOf(this.#items[this.#from + [...this.#root.children].indexOf(row)]);
    this.#draw();
  }

  get #isLong() {
    return this.#items.length > LONG;
  }

  /**
   * Show these items, and scroll the list to the chosen one (`chosen` is its index, -1 without one). If it is chosen already, the list stays
   * where the person scrolled it: an answer of the server may arrive at any time.
   */
  show(items, chosen) {
    const first = this.#at(this.#size?.above ?? 0);
    const [top, id] = [this.#tops[first], this.#items[first] && idOf(this.#items[first])];
    this.#items = items;
    this.#chosen = chosen;
    this.#root.classList.toggle("is-long", this.#isLong);
    // The first row in the window stays where it is, although rows above it have folded.
    this.#draw(() => (items[first] && id === idOf(items[first]) ? this.#tops[first] - top : 0));
    const shown = chosen < 0 ? "" : `${chosen} ${idOf(items[chosen])}`;
    if (shown && shown !== this.#shown) this.#scroll();
    this.#shown = shown;
  }

  /** @param {() => number} [moved]  by how many pixels the rows in the window have moved in the list */
  #draw(moved = () => 0) {
    const by = this.#isLong ? this.#place(moved) : 0;
    const [from, past] = this.#range();
    this.#from = from;
    const rows = this.#items.slice(from, past).map((item, at) => this.#rowOf(item, from + at));
    const { style } = this.#root;
    style.paddingTop = this.#isLong ? `${this.#tops[from]}px` : "";
    style.paddingBottom = this.#isLong ? `${this.#tops.at(-1) - this.#tops[past]}px` : "";
    this.#isDrawing = true;
    fill(this.#root, rows, this.#name);
    this.#isDrawing = false;
    if (by) this.#box.scrollTop += by;
  }

  /** Compute where the rows of a long list are. Returns by how much to scroll. */
  #place(moved) {
    const had = this.#size;
    this.#size ??= this.#measured();
    const { open, folded } = this.#size;
    this.#tops = [0];
    for (const [at, item] of this.#items.entries()) this.#tops.push(this.#tops[at] + (this.#isFolded(item, at) ? folded : open));
    const by = had?.own ? moved() : 0;
    this.#size.above += by;
    return by;
  }

  #isFolded(item, at) {
    return !this.#folds || (this.#folds(item) && at !== this.#chosen && idOf(item) !== this.#focused);
  }

  /** The index of the row at this height, or of the last one. */
  #at(height) {
    let [low, high] = [0, this.#tops.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#tops[middle + 1] > height) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  #rowOf(item, at) {
    if (!this.#rows.has(item)) this.#rows.set(item, this.#row(item));
    const row = this.#rows.get(item);
    if (this.#isLong) {
      row.setAttribute("aria-setsize", String(this.#items.length));
      row.setAttribute("aria-posinset", String(at + 1));
    }
    const button = row.firstElementChild;
    button.classList.toggle("is-card", !this.#isFolded(item, at));
    if (at === this.#chosen) button.setAttribute("aria-current", "true");
    else button.removeAttribute("aria-current");
    return row;
  }

  /** The half-open range of rows to draw. */
  #range() {
    const { length } = this.#items;
    if (!this.#isLong) return [0, length];
    const { above, height } = this.#size;
    const from = Math.min(Math.max(Math.floor(this.#at(above) / STEP) - 1, 0) * STEP, length);
    return [from, Math.max(from, Math.min((Math.floor(this.#at(above + height) / STEP) + 2) * STEP, length))];
  }

  /** How much of the list is above the window, the height of the window, and those of rows. Measured seldom, because it costs a layout. */
  #measured() {
    const own = getComputedStyle(this.#box).overflowY !== "visible";
    const box = this.#box.getBoundingClientRect();
    const list = this.#root.getBoundingClientRect().top;
    const head = own ? this.#box.querySelector("summary").offsetHeight : 0; // the head stays over the rows
    const top = Math.max(0, own ? box.top + head : 0);
    const bottom = Math.min(window.innerHeight, own ? box.bottom : window.innerHeight);
    const style = getComputedStyle(this.#root);
    const [open, folded] = ["--open", "--folded"].map((name) => Number.parseFloat(style.getPropertyValue(name)));
    return { own, above: top - list, height: Math.max(0, bottom - top), open, folded };
  }

  /** Scroll the box to the chosen row. Without a window of its own the list stays: then the text keeps the window. */
  #scroll() {
    if (!this.#isLong) {
      if (getComputedStyle(this.#box).overflowY !== "visible") this.#root.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
      return;
    }
    const { own, above, height } = this.#size;
    const below = this.#tops[this.#chosen] - above; // from the upper edge of the window to the row
    const row = this.#tops[this.#chosen + 1] - this.#tops[this.#chosen];
    if (!own || height < row || (below >= 0 && below + row <= height)) return;
    // To the middle, so that the next steps need no scrolling; the event of scrolling draws the rows there.
    this.#box.scrollTop += below - (height - row) / 2;
    this.#size = null; // on a busy machine, more keys come before that event
  }
}
