/** What a person does with the note: selecting, labelling, changing. Paints at once, then lets the outbox send. */

import { byId } from "./dom.js";
import { shorten } from "./panel.js";
import { trim } from "../text/tokens.js";
import { words } from "./words.js";

export class Gestures {
  #reading;
  #view;
  #panel;
  #labels;
  #index;
  #cursor;
  #places;
  #selected = null; // key of the selected span
  #armed = null; // id of the label that every selection gets
  saving = null;
  palette = null;
  sheet = null;

  constructor({ reading, view, panel, labels, index, cursor, places }) {
    this.#reading = reading;
    this.#view = view;
    this.#panel = panel;
    this.#labels = labels;
    this.#index = index;
    this.#cursor = cursor;
    this.#places = places;
  }

  get armed() {
    return this.#armed;
  }

  get range() {
    return this.#cursor.range;
  }

  get selected() {
    return this.#selected === null ? null : this.#reading.get(this.#selected);
  }

  get places() {
    return this.#places;
  }

  focusNote() {
    this.#view.root.focus({ preventScroll: true });
  }

  /** Show the reading as it is now. */
  redraw() {
    const spans = this.#reading.spans();
    this.#view.draw(spans);
    this.#panel.counts(spans);
    this.#panel.state(this.#reading.state);
    if (this.#selected !== null && !this.selected) this.#selected = null;
    this.#view.select(this.selected?.key ?? null);
    this.#showSelected();
    if (this.range) this.#places.show(this.range.start, this.range.end);
  }

  // ── Selecting ─────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Select text. `exact` takes characters, else whole tokens. */
  selectText(start, end, { exact = false, show = true } = {}) {
    this.#deselect();
    if (!this.#cursor.select(start, end, { exact })) return false;
    if (show) this.#places.show(this.range.start, this.range.end);
    return true;
  }

  selectSpan(key, { announce = true } = {}) {
    const span = this.#reading.get(key);
    if (!span) return;
    this.clearText(span.end);
    this.#selected = span.key;
    this.#view.select(span.key)?.scrollIntoView({ block: "nearest" });
    this.#showSelected();
    if (!announce) return;
    const spans = this.#reading.spans();
    const at = spans.findIndex((other) => other.key === span.key) + 1;
    this.#panel.say(words.span(this.#name(span.label), this.#quote(span), at, spans.length));
  }

  /** No text is selected any more; keys go on from `offset`. */
  clearText(offset = null) {
    this.palette?.close();
    this.#cursor.clear(offset);
    this.#places.clear();
  }

  #deselect() {
    this.#selected = null;
    this.#view.select(null);
    this.#showSelected();
  }

  clearAll(offset = null) {
    this.clearText(offset);
    this.#deselect();
  }

  /** One step out: the palette, what is selected, the armed label, and at last the note. */
  escape() {
    if (this.palette.isOpen) this.palette.close();
    else if (this.range || this.selected) this.clearAll();
    else if (this.#armed !== null) this.#arm(null);
    else byId("side").focus();
  }

  moveCursor(step, extend) {
    this.palette.close();
    this.#deselect();
    this.#cursor.move(step, extend);
    this.#showCursor();
  }

  /** A line up or down, as the text lies on the screen. */
  moveLine(direction, extend) {
    const head = this.#cursor.head;
    if (!head || !this.range) {
      this.moveCursor(direction, extend);
      return;
    }
    this.palette.close();
    this.#deselect();
    const { first } = this.#places.box(head.start, head.end);
    const found = this.#nextLine(first, direction);
    if (found !== null) this.#cursor.moveTo(found, extend);
    this.#showCursor();
  }

  /** The offset under the middle of the token, a line further; empty lines are stepped over. */
  #nextLine(box, direction) {
    const x = box.left + box.width / 2;
    const step = Math.max(box.height / 2, 4);
    for (let away = 1; away < 60; away += 1) {
      const y = direction > 0 ? box.bottom + away * step : box.top - away * step;
      const offset = this.#places.under(x, y);
      if (offset === null) continue;
      const there = this.#places.box(offset, offset + 1).first;
      if (Math.abs(there.top - box.top) > box.height / 2) return offset;
    }
    return null;
  }

  #showCursor() {
    if (!this.range) return;
    const head = this.#cursor.head;
    this.#places.show(this.range.start, this.range.end);
    const { first } = this.#places.box(head.start, head.end);
    keepInView(byId("scroll"), first);
    this.#panel.say(shorten(this.#quote(this.range)));
  }

  /** The next or previous span; false at the end, where Tab leaves the note. */
  walk(step) {
    const spans = this.#reading.spans();
    if (!spans.length) {
      this.#panel.say(words.noSpans);
      return false;
    }
    const here = spans.findIndex((span) => span.key === this.#selected);
    const offset = this.range?.start ?? this.#cursor.head?.start ?? 0;
    const ahead = spans.findIndex((span) => span.start >= offset);
    let next;
    if (here >= 0) next = here + step;
    else if (step > 0) next = ahead < 0 ? spans.length : ahead;
    else next = (ahead < 0 ? spans.length : ahead) - 1;
    if (next < 0 || next >= spans.length) return false;
    this.selectSpan(spans[next].key);
    return true;
  }

  // ── Labelling ─────────────────────────────────────────────────────────────────────────────────────────────────────

  /** A label was chosen, by key or by click: for the selected text, the selected span, or whatever is selected next. */
  applyLabel(label) {
    if (!this.#open()) return;
    if (this.range) this.create(label);
    else if (this.selected) this.#relabel(label);
    else this.#arm(label === this.#armed ? null : label);
  }

  create(label) {
    const [start, end] = trim(this.#index, this.range.start, this.range.end);
    if (start === end) {
      this.#panel.say(words.onlySpace);
      return;
    }
    const change = this.#reading.create(start, end, label);
    const key = change ? change.key : this.#reading.find({ start, end, label }).key;
    this.#done(change);
    if (this.#armed === null || !change) this.selectSpan(key, { announce: false });
    else this.clearAll(end);
    const name = this.#name(label);
    this.#panel.say(change ? words.labelled(name, this.#quote({ start, end })) : words.there(name));
  }

  #relabel(label) {
    const span = this.selected;
    const change = this.#reading.relabel(span.key, label);
    this.#done(change);
    const name = this.#name(label);
    this.#panel.say(change ? words.relabelled(name, this.#quote(span)) : words.there(name));
  }

  remove() {
    const span = this.selected;
    if (!span || !this.#open()) return false;
    const change = this.#reading.remove(span.key);
    this.clearAll(span.end);
    this.#done(change);
    this.focusNote();
    this.#panel.say(words.deleted(this.#name(span.label), this.#quote(span)));
    return true;
  }

  /** Move one end of the selected span by a token. */
  resize(edge, step) {
    const span = this.selected;
    if (!span || !this.#open()) return false;
    const place = this.#cursor.shift(span, edge, step);
    const change = place && this.#reading.resize(span.key, place.start, place.end);
    if (!change) return true;
    this.#done(change);
    this.#panel.say(words.resized(this.#name(span.label), this.#quote(place)));
    return true;
  }

  undo() {
    if (!this.#open()) return;
    this.#done(this.#reading.undo());
    this.#panel.say(words.undone);
  }

  redo() {
    if (!this.#open()) return;
    this.#done(this.#reading.redo());
    this.#panel.say(words.redone);
  }

  openPalette(focus) {
    if (!this.range || !this.#open()) return;
    this.palette.open(this.#places.box(this.range.start, this.range.end), focus);
  }

  #arm(label) {
    const before = this.#armed;
    this.#armed = label;
    this.#showSelected();
    byId("workbench").classList.toggle("is-armed", label !== null);
    if (label !== null) this.#panel.say(words.armed(this.#name(label)));
    else if (before !== null) this.#panel.say(words.disarmed);
  }

  #open() {
    if (this.#reading.isOpen) return true;
    this.#panel.tell(words.closed);
    return false;
  }

  #done(change) {
    if (!change) return;
    this.redraw();
    this.saving.poke();
  }

  #showSelected() {
    const span = this.selected;
    const quote = span ? this.#index.slice(span.start, span.end) : "";
    this.#panel.selected(span, quote, () => this.remove(), this.#armed);
    this.#panel.marks(span?.label ?? null, this.#armed);
  }

  #quote({ start, end }) {
    return shorten(this.#index.slice(start, end));
  }

  #name(label) {
    return this.#labels.get(label)?.name ?? "?";
  }
}

/** Scroll as little as needed. */
function keepInView(scroller, box) {
  const frame = scroller.getBoundingClientRect();
  const margin = Math.min(64, frame.height / 4);
  if (box.top < frame.top + margin) scroller.scrollTop -= frame.top + margin - box.top;
  else if (box.bottom > frame.bottom - margin) scroller.scrollTop += box.bottom - (frame.bottom - margin);
}
