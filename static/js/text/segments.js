/**
 * Split text into lines, and lines into segments for drawing; the same as `annotations/text/segments.py` (`tests/cases/segments.json`
 * tests both).
 *
 * A segment is a part of one line over which the set of covering spans doesn't change. Offsets are code points,
 * end-exclusive; `TextIndex.slice` gives their text.
 */

import { TextIndex } from "./offsets.js";

/**
 * @typedef {{number: number, start: number, end: number, breakEnd: number}} Line  number is 1-based; the break, not part of the
 *   line, is `end`-`breakEnd` (empty on the last line)
 * @typedef {{start: number, end: number, spans: number[], starts: number[], ends: number[]}} Segment  never empty; `spans` are
 *   indexes of the covering spans, the longest first, then the earliest, then the first given; `starts` and `ends` are those whose
 *   first and whose last segment this is
 */

/**
 * The lines of a text, separated by CR LF, LF or CR. U+0085, U+2028 and other separators are characters of the line.
 * @param {string} text
 * @param {TextIndex} [index] of the same text
 * @returns {Line[]}
 */
export function lines(text, index = new TextIndex(text)) {
  const out = [];
  let start = 0;
  for (const match of text.matchAll(/\r\n|\n|\r/g)) {
    const end = index.toCodePoint(match.index);
    const breakEnd = end + match[0].length;
    out.push({ number: out.length + 1, start, end, breakEnd });
    start = breakEnd;
  }
  out.push({ number: out.length + 1, start, end: index.length, breakEnd: index.length });
  return out;
}

/** Walks over the ends of the spans in text order and tracks the open spans. */
class Cover {
  constructor(spans) {
    this.indexAt = spans // rank -> index; ranks keep the open spans in drawing order
      .map((_, index) => index)
      .sort((a, b) => length(spans[b]) - length(spans[a]) || spans[a].start - spans[b].start || a - b);
    this.events = this.indexAt
      .flatMap((index, rank) => [
        { at: spans[index].start, opens: true, rank },
        { at: spans[index].end, opens: false, rank },
      ])
      .sort((a, b) => a.at - b.at);
    this.next = 0;
    this.open = []; // ranks, ascending
    this.active = [];
  }

  /** The parts of `start`-`end` with the open spans of each. Calls must be in text order. */
  *pieces(start, end) {
    while (start < end) {
      this.moveTo(start);
      const edge = this.next < this.events.length ? Math.min(this.events[this.next].at, end) : end;
      yield { start, end: edge, spans: this.active };
      start = edge;
    }
  }

  /** Open and close all spans whose ends lie at or before the position. */
  moveTo(position) {
    const before = this.next;
    for (; this.next < this.events.length && this.events[this.next].at <= position; this.next += 1) {
      const { opens, rank } = this.events[this.next];
      const index = insertionIndex(this.open, rank);
      if (opens) this.open.splice(index, 0, rank);
      else this.open.splice(index, 1);
    }
    if (this.next !== before) this.active = this.open.map((rank) => this.indexAt[rank]);
  }
}

function length(span) {
  return span.end - span.start;
}

/** The index of `value` in an ascending list, or the index at which to insert it. */
function insertionIndex(list, value) {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (list[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

const LINES = new WeakMap();

/** The lines of an index's text, cached. @param {TextIndex} index @returns {Line[]} */
export function linesOf(index) {
  if (!LINES.has(index)) LINES.set(index, lines(index.text, index));
  return LINES.get(index);
}

/** The index of the line that contains `offset`, or of the last one before it; `lines` ascend by `start`. */
export function lineAt(lines, offset) {
  let low = 0;
  let high = lines.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >>> 1;
    if (lines[middle].start <= offset) low = middle;
    else high = middle - 1;
  }
  return low;
}

/**
 * The visible part of a span, without line breaks at its ends; null if the span consists of line breaks.
 * @param {Line[]} lines
 * @param {{start: number, end: number}} span
 */
export function visible(lines, { start, end }) {
  let from = lineAt(lines, start);
  let first = start;
  while (first >= lines[from].end) {
    from += 1;
    if (from === lines.length) return null;
    first = lines[from].start;
  }
  let to = lineAt(lines, end);
  while (lines[to].start >= end) to -= 1;
  while (to > from && lines[to].start === lines[to].end) to -= 1;
  const last = Math.min(end, lines[to].end);
  return first < last ? { start: first, end: last } : null;
}

/**
 * Every line of the text with its segments in order; an empty line has none. Spans may overlap, nest, touch and cross line breaks.
 * Throws RangeError if a span is empty or leaves the text.
 * @param {string} text
 * @param {Array<{start: number, end: number}>} spans
 * @param {TextIndex} [index] of the same text
 * @returns {Array<{line: Line, segments: Segment[]}>}
 */
export function segmentLines(text, spans, index = new TextIndex(text)) {
  for (const { start, end } of spans) {
    if (!(start < end)) throw new RangeError(`the span ${start}-${end} is empty`);
    if (start < 0 || end > index.length) throw new RangeError(`the span ${start}-${end} leaves the text`);
  }
  const all = linesOf(index);
  return segmentSome(all, 0, all.length, spans);
}

/**
 * The same for the lines `from` to `past` (exclusive) only. `spans` must include all spans that overlap these lines.
 * @param {Line[]} lines  all lines of the text
 */
export function segmentSome(lines, from, past, spans) {
  const cover = new Cover(spans);
  const seen = spans.map((span) => visible(lines, span));
  const rows = [];
  for (let number = from; number < past; number += 1) {
    const line = lines[number];
    const segments = [];
    for (const { start, end, spans: active } of cover.pieces(line.start, line.end)) {
      segments.push({
        start,
        end,
        spans: active,
        starts: active.filter((index) => seen[index].start === start),
        ends: active.filter((index) => seen[index].end === end),
      });
    }
    rows.push({ line, segments });
  }
  return rows;
}
