import assert from "node:assert/strict";
import { test } from "node:test";
import { NOTHING, likelyRight, narrows, ordered, passes, uncertainty } from "../../../static/js/review/filter.js";
import { hintsOf } from "../../../static/js/review/hints.js";
import { Review } from "../../../static/js/review/model.js";
import { TextIndex } from "../../../static/js/text/offsets.js";

const suggestion = (id, label, confidence, source = "r", state = "open") => ({
  id, start: id * 10, end: id * 10 + 4, label, confidence, source, state, bounds: null, by: null, at: null,
});
const LIST = [suggestion(1, 2, 0.9), suggestion(2, 1, 0.55, "s"), suggestion(3, 1, null, "r", "rejected"), suggestion(4, 3, 0.2)];
const FACTS = { quote: ({ id }) => `Text ${id}`, rates: new Map(), positions: new Map([[1, 0], [2, 1], [3, 2]]) };
const ids = (list) => list.map(({ id }) => id);
const left = (filter) => ids(LIST.filter((one) => passes(one, { ...NOTHING, ...filter }, FACTS.quote)));

test("each filter", () => {
  assert.deepEqual(left({}), [1, 2, 3, 4]);
  assert.deepEqual(left({ label: 1 }), [2, 3]);
  assert.deepEqual(left({ source: "s" }), [2]);
  assert.deepEqual(left({ state: "open" }), [1, 2, 4]);
  assert.deepEqual(left({ least: 0.55 }), [1, 2], "a suggestion without confidence does not pass");
  assert.deepEqual(left({ least: 0.2, most: 0.55 }), [2, 4]);
  assert.deepEqual(left({ text: "TEXT 3" }), [3]);
  assert.deepEqual(left({ agree: 2 }), [], "a suggestion of a single run does not pass");
  assert.equal(narrows(NOTHING), false);
  assert.equal(narrows({ ...NOTHING, most: 0 }), true);
});

test("orders: by text, least certain, most likely wrong, by label", () => {
  const order = (name, rates = new Map()) => ids(ordered(LIST, name, { ...FACTS, rates }));
  assert.deepEqual(order("note"), [1, 2, 3, 4]);
  assert.deepEqual(order("uncertainty"), [3, 2, 4, 1]);
  assert.deepEqual(order("label"), [2, 3, 1, 4]);
  assert.deepEqual(order("false"), [4, 3, 2, 1]);
  // Earlier decisions outweigh the confidence.
  assert.deepEqual(order("false", new Map([["2 r", [0, 20]]])), [1, 4, 3, 2]);
  assert.equal(uncertainty({ confidence: 0.5 }), 1);
  assert.equal(likelyRight({ label: 1, source: "r", confidence: 1 }, new Map([["1 r", [3, 4]]])), 7 / 8);
});

test("walking keeps the position of a suggestion that no longer passes the filter", () => {
  const review = new Review({ version: 1, finished: false, suggestions: LIST, gold: [] }, "rita", () => "c");
  review.facts = FACTS;
  review.filter = { ...NOTHING, state: "open" };
  assert.deepEqual(ids(review.listed()), [1, 2, 4]);
  review.accept(2);
  assert.deepEqual(ids(review.listed()), [1, 4]);
  assert.equal(review.after(2, 1, { open: true }).id, 4);
  assert.equal(review.after(2, 1).id, 4);
  assert.equal(review.after(2, -1).id, 1);
  assert.equal(review.after(4, 1), null);
  assert.deepEqual(ids(review.recent()), [2]);
  review.order = "uncertainty";
  assert.deepEqual(ids(review.listed()), [4, 1]);
});

const NOTE = new TextIndex("\u{1f9ec} Rossi, rossi; Rossini. Anna 12 Anna, Torino");
const hints = (parts) => hintsOf({ index: NOTE, gold: [], covered: [], others: [], dropped: new Set(), ...parts });
const at = (list) => list.map(({ start, end, label, why }) => [NOTE.slice(start, end), label, why]);

test("the same text elsewhere is a hint, ignoring case, but not inside of longer words", () => {
  const gold = [{ start: 2, end: 7, label: 1 }];
  assert.deepEqual(at(hints({ gold })), [["rossi", 1, "string"]]);
  assert.deepEqual(at(hints({ gold, covered: [{ start: 9, end: 14 }] })), [], "it is a suggestion already");
  assert.deepEqual(at(hints({ gold, dropped: new Set(["h9-14-1"]) })), []);
  assert.deepEqual(hints({ gold: [{ start: 30, end: 32, label: 1 }] }), [], "two digits are too short");
});

test("a span of another run is a hint if nothing overlaps it", () => {
  const torino = { start: 39, end: 45, label: 4, runs: ["crf-1"] };
  assert.deepEqual(at(hints({ others: [torino] })), [["Torino", 4, "run"]]);
  assert.deepEqual(at(hints({ others: [torino], covered: [{ start: 40, end: 41 }] })), []);
  assert.deepEqual(at(hints({ others: [torino, { ...torino, label: 5 }] })), [["Torino", 4, "run"]], "one hint for the same bounds");
});
