/**
 * Expand an offset in a note to what the person probably means: the word, the expression that contains it, the part of the line.
 * Pure. Offsets are code points, end-exclusive.
 */

import { TextIndex } from "./offsets.js";
import { covered, tokenize, trim } from "./tokens.js";
import { CLAUSE, EXPRESSIONS, FIELD } from "./expressions.js";

// Expressions are searched this many UTF-16 units around the offset, because a line may have 20,000.
const AROUND = 240;

/** @typedef {{start: number, end: number, kind: string}} Candidate  `kind`: an expression's, "word", "field", "clause", "line" */

/** Start and end of the line around a UTF-16 offset, at most AROUND away, and not inside a word. */
function stretchAround(text, unit) {
  const breaks = /[\r\n]/;
  let from = unit;
  while (from > 0 && unit - from < AROUND && !breaks.test(text[from - 1])) from -= 1;
  while (from > 0 && from < unit && !breaks.test(text[from - 1]) && !/\s/.test(text[from - 1])) from += 1;
  let to = unit;
  while (to < text.length && to - unit < AROUND && !breaks.test(text[to])) to += 1;
  while (to < text.length && to > unit && !breaks.test(text[to]) && !/\s/.test(text[to])) to -= 1;
  return [from, to];
}

/** All matches of a rule in a part of one line, as [start, end] within it. */
export function* matches(pattern, line, group = 0) {
  for (const found of line.matchAll(pattern)) {
    const value = found[group];
    if (!value) continue;
    const start = group === 0 ? found.index : found.index + found[0].lastIndexOf(value);
    yield [start, start + value.length];
  }
}

/** The expressions of one line, in the order of preference: [{start, end, kind}] in UTF-16 units within the line. */
export function expressionsOf(line) {
  const out = [];
  for (const { kind, pattern } of EXPRESSIONS) {
    for (const [start, end] of matches(pattern(), line)) out.push({ start, end, kind });
  }
  return out;
}

const holds = (part, at) => part.start <= at && at < part.end;
const crosses = (a, b) => a.start < b.end && b.start < a.end && !(a.start <= b.start && b.end <= a.end) && !(b.start <= a.start && a.end <= b.end);

/**
 * The possible selections at an offset, from the word to the whole line, each inside the next; `best` is the index of the one that a
 * double click selects. Null in white space.
 * @param {TextIndex} index of the note's text
 * @param {number} offset code point
 * @param {{start: number, end: number} | null} [candidate]  what is known to stand there: a double click selects it whole
 * @returns {{choices: Candidate[], best: number} | null}
 */
export function expansions(index, offset, candidate = null) {
  const { text } = index;
  const unit = index.toUtf16(Math.min(offset, index.length));
  const [from, to] = stretchAround(text, unit);
  const line = text.slice(from, to);
  const base = index.toCodePoint(from);
  const local = new TextIndex(line);
  const tokens = tokenize(line);
  const point = local.toCodePoint(Math.min(unit - from, line.length));
  const [first, past] = covered(tokens, point, point + 1);
  if (first >= past) return null;
  const word = { ...tokens[first], kind: "word" };
  const at = local.toUtf16(word.start);
  const inLine = ({ start, end, kind }) => {
    const [a, b] = trim(local, local.toCodePoint(start), local.toCodePoint(end));
    return { start: a, end: b, kind };
  };
  const found = expressionsOf(line).filter((part) => holds(part, at)).map(inLine);
  const chosen = candidate ? [{ start: candidate.start - base, end: candidate.end - base, kind: "candidate" }] : [];
  for (const part of found) if (!chosen.some((other) => crosses(part, other))) chosen.push(part);
  const field = [...matches(FIELD, line, 1)].map(([start, end]) => ({ start, end, kind: "field" })).find((part) => holds(part, at));
  const clause = [...matches(CLAUSE, line)].map(([start, end]) => ({ start, end, kind: "clause" })).find((part) => holds(part, at));
  const wider = [field, clause, { start: 0, end: line.length, kind: "line" }].filter(Boolean).map(inLine);
  const best = chosen[0] ?? word;
  const nested = [word];
  for (const part of [...chosen, ...wider].sort((a, b) => a.end - a.start - (b.end - b.start))) {
    const last = nested.at(-1);
    const isLarger = part.start <= last.start && part.end >= last.end && part.end - part.start > last.end - last.start;
    const fits = !crosses(part, best) && (part === best || part.end - part.start !== best.end - best.start);
    if (isLarger && fits) nested.push(part);
  }
  const bestAt = Math.max(0, nested.findIndex((part) => part.start === best.start && part.end === best.end));
  return { choices: nested.map(({ start, end, kind }) => ({ start: base + start, end: base + end, kind })), best: bestAt };
}

/** What a double click at an offset selects; null in white space. @returns {Candidate | null} */
export function expand(index, offset) {
  const found = expansions(index, offset);
  return found && found.choices[found.best];
}
