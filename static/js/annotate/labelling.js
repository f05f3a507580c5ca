/** Giving labels, changing and deleting spans, undo and redo. Paints at once, then lets the outbox send. */

import { byId } from "../editor/dom.js";
import { GoingOn } from "./going_on.js";
import { shorten } from "../editor/panel.js";
import { trim } from "../text/tokens.js";
import { words } from "../editor/words.js";

export class Labelling {
  #workbench;
  #armed = null; // id of the label that every selection gets
  #last = null; // id of the label that was given last

  /** @param {import("./workbench.js").Workbench} workbench */
  constructor(workbench) {
    this.#workbench = workbench;
    this.goingOn = new GoingOn(workbench);
  }

  get #note() {
    return this.#workbench.note;
  }

  get #work() {
    return this.#workbench.work;
  }

  /** The label that every selection gets at once, or null. */
  get armed() {
    return this.#armed;
  }

  /** The label that was given last, or null. */
  get last() {
    return this.#armed ?? this.#last;
  }

  /** Whether the reading can be changed; if not, says why. */
  mayChange() {
    if (this.#note.reading.isOpen) return true;
    this.#workbench.tell(words.closed);
    return false;
  }

  /** A label was chosen, by key or by click: for the selected text, the selected span, or whatever is selected next. */
  apply(label) {
    if (!this.mayChange()) return;
    if (this.#work.range) this.#create(label);
    else if (this.#work.selected) this.#relabel(label);
    else this.arm(label === this.#armed ? null : label);
  }

  /** The label that was given last, once more. False where nothing is selected. */
  repeat() {
    if (!this.#work.range && !this.#work.selected) return false;
    if (this.last === null) {
      this.#workbench.say(words.noLast);
      this.#work.openPalette(true);
    } else this.apply(this.last);
    return true;
  }

  #create(label) {
    const { palette } = this.#workbench;
    const work = this.#work;
    const { index, reading } = this.#note;
    const [start, end] = trim(index, work.range.start, work.range.end);
    if (start === end) {
      this.#workbench.say(words.onlySpace);
      return;
    }
    this.#last = label;
    const shown = palette.isOpen ? { focus: palette.hasFocus } : null;
    const { isByKeys } = work;
    const change = reading.create(start, end, label);
    work.clearText(end);
    if (change) {
      const goesOn = isByKeys && this.goingOn.after(change.key, end, shown);
      this.done(change, this.#armed === null && !goesOn ? change.key : null);
    } else work.selectSpan(reading.find({ start, end, label }).key, { announce: false });
    this.#workbench.say(change ? words.labelled(this.nameOf(label), this.#quote({ start, end })) : words.there(this.nameOf(label)));
  }

  /** The same label in many places, as one change. @param {Array<{start: number, end: number, label: number}>} places */
  createMany(places) {
    if (!this.mayChange()) return;
    const work = this.#work;
    const change = this.#note.reading.createMany(places);
    const { made } = this.goingOn;
    this.done(change);
    work.focusNote();
    if (!change) return;
    const [{ label }] = places;
    this.#last = label;
    const said = words.labelledMany(this.nameOf(label), change.edits.length);
    this.#workbench.say(said);
    work.hint(said);
    // The stretch that was offered may be one of them.
    if (made) this.goingOn.after(made.key, work.range?.start ?? made.end);
  }

  #relabel(label) {
    const span = this.#work.selected;
    this.#workbench.palette.close();
    this.#last = label;
    const change = this.#note.reading.relabel(span.key, label);
    this.done(change);
    const name = this.nameOf(label);
    this.#workbench.say(change ? words.relabelled(name, this.#quote(span)) : words.there(name));
  }

  remove() {
    const span = this.#work.selected;
    if (!span || !this.mayChange()) return false;
    const change = this.#note.reading.remove(span.key);
    this.#work.clearText(span.end);
    this.done(change, null);
    this.#work.focusNote();
    this.#workbench.say(words.deleted(this.nameOf(span.label), this.#quote(span)));
    return true;
  }

  undo() {
    if (!this.mayChange()) return;
    this.done(this.#note.reading.undo());
    this.#workbench.say(words.undone);
  }

  redo() {
    if (!this.mayChange()) return;
    this.done(this.#note.reading.redo());
    this.#workbench.say(words.redone);
  }

  arm(label) {
    const before = this.#armed;
    this.#armed = label;
    this.#work.showSelected();
    byId("workbench").classList.toggle("is-armed", label !== null);
    if (label !== null) this.#workbench.say(words.armed(this.nameOf(label)));
    else if (before !== null) this.#workbench.say(words.disarmed);
  }

  /** After a change: paint, and let it be sent. `selected` is the key of what is selected then, null for nothing. */
  done(change, selected = this.#work.selected?.key ?? null) {
    this.#work.keep(selected);
    if (!change) return;
    this.#work.growing.forget();
    this.#work.redraw();
    this.#workbench.saving.poke();
  }

  nameOf(label) {
    return this.#workbench.labels.get(label)?.name ?? "?";
  }

  #quote({ start, end }) {
    return shorten(this.#note.index.slice(start, end));
  }
}
