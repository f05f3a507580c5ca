/** Which proposals of a note are gone through, and in which order. Pure. */

const PRIOR = 4;

/**
 * @typedef {object} Filter
 * @property {number|null} label @property {string} source @property {string} state  "" is any
 * @property {number|null} least @property {number|null} most  confidence, from 0 to 1, both inclusive
 * @property {string} text  somewhere in the proposed text, in any case
 * @property {number|null} agree  of a merged list: so many runs propose it, at least
 */
export const NOTHING = { label: null, source: "", state: "", least: null, most: null, text: "", agree: null };

/** Whether anything is filtered out by it. */
export const narrows = (filter) => Object.keys(NOTHING).some((name) => filter[name] !== NOTHING[name]);

export function passes(proposal, filter, quote) {
  const { label, source, state, least, most, text } = filter;
  const { confidence } = proposal;
  if (label !== null && proposal.label !== label) return false;
  if (source && proposal.source !== source) return false;
  if (state && (state === "differs" ? !proposal.differs : proposal.state !== state)) return false;
  if (filter.agree !== null && (proposal.runs?.length ?? 1) < filter.agree) return false;
  if (least !== null && (confidence === null || confidence < least)) return false;
  if (most !== null && (confidence === null || confidence > most)) return false;
  return !text || quote(proposal).toLocaleLowerCase().includes(text.toLocaleLowerCase());
}

/** From 0 (sure) to 1; without a confidence nothing is known. As domain/precision.py has it. */
export function uncertainty({ confidence }) {
  return confidence === null ? 1 : 1 - 2 * Math.abs(confidence - 0.5);
}

/** The share of right ones expected of proposals like this one. `rates` by `label source`: [right, decided]. As domain/precision.py. */
export function likelyRight({ label, source, confidence }, rates) {
  const [right, decided] = rates.get(`${label} ${source}`) ?? [0, 0];
  return (right + PRIOR * (confidence ?? 0.5)) / (decided + PRIOR);
}

/** A copy in the order wanted; `places` are the labels' places in their list. What is equal stays in reading order. */
export function ordered(proposals, order, { rates, places }) {
  const by = {
    uncertainty: (proposal) => -uncertainty(proposal),
    informative: (proposal) => -uncertainty(proposal),
    false: (proposal) => likelyRight(proposal, rates),
    label: (proposal) => places.get(proposal.label) ?? places.size,
  }[order];
  if (!by) return [...proposals];
  return [...proposals].sort((a, b) => by(a) - by(b));
}
