import assert from "node:assert/strict";
import test from "node:test";

import { AnnotationSet, difference } from "../../../static/js/editor/model.js";

const A = { id: 1, start: 0, end: 5, label: 10 };
const B = { id: 2, start: 6, end: 9, label: 11 };

function annotationSet(spans = [A, B], extra = {}) {
  let number = 0;
  return new AnnotationSet({ spans, version: 3, state: "draft", ...extra }, () => `c${(number += 1)}`);
}

const spansOf = (it) => it.spans().map(({ start, end, label }) => [start, end, label]);
const answer = (version, more = {}) => ({ version, span: null, removed: null, changed_elsewhere: false, ...more });
const quote = (start, end) => `${start}..${end}`;

test("a span is shown at once and keeps its key when it gets its id", () => {
  const it = annotationSet([]);
  const change = it.create(2, 4, 7);
  assert.deepEqual(spansOf(it), [[2, 4, 7]]);
  const { key } = it.spans()[0];
  assert.deepEqual(it.body(change, quote), {
    change_id: "c1", kind: "create", version: 3, start: 2, end: 4, quote: "2..4", label: 7,
  });
  assert.equal(it.accepted(answer(4, { span: { id: 9, start: 2, end: 4, label: 7 } })), null);
  assert.equal(it.spans()[0].key, key);
  assert.equal(it.waiting, 0);
  assert.equal(it.version, 4);
});

test("changes to a span without an id are sent with the id", () => {
  const it = annotationSet([]);
  const made = it.create(2, 4, 7);
  const relabeled = it.relabel(made.key, 8);
  const removed = it.remove(made.key);
  it.accepted(answer(4, { span: { id: 9, start: 2, end: 4, label: 7 } }));
  assert.deepEqual(it.body(relabeled, quote), {
    change_id: "c2", kind: "relabel", version: 4, label: 8, span: 9, seen: [2, 4, 7],
  });
  it.accepted(answer(5, { span: { id: 9, start: 2, end: 4, label: 8 } }));
  assert.deepEqual(it.body(removed, quote), { change_id: "c3", kind: "delete", version: 5, span: 9, seen: [2, 4, 8] });
  it.accepted(answer(6, { removed: 9 }));
  assert.deepEqual(spansOf(it), []);
});

test("the same span twice is no change, and neither is a relabel into a twin", () => {
  const it = annotationSet([A, { ...A, id: 3, label: 12 }]);
  assert.equal(it.create(0, 5, 10), null);
  assert.equal(it.relabel("1", 12), null);
  assert.equal(it.relabel("1", 10), null);
  assert.equal(it.remove("99"), null);
  assert.equal(it.waiting, 0);
});

test("undo and redo are foreseen before any answer", () => {
  const it = annotationSet([A]);
  it.relabel("1", 12);
  const made = it.create(6, 9, 11);
  const [{ after }] = made.edits;
  const edits = [{ key: made.key, before: after, after: null }];
  assert.deepEqual(it.undo(), { id: "c3", kind: "undo", key: made.key, edits, origin: made.id });
  assert.deepEqual(spansOf(it), [[0, 5, 12]]);
  it.undo();
  assert.deepEqual(spansOf(it), [[0, 5, 10]]);
  it.redo();
  it.redo();
  assert.deepEqual(spansOf(it), [[0, 5, 12], [6, 9, 11]]);
  it.undo();
  it.create(20, 21, 10);
  assert.deepEqual(it.redo().key, null, "a new change ends what could be redone");
});

test("an undo that only the server knows shows with its answer", () => {
  const it = annotationSet([A, B]);
  const change = it.undo();
  assert.equal(change.key, null);
  assert.deepEqual(it.body(change, quote), { change_id: "c1", kind: "undo", version: 3 });
  assert.equal(spansOf(it).length, 2);
  it.accepted(answer(4, { removed: 2 }));
  assert.deepEqual(spansOf(it), [[0, 5, 10]]);
});

test("changes of another tab are reported, own changes are not", () => {
  const it = annotationSet([A]);
  it.create(6, 9, 11);
  const mine = { id: 2, start: 6, end: 9, label: 11 };
  const theirs = { id: 3, start: 20, end: 22, label: 10 };
  assert.deepEqual(it.accepted(answer(6, { span: mine, spans: [A, mine, theirs], changed_elsewhere: true })), {
    added: 1, removed: 0, changed: 0,
  });
  it.remove("3");
  assert.equal(it.accepted(answer(7, { removed: 3, spans: [A, mine], changed_elsewhere: true })), null, "a replay");
});

test("a refused change is dropped with all changes that build on it, and no others", () => {
  const it = annotationSet([A]);
  const made = it.create(6, 9, 11);
  it.relabel(made.key, 12);
  it.relabel("1", 12);
  const { dropped, elsewhere } = it.refused({ error: "label", version: 3, state: "draft", spans: [A] });
  assert.deepEqual([dropped, elsewhere], [2, null]);
  assert.deepEqual(spansOf(it), [[0, 5, 12]]);
  assert.equal(it.waiting, 1);
});

test("after a conflict the server's spans are shown", () => {
  const it = annotationSet([A]);
  it.relabel("1", 12);
  const now = [{ ...A, label: 13 }];
  assert.deepEqual(it.refused({ error: "changed", version: 9, state: "draft", spans: now }), {
    dropped: 1, elsewhere: { added: 0, removed: 0, changed: 1 },
  });
  assert.deepEqual(spansOf(it), [[0, 5, 13]]);
  assert.equal(it.version, 9);
});

test("a span that existed already stays one span with its key", () => {
  const it = annotationSet([]);
  const made = it.create(0, 5, 10);
  const later = it.relabel(made.key, 12);
  it.refreshed({ version: 4, spans: [A] });
  assert.deepEqual(it.accepted(answer(4, { span: A, already: true })), null);
  assert.deepEqual(it.body(later, quote).span, 1);
  it.accepted(answer(5, { span: { ...A, label: 12 } }));
  assert.deepEqual(spansOf(it), [[0, 5, 12]]);
  assert.equal(it.get(made.key).key, "1");
});

test("a refresh takes over state and spans and says what changed", () => {
  const it = annotationSet([A, B]);
  assert.equal(it.refreshed({ version: 3, state: "draft" }), null);
  assert.deepEqual(it.refreshed({ version: 5, state: "submitted", spans: [B] }), { added: 0, removed: 1, changed: 0 });
  assert.equal(it.isOpen, false);
});

test("undo restores a span with its key", () => {
  const it = annotationSet([A]);
  it.remove("1");
  it.undo();
  it.accepted(answer(4, { removed: 1 }));
  assert.equal(it.accepted(answer(5, { span: A })), null);
  assert.deepEqual(it.spans(), [{ key: "1", start: 0, end: 5, label: 10 }]);
});

// ── Many spans as one change ─────────────────────────────────────────────────────────────────────────────────────────

const MANY = [{ start: 0, end: 5, label: 10 }, { start: 10, end: 12, label: 11 }, { start: 20, end: 22, label: 11 }, { start: 10, end: 12, label: 11 }];

test("many spans are one change, without existing and repeated ones", () => {
  const it = annotationSet([A]);
  const change = it.createMany(MANY);
  assert.deepEqual(spansOf(it), [[0, 5, 10], [10, 12, 11], [20, 22, 11]]);
  assert.equal(it.count(11), 2);
  assert.deepEqual(it.body(change, quote), {
    change_id: "c1", kind: "create_many", version: 3, spans: [
      { start: 10, end: 12, label: 11, quote: "10..12" }, { start: 20, end: 22, label: 11, quote: "20..22" },
    ],
  });
  assert.equal(it.createMany(MANY), null);
  it.undo();
  assert.deepEqual(spansOf(it), [[0, 5, 10]], "before anything is answered");
  it.redo();
  const keys = it.spans().map(({ key }) => key);
  const made = [{ id: 7, ...MANY[1] }, { id: 8, ...MANY[2] }];
  assert.equal(it.accepted(answer(4, { made, already: 0 })), null);
  assert.equal(it.accepted(answer(5, { spans: [A] })), null);
  assert.equal(it.accepted(answer(6, { spans: [A, ...made] })), null);
  assert.deepEqual(it.spans().map(({ key }) => key), keys);
  assert.deepEqual(it.body(it.remove(keys[2]), quote).span, 8);
});

test("of many spans, one that another tab made is not part of the change", () => {
  const it = annotationSet([]);
  it.createMany(MANY.slice(1, 3));
  it.undo();
  it.redo();
  const theirs = { id: 4, ...MANY[1] };
  const mine = { id: 7, ...MANY[2] };
  it.accepted(answer(5, { made: [mine], already: 1, spans: [theirs, mine], changed_elsewhere: true }));
  assert.equal(it.spans().length, 2);
  it.accepted(answer(6, { spans: [theirs] }));
  assert.deepEqual(spansOf(it), [[10, 12, 11], [20, 22, 11]]);
  it.accepted(answer(7, { spans: [theirs, mine] }));
  assert.deepEqual(it.spans().map(({ key }) => key).length, 2);
});

test("an undo of many spans that only the server knows is no change of another tab", () => {
  const it = annotationSet([A, B]);
  it.undo();
  assert.equal(it.accepted(answer(4, { spans: [A], changed_elsewhere: false })), null);
  assert.deepEqual(spansOf(it), [[0, 5, 10]]);
});

test("a refused change drops its own undo and redo, and no others", () => {
  const it = annotationSet([A]);
  it.relabel("1", 12);
  it.undo();
  it.redo();
  it.remove("1");
  it.undo();
  const { dropped } = it.refused({ error: "changed", version: 9, state: "draft", spans: [{ ...A, label: 13 }] });
  assert.equal(dropped, 3);
  assert.deepEqual([it.next.kind, it.waiting], ["delete", 2]);
});

test("spans stay in text order and are found by bounds and by key after any change", () => {
  const it = annotationSet([B, A, { id: 3, start: 0, end: 9, label: 10 }]);
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

test("any order of answers and changes ends in the server's state", () => {
  // A small server that makes changes like the real one, one at a time.
  let seed = 7;
  const random = (below) => (seed = (seed * 48271) % 2147483647) % below;
  for (let round = 0; round < 200; round += 1) {
    const server = { spans: new Map(), log: [], undone: [], nextId: 1, version: 0 };
    const it = annotationSet([], { version: 0 });
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
      spansOf(it),
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
  const list = () => [...server.spans.entries()].map(([id, span]) => ({ id, ...span }));
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
    // An undo that the page couldn't foresee came between them.
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

test("a set that is not started can't be changed until the server has started it", () => {
  const set = new AnnotationSet({ spans: [], version: 0, state: "unstarted" });
  assert.equal(set.isOpen, false);
  set.refreshed({ spans: [{ id: 1, start: 0, end: 5, label: 1 }], version: 1, state: "draft", seeded: "Began from the spans of rules-1." });
  assert.deepEqual([set.isOpen, set.version, set.spans().length], [true, 1, 1]);
});

test("an attribute is set, shown at once, undone, and kept by other changes", () => {
  const it = annotationSet([A]);
  const all = () => it.spans().map(({ attributes }) => attributes);
  const set = it.attribute("1", "Status", "past");
  assert.deepEqual(all(), [{ Status: "past" }]);
  assert.deepEqual(it.body(set, quote), {
    change_id: "c1", kind: "attribute", version: 3, span: 1, seen: [0, 5, 10], name: "Status", value: "past",
  });
  assert.equal(it.accepted(answer(4, { span: { ...A, attributes: { Status: "past" } } })), null);
  assert.equal(it.attribute("1", "Status", "past"), null); // changes nothing
  assert.equal(it.attribute("1", "Family", null), null);
  it.attribute("1", "Family", true);
  assert.deepEqual(JSON.stringify(all()), '[{"Family":true,"Status":"past"}]'); // sorted, as the server has them
  it.accepted(answer(5, { span: { ...A, attributes: { Family: true, Status: "past" } } }));
  // The answer to a change of the bounds names no attributes: they stay.
  it.resize("1", 0, 4);
  it.accepted(answer(6, { span: { ...A, end: 4 } }));
  assert.deepEqual(all(), [{ Family: true, Status: "past" }]);
  // The server leaves out what the new label lacks.
  it.relabel("1", 11);
  assert.deepEqual(all(), [{ Family: true, Status: "past" }]);
  it.accepted(answer(7, { span: { ...A, end: 4, label: 11, attributes: {} } }));
  assert.deepEqual(all(), [undefined]);
});

test("undo restores an attribute, and a deleted span with its attributes", () => {
  const it = annotationSet([{ ...A, attributes: { Family: true } }]);
  it.attribute("1", "Family", null);
  assert.equal(it.spans()[0].attributes, undefined);
  it.undo();
  assert.deepEqual(it.spans()[0].attributes, { Family: true });
  it.accepted(answer(4, { span: { ...A, attributes: {} } }));
  it.accepted(answer(5, { span: { ...A, attributes: { Family: true } } }));
  it.remove("1");
  it.accepted(answer(6, { removed: 1 }));
  it.undo();
  it.accepted(answer(7, { span: { ...A, attributes: { Family: true } } }));
  assert.deepEqual(it.spans()[0].attributes, { Family: true });
});

test("attributes that another tab changed count as a change", () => {
  const it = annotationSet([A, B]);
  assert.deepEqual(it.refreshed({ spans: [{ ...A, attributes: { Family: true } }, B], version: 4 }), { added: 0, removed: 0, changed: 1 });
});
