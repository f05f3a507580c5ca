/**
 * Find a text in a note, ignoring case and kinds of white space; matches don't overlap. The note itself is searched, because a
 * case-folded copy would have other offsets. Offsets are code points, end-exclusive.
 */

const SPACE = /[\s\u0085\u200b\ufeff]+/gu;

/** @param {import("./offsets.js").TextIndex} index @param {string} sought @param {number} [most] @returns {Array<{start: number, end: number}>} */
export function findAll(index, sought, most = 10_000) {
  const text = sought.replace(/^[\s\u0085\u200b\ufeff]+|[\s\u0085\u200b\ufeff]+$/gu, "");
  if (!text) return [];
  const parts = text.split(SPACE).map((part) => part.replace(/[\\^$.*+?()[\]{}|/]/gu, "\\$&"));
  const pattern = new RegExp(parts.join("[\\s\\u0085\\u200b\\ufeff]+"), "giu");
  const found = [];
  for (const match of index.text.matchAll(pattern)) {
    found.push({ start: index.toCodePoint(match.index), end: index.toCodePoint(match.index + match[0].length) });
    if (found.length === most) break;
  }
  return found;
}

/** The index of the first match at or after an offset, else 0; -1 if there are no matches. */
export function firstFrom(matches, offset) {
  const index = matches.findIndex(({ start }) => start >= offset);
  return index >= 0 ? index : matches.length ? 0 : -1;
}
