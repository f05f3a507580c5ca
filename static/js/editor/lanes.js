/**
 * The lane (height of the underline) of each span, so that overlapping spans don't share one; the same as
 * `annotations/text/segments.py`.
 */

/** The number of lanes for which there is room between two lines of text. */
export const LANES = 4;

/**
 * A lane from 0 for each span: the lowest that no earlier overlapping span has. Spans are ordered by start, then longest first, then
 * by label, whatever the order of the list. Where all lanes are taken, spans share the last one.
 * @param {Array<{start: number, end: number, label: number}>} spans
 * @returns {number[]}
 */
export function lanes(spans) {
  const order = spans
    .map((_, index) => index)
    .sort((a, b) => spans[a].start - spans[b].start || spans[b].end - spans[a].end || spans[a].label - spans[b].label);
  const takenTo = [];
  const out = new Array(spans.length).fill(0);
  for (const index of order) {
    const { start, end } = spans[index];
    let lane = takenTo.findIndex((taken) => taken <= start);
    if (lane >= 0) {
      takenTo[lane] = end;
    } else if (takenTo.length < LANES) {
      lane = takenTo.push(end) - 1;
    } else {
      lane = LANES - 1;
      takenTo[lane] = Math.max(takenTo[lane], end);
    }
    out[index] = lane;
  }
  return out;
}
