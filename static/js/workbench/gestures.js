/** What a person does with the note: selecting, labelling, changing. Paints at once, then lets the outbox send. */

import { byId } from "./dom.js";
import { Ends } from "./ends.js";
import { Growing } from "./growing.js";
import { Mentions } from "./mentions.js";
import { Moving } from "./moving.js";
import { Picker } from "./picker.js";
import { Resizing } from "./resizing.js";
import { shorten } from "./panel.js";
import { trim } from "../text/tokens.js";
import { words } from "./words.js";


export class Gestures {
  #workbench;
  #selected = null; // key of the selected span
  #armed = null; // id of the label that every selection gets
  #last = null; // id of the label that was given last

  /** @param {import("./workbench.js").Workbench} workbench */
  constructor(workbench) {
    this.#workbench = workbench;
    this.moving = new Moving(workbench);
    this.growing = new Growing(workbench);
    this.resizing = new Resizing(workbench);
    this.picker = new Picker(workbench);
    this.mentions = new Mentions(workbench);
    this.ends = new Ends(workbench);
  }

  get #note() {
    return this.#workbench.note;
  }

  get #panel() {
    return this.#workbench.panel;
  }

  get palette() {
    return this.#workbench.palette;
  }

  get saving() {
    return this.#workbench.saving;
  }

  get places() {
    return this.#note.places;
  }

  /** The label that every selection gets at once, or null. */
  get armed() {
    return this.#armed;
  }

  /** The label that was given last, or null. */
  get last() {
    return this.#armed ?? this.#last;
  }

  get range() {
    return this.#note.cursor.range;
  }

  get selected() {
    return this.#selected === null ? null : this.#note.reading.get(this.#selected);
  }

  focusNote() {
    this.#note.view.root.focus({ preventScroll: true });
  }

  /** Show the reading as it is now. */
  redraw() {
    const { reading, view } = this.#note;
    view.draw(reading.spans());
    this.#panel.counts(reading);
    this.#panel.state(reading.state);
    if (this.#selected !== null && !this.selected) this.#selected = null;
    view.select(this.selected?.key ?? null);
    this.#showSelected();
    if (this.range) this.places.show(this.range.start, this.range.end);
    this.#workbench.emit("drawn");
  }

  /** Another note is open: nothing is selected in it. The armed label stays armed. */
  forget() {
    this.palette.close();
    this.#selected = null;
  }

  // ── Selecting ─────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Select text. `exact` takes characters, else whole tokens. */
  selectText(start, end, { exact = false, show = true } = {}) {
    this.#deselect();
    if (!this.#note.cursor.select(start, end, { exact })) return false;
    if (show) this.places.show(this.range.start, this.range.end);
    this.#workbench.emit("selected");
    return true;
  }

  /** Select a stretch, bring it into view, and read it out. */
  choose({ start, end }) {
    this.palette.close();
    this.selectText(start, end, { exact: true });
    this.#showCursor();
  }

  selectSpan(key, { announce = true } = {}) {
    const { reading, view } = this.#note;
    const span = reading.get(key);
    if (!span) return;
    this.clearText(span.end);
    this.#selected = span.key;
    const piece = view.select(span.key);
    if (piece) keepInView(byId("scroll"), piece.getBoundingClientRect());
    this.#showSelected();
    if (announce) this.#panel.say(words.span(this.#name(span.label), this.#quote(span), reading.at(span.key) + 1, reading.spans().length));
  }

  /** Several spans lie where was clicked: the innermost is selected, and the others are offered. @param {string[]} keys */
  pick(keys) {
    this.selectSpan(keys[0]);
    this.picker.open(keys);
  }

  /** No text is selected any more; keys go on from `offset`. */
  clearText(offset = null) {
    this.palette?.close();
    this.#note.cursor.clear(offset);
    this.places.clear();
  }

  #deselect() {
    if (this.#selected === null) return;
    this.#selected = null;
    this.#note.view.select(null);
    this.#showSelected();
  }

  clearAll(offset = null) {
    this.clearText(offset);
    this.#deselect();
    this.#panel.hint("");
    this.#workbench.emit("selected");
  }

  /** One step out: the palette, what is selected, the armed label, and at last the note. */
  escape() {
    if (this.palette.isOpen) this.palette.close();
    else if (this.range || this.selected) this.clearAll();
    else if (this.#armed !== null) this.#arm(null);
    else byId("side").focus();
  }

  /** Let the cursor go somewhere. @param {(cursor: import("./cursor.js").Cursor) => void} go */
  move(go) {
    this.palette.close();
    this.#deselect();
    go(this.#note.cursor);
    this.#showCursor();
    this.#workbench.emit("selected");
  }

  #showCursor() {
    if (!this.range) return;
    const { head } = this.#note.cursor;
    this.places.show(this.range.start, this.range.end);
    const { first } = this.places.box(head.start, head.end);
    keepInView(byId("scroll"), first);
    this.#panel.say(this.#quote(this.range));
  }

  // ── Labelling ─────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Whether the reading can be changed; if not, says why. */
  mayChange() {
    if (this.#note.reading.isOpen) return true;
    this.#panel.tell(words.closed);
    return false;
  }

  /** A label was chosen, by key or by click: for the selected text, the selected span, or whatever is selected next. */
  applyLabel(label) {
    if (!this.mayChange()) return;
    if (this.range) this.create(label);
    else if (this.selected) this.#relabel(label);
    else this.#arm(label === this.#armed ? null : label);
  }

  /** The label that was given last, once more. False where nothing is selected. */
  repeat() {
    if (!this.range && !this.selected) return false;
    if (this.last === null) {
      this.#panel.say(words.noLast);
      this.openPalette(true);
    } else this.applyLabel(this.last);
    return true;
  }

  create(label) {
    const { index, reading } = this.#note;
    const [start, end] = trim(index, this.range.start, this.range.end);
    if (start === end) {
      this.#panel.say(words.onlySpace);
      return;
    }
    this.#last = label;
    const change = reading.create(start, end, label);
    this.clearText(end);
    if (change) this.done(change, this.#armed === null ? change.key : null);
    else this.selectSpan(reading.find({ start, end, label }).key, { announce: false });
    const name = this.#name(label);
    this.#panel.say(change ? words.labelled(name, this.#quote({ start, end })) : words.there(name));
  }

  /** The same label in many places, as one change. @param {Array<{start: number, end: number, label: number}>} places */
  createMany(places) {
    if (!this.mayChange()) return;
    const change = this.#note.reading.createMany(places);
    this.done(change);
    this.focusNote();
    if (!change) return;
    const [{ label }] = places;
    this.#last = label;
    this.#panel.say(words.labelledMany(this.#name(label), change.edits.length));
    this.hint(words.labelledMany(this.#name(label), change.edits.length));
  }

  #relabel(label) {
    const span = this.selected;
    this.palette.close();
    this.#last = label;
    const change = this.#note.reading.relabel(span.key, label);
    this.done(change);
    const name = this.#name(label);
    this.#panel.say(change ? words.relabelled(name, this.#quote(span)) : words.there(name));
  }

  remove() {
    const span = this.selected;
    if (!span || !this.mayChange()) return false;
    const change = this.#note.reading.remove(span.key);
    this.clearText(span.end);
    this.done(change, null);
    this.focusNote();
    this.#panel.say(words.deleted(this.#name(span.label), this.#quote(span)));
    return true;
  }

  undo() {
    if (!this.mayChange()) return;
    this.done(this.#note.reading.undo());
    this.#panel.say(words.undone);
  }

  redo() {
    if (!this.mayChange()) return;
    this.done(this.#note.reading.redo());
    this.#panel.say(words.redone);
  }

  /** The labels to choose from, for the selected text or span. @param {boolean} focus for those who use keys */
  openPalette(focus) {
    const place = this.range ?? this.selected;
    if (!place || !this.mayChange()) return false;
    this.palette.open(this.places.box(place.start, place.end), focus, {
      first: this.last,
      current: this.range ? null : this.selected.label,
      quote: this.#quote(place),
      widen: (step) => this.growing.widen(step),
    });
    return true;
  }

  #arm(label) {
    const before = this.#armed;
    this.#armed = label;
    this.#showSelected();
    byId("workbench").classList.toggle("is-armed", label !== null);
    if (label !== null) this.#panel.say(words.armed(this.#name(label)));
    else if (before !== null) this.#panel.say(words.disarmed);
  }

  /** After a change: paint, and let it be sent. `selected` is the key of what is selected then, null for nothing. */
  done(change, selected = this.#selected) {
    this.#selected = selected;
    if (!change) return;
    this.growing.forget();
    this.redraw();
    this.saving.poke();
  }

  /** A word in the side panel, until something else is selected. */
  hint(text) {
    this.#panel.hint(text);
  }

  #showSelected() {
    const { index } = this.#note;
    const span = this.selected;
    this.#panel.selected(span, {
      quote: span ? index.slice(span.start, span.end) : "",
      armed: this.#armed,
      isOpen: this.#note.reading.isOpen,
      mentions: () => this.mentions.count(span),
      acts: {
        relabel: () => this.openPalette(true),
        all: () => this.mentions.open(),
        remove: () => this.remove(),
        untouched: () => {
          this.moving.hunt(1);
          this.openPalette(false);
        },
      },
    });
    this.#panel.marks(span?.label ?? null, this.#armed);
    this.#workbench.emit("selected");
  }

  #quote({ start, end }) {
    return shorten(this.#note.index.slice(start, end));
  }

  #name(label) {
    return this.#workbench.labels.get(label)?.name ?? "?";
  }
}

/** Scroll as little as needed. */
function keepInView(scroller, box) {
  const frame = scroller.getBoundingClientRect();
  const margin = Math.min(64, frame.height / 4);
  if (box.top < frame.top + margin) scroller.scrollTop -= frame.top + margin - box.top;
  else if (box.bottom > frame.bottom - margin) scroller.scrollTop += box.bottom - (frame.bottom - margin);
}
