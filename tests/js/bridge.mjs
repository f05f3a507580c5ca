/**
 * The browser's offset code as a server on stdin and stdout, for tests that compare it with Python's: a question in JSON on a
 * line, the answers in JSON on a line. Started and ended by `tests/domain/test_browser_offsets.py`.
 */

import { createInterface } from "node:readline";

import { TextIndex, codePointLength, codePointToUtf16, utf16ToCodePoint } from "../../static/js/text/offsets.js";
import { expansions } from "../../static/js/text/expand.js";
import { lines, linesOf, segmentLines, segmentSome } from "../../static/js/text/segments.js";
import { snap, splitAt, tokenize, trim } from "../../static/js/text/tokens.js";
import { Runs, inOrder } from "../../static/js/editor/runs.js";
import { candidates } from "../../static/js/text/candidates.js";
import { lanes } from "../../static/js/editor/lanes.js";
import { mentionsOf } from "../../static/js/annotate/mentions.js";

const pair = ({ start, end }) => [start, end];
const plain = ({ segments }) =>
  segments.map(({ start, end, spans, starts, ends }) => [start, end, spans, starts, ends]);

/** The lanes that the page gives when the spans come one by one, and half of them go and come again. */
function lanesByAndBy(places) {
  const runs = new Runs();
  const spans = places.map((place, at) => ({ ...place, key: String(at).padStart(4, "0") }));
  for (const span of spans) runs.change([], [span]);
  const half = spans.filter((_, at) => at % 2);
  runs.change(half, []);
  runs.change([], [...half].sort(inOrder));
  return spans.map(({ key }) => runs.lane(key));
}

/** Every line drawn by itself, with nothing but the spans that touch it; spans are named as in the whole list. */
function rowsOneByOne(index, places) {
  const all = linesOf(index);
  return all.flatMap((line, at) => {
    const near = places.map((_, place) => place).filter((place) => places[place].start < line.breakEnd && places[place].end > line.start);
    const named = (list) => list.map((place) => near[place]);
    return segmentSome(all, at, at + 1, near.map((place) => places[place])).map((row) =>
      plain(row).map(([start, end, ...lists]) => [start, end, ...lists.map(named)]),
    );
  });
}

const upTo = (last, value) => Array.from({ length: last + 1 }, (_, at) => value(at));
/** The same of a few places only where the text is long: each walks from its start. */
const some = (last, value) => upTo(last, (at) => (last < 2000 || at % 997 === 0 ? value(at) : null)).filter((each) => each !== null);

/**
 * @param {object} question
 * @param {string} question.text
 * @param {Array<[number, number]>} question.ranges  start ≤ end, inside the text
 * @param {number[]} question.cuts
 * @param {Array<[number, number, number]>} question.spans  start < end, inside the text, and a label
 */
function answers({ text, ranges, cuts, spans }) {
  const index = new TextIndex(text);
  const tokens = tokenize(text);
  const places = spans.map(([start, end, label]) => ({ start, end, label }));
  return {
    length: [index.length, codePointLength(text)],
    units: upTo(index.length, (point) => index.toUtf16(point)),
    unitsOneByOne: some(index.length, (point) => codePointToUtf16(text, point)),
    points: upTo(text.length, (unit) => index.toCodePoint(unit)),
    pointsOneByOne: some(text.length, (unit) => utf16ToCodePoint(text, unit)),
    slices: ranges.map(([start, end]) => index.slice(start, end)),
    tokens: tokens.map(pair),
    split: splitAt(tokens, cuts).map(pair),
    snapped: ranges.map(([start, end]) => snap(tokens, start, end)),
    trimmed: ranges.map(([start, end]) => trim(index, start, end)),
    lines: lines(text, index).map(({ number, start, end, breakEnd }) => [number, start, end, breakEnd]),
    rows: segmentLines(text, places, index).map(plain),
    rowsOneByOne: rowsOneByOne(index, places),
    lanes: lanes(places),
    lanesByAndBy: lanesByAndBy(places),
    mentions: places.map((place) => mentionsOf(index, tokens, place, () => false).map(pair)),
    expansions: ranges.map(([start]) => expansions(index, start)?.choices.map(pair) ?? null),
    candidates: [...candidates(index, 0)].map(pair),
  };
}

// Half a surrogate pair leaves as an escape: JSON.stringify is well-formed.
for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(answers(JSON.parse(line)))}\n`);
}
