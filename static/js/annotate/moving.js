/** Move through the note by keys: by word, line, sentence, screen or span, or to the next candidate. */

import { Cover } from "./cover.js";
import { byId } from "../editor/dom.js";
import { candidates } from "../text/candidates.js";
import { covered } from "../text/tokens.js";
import { isRightToLeft, lineAround, sentenceAfter, sentenceBefore } from "../text/steps.js";
import { words } from "../editor/words.js";

const { move } = words.groups;
// Code points that one step of a search backwards covers.
const BACK = 4000;
const KEPT = 48; // pixels of the previous screen that stay visible

/**
 * The next candidate that overlaps no span, after an offset (step 1) or before it (-1), else from the other end of the note; null if
 * there is none.
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

  /** Move a word to the right (1) or left (-1) on the screen; in right-to-left lines, right means backwards in the text. */
  side(direction, extend) {
    const step = this.runsLeft(this.#here()) ? -direction : direction;
    this.#work.move((cursor) => cursor.move(step, extend));
  }

  /** Whether the line at an offset runs from right to left. */
  runsLeft(offset) {
    const { index } = this.#note;
    return isRightToLeft(index.text, index.toUtf16(Math.min(offset, index.length)));
  }

  /** The offset of the selection, or of the last one. */
  #here() {
    const { cursor } = this.#note;
    return this.#work.selected?.start ?? cursor.head?.start ?? 0;
  }

  /** Move a line up or down on the screen. */
  line(direction, extend) {
    const { head } = this.#note.cursor;
    if (!head || !(this.#work.range || this.#work.selected)) {
      this.#work.move((cursor) => cursor.move(direction, extend));
      return;
    }
    const found = this.#nextLine(this.#note.layout.box(head.start, head.end).first, direction);
    this.#work.move((cursor) => found !== null && cursor.moveTo(found, extend));
  }

  /** The offset below or above the middle of a box, in the next line that isn't empty. */
  #nextLine(box, direction) {
    const { layout } = this.#note;
    const x = box.left + box.width / 2;
    const step = Math.max(box.height / 2, 4);
    for (let away = 1; away < 60; away += 1) {
      const y = direction > 0 ? box.bottom + away * step : box.top - away * step;
      const offset = layout.under(x, y);
      if (offset === null) continue;
      const there = layout.box(offset, offset + 1).first;
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

  /** Move a screen down or up; the cursor keeps its position on the screen. */
  page(direction) {
    const scroller = byId("scroll");
    const { layout, cursor } = this.#note;
    const frame = scroller.getBoundingClientRect();
    const head = cursor.head && layout.box(cursor.head.start, cursor.head.end).first;
    const isSeen = head && head.top >= frame.top && head.bottom <= frame.bottom;
    const x = isSeen ? head.left + head.width / 2 : frame.left + frame.width / 2;
    const y = isSeen ? head.top + head.height / 2 : frame.top + frame.height / 2;
    const before = scroller.scrollTop;
    scroller.scrollTop += direction * (frame.height - KEPT);
    if (scroller.scrollTop === before) {
      this.noteEdge(direction, false);
      return;
    }
    const found = layout.under(x, y) ?? layout.under(frame.left + frame.width / 2, y);
    if (found !== null) this.#work.move((moving) => moving.moveTo(found, false));
  }

  /** Select the next or previous span; false after the last one, so that Tab leaves the note. */
  walk(step) {
    const { annotationSet } = this.#note;
    const spans = annotationSet.spans();
    if (!spans.length) {
      this.#workbench.say(words.noSpans);
      return false;
    }
    const selected = this.#work.selected;
    const offset = this.#work.range?.start ?? this.#note.cursor.head?.start ?? 0;
    let next;
    if (selected) next = annotationSet.at(selected.key) + step;
    else next = firstAt(spans, offset) - (step > 0 ? 0 : 1);
    if (next < 0 || next >= spans.length) return false;
    this.#work.selectSpan(spans[next].key);
    return true;
  }

  /** Select the first candidate after an offset, without starting again at the top. False if there is none. */
  onward(from) {
    const { index, annotationSet } = this.#note;
    const { candidates: shown } = this.#workbench;
    const ahead = shown.isShown ? shown.next(from, 1) : firstFree(candidates(index, from), new Cover(annotationSet.spans()));
    // Before submitting, none is left out; else the note is read once from top to bottom.
    const found = ahead && (shown.isLooking || ahead.start >= from) ? ahead : null;
    if (!found) shown.isLooking = false;
    if (found) this.#work.choose(found);
    else this.#nothing(words.nothingFurther);
    return found !== null;
  }

  #nothing(said) {
    this.#work.clearAll();
    this.#work.hint(said);
    this.#workbench.say(said);
  }

  /** Select the next (1) or previous (-1) candidate that overlaps no span. */
  hunt(step) {
    const { index, annotationSet, cursor } = this.#note;
    const here = this.#work.range ?? this.#work.selected ?? cursor.head;
    const from = here ? (step > 0 ? here.end : here.start) : 0;
    const { candidates: shown } = this.#workbench;
    const found = shown.isShown ? shown.next(from, step) : untouched(index, annotationSet.spans(), from, step);
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
