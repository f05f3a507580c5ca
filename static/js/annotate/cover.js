/** Which stretches of a note its spans touch. Pure; code points. */

export class Cover {
  #spans;
  #ends; // of each span and all before it, the last end

  /** @param {Array<{start: number, end: number}>} spans in reading order */
  constructor(spans) {
    this.#spans = spans;
    let last = 0;
    this.#ends = spans.map(({ end }) => (last = Math.max(last, end)));
  }

  /** True where no span has a character of the stretch. */
  isFree(place) {
    return this.over(place) === null;
  }

  /** A span that has a character of the stretch, or null. */
  over({ start, end }) {
    let low = 0;
    let high = this.#spans.length; // the first span that starts at `end` or later
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#spans[middle].start < end) low = middle + 1;
      else high = middle;
    }
    if (low === 0 || this.#ends[low - 1] <= start) return null;
    let at = low - 1;
    while (this.#spans[at].end <= start) at -= 1;
    return this.#spans[at];
  }
}
