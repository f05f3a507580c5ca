/**
 * Which of the stacked underlines each span gets, so that spans that overlap never share one; the same as
 * `annotations/domain/lanes.py`.
 */

/** How many there is room for between two lines of text. */
export const LANES = 4;

/**
 * A lane from 0 for each span: the lowest that no earlier one still holds. Earlier means: starts first, then longer, then by
 * label, whatever the order given. The last lane is shared where all are taken.
 * @param {Array<{start: number, end: number, label: number}>} spans
 * @returns {number[]}
 */
export function lanes(spans) {
  const order = spans
    .map((_, at) => at)
    .sort((a, b) => spans[a].start - spans[b].start || spans[b].end - spans[a].end || spans[a].label - spans[b].label);
  const takenTo = [];
  const out = new Array(spans.length).fill(0);
  for (const at of order) {
    const { start, end } = spans[at];
    let lane = takenTo.findIndex((taken) => taken <= start);
    if (lane >= 0) {
      takenTo[lane] = end;
    } else if (takenTo.length < LANES) {
      lane = takenTo.push(end) - 1;
    } else {
      lane = LANES - 1;
      takenTo[lane] = Math.max(takenTo[lane], end);
    }
    out[at] = lane;
  }
  return out;
}
