/**
 * The acts of an ideal user who labels notes from nothing to gold: for each note the cheapest sequence that the product's own
 * rules allow, by mouse and by keyboard. Run by tests/bench/acts.py, which also plays some of them in Chromium.
 *
 * An act is one key stroke (with whatever is held meanwhile), click, double click or drag; a confirmed bulk action is its key
 * strokes or clicks. A key held while dragging is one more. Scrolling by wheel is none. The user knows the gold. By keyboard
 * they go through a note once, in reading order; by mouse label by label, each label armed once.
 *
 * stdin: {notes: [{text, spans: [[start, end, label]]}], features: [name]}, the spans in reading order
 * stdout: {mouse: [[act]], keyboard: [[act]]}, an entry for each note. An act is a list: what, then what it is done to.
 */

import { readFileSync } from "node:fs";

import { TextIndex } from "../../static/js/text/offsets.js";
import { covered, tokenize } from "../../static/js/text/tokens.js";
import { expand } from "../../static/js/text/expand.js";
import { mentionsOf } from "../../static/js/annotate/mentions.js";
import { Walk } from "./walk.mjs";

const same = (a, b) => a !== null && a.start === b.start && a.end === b.end;

function grouped(items, keyOf) {
  const groups = new Map();
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item]);
  return groups;
}

/** A note as the planner sees it: its gold spans, and which tokens each covers. */
class Note {
  constructor({ text, spans }) {
    this.index = new TextIndex(text);
    this.tokens = tokenize(text);
    this.spans = spans.map(([start, end, label]) => {
      const [first, past] = covered(this.tokens, start, end);
      const whole = this.tokens[first].start === start && this.tokens[past - 1].end === end;
      return { start, end, label, first, last: past - 1, whole };
    });
  }

  /**
   * What `*` on a span would do: the gold spans that it makes besides, and the places in its list that are to be unticked. Null
   * where it makes none.
   */
  mentions(span, made) {
    const isThere = (place) => made.some((other) => same(other, place) && other.label === place.label);
    const found = mentionsOf(this.index, this.tokens, span, isThere);
    // Where a span is already, a mention begins unticked, and is left so.
    const touched = found.map((place) => made.some((other) => other.start < place.end && place.start < other.end));
    const goldAt = (place) => this.spans.find((other) => same(other, place) && other.label === span.label) ?? null;
    const gold = found.map((place, at) => (touched[at] ? null : goldAt(place)));
    const others = gold.filter(Boolean);
    return others.length ? { others, wrong: gold.flatMap((other, at) => (other || touched[at] ? [] : [at])) } : null;
  }
}

// ── By mouse ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** How a span is made with its label armed. A double click is taken where it gives the span: it needs less aim than a drag. */
function madeByMouse(note, span, features) {
  if (!span.whole) return [["hold", "Alt"], ["alt-drag", span.start, span.end]];
  const tokens = note.tokens.slice(span.first, span.last + 1);
  const hit = tokens.find(({ start }) => (features.has("expand") ? same(expand(note.index, start), span) : tokens.length === 1));
  return [hit ? ["double", hit.start, hit.end] : ["drag", span.start, span.end]];
}

/** The spans of one label, which is armed: one by one, or the first of a text and then all others at once where that is less. */
function groupByMouse(note, spans, features) {
  const acts = [];
  const made = new Set();
  for (const span of spans) {
    if (made.has(span)) continue;
    made.add(span);
    acts.push(...madeByMouse(note, span, features));
    const bulk = features.has("mentions") ? note.mentions(span, [...made]) : null;
    if (!bulk || 3 + bulk.wrong.length >= bulk.others.length) continue;
    acts.push(["click", span.start, span.end], ["all"], ...bulk.wrong.map((at) => ["untick", at]), ["apply"]);
    for (const other of bulk.others) made.add(other);
  }
  return acts;
}

/** The labels of a note in an order that begins with the one still armed and ends with one that the next note has. */
function order(labels, armed, following) {
  const rest = [...labels].filter((label) => label !== armed);
  const last = rest.find((label) => following.has(label));
  const middle = rest.filter((label) => label !== last);
  return [...(labels.has(armed) ? [armed] : []), ...middle, ...(last === undefined ? [] : [last])];
}

function byMouse(notes, features) {
  let armed = null;
  return notes.map((note, at) => {
    const groups = grouped(note.spans, ({ label }) => label);
    const following = new Set(notes[at + 1]?.spans.map(({ label }) => label));
    const acts = [];
    for (const label of order(new Set(groups.keys()), armed, following)) {
      if (features.has("arm")) {
        if (label !== armed) acts.push(["label", label]);
        armed = label;
        acts.push(...groupByMouse(note, groups.get(label), features));
      } else {
        for (const span of groups.get(label)) acts.push(...madeByMouse(note, span, features), ["palette", label]);
      }
    }
    return [...acts, ["submit"]];
  });
}

// ── By keyboard ──────────────────────────────────────────────────────────────────────────────────────────────────────

function byKeyboard(notes, features) {
  return notes.map((note) => {
    const walk = new Walk(note, features);
    const acts = [];
    for (const span of note.spans) {
      if (walk.made.includes(span)) continue;
      acts.push(...walk.to(span));
      const bulk = features.has("mentions") ? note.mentions(span, walk.made) : null;
      if (!bulk) continue;
      const steps = bulk.wrong.flatMap((at, nth) => [
        ...Array.from({ length: at - (bulk.wrong[nth - 1] ?? 0) }, () => ["key", "ArrowDown"]),
        ["key", "Space"],
      ]);
      // Each of the others would take two acts at least: one to go there and one to label.
      if (2 + steps.length >= 2 * bulk.others.length) continue;
      acts.push(["key", "*"], ...steps, ["key", "Enter"]);
      walk.made.push(...bulk.others);
      walk.goOn();
    }
    return [...acts, ["key", walk.isOffered ? "Control+Enter" : "Enter"]];
  });
}

const { notes, features } = JSON.parse(readFileSync(0, "utf8"));
const read = notes.map((note) => new Note(note));
const chosen = new Set(features);
process.stdout.write(JSON.stringify({ mouse: byMouse(read, chosen), keyboard: byKeyboard(read, chosen) }));
