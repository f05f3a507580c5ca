/**
 * Convert UTF-16 offsets to code points and back; no other module does this.
 *
 * JavaScript and the DOM count UTF-16 units; everything else in deidreview (server, files, spans, tokens, segments) counts
 * Unicode code points. They differ after the first character beyond U+FFFF, such as an emoji: a surrogate pair, two units. A
 * lone half of a pair is one code point, as in Python.
 */

/** Whether a surrogate pair begins at this unit. */
function pairAt(text, unit) {
  const high = text.charCodeAt(unit);
  if (high < 0xd800 || high > 0xdbff) return false;
  const low = text.charCodeAt(unit + 1); // NaN past the end
  return low >= 0xdc00 && low <= 0xdfff;
}

function checkRange(value, length, what) {
  if (!Number.isInteger(value) || value < 0 || value > length) {
    throw new RangeError(`${what} ${value} is outside 0-${length}`);
  }
}

/** The number of code points of a text. */
export function codePointLength(text) {
  return utf16ToCodePoint(text, text.length);
}

/**
 * The number of code points before the UTF-16 offset `unit`. Inside a pair, that of the pair's start.
 * O(unit); for more than a few offsets of one text use `TextIndex`.
 */
export function utf16ToCodePoint(text, unit) {
  checkRange(unit, text.length, "UTF-16 offset");
  let points = 0;
  for (let at = 0; at < unit; at += 1, points += 1) {
    if (pairAt(text, at)) {
      if (at + 1 === unit) return points;
      at += 1;
    }
  }
  return points;
}

/** The UTF-16 offset of the code point with the index `point` (the length of the text for the index past the last). */
export function codePointToUtf16(text, point) {
  let unit = 0;
  for (let points = 0; points < point && unit < text.length; points += 1) {
    unit += pairAt(text, unit) ? 2 : 1;
  }
  if (!Number.isInteger(point) || point < 0 || (unit === text.length && codePointLength(text) < point)) {
    throw new RangeError(`code point ${point} is outside 0-${codePointLength(text)}`);
  }
  return unit;
}

/** The number of ascending `values` below `limit`. */
function countBelow(values, limit) {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (values[middle] < limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Converts offsets of one text in both directions: O(1) without surrogate pairs, else O(log pairs). Built in one pass. */
export class TextIndex {
  #pairs; // code-point index of each pair, ascending
  #pairUnits; // UTF-16 offset of each pair, ascending

  /** @param {string} text */
  constructor(text) {
    this.text = text;
    const units = [];
    for (const match of text.matchAll(/[\u{10000}-\u{10ffff}]/gu)) units.push(match.index);
    this.#pairUnits = Uint32Array.from(units);
    this.#pairs = this.#pairUnits.map((unit, before) => unit - before);
    /** The number of code points. */
    this.length = text.length - units.length;
  }

  /** The UTF-16 offset of a code point index. Throws RangeError outside the text. */
  toUtf16(point) {
    checkRange(point, this.length, "code point");
    return this.#pairs.length === 0 ? point : point + countBelow(this.#pairs, point);
  }

  /** The code point index of a UTF-16 offset; inside a pair, that of its start. Throws RangeError outside the text. */
  toCodePoint(unit) {
    checkRange(unit, this.text.length, "UTF-16 offset");
    if (this.#pairs.length === 0) return unit;
    const before = countBelow(this.#pairUnits, unit);
    const inside = before > 0 && this.#pairUnits[before - 1] === unit - 1;
    return inside ? this.#pairs[before - 1] : unit - before;
  }

  /** The text between two code point indexes, end-exclusive. */
  slice(start, end = this.length) {
    return this.text.slice(this.toUtf16(start), this.toUtf16(end));
  }
}
