/** Change the bounds of the selected span or text by words, by characters, or by dragging. */

import { characterAfter, characterBefore, isRightToLeftAt } from "../text/steps.js";
import { shorten } from "../editor/panel.js";
import { trim } from "../text/tokens.js";
import { words } from "../editor/words.js";

export class Resizing {
  #workbench;

  constructor(workbench) {
    this.#workbench = workbench;
  }

  actions() {
    const { change } = words.groups;
    const { keys: what } = words;
    const right = (key) => (key.endsWith("Right") ? 1 : -1);
    return [
      { keys: ["Shift+ArrowRight", "Shift+ArrowLeft"], group: change, what: what.rightEnd, run: (_, key) => this.right(right(key)) },
      { keys: ["Alt+ArrowRight", "Alt+ArrowLeft"], group: change, what: what.leftEnd, run: (_, key) => this.left(right(key)) },
      {
        keys: ["Ctrl+Shift+ArrowRight", "Ctrl+Shift+ArrowLeft"],
        group: change,
        what: what.rightCharacter,
        run: (_, key) => this.nudge("right", right(key)),
      },
      {
        keys: ["Alt+Shift+ArrowRight", "Alt+Shift+ArrowLeft"],
        group: change,
        what: what.leftCharacter,
        run: (_, key) => this.nudge("left", right(key)),
      },
    ];
  }

  /** Move the right end (on the screen) of the selected span; of selected text, the end that keys extend. */
  right(direction) {
    const { work } = this.#workbench;
    const span = work.selected;
    if (!span) work.moving.side(direction, true);
    else if (work.moving.runsLeft(span.start)) this.#byToken(span, "start", -direction);
    else this.#byToken(span, "end", direction);
  }

  /** Move the left end (on the screen) of the selected span or text. False where nothing is selected. */
  left(direction) {
    const { work } = this.#workbench;
    const bounds = work.selected ?? work.range;
    if (!bounds) return false;
    if (work.moving.runsLeft(bounds.start)) this.#byToken(bounds, "end", -direction);
    else this.#byToken(bounds, "start", direction);
    return true;
  }

  #byToken(bounds, edge, step) {
    const { work, note } = this.#workbench;
    const next = note.cursor.shift(bounds, edge, step);
    if (next && work.selected) this.to(next);
    else if (next) work.choose(next);
  }

  /** Move an end (on the screen) of the selected span or text by a character. False where nothing is selected. */
  nudge(side, direction) {
    const { work, note } = this.#workbench;
    const span = work.selected;
    const bounds = span ?? work.range;
    if (!bounds) return false;
    const { text } = note.index;
    const flips = isRightToLeftAt(text, note.index.toUtf16(bounds.start));
    const by = (offset) => {
      const unit = note.index.toUtf16(offset);
      return note.index.toCodePoint(direction > 0 !== flips ? characterAfter(text, unit) : characterBefore(text, unit));
    };
    const isEnd = (side === "right") !== flips;
    const next = isEnd ? { start: bounds.start, end: by(bounds.end) } : { start: by(bounds.start), end: bounds.end };
    if (next.start >= next.end) return true;
    if (span) this.to(next);
    else work.choose(next);
    return true;
  }

  /** Give the selected span new bounds, trimmed of white space. */
  to({ start, end }) {
    const { work, note } = this.#workbench;
    const span = work.selected;
    if (!span || !work.labeling.mayChange()) return;
    const [from, past] = trim(note.index, start, end);
    if (from === past || (from === span.start && past === span.end)) return;
    const change = note.annotationSet.resize(span.key, from, past);
    work.labeling.done(change);
    const name = this.#workbench.labels.get(span.label)?.name ?? "?";
    this.#workbench.say(change ? words.resized(name, shorten(note.index.slice(from, past))) : words.there(name));
  }
}
