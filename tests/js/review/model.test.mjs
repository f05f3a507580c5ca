import assert from "node:assert/strict";
import { test } from "node:test";
import { Review, boundsOf } from "../../../static/js/review/model.js";
import { words } from "../../../static/js/review/words.js";

const WORDS = { open: "suggested", accepted: "accepted", rejected: "rejected", added: "in gold" };
const suggestion = (id, start, end, state = "open", bounds = null) => ({
  id, start, end, label: 1, confidence: 0.5, source: "r", state, by: null, at: null,
  bounds: state === "accepted" ? (bounds ?? [start, end, 1]) : null,
});
const gold = (start, end, label = 1) => ({ start, end, label, from: "", by: null, at: null });
const state = (version, suggestions, spans = [], finished = false) => ({ version, finished, suggestions, gold: spans });
const make = (suggestions, spans = []) => {
  let count = 0;
  return new Review(state(1, suggestions, spans), "rita", () => `change-${(count += 1)}`);
};
const looks = (review) => review.spans(WORDS).map(({ start, end, label, look }) => [start, end, label, look]);
const states = (review) => review.suggestions().map((one) => one.state);

test("suggestions are in text order, with a look for each state", () => {
  const review = make([suggestion(2, 5, 9, "rejected"), suggestion(1, 0, 4), suggestion(3, 10, 12, "accepted")], [gold(10, 12)]);
  assert.deepEqual(looks(review), [[0, 4, 1, "is-suggestion"], [5, 9, 1, "is-rejected"], [10, 12, 1, "is-accepted"]]);
  assert.equal(review.open, 1);
});

test("a corrected suggestion has its new bounds and label", () => {
  const review = make([suggestion(1, 0, 4)]);
  review.correct(1, { start: 1, end: 4, label: 2 });
  assert.deepEqual(looks(review), [[1, 4, 2, "is-accepted"]]);
  assert.equal(review.get(1).by, "rita");
});

test("a decision shows at once and waits to be sent, with the state that was seen", () => {
  const review = make([suggestion(1, 0, 4), suggestion(2, 5, 9)]);
  review.accept(1);
  review.reject(2);
  assert.equal(review.waiting, 2);
  assert.equal(review.open, 0);
  assert.deepEqual(review.next, { change_id: "change-1", act: "accept", suggestion: 1, seen: ["open"] });
  review.reject(1);
  review.accepted(state(2, [suggestion(1, 0, 4, "accepted"), suggestion(2, 5, 9)], [gold(0, 4)]));
  review.accepted(state(3, [suggestion(1, 0, 4, "accepted"), suggestion(2, 5, 9, "rejected")], [gold(0, 4)]));
  assert.deepEqual(review.next.seen, ["accepted", 0, 4, 1]);
});

test("an act that changes nothing is not sent", () => {
  const review = make([suggestion(1, 0, 4, "rejected"), suggestion(2, 5, 9, "accepted", [5, 8, 2])], [gold(5, 8, 2)]);
  assert.equal(review.reject(1), null);
  assert.equal(review.correct(2, { start: 5, end: 8, label: 2 }), null);
  assert.equal(review.add(5, 8, 2), null);
  assert.equal(review.waiting, 0);
  assert.equal(review.accept(2).act, "accept", "a corrected suggestion can be accepted as suggested");
});

test("correcting to the suggested bounds is accepting", () => {
  const review = make([suggestion(1, 0, 4, "accepted", [0, 9, 1])], [gold(0, 9)]);
  assert.equal(review.correct(1, { start: 0, end: 4, label: 1 }).act, "accept");
  assert.deepEqual(looks(review), [[0, 4, 1, "is-accepted"]]);
});

test("deciding again moves the gold span that the first decision made", () => {
  const review = make([suggestion(1, 0, 4, "accepted")], [gold(0, 4)]);
  review.correct(1, { start: 0, end: 9, label: 1 });
  assert.deepEqual(looks(review), [[0, 9, 1, "is-accepted"]]);
  review.reject(1);
  assert.deepEqual(looks(review), [[0, 4, 1, "is-rejected"]]);
});

test("a gold span of two suggestions stays when one of them is rejected", () => {
  const review = make([suggestion(1, 0, 4, "accepted"), suggestion(2, 5, 9, "accepted", [0, 4, 1])], [gold(0, 4)]);
  review.reject(2);
  assert.notEqual(review.goldAt({ start: 0, end: 4, label: 1 }), null);
});

test("added spans are shown beside the suggestions, and can be removed", () => {
  const review = make([suggestion(1, 0, 4)]);
  review.add(6, 8, 3);
  assert.deepEqual(review.others().map(({ start, end, label, by }) => [start, end, label, by]), [[6, 8, 3, "rita"]]);
  assert.equal(review.find("g6-8-3").other.label, 3);
  review.remove({ start: 6, end: 8, label: 3 });
  assert.deepEqual(review.others(), []);
  assert.equal(review.find("g6-8-3"), null);
});

test("adding exactly the suggested span decides the suggestion", () => {
  const review = make([suggestion(1, 0, 4)]);
  review.add(0, 4, 1);
  assert.deepEqual(states(review), ["accepted"]);
});

test("the server's state replaces the expected one; waiting changes stay on top", () => {
  const review = make([suggestion(1, 0, 4), suggestion(2, 5, 9)]);
  review.accept(1);
  review.accept(2);
  const { elsewhere } = review.refused({ error: "moved", ...state(2, [suggestion(1, 0, 4, "rejected"), suggestion(2, 5, 9)]) });
  assert.equal(elsewhere, true);
  assert.deepEqual(states(review), ["rejected", "accepted"]);
  assert.equal(review.waiting, 1);
});

test("an error without a state keeps the known state", () => {
  const review = make([suggestion(1, 0, 4)]);
  review.accept(1);
  assert.deepEqual(review.refused({ error: "forbidden", message: "No." }), { elsewhere: false });
  assert.deepEqual(states(review), ["open"]);
});

test("more steps than the own change mean that another person decided", () => {
  const review = make([suggestion(1, 0, 4), suggestion(2, 5, 9)]);
  review.accept(1);
  const answer = state(2, [suggestion(1, 0, 4, "accepted"), suggestion(2, 5, 9)], [gold(0, 4)]);
  assert.equal(review.accepted(answer).elsewhere, false);
  review.accept(2);
  assert.equal(review.accepted({ ...answer, version: 4 }).elsewhere, true);
  assert.equal(review.refreshed({ ...answer, version: 4 }).elsewhere, false);
  assert.equal(review.refreshed({ ...answer, version: 5 }).elsewhere, true);
});

test("an older answer that arrives late is ignored", () => {
  const review = make([suggestion(1, 0, 4)]);
  review.refreshed(state(5, [suggestion(1, 0, 4, "rejected")]));
  assert.equal(review.refreshed(state(3, [suggestion(1, 0, 4)])).elsewhere, false);
  assert.deepEqual(states(review), ["rejected"]);
});

test("an undo returns the key of the touched item", () => {
  const review = make([suggestion(1, 0, 4, "accepted"), suggestion(2, 5, 9)], [gold(0, 4)]);
  review.undo();
  assert.equal(review.accepted(state(2, [suggestion(1, 0, 4), suggestion(2, 5, 9)])).touched, "p1");
  review.redo();
  const spans = [gold(0, 4)];
  assert.equal(review.accepted(state(3, [suggestion(1, 0, 4), suggestion(2, 5, 9)], [...spans, gold(6, 8, 3)])).touched, "g0-4-1");
  review.undo();
  assert.equal(review.accepted(state(4, [suggestion(1, 0, 4), suggestion(2, 5, 9)], spans)).touched, null);
});

test("moving on goes to the next open suggestion and starts over at the end", () => {
  const review = make([suggestion(1, 0, 4), suggestion(2, 5, 9, "accepted"), suggestion(3, 10, 12)], [gold(5, 9)]);
  assert.equal(review.after(1, 1, { open: true }).id, 3);
  assert.equal(review.after(3, 1, { open: true }).id, 1);
  assert.equal(review.after(3, 1), null);
  assert.equal(review.after(undefined, 1).id, 1);
  assert.equal(review.after(undefined, -1).id, 3);
  assert.equal(make([]).after(null, 1, { open: true }), null);
});

test("the bounds of a suggestion", () => {
  assert.deepEqual(boundsOf(suggestion(1, 0, 4)), { start: 0, end: 4, label: 1 });
  assert.deepEqual(boundsOf(suggestion(1, 0, 4, "accepted", [2, 3, 9])), { start: 2, end: 3, label: 9 });
});

test("the texts leave out what is not known", () => {
  assert.equal(words.history("", null, null), "");
  assert.equal(words.history("annotator:anna", "rita", null), "from annotator:anna, decided by rita");
  assert.equal(words.left(0, 0), "none");
  assert.equal(words.left(0, 3), "3, none open");
  assert.equal(words.left(2, 3), "2 of 3 open");
  assert.match(words.decided.accepted("rita", "2026-11-20T12:03:00+00:00"), /^Accepted by rita, 20 Nov 2026, \d\d:\d\d$/);
});

test("accepting a suggestion rejects the open conflicting ones that overlap it", () => {
  const merged = [
    { ...suggestion(1, 0, 11), conflicting: [2, 3, 4] }, { ...suggestion(2, 0, 5), conflicting: [1] },
    { ...suggestion(3, 6, 11), conflicting: [1] }, { ...suggestion(4, 8, 11, "accepted"), conflicting: [1] },
  ];
  const whole = make(merged, [gold(8, 11)]);
  whole.accept(1);
  assert.deepEqual(states(whole), ["rejected", "accepted", "rejected", "accepted"]);
  const half = make(merged, [gold(8, 11)]);
  half.correct(1, { start: 0, end: 5, label: 1 });
  assert.deepEqual(states(half), ["accepted", "accepted", "open", "accepted"], "a suggestion with the same bounds is accepted too, the others stay open");
});

test("a planted leak is decided by itself: finishing accepts only the rest", () => {
  const review = make([suggestion(1, 0, 4), { ...suggestion(2, 5, 9), planted: "missed" }, { ...suggestion(3, 10, 12, "accepted"), planted: "found" }], [gold(10, 12)]);
  assert.deepEqual(review.rest().map(({ id }) => id), [1]);
  assert.deepEqual(review.plantedCounts(), { missed: 1, partly: 0, found: 1 });
  assert.match(words.plantedLeft(review.plantedCounts()), /^1 planted leak .* is not marked\. You found 1 other planted leak\. Accept or reject it/);
  review.reject(2);
  assert.deepEqual(review.plantedCounts(), { missed: 0, partly: 0, found: 1 });
});

test("spans of an open review are in its draft, and in gold when the server says so", () => {
  const review = new Review({ ...state(1, [suggestion(1, 0, 4)]), gold_is_draft: true }, "rita", () => "change-1");
  assert.equal(review.goldIsDraft, true);
  review.accept(1);
  assert.equal(review.goldIsDraft, true);
  review.accepted({ ...state(2, [suggestion(1, 0, 4, "accepted")], [gold(0, 4)]), gold_is_draft: false });
  assert.equal(review.goldIsDraft, false);
});

test("waiting changes go in batches; undo and redo go alone; a refused one leaves the others", () => {
  const review = make([suggestion(1, 0, 4), suggestion(2, 5, 9), suggestion(3, 10, 12)]);
  review.accept(1);
  review.reject(2);
  review.undo();
  review.accept(3);
  assert.deepEqual(review.batch.map(({ act }) => act), ["accept", "reject"]);
  const refused = { error: "moved", message: "No." };
  const news = review.accepted({ ...state(2, [suggestion(1, 0, 4, "accepted"), suggestion(2, 5, 9), suggestion(3, 10, 12)], [gold(0, 4)]), steps: 1, outcomes: [null, refused] });
  assert.deepEqual([news.elsewhere, news.refused.map(([{ suggestion: id }, error]) => [id, error])], [false, [[2, refused]]]);
  assert.deepEqual(review.batch.map(({ act }) => act), ["undo"]);
  review.accepted({ ...state(3, [suggestion(1, 0, 4), suggestion(2, 5, 9), suggestion(3, 10, 12)]), steps: 1, outcomes: [null] });
  assert.deepEqual(review.batch.map(({ act }) => act), ["accept"]);
  for (let turn = 0; turn < 600; turn += 1) review[turn % 2 ? "accept" : "reject"](1);
  assert.equal(review.batch.length, 500);
});

test("a partial state replaces what overlaps its stretch of the text", () => {
  const review = make([suggestion(1, 0, 4), suggestion(2, 5, 9), suggestion(3, 10, 12, "accepted")], [gold(10, 12)]);
  const before = review.get(3);
  review.accept(2);
  review.accepted({ ...state(2, [suggestion(2, 5, 9, "accepted")], [gold(5, 9)]), steps: 1, outcomes: [null], part: [5, 9] });
  assert.deepEqual(states(review), ["open", "accepted", "accepted"]);
  assert.equal(review.get(3), before, "the others stay as they are");
  assert.deepEqual(review.others(), []);
  review.undo();
  review.accepted({ ...state(3, [suggestion(2, 5, 9)], []), steps: 1, outcomes: [null], part: [5, 9] });
  assert.deepEqual(looks(review), [[0, 4, 1, "is-suggestion"], [5, 9, 1, "is-suggestion"], [10, 12, 1, "is-accepted"]]);
});

test("decisions one by one show the same as all of them together", () => {
  const list = [suggestion(1, 0, 4), { ...suggestion(2, 0, 4), source: "s" }, suggestion(3, 5, 9), { ...suggestion(4, 6, 11), conflicting: [3] }];
  const acts = [(r) => r.accept(1), (r) => r.reject(1), (r) => r.accept(2), (r) => r.correct(3, { start: 5, end: 8, label: 2 }), (r) => r.accept(4), (r) => r.add(20, 24, 1), (r) => r.reject(4), (r) => r.remove({ start: 20, end: 24, label: 1 }), (r) => r.correct(3, { start: 30, end: 34, label: 1 }), (r) => r.accept(3)];
  const review = make(list, [gold(30, 34)]);
  for (const act of acts) {
    act(review);
    const together = make(list, [gold(30, 34)]);
    together.pending = [...review.pending];
    together.rebuild();
    assert.deepEqual(review.spans(WORDS), together.spans(WORDS));
    assert.equal(review.open, together.open);
  }
});
