/**
 * The drawn spans in runs: spans that overlap, directly or through others, form one run. Lanes are assigned within a run, so that a
 * change affects only its own run. Pure.
 *
 * @typedef {{key: string, start: number, end: number, label: number}} Span  code points, end-exclusive
 * @typedef {{start: number, end: number, spans: Span[]}} Run  no two runs share a character
 */

import { lanes } from "./lanes.js";

/** Text order; of two spans with the same start, the longer comes first. */
export function inOrder(a, b) {
  return a.start - b.start || b.end - a.end || a.label - b.label || (a.key < b.key ? -1 : Number(a.key > b.key));
}

export class Runs {
  #runs = []; // ascending
  #spans = new Map(); // by key
  #lanes = new Map(); // by key

  get(key) {
    return this.#spans.get(key) ?? null;
  }

  lane(key) {
    return this.#lanes.get(key);
  }

  /** Remove and add spans. Returns the present spans whose lane has changed. */
  change(gone, come) {
    const loose = [];
    for (const span of gone) {
      loose.push(...this.#take(span.start, span.end));
      this.#spans.delete(span.key);
      this.#lanes.delete(span.key);
    }
    for (const span of come) {
      loose.push(...this.#take(span.start, span.end), span);
      this.#spans.set(span.key, span);
    }
    const kept = loose.filter((span) => this.#spans.get(span.key) === span);
    return grouped(kept.sort(inOrder)).flatMap((run) => this.#put(run));
  }

  /** All spans that overlap the bounds, in text order. */
  within(start, end) {
    const [first, past] = this.#range(start, end);
    const found = this.#runs.slice(first, past).flatMap((run) => run.spans);
    return found.filter((span) => span.start < end && span.end > start);
  }

  /** Remove the runs that overlap the bounds, and return their spans. */
  #take(start, end) {
    const [first, past] = this.#range(start, end);
    return first < past ? this.#runs.splice(first, past - first).flatMap((run) => run.spans) : [];
  }

  #put(run) {
    const changed = [];
    lanes(run.spans).forEach((lane, position) => {
      const { key } = run.spans[position];
      if (this.#lanes.get(key) === lane) return;
      this.#lanes.set(key, lane);
      changed.push(run.spans[position]);
    });
    const [index] = this.#range(run.start, run.end);
    if (index === this.#runs.length) this.#runs.push(run);
    else this.#runs.splice(index, 0, run);
    return changed;
  }

  /** The half-open range of the runs that overlap the bounds; if none does, the empty range where one would be. */
  #range(start, end) {
    const first = this.#firstWhere((run) => run.end > start);
    return [first, Math.max(first, this.#firstWhere((run) => run.start >= end))];
  }

  #firstWhere(test) {
    let low = 0;
    let high = this.#runs.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (test(this.#runs[middle])) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

/** Spans in text order as runs. */
function grouped(spans) {
  const runs = [];
  for (const span of spans) {
    const last = runs.at(-1);
    if (last && span.start < last.end) {
      last.spans.push(span);
      last.end = Math.max(last.end, span.end);
    } else runs.push({ start: span.start, end: span.end, spans: [span] });
  }
  return runs;
}

const FIELDS = ["key", "start", "end", "label", "attributes", "look", "stateWord", "instead"];
const equal = (a, b) => a === b || FIELDS.every((field) => a[field] === b[field]);

/** The spans that left and that joined, between two lists in text order. A changed span is in both. */
export function changes(before, after) {
  let head = 0;
  while (head < before.length && head < after.length && equal(before[head], after[head])) head += 1;
  let tail = 0;
  const most = Math.min(before.length, after.length) - head;
  while (tail < most && equal(before.at(-1 - tail), after.at(-1 - tail))) tail += 1;
  const old = new Map(before.slice(head, before.length - tail).map((span) => [span.key, span]));
  const come = after.slice(head, after.length - tail).filter((span) => {
    const known = old.get(span.key);
    if (known && equal(known, span)) old.delete(span.key);
    return !known || !equal(known, span);
  });
  return { gone: [...old.values()], come };
}
