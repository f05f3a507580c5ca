/** Highlight the location `?at=START-END` (code points) on a note's page, and scroll to it. */

import { codePointToUtf16 } from "../text/offsets.js";
import { locationIn } from "../text/location.js";

// Lines without offsets are those of a view in which text is replaced.
const lines = [...document.querySelectorAll(".note .line-text[data-start]")].map((node) => ({
  node,
  start: Number(node.dataset.start),
  end: Number(node.dataset.end),
}));

/** @param {TreeWalker} walker visits text nodes only */
const textIn = (walker) => /** @type {Text | null} */ (walker.nextNode());

/**
 * Text node at an offset, and the index in it. An offset between two lines is the end of the first line.
 * @returns {[Node, number]}
 */
function pointAt(offset) {
  const line = lines.findLast(({ start }) => start <= offset);
  let left = codePointToUtf16(line.node.textContent, Math.min(offset, line.end) - line.start);
  const walker = document.createTreeWalker(line.node, NodeFilter.SHOW_TEXT);
  let last = null;
  for (let node = textIn(walker); node; node = textIn(walker)) {
    if (left <= node.length) return [node, left];
    left -= node.length;
    last = node;
  }
  return last ? [last, last.length] : [line.node, 0];
}

const found = lines.length ? locationIn(window.location.search, lines.at(-1).end) : null;
if (found) {
  const range = document.createRange();
  range.setStart(...pointAt(found.start));
  range.setEnd(...pointAt(found.end));
  if (globalThis.CSS?.highlights) CSS.highlights.set("found-here", new Highlight(range));
  else document.getSelection().addRange(range);
  range.startContainer.parentElement.closest(".line")?.scrollIntoView({ block: "center" });
}
