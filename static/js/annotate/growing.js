/** Widen and narrow the selection: the word, the expression that contains it, the part of the line. */

import { TextIndex } from "../text/offsets.js";
import { expansions } from "../text/expand.js";
import { words } from "../editor/words.js";

const same = (a, b) => Boolean(a && b) && a.start === b.start && a.end === b.end;
const holds = (outer, inner) => outer.start <= inner.start && outer.end >= inner.end && !same(outer, inner);

export class Growing {
  #workbench;
  #grown = null; // {pivot, start, end}: the last expansion, and the offset from which it was made

  constructor(workbench) {
    this.#workbench = workbench;
    workbench.on("leave", () => this.forget());
    // The rules are compiled on first use: do that now, so that nobody waits for it later.
    const later = window.requestIdleCallback ?? ((run) => setTimeout(run, 1000));
    later(() => expansions(new TextIndex("Mario Rossi"), 0));
  }

  actions() {
    return [
      { keys: ["+", "Alt+ArrowUp"], group: words.groups.move, what: words.keys.widen, run: () => this.widen(1) },
      { keys: ["-", "Alt+ArrowDown"], group: words.groups.move, what: words.keys.narrow, run: () => this.widen(-1) },
    ];
  }

  /** Forget the last expansion, so that the next double click begins anew. */
  forget() {
    this.#grown = null;
  }

  /** Select the probable expression at an offset; called again there, the next wider one. False in white space. */
  expandAt(offset) {
    const { work, note } = this.#workbench;
    const found = expansions(note.index, offset, this.#workbench.candidates.at(offset));
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

  #spanAt(bounds) {
    for (const label of this.#workbench.labels.keys()) {
      const span = this.#workbench.note.annotationSet.find({ start: bounds.start, end: bounds.end, label });
      if (span) return span;
    }
    return null;
  }

  /** Widen (1) or narrow (-1) the selected text, the selected span, or the word at the cursor. */
  widen(step) {
    const { work, note } = this.#workbench;
    const bounds = work.range ?? work.selected ?? note.cursor.head;
    if (!bounds) return false;
    const pivot = same(this.#grown, bounds) ? this.#grown.pivot : bounds.start;
    const found = expansions(note.index, pivot);
    if (!found) return false;
    const next = this.#next(found, bounds, step);
    const { isOpen, hasFocus } = work.palette;
    if (!next) this.#workbench.say(step > 0 ? words.noWider : words.noNarrower);
    else if (work.selected) work.resizing.to(next);
    else work.choose(next);
    if (next) this.#grown = { pivot, start: next.start, end: next.end };
    if (next && isOpen) work.openPalette(hasFocus);
    return true;
  }

  #next({ choices, best }, bounds, step) {
    if (step < 0) return choices.findLast((each) => holds(bounds, each));
    // The first widening goes to the probable expression, which may not be the next in size.
    const isFresh = !same(this.#grown, bounds) && holds(choices[best], bounds);
    return isFresh ? choices[best] : choices.find((each) => holds(each, bounds));
  }
}
