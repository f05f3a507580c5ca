/**
 * The browser's offset code as a server on stdin and stdout, for tests that compare it with Python's: each line of input is a
 * request in JSON, each line of output its answer. Started and ended by `tests/text/test_browser_offsets.py`.
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
function lanesByAndBy(spans) {
  const runs = new Runs();
  const keyed = spans.map((span, at) => ({ ...span, key: String(at).padStart(4, "0") }));
  for (const span of keyed) runs.change([], [span]);
  const half = keyed.filter((_, at) => at % 2);
  runs.change(half, []);
  runs.change([], [...half].sort(inOrder));
  return keyed.map(({ key }) => runs.lane(key));
}

/** Every line drawn by itself, with nothing but the spans that touch it; spans are named as in the whole list. */
function rowsOneByOne(index, spans) {
  const all = linesOf(index);
  return all.flatMap((line, at) => {
    const near = spans.map((_, number) => number).filter((number) => spans[number].start < line.breakEnd && spans[number].end > line.start);
    const named = (list) => list.map((number) => near[number]);
    return segmentSome(all, at, at + 1, near.map((number) => spans[number])).map((row) =>
      plain(row).map(([start, end, ...lists]) => [start, end, ...lists.map(named)]),
    );
  });
}

const upTo = (last, value) => Array.from({ length: last + 1 }, (_, at) => value(at));
/** The values at all offsets, or at a few where the text is long, because each value is found by walking from its start. */
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
  const given = spans.map(([start, end, label]) => ({ start, end, label }));
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
    rows: segmentLines(text, given, index).map(plain),
    rowsOneByOne: rowsOneByOne(index, given),
    lanes: lanes(given),
    lanesByAndBy: lanesByAndBy(given),
    mentions: given.map((span) => mentionsOf(index, tokens, span, () => false).map(pair)),
    expansions: ranges.map(([start]) => expansions(index, start)?.choices.map(pair) ?? null),
    candidates: [...candidates(index, 0)].map(pair),
  };
}

// JSON.stringify writes half a surrogate pair as an escape.
for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(answers(JSON.parse(line)))}\n`);
}
