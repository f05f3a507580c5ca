/**
 * What somebody does with a note under review or adjudication: choosing, selecting words, deciding. Paints at once, then lets
 * the outbox send. A page says what is painted (`painted`), shown beside (`show`) and said of the chosen (`described`).
 */

import { byId } from "../dom.js";
import { shorten } from "../panel.js";
import { trim } from "../../text/tokens.js";
import { words as shared } from "./words.js";

// What lies in this middle part of the note's window has its context around it.
const CONTEXT = 0.16;

export class NoteWork {
  note;
  view;
  panel;
  labels;
  index;
  cursor;
  places;
  words;
  key = null; // of what is chosen
  armed = null; // no label is armed here; the mouse asks
  saving = null;
  palette = null;
  sheet = null;

  constructor({ note, view, panel, labels, index, cursor, places, words }) {
    Object.assign(this, { note, view, panel, labels, index, cursor, places, words });
  }

  get range() {
    return this.cursor.range;
  }

  focusNote() {
    this.view.root.focus({ preventScroll: true });
  }

  /** Show the note as it is now. */
  redraw() {
    this.view.draw(this.painted());
    if (!this.selected) this.key = null;
    this.view.select(this.key);
    this.show();
    if (this.range) this.places.show(this.range.start, this.range.end);
  }

  // ── Choosing ──────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Choose by key; null lets go. */
  selectSpan(key) {
    this.letGo();
    this.key = key;
    const chosen = this.selected;
    const piece = this.view.select(chosen ? key : null);
    this.show();
    if (piece) keepInContext(byId("scroll"), piece);
    if (chosen) this.panel.say(this.described(chosen));
  }

  /** After a decision: what is open next; where nothing is, what was decided stays chosen. */
  onward() {
    if (!this.walk(1, { open: true })) this.redraw();
  }

  letGo(offset = null) {
    this.palette?.close();
    this.cursor.clear(offset);
    this.places.clear();
  }

  clearAll(offset = null) {
    this.letGo(offset);
    this.key = null;
    this.view.select(null);
    this.show();
  }

  /** Let go of the selected text (what is chosen stays). */
  dropText() {
    this.letGo();
    this.show();
  }

  /** One step out: the palette, the selected text, what is chosen, and at last the note. */
  escape() {
    if (this.palette.isOpen) this.palette.close();
    else if (this.range) this.dropText();
    else if (this.key !== null) this.clearAll();
    else byId("side").focus();
  }

  // ── Deciding ──────────────────────────────────────────────────────────────────────────────────────────────────────

  undo() {
    if (this.isOpen()) this.made(this.note.undo(), shared.undone);
  }

  redo() {
    if (this.isOpen()) this.made(this.note.redo(), shared.redone);
  }

  /** A change was queued (or was none): paint, say so, and let it be sent. */
  made(change, said) {
    this.redraw();
    this.panel.say(change ? said : shared.asItWas);
    if (change) this.saving.poke();
  }

  // ── Selecting words ───────────────────────────────────────────────────────────────────────────────────────────────

  firstInSight() {
    const frame = byId("scroll").getBoundingClientRect();
    const line = [...this.view.root.querySelectorAll(".line-text")].find((node) => node.getBoundingClientRect().bottom > frame.top);
    return Number(line?.dataset.start ?? 0);
  }

  moveCursor(step, extend) {
    this.palette.close();
    this.cursor.move(step, extend);
    if (!this.range) return;
    this.places.show(this.range.start, this.range.end);
    const { start, end } = this.cursor.head;
    keepInContext(byId("scroll"), { getBoundingClientRect: () => this.places.box(start, end).first });
    this.show();
    this.panel.say(this.quote(this.range));
  }

  /** Text was selected with the mouse. `exact` takes characters, else whole words. What is chosen stays chosen. */
  selectText(start, end, { exact = false, show = true } = {}) {
    if (!this.cursor.select(start, end, { exact })) return false;
    if (show) this.places.show(this.range.start, this.range.end);
    this.show();
    return true;
  }

  openPalette(focus) {
    if (!this.range || !this.isOpen()) return;
    this.palette.open(this.places.box(this.range.start, this.range.end), focus);
  }

  /** A stretch without the white space at its ends; null where nothing else is in it. */
  trimmed(place) {
    const [start, end] = trim(this.index, place.start, place.end);
    return start < end ? { start, end } : null;
  }

  quote({ start, end }) {
    return shorten(this.index.slice(start, end));
  }

  name(label) {
    return this.labels.get(label)?.name ?? "?";
  }
}

/** Scroll only if there is too little text around it; then it comes to the middle. */
function keepInContext(scroller, place) {
  const box = place.getBoundingClientRect();
  const frame = scroller.getBoundingClientRect();
  const margin = frame.height * CONTEXT;
  if (box.top >= frame.top + margin && box.bottom <= frame.bottom - margin) return;
  scroller.scrollTop += box.top - frame.top - frame.height / 2;
}
