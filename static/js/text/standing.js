/** Where strings stand in a text as whole tokens. Pure; offsets in code points, end-exclusive. */

import { codePointLength } from "./offsets.js";

/**
 * @param {import("./offsets.js").TextIndex} index
 * @param {Array<{start: number, end: number}>} tokens of the text
 * @param {Iterable<string>} strings that begin and end with a token
 * @returns {Array<{start: number, end: number}>} in text order; of strings with the same beginning, the longest
 */
export function standing(index, tokens, strings) {
  const byFirst = new Map(); // the first UTF-16 unit of a string -> strings, the longest first
  for (const string of [...strings].sort((a, b) => b.length - a.length)) {
    if (!byFirst.has(string[0])) byFirst.set(string[0], []);
    byFirst.get(string[0]).push(string);
  }
  const ends = new Set(tokens.map(({ end }) => end));
  const out = [];
  let past = 0;
  for (const { start } of tokens) {
    if (start < past) continue;
    const unit = index.toUtf16(start);
    for (const string of byFirst.get(index.text[unit]) ?? []) {
      const end = start + codePointLength(string);
      if (!ends.has(end) || !index.text.startsWith(string, unit)) continue;
      out.push({ start, end });
      past = end;
      break;
    }
  }
  return out;
}
