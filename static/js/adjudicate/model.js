/**
 * A note under adjudication as the page knows it: what the server said last, and on top of it what waits to be sent. Pure.
 *
 * @typedef {[number, number, number]} Triple  start, end (code points, end-exclusive), label id
 * @typedef {object} PlaceState
 * @property {number} start
 * @property {number} end
 * @property {string} key  what the server calls this state of the place; an act on another state is refused
 * @property {"open"|"agreed"|"decided"|"changed"} standing
 * @property {"all"|"majority"|"split"|"one"} consensus
 * @property {Triple[][]} versions  in the order of the readers
 * @property {Triple[]|null} majority  null where a part has none
 * @property {Triple[]|null} outcome  null while nothing is decided
 */

import { Decisions, around, beside } from "../editor/deciding/queue.js";

const overlap = (a, b) => a.start < b.end && b.start < a.end;
const overlapping = (place, [start, end]) => place.start < end && start < place.end;
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
const inOrder = (a, b) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2];

export const idOf = ({ start, end }) => `p${start}-${end}`;

export class Adjudication extends Decisions {
  #places;

  constructor(...given) {
    super(...given);
    this.rebuild();
  }

  /** Whether two annotators have submitted the note. */
  get ready() {
    return this.base.ready;
  }

  get readers() {
    return this.base.readers;
  }

  /** Names of annotators who have begun or reopened the note and not handed it in. */
  get missing() {
    return this.base.missing;
  }

  /** In reading order. */
  get places() {
    return this.#places;
  }

  get(id) {
    return this.#places.find((place) => idOf(place) === id) ?? null;
  }

  at(offset) {
    return this.#places.find((place) => place.start <= offset && offset < place.end) ?? null;
  }

  isOpen(place) {
    return place.standing === "open" || place.standing === "changed" || (place.standing === "agreed" && !this.base.passes);
  }

  get open() {
    return this.#places.filter((place) => this.isOpen(place)).length;
  }

  /** Places where all say the same, which can be accepted in one act. */
  get agreed() {
    return this.#places.filter(({ standing }) => standing === "agreed");
  }

  /** The place after (or, with step -1, before) this one; the next open one, going round, when `open` is set. */
  after(place, step, { open = false } = {}) {
    const list = this.#places;
    const from = place ? list.findIndex((other) => idOf(other) === idOf(place)) : -1;
    if (!open) return beside(list, from, step);
    // Where annotators differ first; what all say alike is one act for all.
    const differing = around(list, from, step, (one) => this.isOpen(one) && one.standing !== "agreed");
    return differing ?? around(list, from, step, (one) => this.isOpen(one));
  }

  // ── Acts: each returns the change that was queued, or null where it would change nothing or can't be. ────────────────

  majority(place) {
    const spans = place.consensus === "all" ? (place.versions[0] ?? []) : place.majority;
    if (spans === null) return null;
    return this.#decide(place, { act: "majority" }, spans, place.consensus === "all" ? "unanimous" : "majority");
  }

  reader(place, number) {
    const at = this.readers.findIndex((reader) => reader.number === number);
    if (at < 0) return null;
    return this.#decide(place, { act: "reader", reader: number }, place.versions[at], "reader", number);
  }

  nothing(place) {
    return this.#decide(place, { act: "nothing" }, [], "nothing");
  }

  /** Let what was decided earlier stand, on the readings as they are now. */
  keep(place) {
    if (place.standing !== "changed") return null;
    return this.#decide(place, { act: "keep" }, place.outcome, place.choice, place.reader);
  }

  drop(place, [start, end, label]) {
    const left = (place.outcome ?? []).filter((span) => !same(span, [start, end, label]));
    if (left.length === place.outcome?.length) return null;
    return this.#decide(place, { act: "drop", start, end, label }, left, left.length ? "own" : "nothing");
  }

  /** The adjudicator's own span; it takes the place of what it overlaps of the outcome. */
  own(start, end, label) {
    const parts = this.#places.filter((place) => overlap(place, { start, end }));
    if (parts.length === 1 && same(parts[0].outcome, [[start, end, label]]) && parts[0].standing === "decided") return null;
    return this.queue({ act: "own", start, end, label, about: parts.map((place) => this.#about(place)) });
  }

  /** Accept at once what all say alike. */
  unanimous() {
    const places = this.agreed;
    if (!places.length) return null;
    return this.queue({ act: "unanimous", about: places.map((place) => this.#about(place)) });
  }

  /** Why annotators differ; the same again takes it back. */
  cause(place, kind) {
    const wanted = place.cause === kind ? "" : kind;
    return this.queue({ act: "cause", start: place.start, end: place.end, kind: wanted });
  }

  #decide(place, change, spans, choice, reader = null) {
    const now = place.standing === "decided" && place.choice === choice && place.reader === reader && same(place.outcome, spans);
    return now ? null : this.queue({ ...change, about: [this.#about(place)] });
  }

  /** What the person saw of a place; of one that an own act under way has changed, only the server can name the state. */
  #about(place) {
    return [place.start, place.end, place.touched ? null : place.key];
  }

  /** The change as it is sent. Called when its turn comes: by then the server has answered what came before it. */
  body({ about = [], ...change }) {
    const known = new Map(this.base.places.map((place) => [idOf(place), place.key]));
    return { ...change, seen: about.map(([start, end, key]) => [start, end, key ?? known.get(idOf({ start, end })) ?? ""]) };
  }

  // ── What the server says ──────────────────────────────────────────────────────────────────────────────────────────

  isState(state) {
    return Array.isArray(state.places);
  }

  /** Whether annotators came or went (`readings`). */
  newsOf(state) {
    return { readings: !same([state.readers, state.missing], [this.base.readers, this.base.missing]) };
  }

  /** The first place that is not as it was. */
  difference(before) {
    const was = new Map(before.places.map((place) => [idOf(place), place.key]));
    const found = this.base.places.find((place) => was.get(idOf(place)) !== place.key);
    return found ? idOf(found) : null;
  }

  /** The server's state with every waiting change made, as far as it can be foreseen (undo and redo can't). */
  rebuild() {
    this.#places = this.base.places.map((place) => ({ ...place }));
    for (const change of this.pending) {
      if (change.act === "own") this.#foreseeOwn(change);
      else if (change.act === "cause") this.#foreseeCause(change);
      else for (const [start, end] of change.about ?? []) this.#foresee(change, this.get(idOf({ start, end })));
    }
  }

  #foresee(change, place) {
    if (!place) return;
    const made = {
      majority: () => [place.consensus === "all" ? (place.versions[0] ?? []) : (place.majority ?? []), place.consensus === "all" ? "unanimous" : "majority"],
      unanimous: () => [place.versions[0] ?? [], "unanimous"],
      reader: () => [place.versions[this.readers.findIndex(({ number }) => number === change.reader)] ?? [], "reader"],
      nothing: () => [[], "nothing"],
      keep: () => [place.outcome ?? [], place.choice],
      drop: () => {
        const left = (place.outcome ?? []).filter((span) => !same(span, [change.start, change.end, change.label]));
        return [left, left.length ? "own" : "nothing"];
      },
    }[change.act]?.();
    if (!made) return;
    const [outcome, choice] = made;
    if (!outcome.length && place.versions.every((version) => !version.length)) {
      this.#places = this.#places.filter((other) => other !== place); // nobody marks anything here any more
      return;
    }
    Object.assign(place, { outcome, choice, standing: "decided", touched: true, by: this.person, at: "" });
    if (change.act !== "keep") place.reader = change.act === "reader" ? change.reader : null;
  }

  #foreseeOwn({ start, end, label }) {
    const span = [start, end, label];
    const parts = this.#places.filter((place) => overlapping(place, span));
    const rest = this.#places.filter((place) => !overlapping(place, span));
    const kept = parts.flatMap((place) => place.outcome ?? []).filter((old) => !(old[0] < end && start < old[1]));
    const whole = {
      start: Math.min(start, ...parts.map((place) => place.start)),
      end: Math.max(end, ...parts.map((place) => place.end)),
      key: "",
      standing: "decided",
      consensus: parts.length === 1 ? parts[0].consensus : parts.length ? "split" : "all",
      versions: this.readers.map((_, at) => parts.flatMap((place) => place.versions[at] ?? [])),
      majority: parts.length === 1 ? parts[0].majority : null,
      outcome: [...kept, span].sort(inOrder),
      choice: "own",
      reader: null,
      by: this.person,
      at: "",
      cause: parts.map(({ cause }) => cause).find(Boolean) ?? "",
      touched: true,
    };
    this.#places = [...rest, whole].sort((a, b) => a.start - b.start);
  }

  #foreseeCause({ start, end, kind }) {
    for (const place of this.#places) if (overlap(place, { start, end })) place.cause = kind;
  }
}
