/**
 * The spans that are drawn, in runs: spans that overlap, directly or over others, form one. Lanes are given out within a run, so
 * that a change concerns its own run only. Pure.
 *
 * @typedef {{key: string, start: number, end: number, label: number}} Span  code points, end-exclusive
 * @typedef {{start: number, end: number, spans: Span[]}} Run  no two runs share a character
 */

import { lanes } from "./lanes.js";

/** Reading order; the longer of two that begin together first. */
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

  /** Take spans out and put spans in. Returns the spans, of all that are there now, whose lane is another. */
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

  /** All spans that share a character with a stretch, in reading order. */
  within(start, end) {
    const [first, past] = this.#range(start, end);
    const found = this.#runs.slice(first, past).flatMap((run) => run.spans);
    return found.filter((span) => span.start < end && span.end > start);
  }

  /** Take the runs that share a character with a stretch away, and return their spans. */
  #take(start, end) {
    const [first, past] = this.#range(start, end);
    return first < past ? this.#runs.splice(first, past - first).flatMap((run) => run.spans) : [];
  }

  #put(run) {
    const changed = [];
    lanes(run.spans).forEach((lane, at) => {
      const { key } = run.spans[at];
      if (this.#lanes.get(key) === lane) return;
      this.#lanes.set(key, lane);
      changed.push(run.spans[at]);
    });
    const [place] = this.#range(run.start, run.end);
    if (place === this.#runs.length) this.#runs.push(run);
    else this.#runs.splice(place, 0, run);
    return changed;
  }

  /** The half-open range of the runs that share a character with a stretch; where it would be if none does. */
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

/** Spans in reading order, as runs. */
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

const FIELDS = ["key", "start", "end", "label", "look", "stateWord"];
const equal = (a, b) => a === b || FIELDS.every((field) => a[field] === b[field]);

/** What differs between two lists in reading order: spans that went and spans that came. One that changed is in both. */
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
