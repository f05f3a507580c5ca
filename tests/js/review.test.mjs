import assert from "node:assert/strict";
import { test } from "node:test";
import { Review, placeOf } from "../../static/js/review/model.js";
import { words } from "../../static/js/review/words.js";

const WORDS = { open: "proposed", accepted: "accepted", rejected: "rejected", added: "in gold" };
const proposal = (id, start, end, state = "open", place = null) => ({
  id, start, end, label: 1, confidence: 0.5, source: "r", state, by: null, at: null,
  place: state === "accepted" ? (place ?? [start, end, 1]) : null,
});
const gold = (start, end, label = 1) => ({ start, end, label, from: "", by: null, at: null });
const state = (version, proposals, spans = [], closed = false) => ({ version, closed, proposals, gold: spans });
const make = (proposals, spans = []) => {
  let count = 0;
  return new Review(state(1, proposals, spans), "rita", () => `change-${(count += 1)}`);
};
const looks = (review) => review.spans(WORDS).map(({ start, end, label, look }) => [start, end, label, look]);
const states = (review) => review.proposals().map((one) => one.state);

test("proposals come in reading order, with a look for each state", () => {
  const review = make([proposal(2, 5, 9, "rejected"), proposal(1, 0, 4), proposal(3, 10, 12, "accepted")], [gold(10, 12)]);
  assert.deepEqual(looks(review), [[0, 4, 1, "is-proposal"], [5, 9, 1, "is-rejected"], [10, 12, 1, "is-accepted"]]);
  assert.equal(review.open, 1);
});

test("an accepted proposal stands where it was corrected to", () => {
  const review = make([proposal(1, 0, 4)]);
  review.correct(1, { start: 1, end: 4, label: 2 });
  assert.deepEqual(looks(review), [[1, 4, 2, "is-accepted"]]);
  assert.equal(review.get(1).by, "rita");
});

test("a decision shows at once and waits to be sent, with what was seen", () => {
  const review = make([proposal(1, 0, 4), proposal(2, 5, 9)]);
  review.accept(1);
  review.reject(2);
  assert.equal(review.waiting, 2);
  assert.equal(review.open, 0);
  assert.deepEqual(review.next, { change_id: "change-1", act: "accept", proposal: 1, seen: ["open"] });
  review.reject(1);
  review.accepted(state(2, [proposal(1, 0, 4, "accepted"), proposal(2, 5, 9)], [gold(0, 4)]));
  review.accepted(state(3, [proposal(1, 0, 4, "accepted"), proposal(2, 5, 9, "rejected")], [gold(0, 4)]));
  assert.deepEqual(review.next.seen, ["accepted", 0, 4, 1]);
});

test("what changes nothing is not sent", () => {
  const review = make([proposal(1, 0, 4, "rejected"), proposal(2, 5, 9, "accepted", [5, 8, 2])], [gold(5, 8, 2)]);
  assert.equal(review.reject(1), null);
  assert.equal(review.correct(2, { start: 5, end: 8, label: 2 }), null);
  assert.equal(review.add(5, 8, 2), null);
  assert.equal(review.waiting, 0);
  assert.equal(review.accept(2).act, "accept", "a corrected one is accepted as it was proposed");
});

test("correcting to what was proposed is accepting", () => {
  const review = make([proposal(1, 0, 4, "accepted", [0, 9, 1])], [gold(0, 9)]);
  assert.equal(review.correct(1, { start: 0, end: 4, label: 1 }).act, "accept");
  assert.deepEqual(looks(review), [[0, 4, 1, "is-accepted"]]);
});

test("deciding again moves the gold span that the first decision made", () => {
  const review = make([proposal(1, 0, 4, "accepted")], [gold(0, 4)]);
  review.correct(1, { start: 0, end: 9, label: 1 });
  assert.deepEqual(looks(review), [[0, 9, 1, "is-accepted"]]);
  review.reject(1);
  assert.deepEqual(looks(review), [[0, 4, 1, "is-rejected"]]);
});

test("a gold span that two proposals stand on stays when one of them goes", () => {
  const review = make([proposal(1, 0, 4, "accepted"), proposal(2, 5, 9, "accepted", [0, 4, 1])], [gold(0, 4)]);
  review.reject(2);
  assert.notEqual(review.goldAt({ start: 0, end: 4, label: 1 }), null);
});

test("added spans are shown beside the proposals, and can be removed", () => {
  const review = make([proposal(1, 0, 4)]);
  review.add(6, 8, 3);
  assert.deepEqual(review.others().map(({ start, end, label, by }) => [start, end, label, by]), [[6, 8, 3, "rita"]]);
  assert.equal(review.find("g6-8-3").other.label, 3);
  review.remove({ start: 6, end: 8, label: 3 });
  assert.deepEqual(review.others(), []);
  assert.equal(review.find("g6-8-3"), null);
});

test("adding exactly what is proposed leaves nothing to decide on it", () => {
  const review = make([proposal(1, 0, 4)]);
  review.add(0, 4, 1);
  assert.deepEqual(states(review), ["accepted"]);
});

test("the server's word replaces what was foreseen; what waits stays on top", () => {
  const review = make([proposal(1, 0, 4), proposal(2, 5, 9)]);
  review.accept(1);
  review.accept(2);
  const { elsewhere } = review.refused({ error: "moved", ...state(2, [proposal(1, 0, 4, "rejected"), proposal(2, 5, 9)]) });
  assert.equal(elsewhere, true);
  assert.deepEqual(states(review), ["rejected", "accepted"]);
  assert.equal(review.waiting, 1);
});

test("a refusal without a state keeps what is known", () => {
  const review = make([proposal(1, 0, 4)]);
  review.accept(1);
  assert.deepEqual(review.refused({ error: "forbidden", message: "No." }), { elsewhere: false });
  assert.deepEqual(states(review), ["open"]);
});

test("more steps than one's own mean that somebody else was there", () => {
  const review = make([proposal(1, 0, 4), proposal(2, 5, 9)]);
  review.accept(1);
  const answer = state(2, [proposal(1, 0, 4, "accepted"), proposal(2, 5, 9)], [gold(0, 4)]);
  assert.equal(review.accepted(answer).elsewhere, false);
  review.accept(2);
  assert.equal(review.accepted({ ...answer, version: 4 }).elsewhere, true);
  assert.equal(review.refreshed({ ...answer, version: 4 }).elsewhere, false);
  assert.equal(review.refreshed({ ...answer, version: 5 }).elsewhere, true);
});

test("an overtaken answer changes nothing back", () => {
  const review = make([proposal(1, 0, 4)]);
  review.refreshed(state(5, [proposal(1, 0, 4, "rejected")]));
  review.refreshed(state(3, [proposal(1, 0, 4)]));
  assert.deepEqual(states(review), ["rejected"]);
});

test("an undo tells what it touched", () => {
  const review = make([proposal(1, 0, 4, "accepted"), proposal(2, 5, 9)], [gold(0, 4)]);
  review.undo();
  assert.equal(review.accepted(state(2, [proposal(1, 0, 4), proposal(2, 5, 9)])).touched, "p1");
  review.redo();
  const spans = [gold(0, 4)];
  assert.equal(review.accepted(state(3, [proposal(1, 0, 4), proposal(2, 5, 9)], [...spans, gold(6, 8, 3)])).touched, "g0-4-1");
  review.undo();
  assert.equal(review.accepted(state(4, [proposal(1, 0, 4), proposal(2, 5, 9)], spans)).touched, null);
});

test("moving on goes to the next open proposal and round the end", () => {
  const review = make([proposal(1, 0, 4), proposal(2, 5, 9, "accepted"), proposal(3, 10, 12)], [gold(5, 9)]);
  assert.equal(review.after(1, 1, { open: true }).id, 3);
  assert.equal(review.after(3, 1, { open: true }).id, 1);
  assert.equal(review.after(3, 1), null);
  assert.equal(review.after(undefined, 1).id, 1);
  assert.equal(review.after(undefined, -1).id, 3);
  assert.equal(make([]).after(null, 1, { open: true }), null);
});

test("where a proposal stands", () => {
  assert.deepEqual(placeOf(proposal(1, 0, 4)), { start: 0, end: 4, label: 1 });
  assert.deepEqual(placeOf(proposal(1, 0, 4, "accepted", [2, 3, 9])), { start: 2, end: 3, label: 9 });
});

test("the words leave out what is not known", () => {
  assert.equal(words.history("", null, null), "");
  assert.equal(words.history("annotator:anna", "rita", null), "from annotator:anna, decided by rita");
  assert.equal(words.left(0, 0), "none");
  assert.equal(words.left(0, 3), "3, none open");
  assert.equal(words.left(2, 3), "2 of 3 open");
  assert.match(words.decided.accepted("rita", "2026-11-20T12:03:00+00:00"), /^Accepted by rita, 20 Nov 2026, \d\d:\d\d$/);
});

test("accepting one reading of a place rejects the open ones that it leaves no room for", () => {
  const merged = [
    { ...proposal(1, 0, 11), rivals: [2, 3, 4] }, { ...proposal(2, 0, 5), rivals: [1] },
    { ...proposal(3, 6, 11), rivals: [1] }, { ...proposal(4, 8, 11, "accepted"), rivals: [1] },
  ];
  const whole = make(merged, [gold(8, 11)]);
  whole.accept(1);
  assert.deepEqual(states(whole), ["rejected", "accepted", "rejected", "accepted"]);
  const half = make(merged, [gold(8, 11)]);
  half.correct(1, { start: 0, end: 5, label: 1 });
  assert.deepEqual(states(half), ["accepted", "accepted", "open", "accepted"], "the same place is right too, the rest stays open");
});

test("what had been left out is decided alone: closing accepts the rest, and only where nothing else is open", () => {
  const review = make([proposal(1, 0, 4), { ...proposal(2, 5, 9), planted: "missed" }, { ...proposal(3, 10, 12, "accepted"), planted: "found" }], [gold(10, 12)]);
  assert.deepEqual(review.rest().map(({ id }) => id), [1]);
  assert.deepEqual(review.leftOut(), { missed: 1, partly: 0, found: 1 });
  assert.match(words.leftOut(review.leftOut()), /^1 known identifier .* is not marked\. 1 more had been left out, and is marked\. Decide on it/);
  review.reject(2);
  assert.deepEqual(review.leftOut(), { missed: 0, partly: 0, found: 1 });
});
