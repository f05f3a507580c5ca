/** Possible missed identifiers: further occurrences of gold strings in the note, and spans of other runs. Pure. */

import { findAll } from "../text/find.js";

const keyOf = ({ start, end, label }) => `h${start}-${end}-${label}`;
// Shorter strings occur by coincidence everywhere.
const SHORTEST = 3;

/**
 * @param {object} parts
 * @param {import("../text/offsets.js").TextIndex} parts.index
 * @param {Array<{start: number, end: number, label: number}>} parts.gold  accepted and added spans
 * @param {Array<{start: number, end: number}>} parts.covered  all suggestions of the run, whatever their state
 * @param {Array<object>} parts.others  spans of other runs: {start, end, label, runs, confidence}
 * @param {Set<string>} parts.dropped  keys of the hints that the reviewer rejected
 * @returns {Array<{key: string, start: number, end: number, label: number, why: "string"|"run", runs: string[]}>} in text order
 */
export function hintsOf({ index, gold, covered, others, dropped }) {
  const found = [];
  // For each character whether a span covers it: a long note has thousands of spans and hints.
  const taken = new Uint8Array(index.length);
  for (const { start, end } of [...gold, ...covered]) taken.fill(1, start, end);
  const offer = (hint) => {
    const key = keyOf(hint);
    if (dropped.has(key) || taken.subarray(hint.start, hint.end).includes(1)) return;
    taken.fill(1, hint.start, hint.end);
    found.push({ key, ...hint });
  };
  const strings = gold.map(({ start, end, label }) => ({ label, text: index.slice(start, end) }));
  for (const { label, text } of new Map(strings.map((one) => [`${one.label} ${one.text}`, one])).values()) {
    if (text.trim().length >= SHORTEST) for (const bounds of mentions(index, text)) offer({ ...bounds, label, why: "string", runs: [] });
  }
  for (const { start, end, label, runs } of others) offer({ start, end, label, why: "run", runs });
  return found.sort((a, b) => a.start - b.start || a.end - b.end);
}

const known = new WeakMap(); // text index -> Map of the bounds of a string in it

/** Where a string stands in the text as whole words. Found once, because the hints are computed anew after each decision. */
function mentions(index, text) {
  if (!known.has(index)) known.set(index, new Map());
  const found = known.get(index);
  if (!found.has(text)) found.set(text, findAll(index, text).filter((bounds) => isWord(index, bounds)));
  return found.get(text);
}

/** Whether the bounds don't cut a word. */
function isWord(index, { start, end }) {
  const cuts = (at) => at > 0 && at < index.length && /[\p{L}\p{N}]{2}/u.test(index.slice(at - 1, at + 1));
  return !cuts(start) && !cuts(end);
}
