import assert from "node:assert/strict";
import { test } from "node:test";
import { Adjudication, idOf } from "../../../static/js/agreement/adjudicate/model.js";
import { Names } from "../../../static/js/agreement/adjudicate/names.js";
import { actions, causeActions, labelActions } from "../../../static/js/agreement/adjudicate/actions.js";
import { rowsOf, tokensAround } from "../../../static/js/agreement/adjudicate/layers.js";
import { words } from "../../../static/js/agreement/adjudicate/words.js";
import { Keys } from "../../../static/js/editor/keys.js";
import { tokenize } from "../../../static/js/text/tokens.js";

const PATIENT = 1;
const CITY = 2;
const ANNOTATORS = [{ number: 1, name: "anna" }, { number: 2, name: "bruno" }, { number: 3, name: "carla" }];
const location = (start, end, versions, more = {}) => ({
  start, end, key: `k${start}`, state: "open", consensus: "split", versions, majority: null, outcome: null,
  choice: "", annotator: null, by: "", at: "", causes: [], ...more,
});
const name = () => location(0, 11, [[[0, 11, PATIENT]], [[0, 11, PATIENT]], [[6, 11, PATIENT]]], { consensus: "majority", majority: [[0, 11, PATIENT]] });
const date = () => location(20, 30, [[[20, 30, 3]], [[20, 30, 3]], [[20, 30, 3]]], { state: "agreed", consensus: "all" });
const city = () => location(40, 46, [[[40, 46, CITY]], [[40, 46, 4]], []]);
const state = (locations, more = {}) => ({ version: 1, finished: false, ready: true, passes: false, annotators: ANNOTATORS, missing: [], locations, ...more });
const make = (locations = [name(), date(), city()], more = {}) => {
  let count = 0;
  return new Adjudication(state(locations, more), "rita", () => `change-${(count += 1)}`);
};
const locationStates = (note) => note.locations.map(({ state }) => state);

test("the open locations and their order: disagreements come first", () => {
  const note = make();
  assert.equal(note.open, 3);
  assert.equal(note.agreed.length, 1);
  assert.equal(idOf(note.after(null, 1, { open: true })), "p0-11");
  assert.equal(idOf(note.after(note.locations[0], 1, { open: true })), "p40-46");
  assert.equal(idOf(note.after(note.locations[2], 1, { open: true })), "p0-11");
  assert.equal(idOf(note.after(note.locations[0], 1)), "p20-30");
  assert.equal(note.after(note.locations[2], 1), null);
  const decided = { state: "decided", outcome: [] };
  assert.equal(idOf(make([{ ...name(), ...decided }, date()]).after(null, 1, { open: true })), "p20-30");
  assert.equal(make([date()], { passes: true }).open, 0);
  assert.equal(make([date()], { passes: true }).after(null, 1, { open: true }), null);
});

test("each act shows at once and names what the person saw", () => {
  const note = make();
  note.majority(note.locations[0]);
  assert.deepEqual(note.locations[0].outcome, [[0, 11, PATIENT]]);
  assert.equal(note.locations[0].state, "decided");
  assert.deepEqual(note.body(note.next), { change_id: "change-1", act: "majority", seen: [[0, 11, "k0"]] });
  note.annotator(note.locations[2], 2);
  assert.deepEqual([note.locations[2].outcome, note.locations[2].annotator], [[[40, 46, 4]], 2]);
  note.unanimous();
  assert.deepEqual(locationStates(note), ["decided", "decided", "decided"]);
  assert.equal(note.open, 0);
  assert.equal(note.waiting, 3);
  assert.equal(note.annotator(note.locations[2], 9), null, "there is no such annotator");
  assert.equal(note.unanimous(), null);
});

test("an act that would change nothing is not queued", () => {
  const note = make();
  assert.equal(note.majority(note.locations[2]), null, "a tie");
  note.nothing(note.locations[2]);
  assert.equal(note.nothing(note.locations[2]), null);
  note.own(0, 11, PATIENT);
  assert.equal(note.own(0, 11, PATIENT), null);
  assert.equal(note.keep(note.locations[0]), null, "nothing changed there");
});

test("after an unsent act only the server knows the state of its location", () => {
  const note = make();
  note.annotator(note.locations[2], 1);
  note.nothing(note.locations[2]);
  const after = state([name(), date(), { ...city(), state: "decided", outcome: [[40, 46, CITY]], choice: "annotator", annotator: 1, key: "new" }], { version: 2 });
  note.accepted(after);
  assert.deepEqual(note.body(note.next).seen, [[40, 46, "new"]]);
  // Where another adjudicator decided meanwhile, the request still names what the person saw.
  const other = make();
  other.annotator(other.locations[0], 1);
  other.nothing(other.locations[2]);
  other.accepted({ ...after, version: 3 });
  assert.deepEqual(other.body(other.next).seen, [[40, 46, "k40"]]);
});

test("an own span replaces the spans that it overlaps, and joins locations", () => {
  const note = make([location(0, 5, [[[0, 5, PATIENT]], [], []]), location(6, 11, [[], [[6, 11, PATIENT]], []])]);
  note.own(0, 11, PATIENT);
  assert.equal(note.locations.length, 1);
  assert.deepEqual(note.locations[0].outcome, [[0, 11, PATIENT]]);
  assert.deepEqual(note.locations[0].versions, [[[0, 5, PATIENT]], [[6, 11, PATIENT]], []]);
  assert.deepEqual(note.body(note.next).seen, [[0, 5, "k0"], [6, 11, "k6"]]);
  note.own(20, 24, CITY);
  assert.deepEqual(note.body(note.next).act, "own");
  assert.equal(note.locations.length, 2);
  note.drop(note.locations[1], [20, 24, CITY]);
  assert.equal(note.locations.length, 1, "nobody marks anything there any more");
});

test("keep a changed location, and drop one of two spans", () => {
  const note = make([{ ...city(), state: "changed", outcome: [[40, 46, CITY]], choice: "annotator", annotator: 1 }]);
  assert.equal(note.open, 1);
  note.keep(note.locations[0]);
  assert.deepEqual([note.open, note.locations[0].annotator, note.locations[0].choice], [0, 1, "annotator"]);
  const two = make([{ ...name(), state: "decided", outcome: [[0, 5, 1], [6, 11, 1]], choice: "own" }]);
  two.drop(two.locations[0], [0, 5, 1]);
  assert.deepEqual([two.locations[0].outcome, two.locations[0].choice], [[[6, 11, 1]], "own"]);
  assert.equal(two.drop(two.locations[0], [0, 5, 1]), null);
});

test("answers tell what others decided, what annotators changed, and what an undo changed", () => {
  const note = make();
  note.majority(note.locations[0]);
  const done = { ...name(), state: "decided", outcome: [[0, 11, PATIENT]], key: "k0b" };
  assert.deepEqual(note.accepted(state([done, date(), city()], { version: 2 })), { elsewhere: false, annotationSets: false, touched: null });
  note.undo();
  assert.equal(note.accepted(state([name(), date(), city()], { version: 3 })).touched, "p0-11");
  note.nothing(note.locations[2]);
  assert.equal(note.accepted(state([name(), date(), city()], { version: 5 })).elsewhere, true);
  assert.deepEqual(note.refreshed(state([date()], { version: 5, annotators: ANNOTATORS.slice(1), missing: ["anna"] })), { elsewhere: false, annotationSets: true });
  note.majority(note.locations[0]);
  assert.deepEqual(note.refused({ error: "moved", message: "no" }), { elsewhere: false, annotationSets: false });
  assert.deepEqual([note.waiting, locationStates(note)], [0, ["agreed"]]);
  // An answer older than the known state changes nothing.
  note.refreshed(state([city()], { version: 4 }));
  assert.equal(idOf(note.locations[0]), "p20-30");
});

test("causes are added, and each is removed by the same cause again", () => {
  const note = make();
  note.cause(note.locations[2], "AM");
  assert.deepEqual(note.body(note.next), { change_id: "change-1", act: "cause", start: 40, end: 46, kind: "AM", present: true, seen: [] });
  note.cause(note.locations[2], "D");
  assert.deepEqual(note.locations[2].causes, ["AM", "D"]);
  assert.equal(note.cause(note.locations[2], "AM").present, false);
  assert.deepEqual(note.locations[2].causes, ["D"]);
});

test("layers: words with a cell for each span, nested spans in rows of their own", () => {
  const text = "visto: Mario Rossi, 54 anni a Torino oggi stesso alle otto di sera";
  const around = tokensAround(tokenize(text), location(7, 18, [[[7, 18, 1]], [[9, 18, 1]], []]));
  assert.deepEqual(around.slice(0, 5).map(({ start, end }) => text.slice(start, end)), ["visto", ":", "Ma", "rio", "Rossi"]);
  const tokens = tokenize("Mario Rossi a Torino");
  assert.deepEqual(rowsOf([[0, 11, 1]], tokens)[0].map(({ size, span }) => [size, span?.label ?? null]), [[2, 1], [1, null], [1, null]]);
  assert.equal(rowsOf([[0, 11, 1], [6, 11, 2]], tokens).length, 2);
  assert.deepEqual(rowsOf([], tokens).map((row) => row.length), [4]);
});

test("chips have a number for each text and style", () => {
  const names = new Names();
  const [red, blue] = [{ hue: 0, underline: 5 }, { hue: 7, underline: 1 }];
  assert.equal(names.of("split", red), names.of("split", { ...red }));
  assert.notEqual(names.of("✓ CITY", red), names.of("✓ CITY", blue));
  assert.deepEqual(names.get(names.of("✓ CITY", blue)), { name: "✓ CITY", ...blue });
});

const press = (key, more = {}) => ({ key, preventDefault() {}, getModifierState: () => false, ...more });

test("digits accept an annotator's version; while text is selected they choose labels", () => {
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
  assert.deepEqual(done, [["annotator", 1], ["applyLabel", 7], ["majority"], ["applyLabel", 8], ["annotator", 2]]);
});

test("every key of the page is bound once, and every cause has a key", () => {
  const bound = actions({}).flatMap(({ keys }) => keys);
  assert.equal(new Set(bound).size, bound.length);
  const causes = causeActions({}, { AB: "Abbreviation", AM: "Ambiguity", D: "Debatable annotation", S: "Scarcity" });
  assert.deepEqual(causes.map(({ keys }) => keys[0]), ["a", "m", "d", "s"]);
});

test("texts use the right plural", () => {
  assert.equal(words.stillOpen(1), "1 disagreement is still open. Resolve it before you finish.");
  assert.equal(words.left(0, 0), "none");
  assert.equal(words.missing(["Annotator 2"]), "Annotator 2 has not submitted this note. Their annotations are left out until they submit.");
});
