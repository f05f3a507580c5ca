import assert from "node:assert/strict";
import test from "node:test";

import { Reading, difference } from "../../static/js/editor/model.js";

const A = { id: 1, start: 0, end: 5, label: 10 };
const B = { id: 2, start: 6, end: 9, label: 11 };

function reading(spans = [A, B], extra = {}) {
  let number = 0;
  return new Reading({ spans, version: 3, state: "draft", ...extra }, () => `c${(number += 1)}`);
}

const places = (it) => it.spans().map(({ start, end, label }) => [start, end, label]);
const answer = (version, more = {}) => ({ version, span: null, removed: null, changed_elsewhere: false, ...more });
const quote = (start, end) => `${start}..${end}`;

test("a span is shown at once and keeps its key when the server names it", () => {
  const it = reading([]);
  const change = it.create(2, 4, 7);
  assert.deepEqual(places(it), [[2, 4, 7]]);
  const { key } = it.spans()[0];
  assert.deepEqual(it.body(change, quote), {
    change_id: "c1", kind: "create", version: 3, start: 2, end: 4, quote: "2..4", label: 7,
  });
  assert.equal(it.accepted(answer(4, { span: { id: 9, start: 2, end: 4, label: 7 } })), null);
  assert.equal(it.spans()[0].key, key);
  assert.equal(it.waiting, 0);
  assert.equal(it.version, 4);
});

test("what is done to a span before it has an id is sent with the id", () => {
  const it = reading([]);
  const made = it.create(2, 4, 7);
  const relabelled = it.relabel(made.key, 8);
  const removed = it.remove(made.key);
  it.accepted(answer(4, { span: { id: 9, start: 2, end: 4, label: 7 } }));
  assert.deepEqual(it.body(relabelled, quote), {
    change_id: "c2", kind: "relabel", version: 4, label: 8, span: 9, seen: [2, 4, 7],
  });
  it.accepted(answer(5, { span: { id: 9, start: 2, end: 4, label: 8 } }));
  assert.deepEqual(it.body(removed, quote), { change_id: "c3", kind: "delete", version: 5, span: 9, seen: [2, 4, 8] });
  it.accepted(answer(6, { removed: 9 }));
  assert.deepEqual(places(it), []);
});

test("the same span twice is no change, and neither is a relabel into a twin", () => {
  const it = reading([A, { ...A, id: 3, label: 12 }]);
  assert.equal(it.create(0, 5, 10), null);
  assert.equal(it.relabel("1", 12), null);
  assert.equal(it.relabel("1", 10), null);
  assert.equal(it.remove("99"), null);
  assert.equal(it.waiting, 0);
});

test("undo and redo are foreseen, in both directions, before anything is answered", () => {
  const it = reading([A]);
  it.relabel("1", 12);
  const made = it.create(6, 9, 11);
  const [{ after }] = made.edits;
  const edits = [{ key: made.key, before: after, after: null }];
  assert.deepEqual(it.undo(), { id: "c3", kind: "undo", key: made.key, edits, origin: made.id });
  assert.deepEqual(places(it), [[0, 5, 12]]);
  it.undo();
  assert.deepEqual(places(it), [[0, 5, 10]]);
  it.redo();
  it.redo();
  assert.deepEqual(places(it), [[0, 5, 12], [6, 9, 11]]);
  it.undo();
  it.create(20, 21, 10);
  assert.deepEqual(it.redo().key, null, "a new change ends what could be redone");
});

test("an undo that only the server can know shows when it answers", () => {
  const it = reading([A, B]);
  const change = it.undo();
  assert.equal(change.key, null);
  assert.deepEqual(it.body(change, quote), { change_id: "c1", kind: "undo", version: 3 });
  assert.equal(places(it).length, 2);
  it.accepted(answer(4, { removed: 2 }));
  assert.deepEqual(places(it), [[0, 5, 10]]);
});

test("a change of another tab is told, one of our own is not", () => {
  const it = reading([A]);
  it.create(6, 9, 11);
  const mine = { id: 2, start: 6, end: 9, label: 11 };
  const theirs = { id: 3, start: 20, end: 22, label: 10 };
  assert.deepEqual(it.accepted(answer(6, { span: mine, spans: [A, mine, theirs], changed_elsewhere: true })), {
    added: 1, removed: 0, changed: 0,
  });
  it.remove("3");
  assert.equal(it.accepted(answer(7, { removed: 3, spans: [A, mine], changed_elsewhere: true })), null, "a replay");
});

test("a refused change is taken back, with all that was built on it, and nothing else", () => {
  const it = reading([A]);
  const made = it.create(6, 9, 11);
  it.relabel(made.key, 12);
  it.relabel("1", 12);
  const { dropped, elsewhere } = it.refused({ error: "label", version: 3, state: "draft", spans: [A] });
  assert.deepEqual([dropped, elsewhere], [2, null]);
  assert.deepEqual(places(it), [[0, 5, 12]]);
  assert.equal(it.waiting, 1);
});

test("a conflict shows what the server has", () => {
  const it = reading([A]);
  it.relabel("1", 12);
  const now = [{ ...A, label: 13 }];
  assert.deepEqual(it.refused({ error: "changed", version: 9, state: "draft", spans: now }), {
    dropped: 1, elsewhere: { added: 0, removed: 0, changed: 1 },
  });
  assert.deepEqual(places(it), [[0, 5, 13]]);
  assert.equal(it.version, 9);
});

test("a span that was there already is one span, under the key that it had", () => {
  const it = reading([]);
  const made = it.create(0, 5, 10);
  const later = it.relabel(made.key, 12);
  it.refreshed({ version: 4, spans: [A] });
  assert.deepEqual(it.accepted(answer(4, { span: A, already: true })), null);
  assert.deepEqual(it.body(later, quote).span, 1);
  it.accepted(answer(5, { span: { ...A, label: 12 } }));
  assert.deepEqual(places(it), [[0, 5, 12]]);
  assert.equal(it.get(made.key).key, "1");
});

test("a refresh takes over state and spans and says what changed", () => {
  const it = reading([A, B]);
  assert.equal(it.refreshed({ version: 3, state: "draft" }), null);
  assert.deepEqual(it.refreshed({ version: 5, state: "submitted", spans: [B] }), { added: 0, removed: 1, changed: 0 });
  assert.equal(it.isOpen, false);
});

test("a span that comes back by undo is the one that it was", () => {
  const it = reading([A]);
  it.remove("1");
  it.undo();
  it.accepted(answer(4, { removed: 1 }));
  assert.equal(it.accepted(answer(5, { span: A })), null);
  assert.deepEqual(it.spans(), [{ key: "1", start: 0, end: 5, label: 10 }]);
});

// ── Many spans as one change ─────────────────────────────────────────────────────────────────────────────────────────

const MANY = [{ start: 0, end: 5, label: 10 }, { start: 10, end: 12, label: 11 }, { start: 20, end: 22, label: 11 }, { start: 10, end: 12, label: 11 }];

test("many spans are one change: those that are there, or named twice, are left out", () => {
  const it = reading([A]);
  const change = it.createMany(MANY);
  assert.deepEqual(places(it), [[0, 5, 10], [10, 12, 11], [20, 22, 11]]);
  assert.equal(it.count(11), 2);
  assert.deepEqual(it.body(change, quote), {
    change_id: "c1", kind: "create_many", version: 3, spans: [
      { start: 10, end: 12, label: 11, quote: "10..12" }, { start: 20, end: 22, label: 11, quote: "20..22" },
    ],
  });
  assert.equal(it.createMany(MANY), null);
  it.undo();
  assert.deepEqual(places(it), [[0, 5, 10]], "before anything is answered");
  it.redo();
  const keys = it.spans().map(({ key }) => key);
  const made = [{ id: 7, ...MANY[1] }, { id: 8, ...MANY[2] }];
  assert.equal(it.accepted(answer(4, { made, already: 0 })), null);
  assert.equal(it.accepted(answer(5, { spans: [A] })), null);
  assert.equal(it.accepted(answer(6, { spans: [A, ...made] })), null);
  assert.deepEqual(it.spans().map(({ key }) => key), keys);
  assert.deepEqual(it.body(it.remove(keys[2]), quote).span, 8);
});

test("of many, one that another tab made is no span of this change", () => {
  const it = reading([]);
  it.createMany(MANY.slice(1, 3));
  it.undo();
  it.redo();
  const theirs = { id: 4, ...MANY[1] };
  const mine = { id: 7, ...MANY[2] };
  it.accepted(answer(5, { made: [mine], already: 1, spans: [theirs, mine], changed_elsewhere: true }));
  assert.equal(it.spans().length, 2);
  it.accepted(answer(6, { spans: [theirs] }));
  assert.deepEqual(places(it), [[10, 12, 11], [20, 22, 11]]);
  it.accepted(answer(7, { spans: [theirs, mine] }));
  assert.deepEqual(it.spans().map(({ key }) => key).length, 2);
});

test("an undo of many that only the server can know is no change of another tab", () => {
  const it = reading([A, B]);
  it.undo();
  assert.equal(it.accepted(answer(4, { spans: [A], changed_elsewhere: false })), null);
  assert.deepEqual(places(it), [[0, 5, 10]]);
});

test("a refused change takes its own undo and redo along, and no other", () => {
  const it = reading([A]);
  it.relabel("1", 12);
  it.undo();
  it.redo();
  it.remove("1");
  it.undo();
  const { dropped } = it.refused({ error: "changed", version: 9, state: "draft", spans: [{ ...A, label: 13 }] });
  assert.equal(dropped, 3);
  assert.deepEqual([it.next.kind, it.waiting], ["delete", 2]);
});

test("spans stay in reading order, found by place and by key, whatever is done", () => {
  const it = reading([B, A, { id: 3, start: 0, end: 9, label: 10 }]);
  const before = it.spans();
  assert.deepEqual(before.map(({ key }) => key), ["3", "1", "2"]);
  assert.equal(it.spans(), before, "the same array while nothing changes");
  it.resize("1", 5, 9);
  assert.notEqual(it.spans(), before);
  assert.equal(it.spans()[0], before[0], "what didn't change is the same object");
  assert.deepEqual(["3", "1", "2", "9"].map((key) => it.at(key)), [0, 1, 2, -1]);
  assert.equal(it.find({ start: 5, end: 9, label: 10 }).key, "1");
  assert.equal(it.find({ start: 0, end: 5, label: 10 }), null);
  assert.deepEqual([10, 11, 12].map((label) => it.count(label)), [2, 1, 0]);
});

test("difference", () => {
  const map = (...spans) => new Map(spans.map((span) => [String(span.id), span]));
  assert.equal(difference(map(A, B), map(B, A)), null);
  assert.deepEqual(difference(map(A), map({ ...A, end: 4 }, B)), { added: 1, removed: 0, changed: 1 });
});

test("any order of answers and gestures ends as the server has it", () => {
  // A small server: it makes changes as the real one does, one at a time.
  let seed = 7;
  const random = (below) => (seed = (seed * 48271) % 2147483647) % below;
  for (let round = 0; round < 200; round += 1) {
    const server = { spans: new Map(), log: [], undone: [], nextId: 1, version: 0 };
    const it = reading([], { version: 0 });
    for (let stepNumber = 0; stepNumber < 25; stepNumber += 1) {
      const spans = it.spans();
      const span = spans[random(Math.max(spans.length, 1))];
      const start = random(6) * 3;
      [
        () => it.create(start, start + 1 + random(3), random(3)),
        () => it.createMany([0, 1, 2].map((step) => ({ start: start + step, end: start + step + 1, label: random(3) }))),
        () => span && it.relabel(span.key, random(3)),
        () => span && it.resize(span.key, span.start, span.end + 1),
        () => span && it.remove(span.key),
        () => it.undo(),
        () => it.redo(),
        () => answerOne(server, it),
        () => answerOne(server, it),
      ][random(9)]();
    }
    while (it.next) answerOne(server, it);
    assert.deepEqual(
      places(it),
      [...server.spans.values()].map(({ start, end, label }) => [start, end, label]).sort(inOrder),
    );
  }
});

function inOrder(a, b) {
  return a[0] - b[0] || b[1] - a[1] || a[2] - b[2];
}

function answerOne(server, it) {
  const change = it.next;
  if (!change) return;
  const body = it.body(change, quote);
  const list = () => [...server.spans.entries()].map(([id, place]) => ({ id, ...place }));
  // An entry of the log is a list of {id, before, after}.
  const done = (entry, more = {}) => {
    for (const { id, after } of entry) {
      if (after) server.spans.set(id, after);
      else server.spans.delete(id);
    }
    server.version += 1;
    const [{ id, after }] = entry;
    const one = after ? { span: { id, ...after } } : { removed: id };
    const many = { spans: list() };
    assert.equal(it.accepted(answer(server.version, more.made ? more : entry.length > 1 ? many : one)), null);
  };
  const refuse = (error) => it.refused({ error, version: server.version, state: "draft", spans: list() });
  if (body.kind === "undo" || body.kind === "redo") {
    const [from, to] = body.kind === "undo" ? [server.log, server.undone] : [server.undone, server.log];
    const entry = from.pop();
    if (!entry) {
      refuse("nothing");
      return;
    }
    const opposite = entry.map(({ id, before, after }) => ({ id, before: after, after: before }));
    to.push(opposite);
    done(opposite);
    return;
  }
  if (body.kind === "create_many") {
    const there = (wanted) => list().some((other) => other.start === wanted.start && other.end === wanted.end && other.label === wanted.label);
    const fresh = body.spans.filter((wanted) => !there(wanted));
    const entry = fresh.map(({ start, end, label }) => ({ id: server.nextId++, before: null, after: { start, end, label } }));
    const made = entry.map(({ id, after }) => ({ id, ...after }));
    if (!entry.length) {
      assert.equal(it.accepted(answer(server.version, { made, already: body.spans.length })), null);
      return;
    }
    server.log.push(entry);
    server.undone = [];
    done(entry, { made, already: body.spans.length - made.length });
    return;
  }
  const before = body.kind === "create" ? null : server.spans.get(body.span);
  if (before !== null && JSON.stringify(body.seen) !== JSON.stringify(before && [before.start, before.end, before.label])) {
    // An undo that the page couldn't foresee came in between.
    refuse("changed");
    return;
  }
  const { start = before?.start, end = before?.end, label = before?.label } = body;
  const twin = list().find((other) => other.start === start && other.end === end && other.label === label);
  if (body.kind !== "delete" && twin) {
    assert.equal(it.accepted(answer(server.version, { span: twin, already: true })), null);
    return;
  }
  const id = body.kind === "create" ? server.nextId++ : body.span;
  const entry = [{ id, before, after: body.kind === "delete" ? null : { start, end, label } }];
  server.log.push(entry);
  server.undone = [];
  done(entry);
}
