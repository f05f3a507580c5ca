/** What an adjudicator does with the note: choosing, deciding, marking. Paints at once, then lets the outbox send. */

import { byId } from "../workbench/dom.js";
import { shorten } from "../workbench/panel.js";
import { trim } from "../text/tokens.js";
import { idOf } from "./model.js";
import { words } from "./words.js";

// A place that lies in this middle part of the note's window has its context around it.
const CONTEXT = 0.15;
const LOOKS = { open: "is-open-place", agreed: "is-open-place", decided: "is-decided-place", changed: "is-changed-place" };

export class AdjudicationWork {
  #note;
  #view;
  #panel;
  #labels;
  #index;
  #cursor;
  #places;
  #names; // of what stands on a place in the text, by a number of its own
  #chosen = null; // id of a place
  armed = null; // no label is armed here; the mouse asks
  saving = null;
  palette = null;
  sheet = null;
  why = false; // a cause is being asked for

  constructor({ note, view, panel, labels, index, cursor, places, names }) {
    this.#note = note;
    this.#view = view;
    this.#panel = panel;
    this.#labels = labels;
    this.#index = index;
    this.#cursor = cursor;
    this.#places = places;
    this.#names = names;
  }

  get range() {
    return this.#cursor.range;
  }

  get places() {
    return this.#places;
  }

  get place() {
    return this.#chosen === null ? null : this.#note.get(this.#chosen);
  }

  /** What the mouse knows of the chosen place. */
  get selected() {
    return this.place && { key: this.#chosen };
  }

  focusNote() {
    this.#view.root.focus({ preventScroll: true });
  }

  /** Show the note as it is now. */
  redraw() {
    this.#view.draw(this.#note.places.map((place) => this.#painted(place)));
    if (!this.place) this.#chosen = null;
    this.#view.select(this.#chosen);
    this.#show();
    if (this.range) this.#places.show(this.range.start, this.range.end);
  }

  /** One span for each place: how far all agree is its colour and line, what stands there its chip. */
  #painted(place) {
    const name = this.#chip(place);
    return {
      key: idOf(place),
      start: place.start,
      end: place.end,
      label: this.#names.of(name, place.consensus),
      look: `ad-span is-${place.consensus} ${LOOKS[place.standing]}`,
      stateWord: `${words.consensus[place.consensus]}, ${words.standings[place.standing]}`,
    };
  }

  #chip({ standing, consensus, outcome, versions, majority }) {
    const named = (spans) => [...new Set(spans.map((span) => this.#name(span[2])))].join(" + ") || words.chip.nothing;
    if (standing === "decided") return `✓ ${named(outcome)}`;
    if (standing === "changed") return `? ${named(outcome)}`;
    if (consensus === "all") return words.all(named(versions[0] ?? []));
    const votes = (spans) => versions.filter((version) => JSON.stringify(version) === JSON.stringify(spans)).length;
    if (consensus === "one") {
      const only = versions.find((version) => version.length);
      return words.of(1, versions.length, named(only));
    }
    return consensus === "majority" ? words.of(votes(majority) || "most", versions.length, named(majority)) : words.chip.split;
  }

  #show() {
    this.#panel.show(this.#note, this.place, this.range && this.#quote(this.range));
  }

  // ── Choosing ──────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Choose a place by its id; null lets go. */
  selectSpan(id) {
    this.#letGo();
    this.#chosen = id;
    const { place } = this;
    const piece = this.#view.select(place ? id : null);
    this.#show();
    if (piece) keepInContext(byId("scroll"), piece);
    if (place) {
      this.#panel.say(`${this.#quote(place)}: ${words.consensus[place.consensus]}, ${words.standings[place.standing]}`);
    }
  }

  /** The place at or after an offset, where the address named one. */
  selectAt(offset) {
    const place = this.#note.places.find(({ end }) => end > offset);
    if (place) this.selectSpan(idOf(place));
    return Boolean(place);
  }

  /** The next or previous place; `open`: the next that is open, going round. */
  walk(step, options) {
    const found = this.#note.after(this.place, step, options);
    if (found) this.selectSpan(idOf(found));
    return Boolean(found);
  }

  #onward() {
    if (!this.walk(1, { open: true })) this.redraw();
  }

  #letGo(offset = null) {
    this.why = false;
    this.palette?.close();
    this.#cursor.clear(offset);
    this.#places.clear();
  }

  clearAll(offset = null) {
    this.#letGo(offset);
    this.#chosen = null;
    this.#view.select(null);
    this.#show();
  }

  dropText() {
    this.#letGo();
    this.#show();
  }

  /** One step out: the palette, the selected words, the chosen place, and at last the note. */
  escape() {
    if (this.why) this.why = false;
    else if (this.palette.isOpen) this.palette.close();
    else if (this.range) this.dropText();
    else if (this.#chosen !== null) this.clearAll();
    else byId("side").focus();
  }

  // ── Deciding ──────────────────────────────────────────────────────────────────────────────────────────────────────

  majority() {
    const place = this.#toDecide();
    if (!place) return;
    if (place.consensus !== "all" && place.majority === null) {
      this.#panel.tell(words.tie);
      return;
    }
    this.#made(this.#note.majority(place), words.said.majority(this.#quote(place)));
  }

  reader(number) {
    const place = this.#toDecide();
    const reader = this.#note.readers.find((one) => one.number === number);
    if (place && reader) this.#made(this.#note.reader(place, number), words.said.reader(reader.name, this.#quote(place)));
  }

  nothing() {
    const place = this.#toDecide();
    if (place) this.#made(this.#note.nothing(place), words.said.nothing(this.#quote(place)));
  }

  keep() {
    const place = this.#toDecide();
    if (place) this.#made(this.#note.keep(place), words.said.keep(this.#quote(place)));
  }

  /** Take one span out of what is decided; by key, where it is the only one. */
  drop(name) {
    const { place } = this;
    if (!place || this.range || !place.outcome?.length) return false;
    if (!this.#toDecide()) return true;
    const span = name ? name.split("-").map(Number) : place.outcome.length === 1 ? place.outcome[0] : null;
    if (!span) return false;
    const said = words.said.drop(this.#name(span[2]), this.#quote({ start: span[0], end: span[1] }));
    this.#made(this.#note.drop(place, span), said, { stay: true });
    return true;
  }

  unanimous() {
    if (!this.#isOpen()) return;
    const count = this.#note.agreed.length;
    this.#made(this.#note.unanimous(), words.said.unanimous(count));
  }

  cause(kind) {
    this.why = false;
    const { place } = this;
    if (!place || place.consensus === "all") return;
    const change = this.#note.cause(place, kind);
    this.#made(change, words.said.cause(change.kind), { stay: true });
  }

  /** The next key names the cause. */
  askWhy() {
    if (!this.place || this.place.consensus === "all") return false;
    this.why = true;
    this.#panel.say(words.why);
    byId("why").querySelector("button").focus();
    return true;
  }

  undo() {
    if (this.#isOpen()) this.#made(this.#note.undo(), words.undone, { stay: true });
  }

  redo() {
    if (this.#isOpen()) this.#made(this.#note.redo(), words.redone, { stay: true });
  }

  #toDecide() {
    if (!this.#isOpen()) return null;
    if (!this.place) this.#panel.say(words.pick);
    return this.place;
  }

  #isOpen() {
    if (this.#note.closed) this.#panel.tell(words.closedNote);
    else if (!this.#note.ready) this.#panel.tell(words.notReady);
    else return true;
    return false;
  }

  /** A change was queued (or was none): paint, say so, let it be sent, and go on. */
  #made(change, said, { stay = false } = {}) {
    this.redraw();
    this.#panel.say(change ? said : words.asItWas);
    if (!change) return;
    this.saving.poke();
    if (!stay) this.#onward();
    this.#panel.say(said);
  }

  // ── Marking ───────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Select the words of the chosen place, or the first word that the window shows. */
  mark() {
    const { place } = this;
    this.palette.close();
    if (place && !this.range) this.selectText(place.start, place.end);
    else {
      this.#letGo(this.#firstInSight());
      this.moveCursor(1, false);
    }
    this.#panel.say(`${words.marking} ${this.range ? this.#quote(this.range) : ""}`);
  }

  #firstInSight() {
    const frame = byId("scroll").getBoundingClientRect();
    const line = [...this.#view.root.querySelectorAll(".line-text")].find((node) => node.getBoundingClientRect().bottom > frame.top);
    return Number(line?.dataset.start ?? 0);
  }

  moveCursor(step, extend) {
    this.palette.close();
    this.#cursor.move(step, extend);
    if (!this.range) return;
    this.#places.show(this.range.start, this.range.end);
    const head = this.#cursor.head;
    keepInContext(byId("scroll"), { getBoundingClientRect: () => this.#places.box(head.start, head.end).first });
    this.#show();
    this.#panel.say(this.#quote(this.range));
  }

  /** Text was selected with the mouse. `exact` takes characters, else whole words. */
  selectText(start, end, { exact = false, show = true } = {}) {
    if (!this.#cursor.select(start, end, { exact })) return false;
    if (show) this.#places.show(this.range.start, this.range.end);
    this.#show();
    return true;
  }

  openPalette(focus) {
    if (!this.range || !this.#isOpen()) return;
    this.palette.open(this.#places.box(this.range.start, this.range.end), focus);
  }

  /** A label was chosen: for the selected words, else for the one span or the whole stretch of the chosen place. */
  applyLabel(label) {
    if (!this.#isOpen()) return;
    const place = this.#wanted();
    if (!place) {
      this.#panel.say(words.pick);
      return;
    }
    const [start, end] = trim(this.#index, place.start, place.end);
    if (start >= end) {
      this.#panel.tell(words.onlySpace);
      return;
    }
    this.#letGo(end);
    const change = this.#note.own(start, end, label);
    const at = this.#note.at(start);
    this.#chosen = at ? idOf(at) : this.#chosen;
    this.#made(change, words.said.own(this.#name(label), this.#quote({ start, end })), { stay: true });
    this.focusNote();
  }

  #wanted() {
    if (this.range || !this.place) return this.range;
    const only = this.place.outcome?.length === 1 ? this.place.outcome[0] : null;
    return only ? { start: only[0], end: only[1] } : this.place;
  }

  #quote({ start, end }) {
    return shorten(this.#index.slice(start, end));
  }

  #name(label) {
    return this.#labels.get(label)?.name ?? "?";
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
