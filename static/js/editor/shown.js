/** Spans as they are shown: by key, in reading order, and counted by label; each of these is kept up change by change. Pure. */

import { inOrder } from "./runs.js";

/** @typedef {{start: number, end: number, label: number}} Place  code points, end-exclusive, and a label id */

export const same = (a, b) => a.start === b.start && a.end === b.end && a.label === b.label;
export const place = ({ start, end, label }) => ({ start, end, label });

export class Shown {
  #spans = new Map(); // key -> {key, start, end, label}
  #list = []; // those in reading order; a new array whenever something changes
  #counts = new Map(); // label -> how many

  /** The same array as long as nothing changes; not to be changed. */
  get list() {
    return this.#list;
  }

  count(label) {
    return this.#counts.get(label) ?? 0;
  }

  has(key) {
    return this.#spans.has(key);
  }

  get(key) {
    return this.#spans.get(key) ?? null;
  }

  /** Where a span stands in the list, or belongs. */
  at(span) {
    let low = 0;
    let high = this.#list.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (inOrder(this.#list[middle], span) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The span at exactly this place with this label, or null. @param {Place} wanted */
  find(wanted) {
    const found = this.#list[this.at({ ...wanted, key: "" })];
    return found && same(found, wanted) ? found : null;
  }

  /** A span is at this place now; at none: it is gone. @param {Place|null} after */
  put(key, after) {
    const was = this.#spans.get(key);
    if (was ? after && same(was, after) : !after) return;
    if (was) {
      const from = this.at(was);
      this.#list = [...this.#list.slice(0, from), ...this.#list.slice(from + 1)];
      this.#tally(was, -1);
      this.#spans.delete(key);
    }
    if (!after) return;
    const span = { key, ...place(after) };
    const to = this.at(span);
    this.#list = [...this.#list.slice(0, to), span, ...this.#list.slice(to)];
    this.#tally(span, 1);
    this.#spans.set(key, span);
  }

  /** All of it anew; a span that is as it was stays the same object. @param {Map<string, Place>} places by key */
  replace(places) {
    const before = this.#spans;
    this.#spans = new Map();
    for (const [key, at] of places) {
      const was = before.get(key);
      this.#spans.set(key, was && same(was, at) ? was : { key, ...place(at) });
    }
    this.#list = [...this.#spans.values()].sort(inOrder);
    this.#counts = new Map();
    for (const span of this.#list) this.#tally(span, 1);
  }

  #tally({ label }, step) {
    this.#counts.set(label, this.count(label) + step);
  }
}
