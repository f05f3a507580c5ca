/** The selection in the note: a run of tokens, moved by keys, or any bounds made with the mouse. Pure; offsets in code points. */

import { covered, snap } from "../text/tokens.js";

export class Cursor {
  #tokens;
  #anchor = null; // index of the token at the end that stays
  #head = null; // index of the token at the end that moves
  #last = null; // index of the last head, from which keys continue when nothing is selected
  range = null; // {start, end}, or null

  constructor(tokens) {
    this.#tokens = tokens;
  }

  get tokens() {
    return this.#tokens;
  }

  /** The token at the head, or at the last head. */
  get head() {
    return this.#tokens[this.#head ?? this.#last ?? -1] ?? null;
  }

  /** Select text, widened to whole tokens unless `exact`. Returns whether anything is selected. */
  select(start, end, { exact = false } = {}) {
    const range = this.stretch(start, end, { exact });
    if (!range) {
      this.clear();
      return false;
    }
    const [first, past] = covered(this.#tokens, range.start, Math.max(range.end, range.start + 1));
    this.#anchor = Math.min(first, this.#tokens.length - 1);
    this.#head = Math.max(past - 1, this.#anchor);
    this.#last = this.#head;
    this.range = range;
    return true;
  }

  /** The bounds that `select` would select, or null. */
  stretch(start, end, { exact = false } = {}) {
    if (exact && start < end) return { start, end };
    const snapped = snap(this.#tokens, start, end);
    return snapped && { start: snapped[0], end: snapped[1] };
  }

  /** Deselect; keys continue from `offset`. */
  clear(offset = null) {
    if (offset !== null) this.#last = this.#before(offset);
    this.#anchor = null;
    this.#head = null;
    this.range = null;
  }

  /** Move by tokens; without a selection, select the next token. Returns false at the ends of the note. */
  move(step, extend) {
    if (this.#head === null) {
      const from = this.#last ?? (step > 0 ? -1 : 0);
      return this.#to(this.#last === null && step < 0 ? 0 : from + step, false);
    }
    return this.#to(this.#head + step, extend);
  }

  /** Move to the token at or after an offset. */
  moveTo(offset, extend) {
    const [first] = covered(this.#tokens, offset, offset + 1);
    return this.#to(first, extend && this.#head !== null);
  }

  /** The last token that starts before `offset`. */
  #before(offset) {
    return covered(this.#tokens, 0, offset)[1] - 1;
  }

  #to(index, extend) {
    if (!this.#tokens.length) return false;
    const head = Math.max(0, Math.min(index, this.#tokens.length - 1));
    this.#anchor = extend ? this.#anchor : head;
    this.#head = head;
    this.#last = head;
    const first = this.#tokens[Math.min(this.#anchor, head)];
    const last = this.#tokens[Math.max(this.#anchor, head)];
    this.range = { start: first.start, end: last.end };
    return head === index;
  }

  /** The bounds of a span after its "start" or "end" moved by `step` tokens; null where that is impossible. */
  shift(span, edge, step) {
    const tokens = this.#tokens;
    const [first, past] = covered(tokens, span.start, span.end);
    if (edge === "end") {
      const inside = tokens[past - 1] && tokens[past - 1].end > span.end;
      const index = step > 0 ? (inside ? past - 1 : past) : past - 2;
      const end = tokens[index]?.end;
      return end !== undefined && end > span.start ? { start: span.start, end } : null;
    }
    const inside = tokens[first] && tokens[first].start < span.start;
    const index = step < 0 ? (inside ? first : first - 1) : first + 1;
    const start = tokens[index]?.start;
    return start !== undefined && start < span.end ? { start, end: span.end } : null;
  }
}
