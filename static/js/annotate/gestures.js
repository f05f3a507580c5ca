/** What a person does with the note: what is selected in it, and how that is shown. Labelling is in labelling.js. */

import { byId } from "../editor/dom.js";
import { Ends } from "./ends.js";
import { Growing } from "./growing.js";
import { Labelling } from "./labelling.js";
import { Mentions } from "./mentions.js";
import { Moving } from "./moving.js";
import { Picker } from "./picker.js";
import { Resizing } from "./resizing.js";
import { shorten } from "../editor/panel.js";
import { words } from "../editor/words.js";

// Code points of a quote that are looked at; fewer of them are shown.
const QUOTED = 400;

export class Gestures {
  #workbench;
  #selected = null; // key of the selected span
  /** Keys chose the text that is selected, not the mouse. */
  isByKeys = false;

  /** @param {import("./workbench.js").Workbench} workbench */
  constructor(workbench) {
    this.#workbench = workbench;
    this.labelling = new Labelling(workbench);
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

  get places() {
    return this.#note.places;
  }

  get cursor() {
    return this.#note.cursor;
  }

  /** The label that every selection gets at once, or null. */
  get armed() {
    return this.labelling.armed;
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
    this.showSelected();
    if (this.range) this.places.show(this.range.start, this.range.end);
    this.#workbench.emit("drawn");
  }

  /** The mouse or a finger went down: whatever keys were about to do is off. */
  pressed() {
    this.labelling.goingOn.forget();
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
    this.isByKeys = false;
    const found = this.#note.cursor.select(start, end, { exact });
    this.showSelected();
    if (found && show) this.places.show(this.range.start, this.range.end);
    return found;
  }

  /** Select a stretch, bring it into view, and read it out. */
  choose({ start, end }) {
    this.palette.close();
    this.selectText(start, end, { exact: true });
    this.isByKeys = true;
    this.#showCursor();
  }

  selectSpan(key, { announce = true } = {}) {
    const { reading, view } = this.#note;
    const span = reading.get(key);
    if (!span) return;
    this.clearText(span.end);
    this.#selected = span.key;
    const piece = view.select(span.key);
    this.showSelected();
    // Measured after all is written, so that the page is laid out once.
    if (piece) keepInView(byId("scroll"), piece.getBoundingClientRect());
    if (announce) this.#panel.say(words.span(this.labelling.nameOf(span.label), this.#quote(span), reading.at(span.key) + 1, reading.spans().length));
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
  }

  clearAll(offset = null) {
    this.clearText(offset);
    this.#deselect();
    this.#panel.hint("");
    this.showSelected();
  }

  /** One step out: the palette, what is selected, the armed label, and at last the note. */
  escape() {
    if (this.palette.isOpen) this.palette.close();
    else if (this.range || this.selected) this.clearAll();
    else if (this.armed !== null) this.labelling.arm(null);
    else byId("side").focus();
  }

  /** Let the cursor go somewhere. @param {(cursor: import("../editor/cursor.js").Cursor) => void} go */
  move(go) {
    this.palette.close();
    this.#deselect();
    this.isByKeys = true;
    go(this.#note.cursor);
    this.showSelected();
    this.#showCursor();
  }

  #showCursor() {
    if (!this.range) return;
    const { head } = this.#note.cursor;
    this.places.show(this.range.start, this.range.end);
    const { first } = this.places.box(head.start, head.end);
    keepInView(byId("scroll"), first);
    this.#panel.say(this.#quote(this.range));
  }

  // ── Showing ───────────────────────────────────────────────────────────────────────────────────────────────────────

  /** A label was chosen, by key or by click. */
  applyLabel(label) {
    this.labelling.apply(label);
  }

  /** The labels to choose from, for the selected text or span. @param {boolean} focus for those who use keys */
  openPalette(focus) {
    const place = this.range ?? this.selected;
    if (!place || !this.labelling.mayChange()) return false;
    this.palette.open(this.places.box(place.start, place.end), focus, {
      first: this.labelling.last,
      current: this.range ? null : this.selected.label,
      quote: this.#quote(place),
      widen: (step) => this.growing.widen(step),
    });
    return true;
  }

  /** What is selected after a change: a span's key, or null. */
  keep(key) {
    this.#selected = key;
  }

  /** A word in the side panel, until something else is selected. */
  hint(text) {
    this.#panel.hint(text);
  }

  showSelected() {
    const { index } = this.#note;
    const span = this.selected;
    const place = span ?? this.range;
    this.#panel.selected(span, {
      quote: place ? index.slice(place.start, Math.min(place.end, place.start + QUOTED)) : "",
      armed: this.armed,
      isOpen: this.#note.reading.isOpen,
      alike: span ? this.#note.reading.count(span.label) : 0,
      mentions: () => this.mentions.count(span),
      acts: {
        relabel: () => this.openPalette(true),
        all: () => this.mentions.open(),
        remove: () => this.labelling.remove(),
        untouched: () => {
          this.moving.hunt(1);
          this.openPalette(false);
        },
      },
    });
    this.#panel.marks(span?.label ?? null, this.armed);
    this.#workbench.emit("selected");
  }

  #quote({ start, end }) {
    return shorten(this.#note.index.slice(start, end));
  }
}

/** Scroll as little as needed. */
function keepInView(scroller, box) {
  const frame = scroller.getBoundingClientRect();
  const margin = Math.min(64, frame.height / 4);
  if (box.top < frame.top + margin) scroller.scrollTop -= frame.top + margin - box.top;
  else if (box.bottom > frame.bottom - margin) scroller.scrollTop += box.bottom - (frame.bottom - margin);
}
