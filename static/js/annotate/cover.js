/** Which bounds in a note overlap its spans. Pure; offsets in code points. */

export class Cover {
  #spans;
  #ends; // for each span the largest end of it and all before it

  /** @param {Array<{start: number, end: number}>} spans in reading order */
  constructor(spans) {
    this.#spans = spans;
    let last = 0;
    this.#ends = spans.map(({ end }) => (last = Math.max(last, end)));
  }

  /** Whether no span overlaps the bounds. */
  isFree(bounds) {
    return this.over(bounds) === null;
  }

  /** A span that overlaps the bounds, or null. */
  over({ start, end }) {
    let low = 0;
    let high = this.#spans.length; // the first span that starts at `end` or later
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#spans[middle].start < end) low = middle + 1;
      else high = middle;
    }
    if (low === 0 || this.#ends[low - 1] <= start) return null;
    let index = low - 1;
    while (this.#spans[index].end <= start) index -= 1;
    return this.#spans[index];
  }
}
