/** Steps through a text by grapheme clusters, lines and sentences, and the direction of lines. Pure; offsets in UTF-16 units. */

const RTL =
  /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Samaritan}\p{Script=Mandaic}\p{Script=Adlam}\p{Script=Hanifi_Rohingya}]/u;
const STRONG = /\p{L}/u;
// UTF-16 units that a step reads: longer than any grapheme cluster, short enough to be fast.
const NEAR = 128;

let segmenter; // made on first use, because a new browser process takes 20 ms to load the data of languages
const clusters = (text) => (segmenter ??= new Intl.Segmenter(undefined, { granularity: "grapheme" })).segment(text);

const isBreak = (character) => character === "\n" || character === "\r";

/** The line around an offset, without its break. */
export function lineAround(text, unit) {
  let start = unit;
  let end = unit;
  while (start > 0 && !isBreak(text[start - 1])) start -= 1;
  while (end < text.length && !isBreak(text[end])) end += 1;
  return { start, end };
}

/** Whether the character at an offset is written from right to left. */
export function isRightToLeftAt(text, unit) {
  return RTL.test(String.fromCodePoint(text.codePointAt(unit) ?? 32));
}

/** Whether the line around an offset runs from right to left: its first letter decides, as with `dir="auto"`. */
export function isRightToLeft(text, unit) {
  const { start, end } = lineAround(text, unit);
  const letter = STRONG.exec(text.slice(start, end));
  return letter !== null && RTL.test(letter[0]);
}

/** The end of the character (grapheme cluster) that begins at an offset. */
export function characterAfter(text, unit) {
  if (unit >= text.length) return text.length;
  const [first] = clusters(text.slice(unit, unit + NEAR));
  return unit + first.segment.length;
}

/** The start of the character that ends at an offset. */
export function characterBefore(text, unit) {
  if (unit <= 0) return 0;
  const from = Math.max(0, unit - NEAR);
  return from + [...clusters(text.slice(from, unit))].at(-1).index;
}

// The characters that join others to one picture: joiners, skin tones, flags, keycaps, tags. Each is listed on purpose.
// eslint-disable-next-line no-misleading-character-class
const JOINING = /[\u200d\ufe0f\u20e3\u{1f1e6}-\u{1f1ff}\u{1f3fb}-\u{1f3ff}\u{e0020}-\u{e007f}]/u;

/**
 * The stops of a cursor: the tokens, with tokens that people see as one character (a family of emoji, a flag) joined.
 * @param {import("./offsets.js").TextIndex} index of the text @param {Array<{start: number, end: number}>} tokens of it
 * @returns {Array<{start: number, end: number}>} code points, end-exclusive
 */
export function stopsOf(index, tokens) {
  if (!JOINING.test(index.text)) return tokens;
  const out = [];
  for (let first = 0; first < tokens.length; ) {
    const { start } = tokens[first];
    let past = first + 1;
    if (joins(index, tokens[first], tokens[past])) {
      const end = index.toCodePoint(characterAfter(index.text, index.toUtf16(start)));
      while (past < tokens.length && tokens[past].end <= end) past += 1;
    }
    out.push(past === first + 1 ? tokens[first] : { start, end: tokens[past - 1].end });
    first = past;
  }
  return out;
}

/** Whether the next token may belong to the same grapheme cluster. */
function joins(index, token, next) {
  return next?.start === token.end && JOINING.test(String.fromCodePoint(index.text.codePointAt(index.toUtf16(next.start))));
}

/** The start of the next sentence or line after an offset, else the end of the text. */
export function sentenceAfter(text, unit) {
  const next = /[.!?…]["'”»)]*[ \t]+(?=\S)|[\r\n]\s*(?=\S)/gu;
  next.lastIndex = unit;
  const found = next.exec(text);
  return found ? found.index + found[0].length : text.length;
}

/** The start of the last sentence or line that begins before an offset. */
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
