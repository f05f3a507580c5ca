/**
 * Where the text of the note is on the page: screen positions and the browser's selection to offsets of the note, and back. A
 * `.line-text` holds exactly its line's text, so a position in it is counted from the line's start; TextIndex converts UTF-16 units.
 */

import { byId } from "./dom.js";
import { lineAt, linesOf } from "../text/segments.js";

export class TextLayout {
  #root;
  #index;
  #lines; // {start, end, node}

  /** @param {HTMLElement} root the .note @param {import("../text/offsets.js").TextIndex} index */
  constructor(root, index) {
    this.#root = root;
    this.#index = index;
    const nodes = root.querySelectorAll(".line-text");
    this.#lines = linesOf(index).map(({ start, end }, index) => ({ start, end, node: nodes[index] }));
  }

  /** The browser's selection as offsets; null if there is none in the note. It may be empty (a caret). */
  selected() {
    const selection = document.getSelection();
    if (!selection.rangeCount) return null;
    const range = selection.getRangeAt(0);
    if (!range.intersectsNode(this.#root)) return null;
    const start = this.#offset(range.startContainer, range.startOffset);
    const end = this.#offset(range.endContainer, range.endOffset);
    return { start: Math.min(start, end), end: Math.max(start, end) };
  }

  /** Set the browser's selection. */
  show(start, end) {
    const from = this.#point(start, false);
    const to = this.#point(end, true);
    document.getSelection().setBaseAndExtent(from.node, from.offset, to.node, to.offset);
  }

  /**
   * Set the browser's selection to the selected text again, after a redraw. While somebody writes in a field, the selection is the
   * place of writing: moving it would drop what is typed next.
   * @param {{start: number, end: number} | null} range
   */
  restore(range) {
    if (range && !document.activeElement?.matches("input, textarea, select")) this.show(range.start, range.end);
  }

  clear() {
    document.getSelection().removeAllRanges();
  }

  /** Bounds in the note as a browser range. */
  range(start, end) {
    const range = document.createRange();
    const from = this.#point(start, false);
    const to = this.#point(end, true);
    range.setStart(from.node, from.offset);
    range.setEnd(to.node, to.offset);
    return range;
  }

  /** The first and the last box on the screen of some text. */
  box(start, end) {
    const range = this.range(start, end);
    const boxes = range.getClientRects();
    return { first: boxes[0] ?? range.getBoundingClientRect(), last: boxes[boxes.length - 1] ?? range.getBoundingClientRect() };
  }

  /** The offset at a position on the screen; null outside the text and on an empty line. */
  under(x, y) {
    const point = this.#caret(x, y);
    return point?.node.parentElement.closest(".line-text") ? this.#offset(point.node, point.offset) : null;
  }

  /** The offset nearest to a position next to the text or beyond its window; null where no line is at that height. */
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

  /** The offset of the character at a position on the screen, where `under` gives the nearer end of the character; or null. */
  characterUnder(x, y) {
    const offset = this.under(x, y);
    for (const character of offset === null ? [] : [offset - 1, offset]) {
      if (character < 0 || character >= this.#index.length) continue;
      const { left, right } = this.box(character, character + 1).first;
      if (left <= x && x < right) return character;
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

  /** The offset for a position outside the lines' texts: the end of the last line before it, else the note's start. */
  #outside(node, inside) {
    let low = 0;
    let high = this.#lines.length; // the first line that doesn't lie wholly before the position
    const range = document.createRange();
    while (low < high) {
      const middle = (low + high) >>> 1;
      range.selectNodeContents(this.#lines[middle].node);
      if (range.comparePoint(node, inside) > 0) low = middle + 1;
      else high = middle;
    }
    return low === 0 ? 0 : this.#lines[low - 1].end;
  }

  /** The text node of an offset, and the offset in it. Where two nodes meet, `back` takes the earlier one. */
  #point(offset, back) {
    const line = this.#lines[lineAt(this.#lines, offset)];
    const start = this.#index.toUtf16(line.start);
    let left = this.#index.toUtf16(Math.min(offset, line.end)) - start;
    const walker = document.createTreeWalker(line.node, NodeFilter.SHOW_TEXT);
    let last = null;
    for (let node = textIn(walker); node; node = textIn(walker)) {
      if (left < node.length || (back && left === node.length)) return { node, offset: left };
      left -= node.length;
      last = node;
    }
    return last ? { node: last, offset: last.length } : { node: line.node, offset: 0 };
  }
}

/** @param {TreeWalker} walker one that visits only text nodes */
const textIn = (walker) => /** @type {Text | null} */ (walker.nextNode());

function elementOf(node) {
  return node.nodeType === Node.TEXT_NODE ? node.parentElement : node;
}

/** Clamp to one pixel inside both edges, because the edge itself belongs to the neighbor. */
function within(value, low, high) {
  return Math.max(low + 1, Math.min(value, high - 1));
}

function caretAt(x, y) {
  if (document.caretPositionFromPoint) {
    const at = document.caretPositionFromPoint(x, y);
    return at && { node: at.offsetNode, offset: at.offset };
  }
  const range = document.caretRangeFromPoint?.(x, y);
  return range ? { node: range.startContainer, offset: range.startOffset } : null;
}
