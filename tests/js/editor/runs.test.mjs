import assert from "node:assert/strict";
import test from "node:test";

import { Runs, changes, inOrder } from "../../../static/js/editor/runs.js";
import { lanes } from "../../../static/js/editor/lanes.js";
import { lines, segmentLines, segmentSome, visible } from "../../../static/js/text/segments.js";
import { hostileText, randomSource } from "../cases.mjs";

const random = randomSource(11);
const span = (key, start, end, label = 1) => ({ key: String(key), start, end, label });

test("changing a few spans gives the same lanes as a new start, and returns the spans with changed lanes", () => {
  for (let round = 0; round < 60; round += 1) {
    const runs = new Runs();
    let list = [];
    for (let step = 0; step < 40; step += 1) {
      const before = new Map(list.map(({ key }) => [key, runs.lane(key)]));
      const gone = list.filter(() => random(8) === 0);
      const come = Array.from({ length: random(4) }, (_, at) => {
        const start = random(60);
        return span(`${step}.${at}`, start, start + 1 + random(random(5) === 0 ? 40 : 6), random(3));
      });
      if (gone.length && random(2)) come.push({ ...gone[0], end: gone[0].end + 1 }); // resized
      list = [...list.filter((each) => !gone.includes(each)), ...come].sort(inOrder);
      const changed = new Set(runs.change(gone, come).map(({ key }) => key));
      const wanted = lanes(list);
      list.forEach(({ key }, at) => {
        assert.equal(runs.lane(key), wanted[at]);
        if (before.has(key) && before.get(key) !== wanted[at]) assert.ok(changed.has(key));
      });
      const from = random(60);
      const past = from + random(30);
      assert.deepEqual(runs.within(from, past), list.filter(({ start, end }) => start < past && end > from));
    }
  }
});

test("a change leaves distant runs alone", () => {
  const runs = new Runs();
  runs.change([], Array.from({ length: 2000 }, (_, at) => span(at, at * 50, at * 50 + 30)));
  assert.deepEqual(runs.change([], [span("new", 10, 60)]).map(({ key }) => key), ["new"]);
  assert.deepEqual([runs.lane("0"), runs.lane("new"), runs.lane("1")], [0, 1, 0]);
  assert.deepEqual(runs.change([runs.get("0")], []).map(({ key }) => key), ["new", "1"]);
});

test("differences between two lists", () => {
  const [a, b, c, d] = [span(1, 0, 5), span(2, 3, 9), span(3, 20, 25), span(4, 30, 31)];
  const keys = ({ gone, come }) => [gone.map(({ key }) => key), come.map(({ key, start }) => [key, start])];
  assert.deepEqual(keys(changes([a, b, c], [a, b, c])), [[], []]);
  assert.deepEqual(keys(changes([a, b, c], [{ ...a }, b, { ...c }])), [[], []], "equal is enough");
  assert.deepEqual(keys(changes([], [a, b])), [[], [["1", 0], ["2", 3]]]);
  assert.deepEqual(keys(changes([a, b, c], [a, c, d])), [["2"], [["4", 30]]]);
  assert.deepEqual(keys(changes([a, b, c, d], [b, { ...a, start: 4 }, c])), [["1", "4"], [["1", 4]]]);
  assert.deepEqual(keys(changes([a], [{ ...a, look: "is-accepted" }])), [["1"], [["1", 0]]]);
});

test("some lines get the same segments as among all lines", () => {
  for (let round = 0; round < 200; round += 1) {
    const text = hostileText(random);
    const all = lines(text);
    const length = all.at(-1).end;
    const spans = Array.from({ length: length ? random(7) : 0 }, (_, at) => {
      const start = random(length);
      return span(at, start, start + 1 + random(length - start));
    }).sort(inOrder);
    const rows = segmentLines(text, spans);
    const from = random(all.length);
    const past = from + 1 + random(all.length - from);
    const runs = new Runs();
    runs.change([], spans);
    const some = runs.within(all[from].start, all[past - 1].breakEnd);
    const named = (list) => (row) =>
      row.segments.map((segment) => [segment.start, segment.end, ...["spans", "starts", "ends"].map((part) => segment[part].map((at) => list[at].key))]);
    assert.deepEqual(segmentSome(all, from, past, some).map(named(some)), rows.slice(from, past).map(named(spans)));
  }
});

test("line breaks at the ends of a span are invisible", () => {
  const all = lines("ab\r\n\r\ncd\r\n");
  const seen = (start, end) => visible(all, { start, end });
  assert.deepEqual(seen(1, 7), { start: 1, end: 7 });
  assert.deepEqual(seen(2, 7), { start: 6, end: 7 });
  assert.deepEqual(seen(1, 6), { start: 1, end: 2 });
  assert.equal(seen(2, 6), null);
  assert.equal(seen(8, 10), null);
});
