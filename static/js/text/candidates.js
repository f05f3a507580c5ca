/**
 * Candidates for spans: dates, numbers, names and the like, by the rules of expressions.js. They only guide eye and cursor; nothing
 * is labeled automatically. Pure. Offsets are code points, end-exclusive.
 */

import { CLINICAL, FIELD, TITLES } from "./expressions.js";
import { expressionsOf, matches } from "./expand.js";

/** @typedef {import("./expand.js").Candidate} Candidate */

// A long line is searched in parts of about this many UTF-16 units, so that no key press waits for 20,000 characters. A part ends at
// a space, but has at most twice as many: the time of a search grows with the square of its length.
const PART = 1500;
const MEASURE = /^\s?(?:%|‰|°|º|[mµμcdk]?[glLm][/.\s\d]|mg|ml|mL|dl|cm|mm|kg|Kg|UI|U\/|mmHg|lpm|ng|pg|mcg|µg|mEq|mmol|cc\b|x\s?\d|veces|volte|times|ore\b|horas\b)/u;
const TITLE = new RegExp(`^(?:${TITLES})\\.?$`, "u");
const DIGITS = /(?<![\p{L}\p{Nd}.,/+-])\p{Nd}{4,}(?![\p{L}\p{Nd}/]|[.,-]\p{Nd})/gu;
const OPENING = /(?:^|[.!?…][\s"'“«)]*|^[\s\-•*·–\d.)]+)$/u;
const digitsIn = (value) => value.replace(/\P{Nd}/gu, "").length;

/** Whether a match of a kind is a candidate; those of other kinds always are. `before` and `after` are the rest of the line. */
const WORTH = {
  // Notes have many durations. An age is in years, or a word such as “age” is next to it.
  age: (value, before) => /^\d+\s?(?:[aA]ñ|[aA]nn|[yY]|A\b|AÑ)|^\d+-year/.test(value) ? !/(?:hace|fa|tras|dopo|after|hasta|durante|per|for|in|en|a los)\s*$/i.test(before) : /(?:\bde|\bdi|edad\w*:?|età:?|age:?|aged)\s*$/i.test(before),
  organization: (value) => /\s/.test(value) && !/^(?:Servicio|Servicios|Departamento|Sección|Unidad|Consulta|Department|Service|Reparto|Divisione)/.test(value),
  time: (value) => /[:h]/.test(value),
  number: (value, _before, after) => digitsIn(value) >= 6 && !MEASURE.test(after),
  code: (value) => digitsIn(value) >= 4 && value.length >= 5,
  name: (value, before) => (/\p{Ll}/u.test(value) || (/\p{Lu}{2} \p{Lu}{2}/u.test(value) && !OPENING.test(before))) && !CLINICAL.test(value) && (/\p{L}\P{L}+\p{Lu}\p{Ll}/u.test(value) || (value.length > 2 && !OPENING.test(before))),
};

/**
 * Whether a word at the start of a sentence is a name. Its capital says nothing there. It is a name if it follows another capitalized
 * word elsewhere in the note ("Mario Rossi"; "dott. Rossi" by its title) and is nowhere written in lower case.
 */
function isNameElsewhere(text, word) {
  if (!/^\p{Lu}\p{Ll}{2,}$/u.test(word) || CLINICAL.test(word)) return false;
  return stands(text, ` ${word}`, (before) => BEFORE_NAME.test(before)) && !stands(text, word.toLowerCase(), (before) => !LETTER_LAST.test(before));
}

const BEFORE_NAME = /(?:(?<![\p{L}\p{M}])\p{Lu}\p{Ll}+|(?<!\p{L})(?:[Dd]ott|[Dd]ra?|[Ss]ig|[Ss]ra?)\.)$/u;
const LETTER_LAST = /[\p{L}\p{M}]$/u;
const LETTER_FIRST = /^[\p{L}\p{M}]/u;
const LOOK = 40; // UTF-16 units that are read before a match: longer than a name

/** Whether `part` ends a word of the text whose preceding text `fits`; faster than one pattern over a long note. */
function stands(text, part, fits) {
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + 1)) {
    const past = at + part.length;
    if (!LETTER_FIRST.test(text.slice(past, past + 2)) && fits(text.slice(Math.max(0, at - LOOK), at))) return true;
  }
  return false;
}

const KNOWN = new WeakMap(); // index -> word -> whether it is a name elsewhere in the note

function namesOf(index) {
  if (!KNOWN.has(index)) KNOWN.set(index, new Map());
  const known = KNOWN.get(index);
  return (word) => {
    if (!known.has(word)) known.set(word, isNameElsewhere(index.text, word));
    return known.get(word);
  };
}

/**
 * The candidates of one line in text order, without overlaps: [{start, end, kind}] in UTF-16 units within the line.
 * @param {(word: string) => boolean} isName  whether a word at the start of a sentence is a name
 */
export function candidatesIn(line, isName = () => false) {
  const out = [];
  const add = (start, end, kind) => {
    if (start < end && !out.some((other) => other.start < end && start < other.end)) out.push({ start, end, kind });
  };
  for (const { start, end, kind } of expressionsOf(line)) {
    const value = line.slice(start, end);
    const isWorth = !(kind in WORTH) || WORTH[kind](value, line.slice(0, start), line.slice(end)) || (kind === "name" && isName(value));
    if (isWorth) add(start, end, kind);
  }
  for (const [start, end] of matches(DIGITS, line)) if (!MEASURE.test(line.slice(end))) add(start, end, "digits");
  for (const [start, end] of matches(FIELD, line, 1)) {
    const value = line.slice(start, end);
    if (/[\p{L}\p{Nd}]/u.test(value) && !CLINICAL.test(value) && !TITLE.test(value) && value.length <= 40 && value.split(/\s+/).length <= 4 && !/[,;]|\s\d+\s/.test(value)) add(start, end, "field");
  }
  return out.sort((a, b) => a.start - b.start);
}

/** The end of the line, or of a part of a long line, from a UTF-16 offset on, and the start of the next one. */
function partFrom(text, from) {
  let end = from;
  while (end < text.length && text[end] !== "\n" && text[end] !== "\r") {
    if (end - from > PART && (text[end] === " " || end - from > 2 * PART)) break;
    end += 1;
  }
  let next = end;
  while (next < text.length && /[\r\n ]/.test(text[next])) next += 1;
  return { end, next };
}

/** Generate all candidates of the note from a code point on, in text order. */
export function* candidates(index, offset = 0) {
  const { text } = index;
  const from = index.toUtf16(offset);
  let start = from;
  while (start > 0 && text[start - 1] !== "\n" && text[start - 1] !== "\r" && from - start < PART) start -= 1;
  while (start < text.length) {
    const { end, next } = partFrom(text, start);
    for (const found of candidatesIn(text.slice(start, end), namesOf(index))) {
      const candidate = { start: index.toCodePoint(start + found.start), end: index.toCodePoint(start + found.end), kind: found.kind };
      if (candidate.start >= offset) yield candidate;
    }
    start = Math.max(next, end + (next === end ? 1 : 0));
  }
}
