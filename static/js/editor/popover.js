/** Popovers next to the text that they are about. On phones, windows.css shows them as sheets at the bottom. */

import { byId } from "./dom.js";

const GAP = 8;

/**
 * Put an element below some text, or above it where there is no room below. It stays in the column of the text, so that it covers no list
 * beside the text.
 * @param {{first: DOMRect, last: DOMRect}} box
 */
export function putBeside(root, box) {
  const column = byId("scroll").getBoundingClientRect();
  root.style.setProperty("--room", `${Math.round(column.width - 2 * GAP)}px`);
  const { width, height } = root.getBoundingClientRect();
  const left = Math.max(column.left + GAP, Math.min(box.last.left, column.right - width - GAP));
  const below = box.last.bottom + GAP;
  const above = box.first.top - GAP - height;
  const top = below + height <= window.innerHeight || above < GAP ? Math.min(below, window.innerHeight - height - GAP) : above;
  root.style.setProperty("--left", `${Math.round(left)}px`);
  root.style.setProperty("--top", `${Math.round(Math.max(GAP, top))}px`);
}

/**
 * The neighbor of an item laid out in rows and columns; after the last item comes the first.
 * @param {HTMLElement[]} items @param {string} key an arrow's name
 */
export function itemBeside(items, current, key) {
  const index = items.indexOf(current);
  const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[key];
  if (index < 0 || step === undefined) return items[0];
  const around = items[(index + step + items.length) % items.length];
  if (key === "ArrowRight" || key === "ArrowLeft") return around;
  const here = current.getBoundingClientRect();
  const sameColumn = items.filter((item) => Math.abs(item.getBoundingClientRect().left - here.left) < here.width / 2);
  const row = sameColumn.indexOf(current) + step;
  return sameColumn[row] ?? around;
}

/** A popover that takes the focus and gives it back to the note. */
export class Popover {
  #back;

  /** @param {HTMLElement} root @param {() => void} back gives the focus back */
  constructor(root, back) {
    this.root = root;
    this.#back = back;
    document.addEventListener("pointerdown", (event) => this.isOpen && !root.contains(/** @type {Node} */ (event.target)) && this.close(), true);
    root.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.preventDefault();
      event.stopPropagation();
      this.close();
    });
  }

  get isOpen() {
    return !this.root.hidden;
  }

  open(box) {
    this.root.hidden = false;
    putBeside(this.root, box);
  }

  close() {
    if (!this.isOpen) return;
    const hadFocus = this.root.contains(document.activeElement);
    this.root.hidden = true;
    if (hadFocus) this.#back();
  }
}
