import assert from "node:assert/strict";
import { test } from "node:test";

import { Cover } from "../../../static/js/annotate/cover.js";
import { TextIndex } from "../../../static/js/text/offsets.js";
import { characterAfter, characterBefore, isRightToLeft, lineAround, sentenceAfter, sentenceBefore, stopsOf } from "../../../static/js/text/steps.js";
import { dragged } from "../../../static/js/annotate/ends.js";
import { mentionsOf } from "../../../static/js/annotate/mentions.js";
import { spansAt } from "../../../static/js/annotate/picker.js";
import { tokenize } from "../../../static/js/text/tokens.js";
import { untouched } from "../../../static/js/annotate/moving.js";
import { best } from "../../../static/js/annotate/ranking.js";
import { randomSource } from "../cases.mjs";

// ── Dragging an end ──────────────────────────────────────────────────────────────────────────────────────────────────

const TEXT = "Mario Rossi, 54 anni";
const drag = (start, end, edge, offset, options) => {
  const bounds = dragged(tokenize(TEXT), { start, end }, edge, offset, options);
  return TEXT.slice(bounds.start, bounds.end);
};

test("a dragged end snaps to the nearer end of a word, and never passes the other end", () => {
  assert.equal(drag(0, 5, "end", 9), "Mario Rossi");
  assert.equal(drag(0, 5, "end", 7), "Mario", "too little of Rossi");
  assert.equal(drag(0, 5, "end", 6), "Mario", "white space");
  assert.equal(drag(0, 11, "end", 0), "Mario", "at least the first word");
  assert.equal(drag(0, 5, "end", 20), TEXT);
  assert.equal(drag(6, 11, "start", 1), "Mario Rossi");
  assert.equal(drag(6, 11, "start", 4), "Rossi", "too little of Mario");
  assert.equal(drag(0, 11, "start", 7), "Rossi");
  assert.equal(drag(0, 11, "start", 20), "Rossi", "at least the last word");
  assert.equal(drag(0, 11, "start", 12), "Rossi");
});

test("with Alt an end goes to any character, and one character is left", () => {
  assert.equal(drag(0, 5, "end", 8, { exact: true }), "Mario Ro");
  assert.equal(drag(0, 5, "end", 0, { exact: true }), "M");
  assert.equal(drag(0, 5, "start", 2, { exact: true }), "rio");
  assert.equal(drag(0, 5, "start", 9, { exact: true }), "o");
});

// ── Other mentions ───────────────────────────────────────────────────────────────────────────────────────────────────

function mentions(text, quote, options, there = []) {
  const index = new TextIndex(text);
  const start = index.toCodePoint(text.indexOf(quote));
  const span = { start, end: start + [...quote].length, label: 7 };
  const isThere = (span) => there.some(([from, to, label]) => span.start === from && span.end === to && span.label === label);
  return mentionsOf(index, tokenize(text), span, isThere, options).map((mention) => [mention.start, index.slice(mention.start, mention.end)]);
}

test("other mentions are whole words, without the span itself and those with the same label", () => {
  const text = "😀 Rossi, Rossini e Rossi; rossi. (Rossi)";
  assert.deepEqual(mentions(text, "Rossi"), [[19, "Rossi"], [34, "Rossi"]]);
  assert.deepEqual(mentions(text, "Rossi", { anyCase: true }), [[19, "Rossi"], [26, "rossi"], [34, "Rossi"]]);
  assert.deepEqual(mentions(text, "Rossi", {}, [[19, 24, 7], [34, 39, 8]]), [[34, "Rossi"]]);
});

test("a mention may cross a line break, and its characters are no pattern", () => {
  assert.deepEqual(mentions("Mario Rossi vs Mario\r\n  Rossi", "Mario Rossi"), [[15, "Mario\r\n  Rossi"]]);
  assert.deepEqual(mentions("C/ Mayor (3) C. Mayor C/ Mayor (3)", "C/ Mayor (3)"), [[22, "C/ Mayor (3)"]]);
  assert.deepEqual(mentions("a+b aab a+b", "a+b"), [[8, "a+b"]]);
  assert.deepEqual(mentions("--- - \\d 1 \\d", "\\d"), [[11, "\\d"]]);
  assert.deepEqual(mentions("محمد علي ثم محمد علي", "محمد علي"), [[12, "محمد علي"]]);
});

// ── Overlapping spans, and candidates ────────────────────────────────────────────────────────────────────────────────

test("the spans at an offset, the innermost first", () => {
  const spans = [{ key: "a", start: 0, end: 20 }, { key: "b", start: 2, end: 9 }, { key: "c", start: 5, end: 9 }, { key: "d", start: 9, end: 12 }];
  const keys = (offset) => spansAt(spans, offset).map(({ key }) => key).join("");
  assert.deepEqual([0, 3, 5, 8, 9, 15, 20].map(keys), ["a", "ba", "cba", "cba", "da", "a", ""]);
});

test("cover agrees with a search of all spans", () => {
  const random = randomSource(3);
  for (let round = 0; round < 200; round += 1) {
    const spans = Array.from({ length: 8 }, () => {
      const start = Math.floor(random() * 40);
      return { start, end: start + 1 + Math.floor(random() * 12) };
    }).sort((a, b) => a.start - b.start || b.end - a.end);
    const cover = new Cover(spans);
    for (let start = 0; start < 50; start += 1) {
      const bounds = { start, end: start + 3 };
      const over = spans.filter((span) => span.start < bounds.end && bounds.start < span.end);
      assert.equal(cover.isFree(bounds), over.length === 0);
      if (over.length) assert.ok(over.includes(cover.over(bounds)));
    }
  }
});

test("the next and previous unlabeled candidate, and from the other end", () => {
  const text = "Visto da Anna Ferrari il 12/03/2021.\nTorna il 20/03/2021 da Carlo Verdi.";
  const index = new TextIndex(text);
  const quote = (spans, from, step) => {
    const found = untouched(index, spans, from, step);
    return found && index.slice(found.start, found.end);
  };
  assert.equal(quote([], 0, 1), "Anna Ferrari");
  const span = (part) => ({ start: text.indexOf(part), end: text.indexOf(part) + part.length });
  assert.equal(quote([span("Anna")], 0, 1), "12/03/2021");
  assert.equal(quote([span("Anna")], text.length, 1), "12/03/2021", "round the end");
  assert.equal(quote([span("Carlo")], text.length, -1), "20/03/2021");
  assert.equal(quote([], 9, -1), "Carlo Verdi", "round the start");
  assert.equal(quote([{ start: 0, end: text.length }], 0, 1), null);
  assert.equal(quote([{ start: 0, end: text.length }], 30, -1), null);
});

// ── Steps ────────────────────────────────────────────────────────────────────────────────────────────────────────────

test("a character is a grapheme cluster", () => {
  const text = "a👩‍👧‍👦e\u0301\r\nb";
  const steps = [];
  for (let at = 0; at < text.length; at = characterAfter(text, at)) steps.push(at);
  assert.deepEqual(steps, [0, 1, 9, 11, 13]);
  const back = [];
  for (let at = text.length; at > 0; at = characterBefore(text, at)) back.push(at);
  assert.deepEqual(back, [14, 13, 11, 9, 1]);
});

test("the direction of a line is that of its first letter", () => {
  const text = "Mario محمد\r\n12/3 محمد Mario\nמרים\n123";
  const direction = (part) => isRightToLeft(text, text.indexOf(part));
  assert.deepEqual([direction("Mario"), direction("12/3"), direction("מרים"), direction("123")], [false, true, true, false]);
  assert.deepEqual(lineAround(text, 14), { start: 12, end: 27 });
});

test("sentences and lines, forwards and backwards", () => {
  const text = "Visto ieri. Torna (forse!) domani.\n\n  Sta bene.";
  const starts = [];
  for (let at = 0; at < text.length; at = sentenceAfter(text, at)) starts.push(at);
  assert.deepEqual(starts.map((at) => text.slice(at, at + 5)), ["Visto", "Torna", "doman", "Sta b"]);
  const back = [];
  for (let at = text.length; at > 0; at = sentenceBefore(text, at)) back.push(sentenceBefore(text, at));
  assert.deepEqual(back, [...starts].reverse());
});

// ── Stops of the cursor ──────────────────────────────────────────────────────────────────────────────────────────────

const stops = (text) => {
  const index = new TextIndex(text);
  return stopsOf(index, tokenize(text)).map(({ start, end }) => index.slice(start, end));
};

test("the cursor passes a grapheme cluster in one step", () => {
  assert.deepEqual(stops("di 👨\u200d👩\u200d👧 e 👍🏽👍🏽, 🇮🇹🇮🇹."), ["di", "👨\u200d👩\u200d👧", "e", "👍🏽", "👍🏽", ",", "🇮🇹", "🇮🇹", "."]);
  assert.deepEqual(stops("1\ufe0f\u20e3 😀😀"), ["1\ufe0f\u20e3", "😀", "😀"]);
  // A word that begins with a mark is a token of its own.
  assert.deepEqual(stops("❤\ufe0fabc"), ["❤", "\ufe0fabc"]);
  assert.deepEqual(stops("\u200d\u200d a"), ["\u200d\u200d", "a"]);
});

test("the stops of every text are tokens or joined tokens", () => {
  const random = randomSource(7);
  for (let round = 0; round < 300; round += 1) {
    const parts = ["a", "1", " ", "👨", "\u200d", "👩", "🏽", "🇮", "🇹", "\ufe0f", "\u20e3", ".", "\n"];
    const text = Array.from({ length: 12 }, () => parts[Math.floor(random() * parts.length)]).join("");
    const index = new TextIndex(text);
    const tokens = tokenize(text);
    const found = stopsOf(index, tokens);
    assert.deepEqual([found.at(0)?.start, found.at(-1)?.end], [tokens.at(0)?.start, tokens.at(-1)?.end]);
    const [starts, ends] = [new Set(tokens.map(({ start }) => start)), new Set(tokens.map(({ end }) => end))];
    assert.ok(found.every(({ start, end }) => starts.has(start) && ends.has(end) && start < end));
  }
});

test("the likeliest labels: the first score decides, then the next, then the order of the labels", () => {
  const own = new Map([[3, 2]]);
  const uses = new Map([[1, 5], [4, 9], [3, 1]]);
  const scores = [(label) => own.get(label) ?? 0, (label) => Number(label === 2), (label) => uses.get(label) ?? 0];
  assert.deepEqual(best([1, 2, 3, 4], scores), [3, 2, 4]);
  assert.deepEqual(best([1, 2], [() => 0]), [1, 2]);
});
