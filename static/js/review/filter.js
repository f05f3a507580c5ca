/** The filter and order of a note's suggestions. Pure. */

const PRIOR = 4;

/**
 * @typedef {object} Filter
 * @property {number|null} label @property {string} source @property {string} state  "" means any
 * @property {number|null} least @property {number|null} most  confidence, from 0 to 1, both inclusive
 * @property {string} text  contained in the suggested text, ignoring case
 * @property {string} action  what a refiner did: keep, update or remove; "" means any
 * @property {number|null} agree  in a merged list: the minimum number of runs that suggest the span
 */
export const NOTHING = { label: null, source: "", state: "", action: "", least: null, most: null, text: "", agree: null };

/** Whether the filter can hide anything. */
export const narrows = (filter) => Object.keys(NOTHING).some((name) => filter[name] !== NOTHING[name]);

/** What a refiner did with the annotation: keep, update or remove; "" if no refiner did. */
export const actionOf = ({ removal, refined }) => (removal ? "remove" : (refined?.action ?? ""));

export function passes(suggestion, filter, quote) {
  const { label, source, state, least, most, text } = filter;
  const { confidence } = suggestion;
  if (label !== null && suggestion.label !== label) return false;
  if (source && suggestion.source !== source) return false;
  if (state && (state === "differs" ? !suggestion.differs : suggestion.state !== state)) return false;
  if (filter.action && actionOf(suggestion) !== filter.action) return false;
  if (filter.agree !== null && (suggestion.runs?.length ?? 1) < filter.agree) return false;
  if (least !== null && (confidence === null || confidence < least)) return false;
  if (most !== null && (confidence === null || confidence > most)) return false;
  return !text || quote(suggestion).toLocaleLowerCase().includes(text.toLocaleLowerCase());
}

/** From 0 (certain) to 1; also 1 without a confidence. The same as in annotations/core/suggestions.py. */
export function uncertainty({ confidence }) {
  return confidence === null ? 1 : 1 - 2 * Math.abs(confidence - 0.5);
}

/** The expected precision of suggestions like this one, as in annotations/review/rules/precision.py. `rates`: "label source" to [right, decided]. */
export function likelyRight({ label, source, confidence }, rates) {
  const [right, decided] = rates.get(`${label} ${source}`) ?? [0, 0];
  return (right + PRIOR * (confidence ?? 0.5)) / (decided + PRIOR);
}

/** A sorted copy. `positions`: the position of each label in the list of labels. Ties stay in text order. */
export function ordered(suggestions, order, { rates, positions }) {
  const by = {
    uncertainty: (suggestion) => -uncertainty(suggestion),
    informative: (suggestion) => -uncertainty(suggestion),
    false: (suggestion) => likelyRight(suggestion, rates),
    label: (suggestion) => positions.get(suggestion.label) ?? positions.size,
  }[order];
  if (!by) return [...suggestions];
  return [...suggestions].sort((a, b) => by(a) - by(b));
}
