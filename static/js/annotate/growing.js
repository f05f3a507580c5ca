/** Smart expansion: from the word to the expression that it belongs to, to the part of the line, and back. */

import { TextIndex } from "../text/offsets.js";
import { expansions } from "../text/expand.js";
import { words } from "../editor/words.js";

const same = (a, b) => Boolean(a && b) && a.start === b.start && a.end === b.end;
const holds = (outer, inner) => outer.start <= inner.start && outer.end >= inner.end && !same(outer, inner);

export class Growing {
  #workbench;
  #grown = null; // {pivot, start, end}: what was taken last, and from where

  constructor(workbench) {
    this.#workbench = workbench;
    workbench.on("leave", () => this.forget());
    // The rules are compiled when they are first used: not while somebody waits.
    const later = window.requestIdleCallback ?? ((run) => setTimeout(run, 1000));
    later(() => expansions(new TextIndex("Mario Rossi"), 0));
  }

  actions() {
    return [
      { keys: ["+", "Alt+ArrowUp"], group: words.groups.move, what: words.keys.widen, run: () => this.widen(1) },
      { keys: ["-", "Alt+ArrowDown"], group: words.groups.move, what: words.keys.narrow, run: () => this.widen(-1) },
    ];
  }

  /** Something was labelled, or another note is open: the next double click begins anew. */
  forget() {
    this.#grown = null;
  }

  /** A double click: take what was probably meant at an offset; the same again, what is around that. False where there is nothing. */
  expandAt(offset) {
    const { work, note } = this.#workbench;
    const found = expansions(note.index, offset);
    if (!found) return false;
    const { choices, best } = found;
    const taken = work.armed === null ? choices.findIndex((choice) => same(choice, this.#grown)) : -1;
    const choice = choices[taken < 0 ? best : (taken + 1) % choices.length];
    const span = work.armed === null ? this.#spanAt(choice) : null;
    if (span) work.selectSpan(span.key);
    else work.selectText(choice.start, choice.end, { exact: true });
    this.#grown = { pivot: offset, start: choice.start, end: choice.end };
    return true;
  }

  #spanAt(place) {
    for (const label of this.#workbench.labels.keys()) {
      const span = this.#workbench.note.reading.find({ start: place.start, end: place.end, label });
      if (span) return span;
    }
    return null;
  }

  /** Wider (1) or narrower (-1): the selected text, the selected span, or the cursor's word. */
  widen(step) {
    const { work, note } = this.#workbench;
    const place = work.range ?? work.selected ?? note.cursor.head;
    if (!place) return false;
    const pivot = same(this.#grown, place) ? this.#grown.pivot : place.start;
    const found = expansions(note.index, pivot);
    if (!found) return false;
    const next = this.#next(found, place, step);
    const { isOpen, hasFocus } = work.palette;
    if (!next) this.#workbench.say(step > 0 ? words.noWider : words.noNarrower);
    else if (work.selected) work.resizing.to(next);
    else work.choose(next);
    if (next) this.#grown = { pivot, start: next.start, end: next.end };
    if (next && isOpen) work.openPalette(hasFocus);
    return true;
  }

  #next({ choices, best }, place, step) {
    if (step < 0) return choices.findLast((each) => holds(place, each));
    // From the word straight to what was probably meant, which may not be the next in size.
    const isFresh = !same(this.#grown, place) && holds(choices[best], place);
    return isFresh ? choices[best] : choices.find((each) => holds(each, place));
  }
}
