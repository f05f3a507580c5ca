/**
 * The shortest way by keys from where the cursor is to a labelled span: a breadth-first search over what can be selected, with
 * the product's own rules for what each key does. Keys that depend on how the text lies on a screen (a line or a screen up or down)
 * are not used, so that what is found is an upper bound.
 */

import { candidates } from "../../static/js/text/candidates.js";
import { Cursor } from "../../static/js/editor/cursor.js";
import { expansions } from "../../static/js/text/expand.js";
import { lineAround, sentenceAfter, sentenceBefore } from "../../static/js/text/steps.js";
import { covered } from "../../static/js/text/tokens.js";

// Selections that are looked at for one span before arrows alone are taken.
const MOST = 20_000;
// Code points beyond the way from the last span to the next one that may be passed.
const BEYOND = 60;

const same = (a, b) => a !== null && b !== null && a.start === b.start && a.end === b.end;
const holds = (outer, inner) => outer.start <= inner.start && outer.end >= inner.end && !same(outer, inner);
// No text is selected; keys go on from the token `place`, or from the selected `span`.
const NOTHING = { start: null, end: null, anchor: null, head: null, pivot: null };
const times = (count, act) => Array.from({ length: count }, () => act);

/** The first for which `test` holds, of those that are known and those that are yet to be made. */
function first({ known, more }, test) {
  const found = known.find(test);
  if (found) return found;
  for (let step = more.next(); !step.done; step = more.next()) {
    known.push(step.value);
    if (test(step.value)) return step.value;
  }
  return null;
}

export class Walk {
  #note;
  #features;
  #at; // token -> its index
  #candidates = new Map(); // offset -> those from there on, as far as they were looked at
  #expansions = new Map(); // offset -> its choices
  #place = null; // the token that the arrows go on from
  #end = 0; // of the span that is selected
  #offered = null; // what the product selected by itself after the last label
  made = [];

  constructor(note, features) {
    this.#note = note;
    this.#features = features;
    this.#at = new Map(note.tokens.map((token, at) => [token, at]));
    this.#offer(0);
  }

  /** Whether something is selected that nobody asked for: Enter would not submit then. */
  get isOffered() {
    return this.#offered !== null;
  }

  /** With "go on" the next stretch is selected by itself. */
  #offer(from) {
    if (!this.#features.has("go on")) return;
    const found = this.#free(from);
    this.#offered = found && { ...this.#exact(found), from: null, count: 0 };
    if (!found) return;
    this.#offered.last = this.#offered.head;
    this.#place = this.#offered.head;
  }

  /** Others were made as well, and what is offered may be one of them. */
  goOn() {
    this.#offer(this.#offered?.start ?? this.#end);
  }

  /** The acts that make the span; it is selected then. */
  to(span) {
    const found = this.#search(span);
    const goesOn = this.#features.has("go on");
    const label = ["label key", span.label];
    // What goes on by itself is put right before it is labelled.
    const acts = [...keysOf(found), ...(goesOn ? [...this.#rest(found, span), label] : [label, ...this.#rest(found, span)])];
    this.made.push(span);
    this.#place = found.last;
    this.#end = span.end;
    this.#offer(span.end);
    return acts;
  }

  /** The selection from which the span costs least: what one more key selects, and again, until nothing cheaper can come. */
  #search(span) {
    const seen = new Set();
    const begin = this.#offered ?? { ...NOTHING, place: this.#place, from: null, count: 0 };
    const back = this.#offered && this.#back(this.#offered);
    const starts = back ? [begin, back] : [begin];
    let [best, cost] = [null, Infinity];
    for (const state of [...starts, ...starts.map((each) => this.#arrows(each, span.first))]) {
      const total = state.count + this.#left(state, span);
      if (total < cost) [best, cost] = [state, total];
    }
    let queue = starts;
    while (queue.length && seen.size < MOST && queue[0].count + 1 < cost) {
      const next = [];
      for (const state of queue) {
        for (const [key, after] of this.#steps(state)) {
          if (after === null || this.#isFar(after, span)) continue;
          const name = `${after.start}-${after.end}-${after.anchor}-${after.head}-${after.pivot}`;
          if (seen.has(name)) continue;
          seen.add(name);
          Object.assign(after, { from: state, key, count: state.count + 1, last: Math.max(after.anchor, after.head) });
          next.push(after);
          const total = after.count + this.#left(after, span);
          if (total < cost) [best, cost] = [after, total];
        }
      }
      queue = next;
    }
    return best;
  }

  /** The first token of the span by arrows alone. */
  #arrows(begin, to) {
    const from = begin.head ?? begin.place ?? -1;
    const keys = to === from ? ["ArrowRight", "ArrowLeft"] : times(Math.abs(to - from), to > from ? "ArrowRight" : "ArrowLeft");
    let state = begin;
    for (const key of keys) state = { from: state, key, count: state.count + 1 };
    const { start, end } = this.#note.tokens[to];
    return Object.assign(state, { start, end, anchor: to, head: to, last: to });
  }

  /** From what was offered back to the span before it: keys go on from its end. Null where there is none. */
  #back(offered) {
    const before = this.made.filter(({ start }) => start < offered.start);
    if (!before.length) return null;
    const span = before.reduce((a, b) => (b.start > a.start ? b : a));
    const place = covered(this.#note.tokens, 0, span.end)[1] - 1;
    return { ...NOTHING, place, span, from: offered, key: "Shift+Tab", count: 1 };
  }

  /** A selection beyond the span, or before where the last one ended, leads nowhere. */
  #isFar({ start, end }, span) {
    return start > span.end + BEYOND || end < Math.min(this.#end, span.start) - BEYOND;
  }

  // ── What each key selects ───────────────────────────────────────────────────────────────────────────────────────────

  #steps(state) {
    const steps = [
      ["ArrowRight", this.#arrow(state, 1, false)],
      ["ArrowLeft", this.#arrow(state, -1, false)],
      ["Shift+ArrowRight", this.#arrow(state, 1, true)],
      ["Shift+ArrowLeft", this.#arrow(state, -1, true)],
      ["Control+ArrowRight", this.#sentence(state, 1)],
      ["Control+ArrowLeft", this.#sentence(state, -1)],
      ["Home", this.#edge(state, -1, false)],
      ["End", this.#edge(state, 1, false)],
      ["Shift+End", this.#edge(state, 1, true)],
    ];
    if (this.#features.has("jump")) steps.push([",", this.#jump(state)]);
    if (this.#features.has("expand")) steps.push(["+", this.#widen(state, 1)], ["-", this.#widen(state, -1)]);
    return steps;
  }

  /** The product's cursor, brought to a state. */
  #cursor({ start, end, anchor, head, place }) {
    const { tokens } = this.#note;
    const cursor = new Cursor(tokens);
    if (anchor === null) {
      if (place !== null) cursor.clear(tokens[place].end);
    } else if (tokens[Math.min(anchor, head)].start === start && tokens[Math.max(anchor, head)].end === end) {
      cursor.select(tokens[anchor].start, tokens[anchor].end);
      for (let at = anchor; at !== head; at += Math.sign(head - anchor)) cursor.move(Math.sign(head - anchor), true);
    } else cursor.select(start, end, { exact: true });
    return cursor;
  }

  #moved(state, go) {
    const cursor = this.#cursor(state);
    const before = state.anchor;
    const extended = go(cursor);
    if (!cursor.range) return null;
    const { start, end } = cursor.range;
    const head = this.#at.get(cursor.head);
    return { start, end, anchor: extended && before !== null ? before : head, head, pivot: null };
  }

  #arrow(state, step, extend) {
    return this.#moved(state, (cursor) => {
      cursor.move(step, extend);
      return extend;
    });
  }

  #moveTo(state, offset, extend) {
    return this.#moved(state, (cursor) => {
      cursor.moveTo(offset, extend);
      return extend;
    });
  }

  #here(state) {
    return state.start ?? (state.span ?? this.made.at(-1))?.start ?? 0;
  }

  #sentence(state, step) {
    const { index } = this.#note;
    const unit = index.toUtf16(this.#here(state));
    return this.#moveTo(state, index.toCodePoint(step > 0 ? sentenceAfter(index.text, unit) : sentenceBefore(index.text, unit)), false);
  }

  #edge(state, step, extend) {
    const { index, tokens } = this.#note;
    const line = lineAround(index.text, index.toUtf16(this.#here(state)));
    const [first, past] = covered(tokens, index.toCodePoint(line.start), index.toCodePoint(line.end));
    return first < past ? this.#moveTo(state, tokens[step > 0 ? past - 1 : first].start, extend) : null;
  }

  #exact({ start, end }, pivot = null) {
    const [first, past] = covered(this.#note.tokens, start, end);
    return { start, end, anchor: first, head: past - 1, pivot };
  }

  #jump(state) {
    const found = this.#free(state.end ?? (state.span ?? this.made.at(-1))?.end ?? 0);
    return found ? this.#exact(found) : null;
  }

  /** The first stretch worth a look from an offset on that no span touches. */
  #free(from) {
    if (!this.#candidates.has(from)) this.#candidates.set(from, { known: [], more: candidates(this.#note.index, from) });
    const isFree = ({ start, end }) => !this.made.some((span) => span.start < end && start < span.end);
    return first(this.#candidates.get(from), isFree);
  }

  #widen(state, step) {
    if (state.start === null) return null;
    const pivot = state.pivot ?? state.start;
    if (!this.#expansions.has(pivot)) this.#expansions.set(pivot, expansions(this.#note.index, pivot));
    const found = this.#expansions.get(pivot);
    if (!found) return null;
    const { choices, best } = found;
    let next;
    if (step < 0) next = choices.findLast((each) => holds(state, each));
    else if (state.pivot === null && holds(choices[best], state)) next = choices[best];
    else next = choices.find((each) => holds(each, state));
    return next ? this.#exact(next, pivot) : null;
  }

  // ── From a selection to the span ────────────────────────────────────────────────────────────────────────────────────

  /** By how many tokens and characters the ends of a selection are away from the span's: [start, start, end, end]. */
  #away({ start, end, anchor, head }, span) {
    if (start === span.start && end === span.end) return [0, 0, 0, 0];
    const { tokens } = this.#note;
    return [
      span.first - Math.min(anchor, head),
      span.start - tokens[span.first].start,
      span.last - Math.max(anchor, head),
      tokens[span.last].end - span.end,
    ];
  }

  /** How many acts are left with this selected: the label, and a key for each token or character. */
  #left(state, span) {
    if (state.start === null) return Infinity;
    // Text that was extended to the left goes on moving its left end.
    if (this.#features.has("go on") && state.anchor > state.head && !same(state, span)) return Infinity;
    return this.#away(state, span).reduce((sum, steps) => sum + Math.abs(steps), 1);
  }

  /**
   * The keys that put both ends right: words, then characters. The end that moves outwards goes first, so that nothing is ever empty
   * on the way.
   */
  #rest(state, span) {
    const [starts, startCharacters, ends, endCharacters] = this.#away(state, span);
    const right = times(Math.abs(ends), ends > 0 ? "Shift+ArrowRight" : "Shift+ArrowLeft");
    const left = times(Math.abs(starts), starts > 0 ? "Alt+ArrowRight" : "Alt+ArrowLeft");
    const characters = [...times(endCharacters, "Control+Shift+ArrowLeft"), ...times(startCharacters, "Alt+Shift+ArrowRight")];
    return [...(ends > 0 ? [...right, ...left] : [...left, ...right]), ...characters].map((key) => ["key", key]);
  }
}

/** The keys that led to a selection. */
function keysOf(state) {
  const keys = [];
  for (let at = state; at.from !== null; at = at.from) keys.push(["key", at.key]);
  return keys.reverse();
}
