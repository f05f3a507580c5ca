/**
 * A list of any length in the side panel. Of a long list, only the rows near the window are elements: they have one height, and padding stands
 * for the others. Unchanged rows stay as they are.
 */

import { fill } from "./panel.js";

// Shorter lists are drawn whole, with rows as high as their text.
const LONG = 150;
// Rows are drawn in steps of so many, at least one step beyond the window on either side.
const STEP = 10;

export class WindowedList {
  #root;
  #box; // the folding part that the list is in, which may scroll it
  #name;
  #row;
  #items = [];
  #chosen = -1;
  #shown = ""; // the chosen item and its index when the list was last scrolled to it
  #rows = new WeakMap(); // item -> its row, for an item is never changed but replaced
  #size = null; // of the window and the rows; null until measured

  /**
   * @param {HTMLElement} root  the list
   * @param {string} name  the data attribute of the rows' buttons
   * @param {(item: object) => HTMLElement} row
   */
  constructor(root, name, row) {
    this.#root = root;
    this.#box = root.closest("details");
    this.#name = name;
    this.#row = row;
    const redraw = () => {
      this.#size = null;
      if (this.#isLong) this.#draw();
    };
    document.addEventListener("scroll", ({ target }) => target instanceof Node && target.contains(root) && redraw(), { capture: true, passive: true });
    // In the next frame, because it may change the size of what is observed.
    new ResizeObserver(() => requestAnimationFrame(redraw)).observe(this.#box);
  }

  get #isLong() {
    return this.#items.length > LONG;
  }

  /**
   * Show these items, and scroll the list to the chosen one (`chosen` is its index, -1 without one). If it is chosen already, the list stays
   * where the person scrolled it: an answer of the server may arrive at any time.
   */
  show(items, chosen) {
    this.#items = items;
    this.#chosen = chosen;
    this.#root.classList.toggle("is-long", this.#isLong);
    this.#draw();
    const shown = chosen < 0 ? "" : `${chosen} ${items[chosen].id ?? items[chosen].key}`;
    if (shown && shown !== this.#shown) this.#scroll();
    this.#shown = shown;
  }

  #draw() {
    const [from, past] = this.#range();
    const rows = this.#items.slice(from, past).map((item, at) => this.#rowOf(item, from + at));
    const { style } = this.#root;
    style.paddingTop = this.#isLong ? `${from * this.#size.row}px` : "";
    style.paddingBottom = this.#isLong ? `${(this.#items.length - past) * this.#size.row}px` : "";
    fill(this.#root, rows, this.#name);
  }

  #rowOf(item, at) {
    if (!this.#rows.has(item)) this.#rows.set(item, this.#row(item));
    const row = this.#rows.get(item);
    if (this.#isLong) {
      row.setAttribute("aria-setsize", String(this.#items.length));
      row.setAttribute("aria-posinset", String(at + 1));
    }
    const button = row.firstElementChild;
    if (at === this.#chosen) button.setAttribute("aria-current", "true");
    else button.removeAttribute("aria-current");
    return row;
  }

  /** The half-open range of rows to draw. */
  #range() {
    const { length } = this.#items;
    if (!this.#isLong) return [0, length];
    this.#size ??= this.#measured();
    const { above, height, row } = this.#size;
    const from = Math.min(Math.max(Math.floor(above / row / STEP) - 1, 0) * STEP, length);
    return [from, Math.max(from, Math.min((Math.ceil((above + height) / row / STEP) + 1) * STEP, length))];
  }

  /** How much of the list is above the window, the height of the window, and that of a row. Measured seldom, because it costs a layout. */
  #measured() {
    if (!this.#root.firstElementChild) fill(this.#root, [this.#rowOf(this.#items[0], 0)], this.#name);
    const own = getComputedStyle(this.#box).overflowY !== "visible";
    const box = this.#box.getBoundingClientRect();
    const list = this.#root.getBoundingClientRect().top;
    const head = own ? this.#box.querySelector("summary").offsetHeight : 0; // the head stays over the rows
    const top = Math.max(0, own ? box.top + head : 0);
    const bottom = Math.min(window.innerHeight, own ? box.bottom : window.innerHeight);
    // Where the list is closed, its rows have no height yet.
    const row = this.#root.firstElementChild.getBoundingClientRect().height || 28;
    return { own, above: top - list, height: Math.max(0, bottom - top), row };
  }

  /** Scroll the box to the chosen row. Without a window of its own the list stays: then the text keeps the window. */
  #scroll() {
    if (!this.#isLong) {
      if (getComputedStyle(this.#box).overflowY !== "visible") this.#root.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
      return;
    }
    const { own, above, height, row } = this.#size;
    const below = this.#chosen * row - above; // from the upper edge of the window to the row
    if (!own || height < row || (below >= 0 && below + row <= height)) return;
    // To the middle, so that the next steps need no scrolling; the event of scrolling draws the rows there.
    this.#box.scrollTop += below - (height - row) / 2;
    this.#size = null; // on a busy machine, more keys come before that event
  }
}
