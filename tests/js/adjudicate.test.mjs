import assert from "node:assert/strict";
import { test } from "node:test";
import { Adjudication, idOf } from "../../static/js/adjudicate/model.js";
import { Names } from "../../static/js/adjudicate/names.js";
import { actions, causeActions, labelActions } from "../../static/js/adjudicate/actions.js";
import { rowsOf, tokensAround } from "../../static/js/adjudicate/layers.js";
import { words } from "../../static/js/adjudicate/words.js";
import { Keys } from "../../static/js/editor/keys.js";
import { tokenize } from "../../static/js/text/tokens.js";

const PATIENT = 1;
const CITY = 2;
const READERS = [{ number: 1, name: "anna" }, { number: 2, name: "bruno" }, { number: 3, name: "carla" }];
const place = (start, end, versions, more = {}) => ({
  start, end, key: `k${start}`, standing: "open", consensus: "split", versions, majority: null, outcome: null,
  choice: "", reader: null, by: "", at: "", cause: "", ...more,
});
const name = () => place(0, 11, [[[0, 11, PATIENT]], [[0, 11, PATIENT]], [[6, 11, PATIENT]]], { consensus: "majority", majority: [[0, 11, PATIENT]] });
const date = () => place(20, 30, [[[20, 30, 3]], [[20, 30, 3]], [[20, 30, 3]]], { standing: "agreed", consensus: "all" });
const city = () => place(40, 46, [[[40, 46, CITY]], [[40, 46, 4]], []]);
const state = (places, more = {}) => ({ version: 1, closed: false, ready: true, passes: false, readers: READERS, missing: [], places, ...more });
const make = (places = [name(), date(), city()], more = {}) => {
  let count = 0;
  return new Adjudication(state(places, more), "rita", () => `change-${(count += 1)}`);
};
const standings = (note) => note.places.map(({ standing }) => standing);

test("what is open, and which comes next: first where annotators differ", () => {
  const note = make();
  assert.equal(note.open, 3);
  assert.equal(note.agreed.length, 1);
  assert.equal(idOf(note.after(null, 1, { open: true })), "p0-11");
  assert.equal(idOf(note.after(note.places[0], 1, { open: true })), "p40-46");
  assert.equal(idOf(note.after(note.places[2], 1, { open: true })), "p0-11");
  assert.equal(idOf(note.after(note.places[0], 1)), "p20-30");
  assert.equal(note.after(note.places[2], 1), null);
  const decided = { standing: "decided", outcome: [] };
  assert.equal(idOf(make([{ ...name(), ...decided }, date()]).after(null, 1, { open: true })), "p20-30");
  assert.equal(make([date()], { passes: true }).open, 0);
  assert.equal(make([date()], { passes: true }).after(null, 1, { open: true }), null);
});

test("each act shows at once and says what was seen", () => {
  const note = make();
  note.majority(note.places[0]);
  assert.deepEqual(note.places[0].outcome, [[0, 11, PATIENT]]);
  assert.equal(note.places[0].standing, "decided");
  assert.deepEqual(note.body(note.next), { change_id: "change-1", act: "majority", seen: [[0, 11, "k0"]] });
  note.reader(note.places[2], 2);
  assert.deepEqual([note.places[2].outcome, note.places[2].reader], [[[40, 46, 4]], 2]);
  note.unanimous();
  assert.deepEqual(standings(note), ["decided", "decided", "decided"]);
  assert.equal(note.open, 0);
  assert.equal(note.waiting, 3);
  assert.equal(note.reader(note.places[2], 9), null, "there is no such annotator");
  assert.equal(note.unanimous(), null);
});

test("what would change nothing is no act", () => {
  const note = make();
  assert.equal(note.majority(note.places[2]), null, "a tie");
  note.nothing(note.places[2]);
  assert.equal(note.nothing(note.places[2]), null);
  note.own(0, 11, PATIENT);
  assert.equal(note.own(0, 11, PATIENT), null);
  assert.equal(note.keep(note.places[0]), null, "nothing changed there");
});

test("of a place that an act under way has changed only the server can name the state", () => {
  const note = make();
  note.reader(note.places[2], 1);
  note.nothing(note.places[2]);
  const after = state([name(), date(), { ...city(), standing: "decided", outcome: [[40, 46, CITY]], choice: "reader", reader: 1, key: "new" }], { version: 2 });
  note.accepted(after);
  assert.deepEqual(note.body(note.next).seen, [[40, 46, "new"]]);
  // Where somebody else decided meanwhile, what was seen is what was seen.
  const other = make();
  other.reader(other.places[0], 1);
  other.nothing(other.places[2]);
  other.accepted({ ...after, version: 3 });
  assert.deepEqual(other.body(other.next).seen, [[40, 46, "k40"]]);
});

test("an own span takes the place of what it overlaps, and joins places", () => {
  const note = make([place(0, 5, [[[0, 5, PATIENT]], [], []]), place(6, 11, [[], [[6, 11, PATIENT]], []])]);
  note.own(0, 11, PATIENT);
  assert.equal(note.places.length, 1);
  assert.deepEqual(note.places[0].outcome, [[0, 11, PATIENT]]);
  assert.deepEqual(note.places[0].versions, [[[0, 5, PATIENT]], [[6, 11, PATIENT]], []]);
  assert.deepEqual(note.body(note.next).seen, [[0, 5, "k0"], [6, 11, "k6"]]);
  note.own(20, 24, CITY);
  assert.deepEqual(note.body(note.next).act, "own");
  assert.equal(note.places.length, 2);
  note.drop(note.places[1], [20, 24, CITY]);
  assert.equal(note.places.length, 1, "nobody marks anything there any more");
});

test("second look: keeping, and dropping one of two spans", () => {
  const note = make([{ ...city(), standing: "changed", outcome: [[40, 46, CITY]], choice: "reader", reader: 1 }]);
  assert.equal(note.open, 1);
  note.keep(note.places[0]);
  assert.deepEqual([note.open, note.places[0].reader, note.places[0].choice], [0, 1, "reader"]);
  const two = make([{ ...name(), standing: "decided", outcome: [[0, 5, 1], [6, 11, 1]], choice: "own" }]);
  two.drop(two.places[0], [0, 5, 1]);
  assert.deepEqual([two.places[0].outcome, two.places[0].choice], [[[6, 11, 1]], "own"]);
  assert.equal(two.drop(two.places[0], [0, 5, 1]), null);
});

test("answers: what others decided, what annotators changed, what an undo touched", () => {
  const note = make();
  note.majority(note.places[0]);
  const done = { ...name(), standing: "decided", outcome: [[0, 11, PATIENT]], key: "k0b" };
  assert.deepEqual(note.accepted(state([done, date(), city()], { version: 2 })), { elsewhere: false, readings: false, touched: null });
  note.undo();
  assert.equal(note.accepted(state([name(), date(), city()], { version: 3 })).touched, "p0-11");
  note.nothing(note.places[2]);
  assert.equal(note.accepted(state([name(), date(), city()], { version: 5 })).elsewhere, true);
  assert.deepEqual(note.refreshed(state([date()], { version: 5, readers: READERS.slice(1), missing: ["anna"] })), { elsewhere: false, readings: true });
  note.majority(note.places[0]);
  assert.deepEqual(note.refused({ error: "moved", message: "no" }), { elsewhere: false, readings: false });
  assert.deepEqual([note.waiting, standings(note)], [0, ["agreed"]]);
  // An answer that was overtaken says nothing new.
  note.refreshed(state([city()], { version: 4 }));
  assert.equal(idOf(note.places[0]), "p20-30");
});

test("a cause is set, and taken back by the same again", () => {
  const note = make();
  note.cause(note.places[2], "AM");
  assert.equal(note.places[2].cause, "AM");
  assert.deepEqual(note.body(note.next), { change_id: "change-1", act: "cause", start: 40, end: 46, kind: "AM", seen: [] });
  assert.equal(note.cause(note.places[2], "AM").kind, "");
  assert.equal(note.places[2].cause, "");
});

test("layers: words with a cell for each span, nested spans in rows of their own", () => {
  const text = "visto: Mario Rossi, 54 anni a Torino oggi stesso alle otto di sera";
  const around = tokensAround(tokenize(text), place(7, 18, [[[7, 18, 1]], [[9, 18, 1]], []]));
  assert.deepEqual(around.slice(0, 5).map(({ start, end }) => text.slice(start, end)), ["visto", ":", "Ma", "rio", "Rossi"]);
  const tokens = tokenize("Mario Rossi a Torino");
  assert.deepEqual(rowsOf([[0, 11, 1]], tokens)[0].map(({ size, span }) => [size, span?.label ?? null]), [[2, 1], [1, null], [1, null]]);
  assert.equal(rowsOf([[0, 11, 1], [6, 11, 2]], tokens).length, 2);
  assert.deepEqual(rowsOf([], tokens).map((row) => row.length), [4]);
});

test("what stands on a place has a number for each text and look", () => {
  const names = new Names();
  assert.equal(names.of("split", "split"), names.of("split", "split"));
  assert.notEqual(names.of("✓ CITY", "split"), names.of("✓ CITY", "all"));
  assert.equal(names.get(names.of("✓ CITY", "all")).name, "✓ CITY");
});

const press = (key, more = {}) => ({ key, preventDefault() {}, getModifierState: () => false, ...more });

test("digits take an annotator's version; with words selected they are labels' keys", () => {
  const done = [];
  const work = new Proxy({ range: null }, { get: (target, part) => target[part] ?? ((...args) => done.push([part, ...args])) });
  const labels = labelActions(work, [{ id: 7, name: "PATIENT", key: "1" }, { id: 8, name: "AGE", key: "a" }, { id: 9, name: "X", key: "" }]);
  const page = actions(work);
  const without = new Keys([...page, ...labels]);
  const withWords = new Keys([...labels, ...page]);
  without.handle(press("1"));
  withWords.handle(press("1"));
  without.handle(press("a"));
  withWords.handle(press("a"));
  withWords.handle(press("2"));
  assert.deepEqual(done, [["reader", 1], ["applyLabel", 7], ["majority"], ["applyLabel", 8], ["reader", 2]]);
});

test("every key of the page is bound once, and every cause has one", () => {
  const bound = actions({}).flatMap(({ keys }) => keys);
  assert.equal(new Set(bound).size, bound.length);
  const causes = causeActions({}, { AB: "Abbreviation", AM: "Ambiguity", D: "Debatable annotation", S: "Scarcity" });
  assert.deepEqual(causes.map(({ keys }) => keys[0]), ["a", "m", "d", "s"]);
});

test("sentences count right", () => {
  assert.equal(words.stillOpen(1), "1 place is still open. Decide first, then close the note.");
  assert.equal(words.left(0, 0), "none");
  assert.equal(words.missing(["Annotator 2"]), "Annotator 2 has this note open and not handed in: what they say is left out until then.");
});
