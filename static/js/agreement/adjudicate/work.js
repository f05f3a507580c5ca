/** The acts of an adjudicator: select, decide, mark. The page shows each act at once, and then sends it. */

import { byId } from "../../editor/dom.js";
import { NoteWork } from "../../editor/deciding/work.js";
import { idOf } from "./model.js";
import { words } from "./words.js";

// The color and underline of a location in the text, by the consensus of the annotators.
const STYLES = { all: { hue: 4, underline: 0 }, majority: { hue: 7, underline: 1 }, split: { hue: 0, underline: 5 }, one: { hue: 2, underline: 3 } };
const UNKNOWN = { hue: 0, underline: 0 };
// Between the id of a location and the number of its decided span.
const PART = "/";
const keyOf = (id, at) => `${id}${PART}${at}`;
const decidedSpans = ({ state, outcome }) => (state === "decided" ? (outcome ?? []) : []);
const LOOKS = { open: "is-open-location", agreed: "is-open-location", decided: "is-decided-location", changed: "is-changed-location" };

export class AdjudicationWork extends NoteWork {
  #names; // the chips of locations in the text
  why = false; // whether the next key adds or removes a cause

  /** @param {ConstructorParameters<typeof NoteWork>[0] & {names: import("./names.js").Names}} parts */
  constructor({ names, ...parts }) {
    super(parts);
    this.#names = names;
  }

  get location() {
    return this.key === null ? null : this.note.get(this.key);
  }

  /** The selected location, as the mouse needs it. */
  get selected() {
    return this.location && { key: this.drawn(this.key)[0] };
  }

  painted() {
    const spans = this.note.locations.flatMap((location) => (decidedSpans(location).length ? this.#decided(location) : [this.#painted(location)]));
    return spans.sort((a, b) => a.start - b.start || b.end - a.end);
  }

  /** A location is one span of the view, or each of its decided spans is one. */
  drawn(id) {
    const location = id === null ? null : this.note.get(id);
    return location && decidedSpans(location).length ? decidedSpans(location).map((_, at) => keyOf(id, at)) : super.drawn(id);
  }

  selectSpan(key) {
    super.selectSpan(key === null ? null : key.split(PART)[0]);
  }

  /** The decided spans of a location as spans of the view, with their own bounds, labels and colors. */
  #decided(location) {
    return decidedSpans(location).map(([start, end, id], at) => ({
      key: keyOf(idOf(location), at),
      start,
      end,
      label: this.#names.of(`✓ ${this.name(id)}`, this.labels.get(id) ?? UNKNOWN),
      look: "is-decided-location",
      stateWord: words.states.decided,
      attributes: this.note.attributesOf(location, [start, end, id]),
    }));
  }

  /** A location as a span of the view: the consensus sets color and underline, the versions or the decision its chip. */
  #painted(location) {
    const name = this.#chip(location);
    return {
      key: idOf(location),
      start: location.start,
      end: location.end,
      label: this.#names.of(name, STYLES[location.consensus]),
      look: `ad-span is-${location.consensus} ${LOOKS[location.state]}`,
      stateWord: words.stateOf(location),
    };
  }

  #chip({ state, consensus, outcome, versions, majority }) {
    const named = (spans) => [...new Set(spans.map((span) => this.name(span[2])))].join(" + ") || words.chip.nothing;
    if (state === "decided") return `✓ ${words.chip.nothing}`; // decided spans have chips of their own
    if (state === "changed") return `? ${named(outcome)}`;
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
    this.panel.show(this.note, this.location, this.range && this.quote(this.range));
  }

  described() {
    const { location } = this;
    return words.described(this.quote(location), location);
  }

  // ── Choosing ──────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Select the first location that ends after an offset; false if there is none. */
  selectAt(offset) {
    const location = this.note.locations.find(({ end }) => end > offset);
    if (location) this.selectSpan(idOf(location));
    return Boolean(location);
  }

  /** Select the next or previous location; `open`: the next open one. False if there is none. */
  walk(step, options) {
    const found = this.note.after(this.location, step, options);
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
    const location = this.#toDecide();
    if (!location) return;
    if (location.consensus !== "all" && location.majority === null) {
      this.panel.tell(words.tie);
      return;
    }
    this.#deciding(this.note.majority(location), words.said.majority(this.quote(location)));
  }

  annotator(number) {
    const location = this.#toDecide();
    const annotator = this.note.annotators.find((one) => one.number === number);
    if (location && annotator) this.#deciding(this.note.annotator(location, number), words.said.annotator(annotator.name, this.quote(location)));
  }

  nothing() {
    const location = this.#toDecide();
    if (location) this.#deciding(this.note.nothing(location), words.said.nothing(this.quote(location)));
  }

  keep() {
    const location = this.#toDecide();
    if (location) this.#deciding(this.note.keep(location), words.said.keep(this.quote(location)));
  }

  /** Remove one of the decided spans; without a name the only one. */
  drop(name) {
    const { location } = this;
    if (!location || this.range || !location.outcome?.length) return false;
    if (!this.#toDecide()) return true;
    const span = name ? name.split("-").map(Number) : location.outcome.length === 1 ? location.outcome[0] : null;
    if (!span) return false;
    const said = words.said.drop(this.name(span[2]), this.quote({ start: span[0], end: span[1] }));
    this.made(this.note.drop(location, span), said);
    return true;
  }

  /** The decided spans of the selected location. */
  attributed() {
    const { location } = this;
    return (location ? decidedSpans(location) : []).map((span) => {
      const [start, end, label] = span;
      return { key: span.join("-"), start, end, label, attributes: this.note.attributesOf(location, span) };
    });
  }

  setAttribute({ start, end, label }, name, value) {
    const change = this.note.attribute(this.location, [start, end, label], name, value);
    this.attributeMade(change, label, this.note.attributesOf(this.location, [start, end, label]));
  }

  unanimous() {
    if (!this.isOpen()) return;
    const count = this.note.agreed.length;
    this.#deciding(this.note.unanimous(), words.said.unanimous(count));
  }

  cause(kind) {
    this.why = false;
    const { location } = this;
    if (!location || location.consensus === "all") return;
    const change = this.note.cause(location, kind);
    this.made(change, words.said.cause(change));
  }

  /** Let the next key add or remove a cause. */
  askWhy() {
    if (!this.location || this.location.consensus === "all") return false;
    this.why = true;
    this.panel.say(words.why);
    byId("why").querySelector("button").focus();
    return true;
  }

  #toDecide() {
    if (!this.isOpen()) return null;
    if (!this.location) this.panel.say(words.pick);
    return this.location;
  }

  isOpen() {
    if (this.note.finished) this.panel.tell(words.finishedNote);
    else if (!this.note.ready) this.panel.tell(words.notReady);
    else return true;
    return false;
  }

  #deciding(change, said) {
    if (change) this.decided(change, said);
    else this.made(change, said);
  }

  // ── Marking ───────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Select the text of the selected location, or the first word in the window. */
  mark() {
    const { location } = this;
    this.palette.close();
    if (location && !this.range) this.selectText(location.start, location.end);
    else {
      this.letGo(this.firstInSight());
      this.moveCursor(1, false);
    }
    this.panel.say(`${words.marking} ${this.range ? this.quote(this.range) : ""}`);
  }

  /** Apply a label to the selected text, else to the only decided span or the whole text of the selected location. */
  applyLabel(label) {
    if (!this.isOpen()) return;
    const location = this.#wanted();
    if (!location) {
      this.panel.say(words.pick);
      return;
    }
    const trimmed = this.trimmed(location);
    if (!trimmed) {
      this.panel.tell(words.onlySpace);
      return;
    }
    const { start, end } = trimmed;
    this.palette.used(label);
    this.letGo(end);
    const change = this.note.own(start, end, label);
    const joined = this.note.at(start);
    this.key = joined ? idOf(joined) : this.key;
    this.made(change, words.said.own(this.name(label), this.quote({ start, end })));
    this.focusNote();
  }

  #wanted() {
    if (this.range || !this.location) return this.range;
    const only = this.location.outcome?.length === 1 ? this.location.outcome[0] : null;
    return only ? { start: only[0], end: only[1] } : this.location;
  }
}
