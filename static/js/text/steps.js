/** Steps through a text: characters as people see them, lines, sentences; and which way a line runs. Pure; offsets in UTF-16 units. */

const RTL =
  /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Samaritan}\p{Script=Mandaic}\p{Script=Adlam}\p{Script=Hanifi_Rohingya}]/u;
const STRONG = /\p{L}/u;
// How far a step looks: longer than any character, shorter than any line that would be slow.
const NEAR = 128;

const segmenter = new Intl.Segmenter(undefined, { granularity: "grapheme" });

const isBreak = (character) => character === "\n" || character === "\r";

/** The line around an offset, without its break. */
export function lineAround(text, unit) {
  let start = unit;
  let end = unit;
  while (start > 0 && !isBreak(text[start - 1])) start -= 1;
  while (end < text.length && !isBreak(text[end])) end += 1;
  return { start, end };
}

/** True where the character at an offset is written from right to left. */
export function isRightToLeftAt(text, unit) {
  return RTL.test(String.fromCodePoint(text.codePointAt(unit) ?? 32));
}

/** True where the line around an offset runs from right to left: its first letter does. As `dir="auto"` decides. */
export function isRightToLeft(text, unit) {
  const { start, end } = lineAround(text, unit);
  const letter = STRONG.exec(text.slice(start, end));
  return letter !== null && RTL.test(letter[0]);
}

/** The end of the character (grapheme cluster) that begins at an offset. */
export function characterAfter(text, unit) {
  if (unit >= text.length) return text.length;
  const [first] = segmenter.segment(text.slice(unit, unit + NEAR));
  return unit + first.segment.length;
}

/** The start of the character that ends at an offset. */
export function characterBefore(text, unit) {
  if (unit <= 0) return 0;
  const from = Math.max(0, unit - NEAR);
  return from + [...segmenter.segment(text.slice(from, unit))].at(-1).index;
}

/** Where the next sentence or line begins after an offset; the end of the text where none does. */
export function sentenceAfter(text, unit) {
  const next = /[.!?…]["'”»)]*[ \t]+(?=\S)|[\r\n]\s*(?=\S)/gu;
  next.lastIndex = unit;
  const found = next.exec(text);
  return found ? found.index + found[0].length : text.length;
}

/** Where the sentence or line before an offset begins. */
export function sentenceBefore(text, unit) {
  let from = unit;
  while (from > 0) {
    from = Math.max(0, from - 2000);
    let last = from === 0 ? 0 : -1;
    for (let at = sentenceAfter(text, from); at < unit; at = sentenceAfter(text, at)) last = at;
    if (last >= 0) return last;
  }
  return 0;
}
