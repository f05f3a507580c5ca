/** Add, relabel and delete spans, undo and redo. The page shows a change at once, and then sends it. */

import { byId } from "../editor/dom.js";
import { ArmedLabel } from "./armed.js";
import { AutoNext } from "./auto_next.js";
import { shorten } from "../editor/panel.js";
import { trim } from "../text/tokens.js";
import { attributeWords, words } from "../editor/words.js";

export class Labeling {
  #workbench;
  #armed = null; // id of the label that every selection gets at once
  #last = null; // id of the last used label
  #chip = new ArmedLabel();

  /** @param {import("./workbench.js").Workbench} workbench */
  constructor(workbench) {
    this.#workbench = workbench;
    this.autoNext = new AutoNext(workbench);
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

  /** The last used label, or null. */
  get last() {
    return this.#armed ?? this.#last;
  }

  /** Whether the annotation set can be changed; if not, the page says why. */
  mayChange() {
    const { isOpen, state } = this.#note.annotationSet;
    if (isOpen) return true;
    this.#workbench.tell(state === "unstarted" ? words.unstarted : words.closed);
    return false;
  }

  /** Apply a label to the selected text or span; without a selection, arm it for the next selections. */
  apply(label) {
    if (!this.mayChange()) return;
    if (this.#work.range) this.#create(label);
    else if (this.#work.selected) this.#relabel(label);
    else this.arm(label === this.#armed ? null : label);
  }

  /** Apply the last used label again. False where nothing is selected. */
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
    const { index, annotationSet } = this.#note;
    const [start, end] = trim(index, work.range.start, work.range.end);
    if (start === end) {
      this.#workbench.say(words.onlySpace);
      return;
    }
    this.#use(label);
    const shown = palette.isOpen ? { focus: palette.hasFocus } : null;
    const { isByKeys } = work;
    const change = annotationSet.create(start, end, label);
    work.clearText(end);
    if (change) {
      const goesOn = isByKeys && this.autoNext.after(change.key, end, shown);
      this.done(change, this.#armed === null && !goesOn ? change.key : null);
    } else work.selectSpan(annotationSet.find({ start, end, label }).key, { announce: false });
    this.#workbench.say(change ? words.labeled(this.nameOf(label), this.#quote({ start, end })) : words.there(this.nameOf(label)));
  }

  /** Add many spans of one label as one change. @param {Array<{start: number, end: number, label: number}>} wanted */
  createMany(wanted) {
    if (!this.mayChange()) return;
    const work = this.#work;
    const change = this.#note.annotationSet.createMany(wanted);
    const { made } = this.autoNext;
    this.done(change);
    work.focusNote();
    if (!change) return;
    const [{ label }] = wanted;
    this.#use(label);
    const said = words.labeledMany(this.nameOf(label), change.edits.length);
    this.#workbench.say(said);
    work.hint(said);
    // The selected candidate may have become one of these spans.
    if (made) this.autoNext.after(made.key, work.range?.start ?? made.end);
  }

  #relabel(label) {
    const span = this.#work.selected;
    this.#workbench.palette.close();
    this.#use(label);
    const change = this.#note.annotationSet.relabel(span.key, label);
    this.done(change);
    const name = this.nameOf(label);
    this.#workbench.say(change ? words.relabeled(name, this.#quote(span)) : words.there(name));
  }

  /** Set an attribute of the selected span; the value null removes it. @param {string|true|null} value */
  setAttribute(name, value) {
    const span = this.#work.selected;
    if (!span || !this.mayChange()) return;
    this.done(this.#note.annotationSet.attribute(span.key, name, value));
    this.#workbench.say(words.attributesNow(this.nameOf(span.label), attributeWords(this.#work.selected?.attributes)));
  }

  remove() {
    const span = this.#work.selected;
    if (!span) return false;
    if (!this.mayChange()) return true;
    const change = this.#note.annotationSet.remove(span.key);
    this.#work.clearText(span.end);
    this.done(change, null);
    this.#work.focusNote();
    this.#workbench.say(words.deleted(this.nameOf(span.label), this.#quote(span)));
    return true;
  }

  undo() {
    if (!this.mayChange()) return;
    this.done(this.#note.annotationSet.undo());
    this.#workbench.say(words.undone);
  }

  redo() {
    if (!this.mayChange()) return;
    this.done(this.#note.annotationSet.redo());
    this.#workbench.say(words.redone);
  }

  arm(label) {
    const before = this.#armed;
    this.#armed = label;
    this.#work.showSelected();
    byId("workbench").classList.toggle("is-armed", label !== null);
    this.#chip.show(this.#workbench.labels.get(label));
    if (label !== null) this.#workbench.say(words.armed(this.nameOf(label)));
    else if (before !== null) this.#workbench.say(words.disarmed);
  }

  #use(label) {
    this.#last = label;
    this.#workbench.palette.used(label);
  }

  /** Show and send a change. `selected` is the key of the span to select, null for none. */
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
