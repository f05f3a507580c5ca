/** The shown spans: by key, in text order, and counted by label; all three are updated with each change. Pure. */

import { inOrder } from "./runs.js";

/**
 * @typedef {Record<string, string|true>} Attributes  a choice or true by name, sorted by name
 * @typedef {{start: number, end: number, label: number, attributes?: Attributes}} LabeledBounds  code points, end-exclusive, and a label
 *   id; `attributes` only where there are some
 */

export const same = (a, b) => a.start === b.start && a.end === b.end && a.label === b.label;
/** Whether two spans are the same and have the same attributes. */
export const alike = (a, b) => same(a, b) && (a.attributes === b.attributes || JSON.stringify(a.attributes) === JSON.stringify(b.attributes));

/** @returns {LabeledBounds} */
export function boundsOf({ start, end, label, attributes = null }) {
  return attributes && Object.keys(attributes).length ? { start, end, label, attributes } : { start, end, label };
}

export class Shown {
  #spans = new Map(); // key -> {key, start, end, label, attributes}
  #list = []; // the same in text order; a new array after every change
  #counts = new Map(); // label -> how many

  /** The spans in text order: the same array while nothing changes; don't change it. */
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

  /** The index of a span in the list, or the index at which to insert it. */
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

  /** The span with exactly these bounds and label, or null. @param {LabeledBounds} wanted */
  find(wanted) {
    const found = this.#list[this.at({ ...wanted, key: "" })];
    return found && same(found, wanted) ? found : null;
  }

  /** Set a span's bounds and label; null removes it. @param {LabeledBounds|null} after */
  put(key, after) {
    const was = this.#spans.get(key);
    if (was ? after && alike(was, after) : !after) return;
    if (was) {
      const from = this.at(was);
      this.#list = [...this.#list.slice(0, from), ...this.#list.slice(from + 1)];
      this.#tally(was, -1);
      this.#spans.delete(key);
    }
    if (!after) return;
    const span = { key, ...boundsOf(after) };
    const to = this.at(span);
    this.#list = [...this.#list.slice(0, to), span, ...this.#list.slice(to)];
    this.#tally(span, 1);
    this.#spans.set(key, span);
  }

  /** Replace all spans; an unchanged span stays the same object. @param {Map<string, LabeledBounds>} bounds by key */
  replace(bounds) {
    const before = this.#spans;
    this.#spans = new Map();
    for (const [key, after] of bounds) {
      const was = before.get(key);
      this.#spans.set(key, was && alike(was, after) ? was : { key, ...boundsOf(after) });
    }
    this.#list = [...this.#spans.values()].sort(inOrder);
    this.#counts = new Map();
    for (const span of this.#list) this.#tally(span, 1);
  }

  #tally({ label }, step) {
    this.#counts.set(label, this.count(label) + step);
  }
}
