/** The selection in the note and how the page shows it. Labeling is in labeling.js. */

import { byId } from "../editor/dom.js";
import { Attributes } from "./attributes.js";
import { Ends } from "./ends.js";
import { Growing } from "./growing.js";
import { Labeling } from "./labeling.js";
import { Mentions } from "./mentions.js";
import { Moving } from "./moving.js";
import { Picker } from "./picker.js";
import { Resizing } from "./resizing.js";
import { placesOf } from "../editor/source_page.js";
import { shorten } from "../editor/panel.js";
import { words } from "../editor/words.js";

// Code points that are read for a quote; fewer of them are shown.
const QUOTED = 400;

export class Gestures {
  #workbench;
  #selected = null; // key of the selected span
  /** Whether keys selected the text, not the mouse. */
  isByKeys = false;

  /** @param {import("./workbench.js").Workbench} workbench */
  constructor(workbench) {
    this.#workbench = workbench;
    this.labeling = new Labeling(workbench);
    this.moving = new Moving(workbench);
    this.growing = new Growing(workbench);
    this.resizing = new Resizing(workbench);
    this.picker = new Picker(workbench);
    this.attributes = new Attributes(workbench);
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

  get layout() {
    return this.#note.layout;
  }

  get cursor() {
    return this.#note.cursor;
  }

  /** The label that every selection gets at once, or null. */
  get armed() {
    return this.labeling.armed;
  }

  get range() {
    return this.#note.cursor.range;
  }

  get selected() {
    return this.#selected === null ? null : this.#note.annotationSet.get(this.#selected);
  }

  focusNote() {
    this.#note.view.root.focus({ preventScroll: true });
    this.layout.restore(this.range);
  }

  /** Draw the current spans. */
  redraw() {
    const { annotationSet, view } = this.#note;
    view.draw(annotationSet.spans());
    this.#panel.counts(annotationSet);
    this.#panel.state(annotationSet.state);
    if (this.#selected !== null && !this.selected) this.#selected = null;
    view.select(this.selected?.key ?? null);
    this.showSelected();
    this.layout.restore(this.range);
    this.#workbench.emit("drawn");
  }

  /** The mouse or a finger was pressed: drop what keys have started. */
  pressed() {
    this.labeling.autoNext.forget();
  }

  /** Another note is opened: forget the selected span. The armed label stays armed. */
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
    if (found && show) this.layout.show(this.range.start, this.range.end);
    return found;
  }

  /** Select text, scroll to it, and announce it. */
  choose({ start, end }) {
    this.palette.close();
    this.selectText(start, end, { exact: true });
    this.isByKeys = true;
    this.#showCursor();
  }

  selectSpan(key, { announce = true } = {}) {
    const { annotationSet, view } = this.#note;
    const span = annotationSet.get(key);
    if (!span) return;
    this.clearText(span.end);
    this.#selected = span.key;
    const piece = view.select(span.key);
    this.showSelected();
    // Measure after all changes, so that the browser lays out the page only once.
    if (piece) keepInView(byId("scroll"), piece.getBoundingClientRect());
    if (announce) this.#panel.say(words.span(this.labeling.nameOf(span.label), this.#quote(span), annotationSet.at(span.key) + 1, annotationSet.spans().length));
  }

  /** Select the innermost of the clicked spans, and list the others. @param {string[]} keys */
  pick(keys) {
    this.selectSpan(keys[0]);
    this.picker.open(keys);
  }

  /** Deselect the text; keys continue from `offset`. */
  clearText(offset = null) {
    this.palette?.close();
    this.#note.cursor.clear(offset);
    this.layout.clear();
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

  /** Leave one thing at a time: the palette, the selection, the armed label, and at last the note. */
  escape() {
    this.#workbench.candidates.isLooking = false;
    if (this.palette.isOpen) this.palette.close();
    else if (this.range || this.selected) this.clearAll();
    else if (this.armed !== null) this.labeling.arm(null);
    else byId("side").focus();
  }

  /** Move the cursor. @param {(cursor: import("../editor/cursor.js").Cursor) => void} go */
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
    this.layout.show(this.range.start, this.range.end);
    const { first } = this.layout.box(head.start, head.end);
    keepInView(byId("scroll"), first);
    this.#panel.say(this.#quote(this.range));
  }

  // ── Showing ───────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Apply a label that was chosen by key or by click. */
  applyLabel(label) {
    this.labeling.apply(label);
  }

  /** Open the palette for the selected text or span. @param {boolean} focus whether the palette gets the focus */
  openPalette(focus) {
    const bounds = this.range ?? this.selected;
    if (!bounds || !this.labeling.mayChange()) return false;
    this.#workbench.ranking.hide();
    this.palette.open(this.layout.box(bounds.start, bounds.end), focus, {
      first: this.labeling.last,
      ranked: this.#workbench.ranking.labels(bounds),
      current: this.range ? null : this.selected.label,
      quote: this.#quote(bounds),
      widen: (step) => this.growing.widen(step),
    });
    return true;
  }

  /** Select a span after a change. @param {string|null} key */
  keep(key) {
    this.#selected = key;
  }

  /** Show a hint in the side panel until something else is selected. */
  hint(text) {
    this.#panel.hint(text);
  }

  showSelected() {
    const { index } = this.#note;
    const span = this.selected;
    const bounds = span ?? this.range;
    this.#panel.selected(span, {
      quote: bounds ? index.slice(bounds.start, Math.min(bounds.end, bounds.start + QUOTED)) : "",
      armed: this.armed,
      isOpen: this.#note.annotationSet.isOpen,
      sameLabel: span ? this.#note.annotationSet.count(span.label) : 0,
      mentions: () => this.mentions.count(span),
      places: span ? placesOf(this.#note.source, span) : [],
      acts: {
        relabel: () => this.openPalette(true),
        attributes: () => this.attributes.open(),
        all: () => this.mentions.open(),
        remove: () => this.labeling.remove(),
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

/** Scroll as little as needed to show a box. */
function keepInView(scroller, box) {
  const frame = scroller.getBoundingClientRect();
  const margin = Math.min(64, frame.height / 4);
  if (box.top < frame.top + margin) scroller.scrollTop -= frame.top + margin - box.top;
  else if (box.bottom > frame.bottom - margin) scroller.scrollTop += box.bottom - (frame.bottom - margin);
}
