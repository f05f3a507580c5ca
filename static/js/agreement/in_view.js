/** The table of a location, scrolled so that the words of the location are visible beside the names of the annotators. */

/** @param {Element | null} box the scrolling box around the table */
export function showLocation(box) {
  const mark = /** @type {HTMLElement | null | undefined} */ (box?.querySelector("thead .here"));
  const name = /** @type {HTMLElement | null | undefined} */ (box?.querySelector("tbody th"));
  if (!mark || !name) return;
  const { left, right } = box.getBoundingClientRect();
  const word = mark.getBoundingClientRect();
  const rightToLeft = getComputedStyle(mark).direction === "rtl";
  const gap = name.offsetWidth + 24;
  box.scrollLeft += rightToLeft ? Math.max(0, word.right - (right - gap)) : Math.max(0, word.left - (left + gap));
}
