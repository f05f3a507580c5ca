import assert from "node:assert/strict";
import { test } from "node:test";

import { TextIndex } from "../../../static/js/text/offsets.js";
import { findAll, firstFrom } from "../../../static/js/text/find.js";
import { locationIn } from "../../../static/js/text/location.js";
import { AnnotationSet } from "../../../static/js/editor/model.js";
import { hostileText, randomSource } from "../cases.mjs";

const found = (text, sought) => {
  const index = new TextIndex(text);
  return findAll(index, sought).map(({ start, end }) => index.slice(start, end));
};

test("finding: case and white space are ignored, and no character is a pattern", () => {
  assert.deepEqual(found("Mario ROSSI, Rossini", "rossi"), ["ROSSI", "Rossi"]);
  assert.deepEqual(found("Mario\r\n Rossi", " mario  rossi "), ["Mario\r\n Rossi"]);
  assert.deepEqual(found("axb a.b", "a.b"), ["a.b"]);
  assert.deepEqual(found("a[b (c) {d} $ ^ * + ? | \\ / -", "[b (c) {d} $ ^ * + ? | \\ / -"), ["[b (c) {d} $ ^ * + ? | \\ / -"]);
  assert.deepEqual(found("aaaa", "aa"), ["aa", "aa"]);
  assert.deepEqual(found("anything", "  \u200b "), []);
  assert.deepEqual(found("השם עברית כאן", "עברית"), ["עברית"]);
});

test("finding: offsets are code points, with emoji before or inside", () => {
  const index = new TextIndex("\u{1f600}\u{1f468}\u200d\u{1f469} Rossi \u{1f600}");
  assert.deepEqual(findAll(index, "rossi"), [{ start: 5, end: 10 }]);
  assert.deepEqual(findAll(index, "\u{1f600}"), [{ start: 0, end: 1 }, { start: 11, end: 12 }]);
});

test("finding: a piece of a hostile text is found", () => {
  const random = randomSource(7);
  for (let round = 0; round < 300; round += 1) {
    const index = new TextIndex(`${hostileText(random)}Mario${hostileText(random)}`);
    const hits = findAll(index, "mario");
    assert.ok(hits.length > 0);
    for (const { start, end } of hits) {
      assert.ok(0 <= start && start < end && end <= index.length);
      assert.equal(index.slice(start, end).toLowerCase(), "mario");
    }
  }
});

test("finding: at most so many matches, and the first from an offset on", () => {
  const hits = findAll(new TextIndex("a ".repeat(50)), "a", 10);
  assert.equal(hits.length, 10);
  assert.equal(firstFrom(hits, 5), 3);
  assert.equal(firstFrom(hits, 1000), 0, "after the last comes the first");
  assert.equal(firstFrom([], 0), -1);
});

test("the location in an address", () => {
  assert.deepEqual(locationIn("?at=3-9", 20), { start: 3, end: 9 });
  for (const bad of ["", "?at=", "?at=9-3", "?at=3-3", "?at=3-21", "?at=-1-3", "?at=3-9x", "?at=3-9999999999", "?x=3-9"]) {
    assert.equal(locationIn(bad, 20), null, bad);
  }
});

test("a span's id and its key on the page", () => {
  let number = 0;
  const annotationSet = new AnnotationSet({ spans: [{ id: 7, start: 0, end: 5, label: 1 }], version: 1, state: "draft" }, () => `c${(number += 1)}`);
  assert.equal(annotationSet.idOf(annotationSet.keyOf(7)), 7);
  const { key } = annotationSet.create(6, 9, 1);
  assert.equal(annotationSet.idOf(key), null, "not saved yet");
  annotationSet.accepted({ version: 2, span: { id: 8, start: 6, end: 9, label: 1 }, removed: null });
  assert.equal(annotationSet.idOf(key), 8);
  assert.equal(annotationSet.keyOf(8), key);
});
