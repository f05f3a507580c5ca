/**
 * The user's actions on a note under review or adjudication: selecting an item, selecting text, deciding. Changes are drawn at
 * once and sent by the outbox. The subclass provides what is drawn in the text (`painted`), what the panel shows (`show`), and the
 * description of the selected item for screen readers (`described`).
 */

import { byId } from "../dom.js";
import { shorten } from "../panel.js";
import { trim } from "../../text/tokens.js";
import { attributeWords, words as editorWords } from "../words.js";
import { words as shared } from "./words.js";

// Scroll if the selection is within this share of the window's height from the top or bottom edge.
const CONTEXT = 0.16;

export class NoteWork {
  note;
  view;
  panel;
  labels;
  index;
  cursor;
  layout;
  key = null; // of the selected item
  armed = null; // always null here, but read by the mouse handler
  saving = null;
  palette = null;
  sheet = null;
  attributes = null; // the list of attributes that F4 opens

  constructor({ note, view, panel, labels, index, cursor, layout }) {
    Object.assign(this, { note, view, panel, labels, index, cursor, layout });
  }

  get range() {
    return this.cursor.range;
  }

  /** Whether the view of the text masks names, which then stand nowhere beside it either. */
  get isMasked() {
    return false;
  }

  focusNote() {
    this.view.root.focus({ preventScroll: true });
  }

  /** Draw the current state of the note. */
  redraw() {
    this.view.draw(this.painted());
    if (!this.selected) this.key = null;
    this.view.select(this.drawn(this.key));
    this.show();
    this.attributes?.refresh();
    this.layout.restore(this.range);
  }

  /** The keys of an item's spans in the view. @param {string|null} key @returns {string[]} */
  drawn(key) {
    return key === null ? [] : [key];
  }

  // ── Selecting an item ─────────────────────────────────────────────────────────────────────────────────────────────

  /** Select an item by key; null clears the selection. */
  selectSpan(key) {
    this.letGo();
    this.key = key;
    this.attributes?.refresh();
    const chosen = this.selected;
    const piece = this.view.select(chosen ? this.drawn(key) : []);
    this.show();
    // In the frame that shows it, when all else has changed, so that the page is laid out once.
    if (piece) requestAnimationFrame(() => piece.isConnected && keepInContext(piece));
    if (chosen) this.panel.say(this.described(chosen));
  }

  /** Clear the selected text and close the palette. */
  letGo(offset = null) {
    this.palette?.close();
    this.cursor.clear(offset);
    this.layout.clear();
  }

  /** Clear the selected text and the selected item. */
  clearAll(offset = null) {
    this.letGo(offset);
    this.key = null;
    this.view.select([]);
    this.show();
  }

  /** Clear the selected text and keep the selected item. */
  dropText() {
    this.letGo();
    this.show();
  }

  /** Leave one level: the palette, then the selected text, the selected item, and last the note. */
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

  /** Draw, announce and send a queued change. `change` is null if nothing changed. */
  made(change, said) {
    this.redraw();
    this.#tell(change, said);
  }

  /** Draw, announce and send a decision, and select the next open item; if there is none, keep the selection. */
  decided(change, said) {
    this.view.draw(this.painted());
    const goesOn = this.walk(1, { open: true });
    if (!goesOn) this.redraw();
    this.#tell(change, said, goesOn ? this.described(this.selected) : "");
  }

  #tell(change, said, next = "") {
    const done = change ? said : shared.asItWas;
    this.panel.say(next ? shared.saidNext(done, next) : done);
    this.panel.offerUndo(change && change.act !== "undo" ? (this.isMasked ? shared.decided : done) : "");
    if (change) this.saving.poke();
  }

  // ── Attributes ────────────────────────────────────────────────────────────────────────────────────────────────────

  /** The gold or decided spans of the selected item, whose attributes can be set. @returns {import("../attribute_list.js").Target[]} */
  attributed() {
    return [];
  }

  /** Open the list of attributes of the selected item. False where nothing is selected. */
  openAttributes() {
    if (this.range || !this.selected) return false;
    if (!this.isOpen()) return true;
    const spans = this.attributed();
    const message = spans.length ? this.attributes.open(this.layout.box(spans[0].start, spans.at(-1).end)) : shared.decideFirst;
    if (message) this.panel.tell(message);
    return true;
  }

  /** Set an attribute of a span (`null` removes it). `change` is the queued change, or null if nothing changed. */
  attributeMade(change, label, attributes) {
    this.made(change, editorWords.attributesNow(this.name(label), attributeWords(attributes)));
  }

  // ── Selecting text ────────────────────────────────────────────────────────────────────────────────────────────────

  /** The offset of the first visible line. */
  firstInSight() {
    const { frame } = windowOfText();
    const line = [...this.view.root.querySelectorAll(".line-text")].find((node) => node.getBoundingClientRect().bottom > frame.top);
    return Number(line?.dataset.start ?? 0);
  }

  moveCursor(step, extend) {
    this.palette.close();
    this.cursor.move(step, extend);
    if (!this.range) return;
    this.layout.show(this.range.start, this.range.end);
    const { start, end } = this.cursor.head;
    keepInContext({ getBoundingClientRect: () => this.layout.box(start, end).first });
    this.show();
    this.panel.say(this.quote(this.range));
  }

  /** Select text from the mouse: characters if `exact`, else whole words. The selected item is kept. */
  selectText(start, end, { exact = false, show = true } = {}) {
    if (!this.cursor.select(start, end, { exact })) return false;
    if (show) this.layout.show(this.range.start, this.range.end);
    this.show();
    return true;
  }

  openPalette(focus) {
    if (!this.range || !this.isOpen()) return;
    this.palette.open(this.layout.box(this.range.start, this.range.end), focus);
  }

  /** Bounds without surrounding white space; null if there is nothing else. */
  trimmed(bounds) {
    const [start, end] = trim(this.index, bounds.start, bounds.end);
    return start < end ? { start, end } : null;
  }

  quote({ start, end }) {
    return shorten(this.index.slice(start, end));
  }

  name(label) {
    return this.labels.get(label)?.name ?? "?";
  }
}

/** The element that scrolls the text, and its window on the screen: in a low window the whole page scrolls. */
function windowOfText() {
  const own = byId("scroll");
  if (getComputedStyle(own).overflowY !== "visible") return { scroller: own, frame: own.getBoundingClientRect() };
  return { scroller: document.documentElement, frame: new DOMRect(0, 0, window.innerWidth, window.innerHeight) };
}

/** Scroll `piece` to the middle if too little text is visible around it. */
function keepInContext(piece) {
  const box = piece.getBoundingClientRect();
  const { scroller, frame } = windowOfText();
  const margin = frame.height * CONTEXT;
  if (box.top >= frame.top + margin && box.bottom <= frame.bottom - margin) return;
  scroller.scrollTop += box.top - frame.top - frame.height / 2;
}
