/**
 * Places in the page to offsets of the note, and back. A `.line-text` holds exactly its line's text, so a place in it is
 * counted from the line's start; the counting of UTF-16 units is left to TextIndex.
 */

import { byId } from "./dom.js";
import { lineAt, linesOf } from "../text/segments.js";

export class Places {
  #root;
  #index;
  #lines; // {start, end, node}

  /** @param {HTMLElement} root the .note @param {import("../text/offsets.js").TextIndex} index */
  constructor(root, index) {
    this.#root = root;
    this.#index = index;
    const nodes = root.querySelectorAll(".line-text");
    this.#lines = linesOf(index).map(({ start, end }, at) => ({ start, end, node: nodes[at] }));
  }

  /** The selection that the browser shows, as offsets; null if there is none in the note. May be empty (a caret). */
  selected() {
    const selection = document.getSelection();
    if (!selection.rangeCount) return null;
    const range = selection.getRangeAt(0);
    if (!range.intersectsNode(this.#root)) return null;
    const start = this.#offset(range.startContainer, range.startOffset);
    const end = this.#offset(range.endContainer, range.endOffset);
    return { start: Math.min(start, end), end: Math.max(start, end) };
  }

  /** Let the browser show a selection. */
  show(start, end) {
    const from = this.#point(start, false);
    const to = this.#point(end, true);
    document.getSelection().setBaseAndExtent(from.node, from.offset, to.node, to.offset);
  }

  clear() {
    document.getSelection().removeAllRanges();
  }

  /** A stretch of the note as the browser's range. */
  range(start, end) {
    const range = document.createRange();
    const from = this.#point(start, false);
    const to = this.#point(end, true);
    range.setStart(from.node, from.offset);
    range.setEnd(to.node, to.offset);
    return range;
  }

  /** Where a stretch of the note lies on the screen. */
  box(start, end) {
    const range = this.range(start, end);
    const boxes = range.getClientRects();
    return { first: boxes[0] ?? range.getBoundingClientRect(), last: boxes[boxes.length - 1] ?? range.getBoundingClientRect() };
  }

  /** The offset under a place on the screen; null outside the text, and on an empty line. */
  under(x, y) {
    const point = this.#caret(x, y);
    return point?.node.parentElement.closest(".line-text") ? this.#offset(point.node, point.offset) : null;
  }

  /** The offset that lies nearest to a place beside the text or beyond its window; null where no line is at that height. */
  nearest(x, y) {
    const first = this.#lines[0]?.node;
    if (!first) return null;
    const { left, right } = first.getBoundingClientRect();
    const { top, bottom } = byId("scroll").getBoundingClientRect();
    const point = this.#caret(within(x, left, right), within(y, top, bottom));
    return point && this.#offset(point.node, point.offset);
  }

  #caret(x, y) {
    const point = caretAt(x, y);
    return point && this.#root.contains(point.node) && elementOf(point.node).closest(".line-text") ? point : null;
  }

  /** The character that lies under a place on the screen, as its offset: `under` gives the nearer end. Null where none does. */
  characterUnder(x, y) {
    const offset = this.under(x, y);
    for (const at of offset === null ? [] : [offset - 1, offset]) {
      if (at < 0 || at >= this.#index.length) continue;
      const { left, right } = this.box(at, at + 1).first;
      if (left <= x && x < right) return at;
    }
    return null;
  }

  #offset(node, inside) {
    const text = elementOf(node).closest(".line-text");
    if (!text || !this.#root.contains(text)) return this.#outside(node, inside);
    const range = document.createRange();
    range.setStart(text, 0);
    range.setEnd(node, inside);
    const start = Number(text.dataset.start);
    return this.#index.toCodePoint(this.#index.toUtf16(start) + range.toString().length);
  }

  /** A place between lines, in the gutter or outside the note: the end of the last line before it, else the note's start. */
  #outside(node, inside) {
    let low = 0;
    let high = this.#lines.length; // the first line that doesn't lie wholly before the place
    const range = document.createRange();
    while (low < high) {
      const middle = (low + high) >>> 1;
      range.selectNodeContents(this.#lines[middle].node);
      if (range.comparePoint(node, inside) > 0) low = middle + 1;
      else high = middle;
    }
    return low === 0 ? 0 : this.#lines[low - 1].end;
  }

  /** The text node and place in it of an offset. At the seam of two nodes, `back` takes the earlier one. */
  #point(offset, back) {
    const line = this.#lines[lineAt(this.#lines, offset)];
    const start = this.#index.toUtf16(line.start);
    let left = this.#index.toUtf16(Math.min(offset, line.end)) - start;
    const walker = document.createTreeWalker(line.node, NodeFilter.SHOW_TEXT);
    let last = null;
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      if (left < node.length || (back && left === node.length)) return { node, offset: left };
      left -= node.length;
      last = node;
    }
    return last ? { node: last, offset: last.length } : { node: line.node, offset: 0 };
  }
}

function elementOf(node) {
  return node.nodeType === Node.TEXT_NODE ? node.parentElement : node;
}

/** A pixel inside of both ends: on the very edge lies what is beside. */
function within(at, low, high) {
  return Math.max(low + 1, Math.min(at, high - 1));
}

function caretAt(x, y) {
  if (document.caretPositionFromPoint) {
    const at = document.caretPositionFromPoint(x, y);
    return at && { node: at.offsetNode, offset: at.offset };
  }
  const range = document.caretRangeFromPoint?.(x, y);
  return range ? { node: range.startContainer, offset: range.startOffset } : null;
}
