import assert from "node:assert/strict";
import { test } from "node:test";

import { TextIndex } from "../../../static/js/text/offsets.js";
import { lines, segmentLines } from "../../../static/js/text/segments.js";
import { cases, hostileText, randomSource } from "../cases.mjs";

const span = ([start, end]) => ({ start, end });

for (const { what, text, spans, rows } of cases("segments.json").cases) {
  test(`table: ${what}`, () => {
    const expected = rows.map(({ line: [number, start, end, breakEnd], segments }) => ({
      line: { number, start, end, breakEnd },
      segments,
    }));
    assert.deepEqual(segmentLines(text, spans.map(span)), expected);
  });
}

test("on hostile texts segments add up to the text and list exactly the covering spans", () => {
  const random = randomSource(3);
  for (let round = 0; round < 400; round += 1) {
    const text = hostileText(random);
    const index = new TextIndex(text);
    const spans = [];
    for (let i = random(7); i > 0 && index.length > 0; i -= 1) {
      const start = random(index.length);
      spans.push({ start, end: start + 1 + random(index.length - start) });
    }
    const rows = segmentLines(text, spans, index);
    assert.deepEqual(rows.map((row) => row.line), lines(text));
    let built = "";
    for (const { line, segments } of rows) {
      for (const { start, end, spans: covering, starts, ends } of segments) {
        built += index.slice(start, end);
        for (let at = start; at < end; at += 1) {
          const expected = spans.flatMap((each, i) => (each.start <= at && at < each.end ? [i] : []));
          assert.deepEqual([...covering].sort((a, b) => a - b), expected);
        }
        assert.ok([...starts, ...ends].every((i) => covering.includes(i)));
      }
      built += index.slice(line.end, line.breakEnd);
    }
    assert.equal(built, text);
    const drawn = (key) => rows.flatMap((row) => row.segments.flatMap((segment) => segment[key])).sort((a, b) => a - b);
    const visible = [...new Set(drawn("spans"))];
    assert.deepEqual(drawn("starts"), visible);
    assert.deepEqual(drawn("ends"), visible);
  }
});

test("empty spans and spans outside the text are refused", () => {
  for (const bad of [{ start: 1, end: 1 }, { start: 2, end: 1 }, { start: -1, end: 2 }, { start: 0, end: 4 }, {}]) {
    assert.throws(() => segmentLines("abc", [bad]), RangeError);
  }
});

test("a 100 KB note with 2,000 spans is fast", () => {
  const text = "Paciente de 53 años, NHC 2569870.\n".repeat(3000);
  const spans = Array.from({ length: 2000 }, (_, i) => ({ start: i * 50, end: i * 50 + 30 }));
  const begun = process.cpuUsage();
  segmentLines(text, spans);
  assert.ok(process.cpuUsage(begun).user < 1e6);
});
