/** What an adjudicator does with the note: choosing, deciding, marking. Paints at once, then lets the outbox send. */

import { byId } from "../editor/dom.js";
import { NoteWork } from "../editor/deciding/work.js";
import { idOf } from "./model.js";
import { words } from "./words.js";

const LOOKS = { open: "is-open-place", agreed: "is-open-place", decided: "is-decided-place", changed: "is-changed-place" };

export class AdjudicationWork extends NoteWork {
  #names; // of what stands on a place in the text, by a number of its own
  why = false; // a cause is being asked for

  constructor({ names, ...parts }) {
    super(parts);
    this.#names = names;
  }

  get place() {
    return this.key === null ? null : this.note.get(this.key);
  }

  /** What the mouse knows of the chosen place. */
  get selected() {
    return this.place && { key: this.key };
  }

  painted() {
    return this.note.places.map((place) => this.#painted(place));
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
      stateWord: words.stateOf(place),
    };
  }

  #chip({ standing, consensus, outcome, versions, majority }) {
    const named = (spans) => [...new Set(spans.map((span) => this.name(span[2])))].join(" + ") || words.chip.nothing;
    if (standing === "decided") return `✓ ${named(outcome)}`;
    if (standing === "changed") return `? ${named(outcome)}`;
    if (consensus === "all") return words.all(named(versions[0] ?? []));
    const votes = (spans) => versions.filter((version) => JSON.stringify(version) === JSON.stringify(spans)).length;
    if (consensus === "one") {
      const only = versions.find((version) => version.length);
      return words.of(1, versions.length, named(only));
    }
    if (consensus !== "majority") return words.chip.split;
    const count = votes(majority);
    return count ? words.of(count, versions.length, named(majority)) : words.mostOf(versions.length, named(majority));
  }

  show() {
    this.panel.show(this.note, this.place, this.range && this.quote(this.range));
  }

  described() {
    const { place } = this;
    return words.described(this.quote(place), place);
  }

  // ── Choosing ──────────────────────────────────────────────────────────────────────────────────────────────────────

  /** The place at or after an offset, where the address named one. */
  selectAt(offset) {
    const place = this.note.places.find(({ end }) => end > offset);
    if (place) this.selectSpan(idOf(place));
    return Boolean(place);
  }

  /** The next or previous place; `open`: the next that is open, going round. */
  walk(step, options) {
    const found = this.note.after(this.place, step, options);
    if (found) this.selectSpan(idOf(found));
    return Boolean(found);
  }

  letGo(offset) {
    this.why = false;
    super.letGo(offset);
  }

  escape() {
    if (this.why) {
      this.why = false;
      this.focusNote();
    } else super.escape();
  }

  // ── Deciding ──────────────────────────────────────────────────────────────────────────────────────────────────────

  majority() {
    const place = this.#toDecide();
    if (!place) return;
    if (place.consensus !== "all" && place.majority === null) {
      this.panel.tell(words.tie);
      return;
    }
    this.#decided(this.note.majority(place), words.said.majority(this.quote(place)));
  }

  reader(number) {
    const place = this.#toDecide();
    const reader = this.note.readers.find((one) => one.number === number);
    if (place && reader) this.#decided(this.note.reader(place, number), words.said.reader(reader.name, this.quote(place)));
  }

  nothing() {
    const place = this.#toDecide();
    if (place) this.#decided(this.note.nothing(place), words.said.nothing(this.quote(place)));
  }

  keep() {
    const place = this.#toDecide();
    if (place) this.#decided(this.note.keep(place), words.said.keep(this.quote(place)));
  }

  /** Take one span out of what is decided; by key, where it is the only one. */
  drop(name) {
    const { place } = this;
    if (!place || this.range || !place.outcome?.length) return false;
    if (!this.#toDecide()) return true;
    const span = name ? name.split("-").map(Number) : place.outcome.length === 1 ? place.outcome[0] : null;
    if (!span) return false;
    const said = words.said.drop(this.name(span[2]), this.quote({ start: span[0], end: span[1] }));
    this.made(this.note.drop(place, span), said);
    return true;
  }

  unanimous() {
    if (!this.isOpen()) return;
    const count = this.note.agreed.length;
    this.#decided(this.note.unanimous(), words.said.unanimous(count));
  }

  cause(kind) {
    this.why = false;
    const { place } = this;
    if (!place || place.consensus === "all") return;
    const change = this.note.cause(place, kind);
    this.made(change, words.said.cause(change.kind));
  }

  /** The next key names the cause. */
  askWhy() {
    if (!this.place || this.place.consensus === "all") return false;
    this.why = true;
    this.panel.say(words.why);
    byId("why").querySelector("button").focus();
    return true;
  }

  #toDecide() {
    if (!this.isOpen()) return null;
    if (!this.place) this.panel.say(words.pick);
    return this.place;
  }

  isOpen() {
    if (this.note.closed) this.panel.tell(words.closedNote);
    else if (!this.note.ready) this.panel.tell(words.notReady);
    else return true;
    return false;
  }

  /** Decided (or as it was): then what is open next. */
  #decided(change, said) {
    this.made(change, said);
    if (!change) return;
    this.onward();
    this.panel.say(said);
  }

  // ── Marking ───────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Select the words of the chosen place, or the first word that the window shows. */
  mark() {
    const { place } = this;
    this.palette.close();
    if (place && !this.range) this.selectText(place.start, place.end);
    else {
      this.letGo(this.firstInSight());
      this.moveCursor(1, false);
    }
    this.panel.say(`${words.marking} ${this.range ? this.quote(this.range) : ""}`);
  }

  /** A label was chosen: for the selected words, else for the one span or the whole stretch of the chosen place. */
  applyLabel(label) {
    if (!this.isOpen()) return;
    const place = this.#wanted();
    if (!place) {
      this.panel.say(words.pick);
      return;
    }
    const trimmed = this.trimmed(place);
    if (!trimmed) {
      this.panel.tell(words.onlySpace);
      return;
    }
    const { start, end } = trimmed;
    this.letGo(end);
    const change = this.note.own(start, end, label);
    const at = this.note.at(start);
    this.key = at ? idOf(at) : this.key;
    this.made(change, words.said.own(this.name(label), this.quote({ start, end })));
    this.focusNote();
  }

  #wanted() {
    if (this.range || !this.place) return this.range;
    const only = this.place.outcome?.length === 1 ? this.place.outcome[0] : null;
    return only ? { start: only[0], end: only[1] } : this.place;
  }
}
