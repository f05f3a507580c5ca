import assert from "node:assert/strict";
import { test } from "node:test";
import { Review } from "../../static/js/review/model.js";

const WORDS = { open: "proposed", accepted: "accepted", rejected: "rejected", added: "in gold" };
const proposal = (id, start, end, state = "open", place = null) => ({ id, start, end, label: 1, confidence: 0.5, source: "r", state, place });
const make = (proposals, gold = []) => {
  let count = 0;
  return new Review({ version: 1, closed: false, proposals, gold }, () => `change-${(count += 1)}`);
};
const looks = (review) => review.spans(WORDS).map(({ start, end, label, look }) => [start, end, label, look]);

test("proposals come in reading order, with a look for each state", () => {
  const review = make([proposal(2, 5, 9, "rejected"), proposal(1, 0, 4), proposal(3, 10, 12, "accepted")], [{ start: 10, end: 12, label: 1 }]);
  assert.deepEqual(looks(review), [[0, 4, 1, "is-proposal"], [5, 9, 1, "is-rejected"], [10, 12, 1, "is-accepted"]]);
  assert.equal(review.open, 1);
});

test("an accepted proposal stands where it was corrected to", () => {
  const review = make([proposal(1, 0, 4)]);
  review.correct(1, { start: 1, end: 4, label: 2 });
  assert.deepEqual(looks(review), [[1, 4, 2, "is-accepted"]]);
});

test("a decision shows at once and waits to be sent", () => {
  const review = make([proposal(1, 0, 4), proposal(2, 5, 9)]);
  review.accept(1);
  review.reject(2);
  assert.equal(review.waiting, 2);
  assert.equal(review.open, 0);
  assert.deepEqual(review.next, { change_id: "change-1", act: "accept", proposal: 1 });
});

test("what changes nothing is not sent", () => {
  const review = make([proposal(1, 0, 4, "rejected"), proposal(2, 5, 9, "accepted", [5, 8, 2])], [{ start: 5, end: 8, label: 2 }]);
  assert.equal(review.reject(1), null);
  assert.equal(review.correct(2, { start: 5, end: 8, label: 2 }), null);
  assert.equal(review.add(5, 8, 2), null);
  assert.notEqual(review.accept(2), null);
});

test("deciding again moves the gold span that the first decision made", () => {
  const review = make([proposal(1, 0, 4, "accepted")], [{ start: 0, end: 4, label: 1 }]);
  review.correct(1, { start: 0, end: 9, label: 1 });
  assert.deepEqual(looks(review), [[0, 9, 1, "is-accepted"]]);
});

test("added spans are shown beside the proposals, and can be removed", () => {
  const review = make([proposal(1, 0, 4)]);
  review.add(6, 8, 3);
  assert.deepEqual(review.others(), [{ start: 6, end: 8, label: 3 }]);
  review.remove({ start: 6, end: 8, label: 3 });
  assert.deepEqual(review.others(), []);
});

test("the server's word replaces what was foreseen; what waits stays on top", () => {
  const review = make([proposal(1, 0, 4), proposal(2, 5, 9)]);
  review.accept(1);
  review.accept(2);
  review.refused({ version: 2, closed: false, proposals: [proposal(1, 0, 4, "rejected"), proposal(2, 5, 9)], gold: [] });
  assert.deepEqual(review.proposals().map(({ state }) => state), ["rejected", "accepted"]);
  assert.equal(review.waiting, 1);
});

test("moving on goes to the next open proposal and round the end", () => {
  const review = make([proposal(1, 0, 4), proposal(2, 5, 9, "accepted"), proposal(3, 10, 12)]);
  assert.equal(review.after(1, 1, { open: true }).id, 3);
  assert.equal(review.after(3, 1, { open: true }).id, 1);
  assert.equal(review.after(3, 1), null);
  assert.equal(review.after(null, 1).id, 1);
  assert.equal(make([]).after(null, 1, { open: true }), null);
});
