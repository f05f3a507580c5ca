/** Scroll the text while something is dragged near or beyond its top or bottom edge. */

// Pixels in a frame: the farther beyond the edge, the faster.
const SLOWEST = 4;
const FASTEST = 40;
const BY_DISTANCE = 0.4;

/**
 * Make one step. Returns whether there was anything left to scroll.
 * @param {HTMLElement} scroller @param {number} y of the pointer in the window @param {number} edge width in pixels of the zone inside the frame
 */
export function scrollAtEdge(scroller, y, edge) {
  const { top, bottom } = scroller.getBoundingClientRect();
  const beyond = Math.min(0, y - (top + edge)) + Math.max(0, y - (bottom - edge));
  if (beyond === 0) return false;
  const before = scroller.scrollTop;
  scroller.scrollTop += Math.sign(beyond) * Math.min(FASTEST, Math.max(SLOWEST, Math.round(Math.abs(beyond) * BY_DISTANCE)));
  return scroller.scrollTop !== before;
}
