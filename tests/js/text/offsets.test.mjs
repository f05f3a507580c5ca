import assert from "node:assert/strict";
import { test } from "node:test";

import { TextIndex, codePointLength, codePointToUtf16, utf16ToCodePoint } from "../../../static/js/text/offsets.js";
import { cases, hostileText, randomSource } from "../cases.mjs";

for (const { what, text, units } of cases("offsets.json").cases) {
  test(`table: ${what}`, () => {
    const index = new TextIndex(text);
    assert.equal(codePointLength(text), units.length - 1);
    assert.equal(index.length, units.length - 1);
    units.forEach((unit, point) => {
      assert.equal(codePointToUtf16(text, point), unit);
      assert.equal(utf16ToCodePoint(text, unit), point);
      assert.equal(index.toUtf16(point), unit);
      assert.equal(index.toCodePoint(unit), point);
    });
  });
}

test("an offset inside a surrogate pair counts as its start", () => {
  const text = "a\u{1f600}b\u{1f601}";
  const index = new TextIndex(text);
  assert.equal(utf16ToCodePoint(text, 2), 1);
  assert.equal(index.toCodePoint(2), 1);
  assert.equal(utf16ToCodePoint(text, 5), 3);
  assert.equal(index.toCodePoint(5), 3);
});

test("on hostile texts all functions agree with the string's code points", () => {
  const random = randomSource(1);
  for (let round = 0; round < 400; round += 1) {
    const text = hostileText(random);
    const points = [...text];
    const index = new TextIndex(text);
    assert.equal(index.length, points.length);
    assert.equal(codePointLength(text), points.length);
    let unit = 0;
    for (let point = 0; point <= points.length; point += 1) {
      assert.equal(index.toUtf16(point), unit);
      assert.equal(codePointToUtf16(text, point), unit);
      assert.equal(index.toCodePoint(unit), point);
      unit += point < points.length ? points[point].length : 0;
    }
    for (let at = 0; at <= text.length; at += 1) assert.equal(index.toCodePoint(at), utf16ToCodePoint(text, at));
    const start = random(points.length + 1);
    const end = start + random(points.length - start + 1);
    assert.equal(index.slice(start, end), points.slice(start, end).join(""));
  }
});

test("offsets outside the text are refused", () => {
  const text = "a\u{1f600}";
  const index = new TextIndex(text);
  for (const bad of [-1, 3, 0.5, NaN, undefined]) {
    assert.throws(() => index.toUtf16(bad), RangeError);
    assert.throws(() => codePointToUtf16(text, bad), RangeError);
  }
  for (const bad of [-1, 4, 0.5, NaN, undefined]) {
    assert.throws(() => index.toCodePoint(bad), RangeError);
    assert.throws(() => utf16ToCodePoint(text, bad), RangeError);
  }
});

test("a long text with many emoji is fast", () => {
  const text = "word \u{1f600} ".repeat(20_000);
  const begun = process.cpuUsage();
  const index = new TextIndex(text);
  for (let point = 0; point <= index.length; point += 1) assert.ok(index.toUtf16(point) >= point);
  assert.ok(process.cpuUsage(begun).user < 1e6);
});
