import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

import { Cursor } from "../../../static/js/editor/cursor.js";
import { Keys, nameOf, namesOf, shown } from "../../../static/js/editor/keys.js";
import { lanes } from "../../../static/js/editor/lanes.js";
import { AfterFrame } from "../../../static/js/editor/after_frame.js";
import { shorten } from "../../../static/js/editor/panel.js";
import { piecesOf } from "../../../static/js/editor/render.js";
import { lineAt, segmentLines } from "../../../static/js/text/segments.js";
import { tokenize } from "../../../static/js/text/tokens.js";

test("lanes: the cases that Python is tested with too", () => {
  const cases = JSON.parse(readFileSync(new URL("../../cases/lanes.json", import.meta.url)));
  for (const { spans, lanes: wanted } of cases) {
    assert.deepEqual(lanes(spans.map(([start, end, label]) => ({ start, end, label }))), wanted);
  }
});

// ── Keys ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

const press = (key, modifiers = {}) => ({ key, isComposing: false, preventDefault() {}, ...modifiers });

test("key names", () => {
  const name = (key, modifiers) => nameOf(press(key, modifiers));
  assert.equal(name("d"), "d");
  assert.equal(name("D"), "d", "caps lock");
  assert.equal(name("?", { shiftKey: true }), "?");
  assert.equal(name("Tab", { shiftKey: true }), "Shift+Tab");
  assert.equal(name("z", { ctrlKey: true }), "Ctrl+z");
  assert.equal(name("z", { metaKey: true }), "Ctrl+z");
  assert.equal(name("Z", { ctrlKey: true, shiftKey: true }), "Ctrl+Shift+z");
  assert.equal(name("ArrowLeft", { altKey: true }), "Alt+ArrowLeft");
  assert.equal(name("€", { ctrlKey: true, altKey: true, getModifierState: (which) => which === "AltGraph" }), "€");
  assert.equal(name("a", { isComposing: true }), null);
  assert.equal(name("Dead"), null);
});

test("a letter of another script also means the Latin key at its place", () => {
  const names = (key, code, modifiers) => namesOf(press(key, { code, ...modifiers }));
  assert.deepEqual(names("я", "KeyZ", { ctrlKey: true }), ["Ctrl+я", "Ctrl+z"]);
  assert.deepEqual(names("Φ", "KeyF", { shiftKey: true }), ["φ", "f"]);
  assert.deepEqual(names("y", "KeyZ"), ["y"], "German keyboard");
  assert.deepEqual(names("ñ", "Semicolon"), ["ñ"]);
  assert.deepEqual(names("ą", "KeyA"), ["ą"]);
});

test("keys as the page shows them", () => {
  assert.deepEqual(["Ctrl+Shift+z", "Shift+ArrowRight", "Delete", "d", "?", "+"].map(shown), [
    "Ctrl+Shift+Z", "Shift+→", "Del", "d", "?", "+",
  ]);
});

test("the first binding of a key gets it, and the sheet shows only keys that work", () => {
  const did = [];
  const keys = new Keys([
    { keys: ["n"], group: "Note", what: "Next note", run: () => did.push("next") },
    { keys: ["x", "n"], group: "Labels", what: "NAME", run: () => did.push("label") },
    { keys: ["n"], group: "Labels", what: "never", run: () => did.push("never") },
    { keys: ["q"], group: "Labels", what: "no", run: () => false },
  ]);
  assert.equal(keys.handle(press("n")), true);
  assert.equal(keys.handle(press("x")), true);
  assert.equal(keys.handle(press("q")), false, "it means nothing now");
  assert.equal(keys.handle(press("y")), false);
  assert.deepEqual(did, ["next", "label"]);
  assert.deepEqual(keys.sheet(), [
    { group: "Note", entries: [{ keys: ["n"], what: "Next note" }] },
    { group: "Labels", entries: [{ keys: ["x"], what: "NAME" }, { keys: ["q"], what: "no" }] },
  ]);
});

// ── Cursor ───────────────────────────────────────────────────────────────────────────────────────────────────────────

const TEXT = "Mario Rossi, 54 anni";
const cursor = () => new Cursor(tokenize(TEXT));
const at = (it) => it.range && TEXT.slice(it.range.start, it.range.end);

test("a mouse selection snaps to tokens, unless it is exact", () => {
  const it = cursor();
  assert.equal(it.select(2, 8), true);
  assert.equal(at(it), "Mario Rossi");
  assert.equal(it.select(2, 8, { exact: true }), true);
  assert.equal(at(it), "rio Ro");
  assert.equal(it.select(5, 6), false, "white space");
  assert.equal(it.range, null);
});

test("arrows move a token at a time and stop at the ends", () => {
  const it = cursor();
  const words = [];
  for (let step = 0; step < 6; step += 1) {
    it.move(1, false);
    words.push(at(it));
  }
  assert.deepEqual(words, ["Mario", "Rossi", ",", "54", "anni", "anni"]);
  it.move(-1, true);
  assert.equal(at(it), "54 anni");
  it.move(-1, true);
  it.move(1, true);
  assert.equal(at(it), "54 anni");
  it.move(-1, false);
  assert.equal(at(it), ",");
});

test("after deselecting, keys continue from there", () => {
  const it = cursor();
  it.select(0, 11);
  it.clear(11);
  it.move(1, false);
  assert.equal(at(it), ",");
  it.clear(0);
  it.move(1, true);
  assert.equal(at(it), "Mario");
});

test("nothing to move in a note without tokens", () => {
  const it = new Cursor([]);
  assert.equal(it.move(1, false), false);
  assert.equal(it.select(0, 0), false);
  assert.equal(it.shift({ start: 0, end: 1 }, "end", 1), null);
});

test("the ends of a span move by tokens, even from inside a token, and never past each other", () => {
  const it = cursor();
  const shift = (start, end, edge, step) => {
    const found = it.shift({ start, end }, edge, step);
    return found && TEXT.slice(found.start, found.end);
  };
  assert.equal(shift(0, 5, "end", 1), "Mario Rossi");
  assert.equal(shift(0, 11, "end", -1), "Mario");
  assert.equal(shift(0, 5, "end", -1), null);
  assert.equal(shift(6, 11, "start", -1), "Mario Rossi");
  assert.equal(shift(0, 11, "start", 1), "Rossi");
  assert.equal(shift(0, 5, "start", -1), null);
  assert.equal(shift(0, 3, "end", 1), "Mario", "from inside a token to its end");
  assert.equal(shift(2, 11, "start", -1), "Mario Rossi", "and to its start");
  assert.equal(shift(16, 20, "end", 1), null);
});

// ── Small parts ──────────────────────────────────────────────────────────────────────────────────────────────────────

test("a span that continues stays one piece; crossing spans are cut", () => {
  const spans = [{ start: 0, end: 11 }, { start: 0, end: 5 }, { start: 6, end: 15 }];
  const [{ segments }] = segmentLines(TEXT, spans);
  const shape = (nodes) => nodes.map((node) => (node.children ? [node.index, node.first, node.stacked, shape(node.children)] : TEXT.slice(node.start, node.end)));
  assert.deepEqual(shape(piecesOf(segments)), [
    [0, true, false, [[1, true, true, ["Mario"]], " ", [2, true, false, ["Rossi"]]]],
    [2, false, false, [", 54"]],
    " anni",
  ]);
});

test("the line of an offset", () => {
  const lines = [{ start: 0 }, { start: 5 }, { start: 9 }];
  assert.deepEqual([0, 4, 5, 8, 9, 100].map((offset) => lineAt(lines, offset)), [0, 0, 1, 1, 2, 2]);
});

test("a quote is shortened between characters", () => {
  assert.equal(shorten("😀😀😀", 3), "😀😀😀");
  assert.equal(shorten("😀😀😀😀", 3), "😀😀…");
});

test("delayed updates run after the frame; the last one of a name counts, in the order of the last ones", (t) => {
  const frames = [];
  globalThis.requestAnimationFrame = (run) => frames.push(run);
  t.after(() => delete globalThis.requestAnimationFrame);
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const later = new AfterFrame();
  const done = [];
  for (const [name, said] of [["selected", 1], ["hint", 2], ["selected", 3], ["counts", 4]]) later.put(name, () => done.push(said));
  assert.deepEqual([done, frames.length], [[], 1]);
  frames.pop()();
  t.mock.timers.tick(1);
  assert.deepEqual(done, [2, 3, 4]);
  later.put("selected", () => done.push(5));
  assert.equal(frames.length, 1, "asked again for the next frame");
});
