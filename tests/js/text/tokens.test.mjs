import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";

import { DIGIT_RANGES, WHITE_RANGES, WORD_RANGES } from "../../../static/js/text/characters.js";
import { TextIndex } from "../../../static/js/text/offsets.js";
import { isWhite, snap, splitAt, tokenize, trim } from "../../../static/js/text/tokens.js";
import { cases, hostileText, randomSource } from "../cases.mjs";

const table = cases("tokens.json");
const token = ([start, end]) => ({ start, end });

for (const { what, text, tokens } of table.tokenize) {
  test(`tokens: ${what}`, () => assert.deepEqual(tokenize(text), tokens.map(token)));
}

for (const { what, tokens, at, out } of table.split) {
  test(`split: ${what}`, () => assert.deepEqual(splitAt(tokens.map(token), at), out.map(token)));
}

for (const { what, text, range, out } of table.snap) {
  test(`snap: ${what}`, () => assert.deepEqual(snap(tokenize(text), ...range), out));
}

for (const { what, text, range, out } of table.trim) {
  test(`trim: ${what}`, () => {
    const [start, end] = trim(new TextIndex(text), ...range);
    if (out === null) assert.equal(start, end);
    else assert.deepEqual([start, end], out);
  });
}

function kinds() {
  const all = new Array(0x110000).fill("O");
  for (const [ranges, kind] of [[WORD_RANGES, "W"], [DIGIT_RANGES, "D"], [WHITE_RANGES, " "]]) {
    for (const [start, end] of ranges) all.fill(kind, start, end);
  }
  return all;
}

test("every code point has the same kind as in Python", () => {
  assert.equal(createHash("sha256").update(kinds().join("")).digest("hex"), table.kinds_sha256);
});

test("the frozen tables agree with this engine for the characters that it knows", () => {
  const all = kinds();
  for (let point = 0; point < 0x110000; point += 1) {
    const character = String.fromCodePoint(point);
    if (/\p{Cn}/u.test(character)) continue;
    const white = /\p{White_Space}|[\u200b\ufeff]/u.test(character);
    const expected = white ? " " : /[\p{L}\p{M}]/u.test(character) ? "W" : /\p{Nd}/u.test(character) ? "D" : "O";
    assert.equal(all[point], expected, `U+${point.toString(16)}`);
    if (white) assert.ok(isWhite(character));
  }
});

test("on hostile texts tokens follow the rule, character by character", () => {
  const random = randomSource(2);
  const all = kinds();
  for (let round = 0; round < 400; round += 1) {
    const text = hostileText(random);
    const expected = [];
    [...text].forEach((character, at, characters) => {
      const kind = all[character.codePointAt(0)];
      const last = expected.at(-1);
      const goesOn = last?.end === at && kind !== "O" && all[characters[at - 1].codePointAt(0)] === kind;
      if (kind === " ") return;
      if (goesOn) last.end = at + 1;
      else expected.push({ start: at, end: at + 1 });
    });
    assert.deepEqual(tokenize(text), expected);
  }
});

test("a long note is fast", () => {
  const text = "Paciente varón de 53 años \u{1f600}, NHC: 2569870.\n".repeat(3000);
  const begun = process.cpuUsage();
  tokenize(text);
  assert.ok(process.cpuUsage(begun).user < 1e6);
});
