/** A note's page that was opened at a place (`?at=START-END`, code points): the place is marked, and on the screen. */

import { codePointToUtf16 } from "../text/offsets.js";
import { placeIn } from "../text/place.js";

const lines = [...document.querySelectorAll(".note .line-text")].map((node) => ({
  node,
  start: Number(node.dataset.start),
  end: Number(node.dataset.end),
}));

/** The text node of an offset, and the place in it; an offset between two lines is the end of the first. */
function pointAt(offset) {
  const line = lines.findLast(({ start }) => start <= offset);
  let left = codePointToUtf16(line.node.textContent, Math.min(offset, line.end) - line.start);
  const walker = document.createTreeWalker(line.node, NodeFilter.SHOW_TEXT);
  let last = null;
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (left <= node.length) return [node, left];
    left -= node.length;
    last = node;
  }
  return last ? [last, last.length] : [line.node, 0];
}

const place = lines.length ? placeIn(window.location.search, lines.at(-1).end) : null;
if (place) {
  const range = document.createRange();
  range.setStart(...pointAt(place.start));
  range.setEnd(...pointAt(place.end));
  if (globalThis.CSS?.highlights) CSS.highlights.set("found-here", new Highlight(range));
  else document.getSelection().addRange(range);
  range.startContainer.parentElement.closest(".line")?.scrollIntoView({ block: "center" });
}
