/**
 * Tokens, to which selections snap; the same as `annotations/text/spans.py` (`tests/cases/tokens.json` tests both).
 *
 * A token is a maximal run of letters and marks, a maximal run of decimal digits, or any other single character that isn't
 * white space. Offsets are code points, end-exclusive: `{start, end}`.
 */

import { DIGIT_RANGES, WHITE_RANGES, WORD_RANGES, characterClass } from "./characters.js";

const WORD = characterClass(WORD_RANGES);
const DIGIT = characterClass(DIGIT_RANGES);
const WHITE = characterClass(WHITE_RANGES);
const TOKEN = new RegExp(`[${WORD}]+|[${DIGIT}]+|[^${WHITE}]`, "gu");
const WHITE_CHARACTER = new RegExp(`^[${WHITE}]$`, "u");
const PAIR = /[\u{10000}-\u{10ffff}]/gu;

/** Whether a character is white space: Unicode White_Space, U+200B or U+FEFF. */
export function isWhite(character) {
  return WHITE_CHARACTER.test(character);
}

/** The number of surrogate pairs of a string. */
function pairs(string) {
  const found = string.match(PAIR);
  return found === null ? 0 : found.length;
}

/**
 * The tokens of a text in order.
 * @returns {Array<{start: number, end: number}>}
 */
export function tokenize(text) {
  const tokens = [];
  let shift = 0; // surrogate pairs so far: a UTF-16 offset minus this is a code point offset (white space has no pairs)
  for (const match of text.matchAll(TOKEN)) {
    const start = match.index - shift;
    const word = match[0];
    shift += pairs(word);
    tokens.push({ start, end: match.index + word.length - shift });
  }
  return tokens;
}

/** Cut tokens at the boundaries inside them. Boundaries may be unsorted and repeated. */
export function splitAt(tokens, boundaries) {
  const cuts = [...new Set(boundaries)].sort((a, b) => a - b);
  const out = [];
  let next = 0;
  for (const token of tokens) {
    while (next < cuts.length && cuts[next] <= token.start) next += 1;
    let start = token.start;
    for (; next < cuts.length && cuts[next] < token.end; next += 1) {
      out.push({ start, end: cuts[next] });
      start = cuts[next];
    }
    out.push(start === token.start ? token : { start, end: token.end });
  }
  return out;
}

/** The index of the first token for which `test` holds; it must hold for all tokens after that one. */
function firstWhere(tokens, test) {
  let low = 0;
  let high = tokens.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (test(tokens[middle])) high = middle;
    else low = middle + 1;
  }
  return low;
}

/**
 * The half-open range of indexes of the tokens that share at least one character with `start`-`end`.
 * @returns {[number, number]}
 */
export function covered(tokens, start, end) {
  return [firstWhere(tokens, (token) => token.end > start), firstWhere(tokens, (token) => token.start >= end)];
}

/**
 * Widen a selection to the ends of the tokens that it shares a character with; null if there is none. An empty selection (a
 * caret) takes the token that the character after it belongs to.
 * @returns {[number, number] | null}
 */
export function snap(tokens, start, end) {
  const [first, past] = covered(tokens, start, Math.max(end, start + 1));
  return first < past ? [tokens[first].start, tokens[past - 1].end] : null;
}

/**
 * Move both ends of `start`-`end` inwards over white space; may give an empty range.
 * @param {import("./offsets.js").TextIndex} index of the text
 * @returns {[number, number]}
 */
export function trim(index, start, end) {
  const from = index.toUtf16(start);
  const to = index.toUtf16(end);
  let first = from;
  let past = to;
  while (first < past && isWhite(index.text[first])) first += 1;
  while (past > first && isWhite(index.text[past - 1])) past -= 1;
  return [start + (first - from), end - (to - past)]; // white space has no pairs: units are code points here
}
