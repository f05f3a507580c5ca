/** Possible missed identifiers: further occurrences of gold strings in the note, and spans of other runs. Pure. */

import { findAll } from "../text/find.js";

const overlap = (a, b) => a.start < b.end && b.start < a.end;
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
  const found = new Map();
  const taken = [...gold, ...covered];
  const offer = (hint) => {
    const key = keyOf(hint);
    const there = [...found.values()].some((other) => overlap(other, hint));
    if (!there && !dropped.has(key) && !taken.some((span) => overlap(span, hint))) found.set(key, { key, ...hint });
  };
  for (const { start, end, label } of gold) {
    const text = index.slice(start, end);
    if (text.trim().length < SHORTEST) continue;
    for (const bounds of findAll(index, text)) if (isWord(index, bounds)) offer({ ...bounds, label, why: "string", runs: [] });
  }
  for (const { start, end, label, runs } of others) offer({ start, end, label, why: "run", runs });
  return [...found.values()].sort((a, b) => a.start - b.start || a.end - b.end);
}

/** Whether the bounds don't cut a word. */
function isWord(index, { start, end }) {
  const cuts = (at) => at > 0 && at < index.length && /[\p{L}\p{N}]{2}/u.test(index.slice(at - 1, at + 1));
  return !cuts(start) && !cuts(end);
}
