/**
 * A note under adjudication as the page knows it: the last state from the server, with the unsent changes applied. Pure.
 *
 * @typedef {[number, number, number]} Triple  start, end (code points, end-exclusive), label id
 * @typedef {object} LocationState
 * @property {number} start
 * @property {number} end
 * @property {string} key  the server's hash of this state of the location; an act on another state is refused
 * @property {"open"|"agreed"|"decided"|"changed"} state
 * @property {"all"|"majority"|"split"|"one"} consensus
 * @property {Triple[][]} versions  in the order of the annotators
 * @property {Triple[]|null} majority  null where there is no majority
 * @property {Triple[]|null} outcome  null while undecided
 * @property {string[]} causes
 * @property {{versions: Attributes[], majority: Attributes, outcome: Attributes}} [attributes]  of spans that have some
 * @property {boolean} [same_spans]  whether the annotators differ only in attributes
 *
 * @typedef {Record<string, Record<string, string|true>>} Attributes  a choice or true by name, by "start-end-label"
 */

import { Decisions, around, beside } from "../../editor/deciding/queue.js";

const overlap = (a, b) => a.start < b.end && b.start < a.end;
/** @param {LocationState} location @param {Triple} span */
const overlapping = (location, [start, end]) => location.start < end && start < location.end;
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
const inOrder = (a, b) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2];

export const idOf = ({ start, end }) => `p${start}-${end}`;

export class Adjudication extends Decisions {
  #locations;

  /** @param {ConstructorParameters<typeof Decisions>} given */
  constructor(...given) {
    super(...given);
    this.rebuild();
  }

  /** Whether two annotators have submitted the note. */
  get ready() {
    return this.base.ready;
  }

  get annotators() {
    return this.base.annotators;
  }

  /** Names of annotators who have started or reopened the note and not submitted it. */
  get missing() {
    return this.base.missing;
  }

  /** In reading order. */
  get locations() {
    return this.#locations;
  }

  get(id) {
    return this.#locations.find((location) => idOf(location) === id) ?? null;
  }

  at(offset) {
    return this.#locations.find((location) => location.start <= offset && offset < location.end) ?? null;
  }

  isOpen(location) {
    return location.state === "open" || location.state === "changed" || (location.state === "agreed" && !this.base.passes);
  }

  get open() {
    return this.#locations.filter((location) => this.isOpen(location)).length;
  }

  /** Unanimous locations, which can be accepted in one act. */
  get agreed() {
    return this.#locations.filter(({ state }) => state === "agreed");
  }

  /** The location after (or, with step -1, before) this one; with `open` the next open one, from the end on to the start. */
  after(location, step, { open = false } = {}) {
    const list = this.#locations;
    const from = location ? list.findIndex((other) => idOf(other) === idOf(location)) : -1;
    if (!open) return beside(list, from, step);
    // Disagreements come first: unanimous locations can be accepted in one act.
    const differing = around(list, from, step, (one) => this.isOpen(one) && one.state !== "agreed");
    return differing ?? around(list, from, step, (one) => this.isOpen(one));
  }

  // ── Acts: each returns the queued change, or null where it is impossible or would change nothing. ────────────────────

  majority(location) {
    const spans = location.consensus === "all" ? (location.versions[0] ?? []) : location.majority;
    if (spans === null) return null;
    return this.#decide(location, { act: "majority" }, spans, location.consensus === "all" ? "unanimous" : "majority");
  }

  annotator(location, number) {
    const index = this.annotators.findIndex((annotator) => annotator.number === number);
    if (index < 0) return null;
    return this.#decide(location, { act: "annotator", annotator: number }, location.versions[index], "annotator", number);
  }

  nothing(location) {
    return this.#decide(location, { act: "nothing" }, [], "nothing");
  }

  /** Keep the earlier decision, now based on the changed annotations. */
  keep(location) {
    if (location.state !== "changed") return null;
    return this.#decide(location, { act: "keep" }, location.outcome, location.choice, location.annotator);
  }

  drop(location, [start, end, label]) {
    const left = (location.outcome ?? []).filter((span) => !same(span, [start, end, label]));
    if (left.length === location.outcome?.length) return null;
    return this.#decide(location, { act: "drop", start, end, label }, left, left.length ? "own" : "nothing");
  }

  /** Set an attribute of a decided span; null removes it. @param {LocationState} location @param {Triple} span @param {string|true|null} value */
  attribute(location, span, name, value) {
    if ((this.attributesOf(location, span)[name] ?? null) === value) return null;
    const [start, end, label] = span;
    return this.queue({ act: "attribute", start, end, label, name, value, about: [this.#about(location)] });
  }

  /** The attributes of a decided span. @param {LocationState} location @param {Triple} span */
  attributesOf(location, span) {
    return location.attributes?.outcome[span.join("-")] ?? {};
  }

  /** Add the adjudicator's own span, which replaces the decided spans that it overlaps. */
  own(start, end, label) {
    const parts = this.#locations.filter((location) => overlap(location, { start, end }));
    if (parts.length === 1 && same(parts[0].outcome, [[start, end, label]]) && parts[0].state === "decided") return null;
    return this.queue({ act: "own", start, end, label, about: parts.map((location) => this.#about(location)) });
  }

  /** Accept all unanimous locations at once. */
  unanimous() {
    const locations = this.agreed;
    if (!locations.length) return null;
    return this.queue({ act: "unanimous", about: locations.map((location) => this.#about(location)) });
  }

  /** Add a cause why annotators differ; the same cause again removes it. */
  cause(location, kind) {
    const present = !location.causes.includes(kind);
    return this.queue({ act: "cause", start: location.start, end: location.end, kind, present });
  }

  #decide(location, change, spans, choice, annotator = null) {
    const now = location.state === "decided" && location.choice === choice && location.annotator === annotator && same(location.outcome, spans);
    return now ? null : this.queue({ ...change, about: [this.#about(location)] });
  }

  /** The state of a location that the person saw. After an unsent act of their own, only the server knows its hash. */
  #about(location) {
    return [location.start, location.end, location.touched ? null : location.key];
  }

  /** The body of the request. Call it when the earlier changes are answered. */
  body({ about = [], ...change }) {
    const known = new Map(this.base.locations.map((location) => [idOf(location), location.key]));
    return { ...change, seen: about.map(([start, end, key]) => [start, end, key ?? known.get(idOf({ start, end })) ?? ""]) };
  }

  /** A cause goes to another address, and after an unsent act at the same location only the server knows its hash. */
  joins(change, first) {
    return super.joins(change, first) && ![change.act, first.act].includes("cause") && !change.about.some(([, , key]) => key === null);
  }

  // ── What the server says ──────────────────────────────────────────────────────────────────────────────────────────

  isState(state) {
    return Array.isArray(state.locations);
  }

  /** Whether the annotators who have submitted are others now (`annotationSets`). */
  newsOf(state) {
    return { annotationSets: !same([state.annotators, state.missing], [this.base.annotators, this.base.missing]) };
  }

  keyOf({ about }) {
    return about?.length ? idOf({ start: about[0][0], end: about[0][1] }) : null;
  }

  /** The id of the first location that changed, or null. */
  difference(before) {
    const was = new Map(before.locations.map((location) => [idOf(location), location.key]));
    const found = this.base.locations.find((location) => was.get(idOf(location)) !== location.key);
    return found ? idOf(found) : null;
  }

  /** Apply the unsent changes to the server's state; the effects of undo and redo are unknown until the server answers. */
  rebuild() {
    this.#locations = this.base.locations.map((location) => ({ ...location }));
    for (const change of this.pending) {
      if (change.act === "own") this.#foreseeOwn(change);
      else if (change.act === "cause") this.#foreseeCause(change);
      else for (const [start, end] of change.about ?? []) this.#foresee(change, this.get(idOf({ start, end })));
    }
  }

  #foresee(change, location) {
    if (!location) return;
    const made = {
      majority: () => [location.consensus === "all" ? (location.versions[0] ?? []) : (location.majority ?? []), location.consensus === "all" ? "unanimous" : "majority"],
      unanimous: () => [location.versions[0] ?? [], "unanimous"],
      annotator: () => [location.versions[this.annotators.findIndex(({ number }) => number === change.annotator)] ?? [], "annotator"],
      nothing: () => [[], "nothing"],
      keep: () => [location.outcome ?? [], location.choice],
      attribute: () => [location.outcome ?? [], "own"],
      drop: () => {
        const left = (location.outcome ?? []).filter((span) => !same(span, [change.start, change.end, change.label]));
        return [left, left.length ? "own" : "nothing"];
      },
    }[change.act]?.();
    if (!made) return;
    const [outcome, choice] = made;
    if (!outcome.length && location.versions.every((version) => !version.length)) {
      this.#locations = this.#locations.filter((other) => other !== location); // Nobody marks anything here any more.
      return;
    }
    location.attributes = this.#attributesAfter(change, location);
    Object.assign(location, { outcome, choice, state: "decided", touched: true, by: this.person, at: "" });
    if (change.act !== "keep") location.annotator = change.act === "annotator" ? change.annotator : null;
  }

  #attributesAfter(change, { consensus, outcome, attributes = { versions: [], majority: {}, outcome: {} } }) {
    const of = {
      majority: () => (consensus === "all" ? attributes.versions[0] : attributes.majority),
      unanimous: () => attributes.versions[0],
      annotator: () => attributes.versions[this.annotators.findIndex(({ number }) => number === change.annotator)],
      nothing: () => ({}),
      attribute: () => {
        const key = [change.start, change.end, change.label].join("-");
        const { [change.name]: _old, ...others } = attributes.outcome[key] ?? {};
        return { ...attributes.outcome, [key]: change.value === null ? others : { ...others, [change.name]: change.value } };
      },
    }[change.act];
    return { ...attributes, outcome: (of ? of() : outcome && attributes.outcome) ?? {} };
  }

  #foreseeOwn({ start, end, label }) {
    const span = /** @type {Triple} */ ([start, end, label]);
    const parts = this.#locations.filter((location) => overlapping(location, span));
    const rest = this.#locations.filter((location) => !overlapping(location, span));
    const kept = parts.flatMap((location) => location.outcome ?? []).filter((old) => !(old[0] < end && start < old[1]));
    const whole = {
      start: Math.min(start, ...parts.map((location) => location.start)),
      end: Math.max(end, ...parts.map((location) => location.end)),
      key: "",
      state: "decided",
      consensus: parts.length === 1 ? parts[0].consensus : parts.length ? "split" : "all",
      versions: this.annotators.map((_, index) => parts.flatMap((location) => location.versions[index] ?? [])),
      majority: parts.length === 1 ? parts[0].majority : null,
      outcome: [...kept, span].sort(inOrder),
      choice: "own",
      annotator: null,
      by: this.person,
      at: "",
      causes: [...new Set(parts.flatMap(({ causes }) => causes))],
      attributes: {
        versions: this.annotators.map((_, index) => Object.assign({}, ...parts.map(({ attributes }) => attributes?.versions[index]))),
        majority: {},
        outcome: Object.assign({}, ...parts.map(({ attributes }) => attributes?.outcome)),
      },
      touched: true,
    };
    this.#locations = [...rest, whole].sort((a, b) => a.start - b.start);
  }

  #foreseeCause({ start, end, kind, present }) {
    for (const location of this.#locations.filter((one) => overlap(one, { start, end }))) {
      const others = location.causes.filter((other) => other !== kind);
      location.causes = present ? [...others, kind] : others;
    }
  }
}
