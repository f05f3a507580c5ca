/** Moving through the note by keys: a word, a line, a sentence, a screen, a span, or to the next stretch worth a look. */

import { Cover } from "./cover.js";
import { byId } from "../editor/dom.js";
import { candidates } from "../text/candidates.js";
import { covered } from "../text/tokens.js";
import { isRightToLeft, lineAround, sentenceAfter, sentenceBefore } from "../text/steps.js";
import { words } from "../editor/words.js";

const { move } = words.groups;
// How far back (code points) a look backwards goes at once.
const BACK = 4000;
const KEPT = 48; // px of the last screen that stay in view

/**
 * The next stretch worth a look that no span touches, after an offset or before it; from the other end of the note where there is
 * none. Null where there is none at all.
 */
export function untouched(index, spans, from, step) {
  const cover = new Cover(spans);
  if (step > 0) return firstFree(candidates(index, from), cover) ?? firstFree(candidates(index, 0), cover);
  return lastFree(index, cover, from) ?? lastFree(index, cover, index.length);
}

function firstFree(found, cover) {
  for (const candidate of found) if (cover.isFree(candidate)) return candidate;
  return null;
}

function lastFree(index, cover, before) {
  for (let past = before; past > 0; past -= BACK) {
    let last = null;
    for (const candidate of candidates(index, Math.max(0, past - BACK))) {
      if (candidate.start >= past) break;
      if (candidate.end <= before && cover.isFree(candidate)) last = candidate;
    }
    if (last) return last;
  }
  return null;
}

export class Moving {
  #workbench;

  constructor(workbench) {
    this.#workbench = workbench;
  }

  get #work() {
    return this.#workbench.work;
  }

  get #note() {
    return this.#workbench.note;
  }

  /** @returns {import("../editor/keys.js").Action[]} */
  actions() {
    const forward = (key) => (/(Right|Down|End)$/.test(key) ? 1 : -1);
    const extends_ = (key) => key.includes("Shift+");
    return [
      { keys: ["ArrowRight", "ArrowLeft"], group: move, what: words.keys.word, run: (_, key) => this.side(forward(key), false) },
      { keys: ["ArrowDown", "ArrowUp"], group: move, what: words.keys.line, run: (_, key) => this.line(forward(key), false) },
      { keys: ["Shift+ArrowDown", "Shift+ArrowUp"], group: move, what: words.keys.extendLine, run: (_, key) => this.line(forward(key), true) },
      {
        keys: ["Ctrl+ArrowRight", "Ctrl+ArrowLeft"],
        group: move,
        what: words.keys.sentence,
        run: (_, key) => this.sentence(forward(key)),
      },
      {
        keys: ["Home", "End", "Shift+Home", "Shift+End"],
        group: move,
        what: words.keys.lineEdge,
        run: (_, key) => this.lineEdge(forward(key), extends_(key)),
      },
      {
        keys: ["Ctrl+Home", "Ctrl+End", "Ctrl+Shift+Home", "Ctrl+Shift+End"],
        group: move,
        what: words.keys.noteEdge,
        run: (_, key) => this.noteEdge(forward(key), extends_(key)),
      },
      {
        keys: ["PageDown", "PageUp"],
        group: move,
        what: words.keys.page,
        run: (_, key) => this.page(forward(key)),
      },
      { keys: [",", ";"], group: move, what: words.keys.untouched, run: (_, key) => this.hunt(key === "," ? 1 : -1) },
      { keys: ["Tab"], group: move, what: words.keys.nextSpan, run: () => this.walk(1) },
      { keys: ["Shift+Tab"], group: move, what: words.keys.previousSpan, run: () => this.walk(-1) },
    ];
  }

  /** A word to the right (1) or to the left (-1), as it is seen: where the line runs the other way, that is backwards. */
  side(direction, extend) {
    const step = this.runsLeft(this.#here()) ? -direction : direction;
    this.#work.move((cursor) => cursor.move(step, extend));
  }

  /** True where the line at an offset runs from right to left. */
  runsLeft(offset) {
    const { index } = this.#note;
    return isRightToLeft(index.text, index.toUtf16(Math.min(offset, index.length)));
  }

  /** Where the cursor is, or was. */
  #here() {
    const { cursor } = this.#note;
    return this.#work.selected?.start ?? cursor.head?.start ?? 0;
  }

  /** A line up or down, as the text lies on the screen. */
  line(direction, extend) {
    const { head } = this.#note.cursor;
    if (!head || !(this.#work.range || this.#work.selected)) {
      this.#work.move((cursor) => cursor.move(direction, extend));
      return;
    }
    const found = this.#nextLine(this.#note.places.box(head.start, head.end).first, direction);
    this.#work.move((cursor) => found !== null && cursor.moveTo(found, extend));
  }

  /** The offset under the middle of the token, a line further; empty lines are stepped over. */
  #nextLine(box, direction) {
    const { places } = this.#note;
    const x = box.left + box.width / 2;
    const step = Math.max(box.height / 2, 4);
    for (let away = 1; away < 60; away += 1) {
      const y = direction > 0 ? box.bottom + away * step : box.top - away * step;
      const offset = places.under(x, y);
      if (offset === null) continue;
      const there = places.box(offset, offset + 1).first;
      if (Math.abs(there.top - box.top) > box.height / 2) return offset;
    }
    return null;
  }

  lineEdge(direction, extend) {
    const { index, cursor } = this.#note;
    const line = lineAround(index.text, index.toUtf16(this.#here()));
    const [first, past] = covered(cursor.tokens, index.toCodePoint(line.start), index.toCodePoint(line.end));
    if (first < past) this.#to(cursor.tokens[direction > 0 ? past - 1 : first].start, extend);
  }

  noteEdge(direction, extend) {
    this.#to(direction > 0 ? this.#note.index.length : 0, extend);
  }

  sentence(direction) {
    const { index } = this.#note;
    const unit = index.toUtf16(this.#here());
    const found = direction > 0 ? sentenceAfter(index.text, unit) : sentenceBefore(index.text, unit);
    this.#to(index.toCodePoint(found), false);
  }

  #to(offset, extend) {
    this.#work.move((cursor) => cursor.moveTo(offset, extend));
  }

  /** A screen down or up; the cursor stays where it is seen. */
  page(direction) {
    const scroller = byId("scroll");
    const { places, cursor } = this.#note;
    const frame = scroller.getBoundingClientRect();
    const head = cursor.head && places.box(cursor.head.start, cursor.head.end).first;
    const isSeen = head && head.top >= frame.top && head.bottom <= frame.bottom;
    const x = isSeen ? head.left + head.width / 2 : frame.left + frame.width / 2;
    const y = isSeen ? head.top + head.height / 2 : frame.top + frame.height / 2;
    const before = scroller.scrollTop;
    scroller.scrollTop += direction * (frame.height - KEPT);
    if (scroller.scrollTop === before) {
      this.noteEdge(direction, false);
      return;
    }
    const found = places.under(x, y) ?? places.under(frame.left + frame.width / 2, y);
    if (found !== null) this.#work.move((moving) => moving.moveTo(found, false));
  }

  /** The next or previous span; false at the end, where Tab leaves the note. */
  walk(step) {
    const { reading } = this.#note;
    const spans = reading.spans();
    if (!spans.length) {
      this.#workbench.say(words.noSpans);
      return false;
    }
    const selected = this.#work.selected;
    const offset = this.#work.range?.start ?? this.#note.cursor.head?.start ?? 0;
    let next;
    if (selected) next = reading.at(selected.key) + step;
    else next = firstAt(spans, offset) - (step > 0 ? 0 : 1);
    if (next < 0 || next >= spans.length) return false;
    this.#work.selectSpan(spans[next].key);
    return true;
  }

  /** Select the first stretch worth a look after an offset, and not from the start again. False where none is left. */
  onward(from) {
    const { index, reading } = this.#note;
    const found = firstFree(candidates(index, from), new Cover(reading.spans()));
    if (found) this.#work.choose(found);
    else this.#nothing(words.nothingFurther);
    return found !== null;
  }

  #nothing(said) {
    this.#work.clearAll();
    this.#work.hint(said);
    this.#workbench.say(said);
  }

  /** Select the next (or the last) stretch worth a look that no span touches. */
  hunt(step) {
    const { index, reading, cursor } = this.#note;
    const here = this.#work.range ?? this.#work.selected ?? cursor.head;
    const from = here ? (step > 0 ? here.end : here.start) : 0;
    const found = untouched(index, reading.spans(), from, step);
    if (!found) {
      this.#nothing(words.nothingUntouched);
      return;
    }
    this.#work.choose(found);
    const isAround = step > 0 ? found.start < from : found.start >= from;
    if (isAround) this.#workbench.say(words.fromTheOtherEnd);
  }
}

/** The first span that starts at an offset or later. */
function firstAt(spans, offset) {
  let low = 0;
  let high = spans.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (spans[middle].start < offset) low = middle + 1;
    else high = middle;
  }
  return low;
}
