/**
 * A review as the page knows it: the last state from the server, plus the changes that wait to be sent. Pure.
 *
 * A suggestion is `{id, start, end, label, confidence, source, state, bounds, by, at}`. `state` is open, accepted or rejected; `bounds` is
 * the gold span `[start, end, label]` of an accepted one. Offsets are code points, end-exclusive.
 * A suggestion of a merged list also has `runs` (`{run, confidence, source}` of each run that suggests it), `of` (the number of runs
 * merged) and `conflicting` (ids of conflicting suggestions; accepting one rejects the open ones among them).
 * A suggestion of a refiner has `refined` (`{action, start, end, label, code, reason}`: what it did, and the annotation before).
 * What a refiner proposes to remove is listed among the suggestions with `removal` true, and its negative number as `id`. Rejecting it keeps
 * the annotation: then `bounds` is its gold span. Accepting it leaves the annotation out of gold.
 * A revealed planted leak has its outcome in `planted`: found, partly, missed or elsewhere.
 * A state with `part`, `[start, end]`, has only the suggestions and gold spans that overlap this stretch of the text.
 *
 * A suggestion is never changed but replaced, so that what was drawn and sorted for the others stays.
 */

import { Decisions, around } from "../editor/deciding/queue.js";
import { NOTHING, narrows, ordered, passes } from "./filter.js";

const same = (a, b) => a.start === b.start && a.end === b.end && a.label === b.label;
const bare = ({ start, end, label }) => ({ start, end, label });
const overlap = (a, b) => a.start < b.end && b.start < a.end;
const keyOf = ({ start, end, label }) => `g${start}-${end}-${label}`;
const LOOKS = { open: "is-suggestion", accepted: "is-accepted", rejected: "is-rejected" };
const REMOVAL_LOOKS = { open: "is-suggestion is-removal", accepted: "is-rejected", rejected: "is-accepted" };

const inOrder = (a, b) => a.start - b.start || a.end - b.end || (a.id ?? 0) - (b.id ?? 0);
/** These items, of which those that overlap the stretch are replaced. */
const replaced = (items, fresh, [start, end]) => [...items.filter((one) => !overlap(one, { start, end })), ...fresh];

/** The suggestions and proposed removals of a state, as one list. */
const listOf = ({ suggestions, removals = [] }) => [
  ...suggestions,
  ...removals.map(({ number, ...removal }) => ({ ...removal, id: -number, removal: true, confidence: null, source: "" })),
];

/** Whether an identifier is there, as far as decided: not a rejected suggestion, and no proposed removal unless it was rejected. */
export const stands = (one) => (one.removal ? one.bounds !== null : one.state !== "rejected");

/** How the page shows the state of a suggestion: a proposed removal that was rejected is in gold. */
export const lookOf = (one) => (one.removal ? REMOVAL_LOOKS : LOOKS)[one.state];

/** The bounds and label of a suggestion: in gold if it is accepted, else as suggested. */
export function boundsOf(suggestion) {
  if (!suggestion.bounds) return bare(suggestion);
  const [start, end, label] = suggestion.bounds;
  return { start, end, label };
}

/** The state that the page shows, by which the server detects decisions that others made meanwhile. */
export function seenOf(suggestion) {
  return [suggestion.state, ...(suggestion.bounds ?? [])];
}

/** Suggestions by id in text order, gold spans by key, and how many suggestions have the gold span of a key as bounds. */
class Shown {
  constructor(suggestions, gold, held) {
    this.byId = suggestions;
    this.gold = gold;
    this.held = held;
  }

  static of(state) {
    const suggestions = listOf(state).sort(inOrder);
    const shown = new Shown(new Map(suggestions.map((one) => [one.id, one])), new Map(state.gold.map((span) => [keyOf(span), span])), new Map());
    for (const one of suggestions) if (one.bounds) shown.hold(keyOf(boundsOf(one)), 1);
    return shown;
  }

  copy() {
    return new Shown(new Map(this.byId), new Map(this.gold), new Map(this.held));
  }

  hold(key, step) {
    this.held.set(key, (this.held.get(key) ?? 0) + step);
  }

  /** Remove a gold span, unless a suggestion has its bounds. */
  leave(key) {
    if (!this.held.get(key)) this.gold.delete(key);
  }

  set(id, fields) {
    this.byId.set(id, { ...this.byId.get(id), ...fields });
  }
}

export class Review extends Decisions {
  #known = { of: null, shown: null, exact: new Map() }; // of the server's state `of`; `exact`: suggestions by the key of the suggested bounds
  #shown;
  #isPlain = false; // whether `shown` has only decisions that settled nothing else
  #list; // the shown suggestions
  #open = null; // the open ones; null until they are asked for, as are the others
  #others = null;
  #sorted = { of: null, order: "", ids: [] };
  #listed = { of: null, filter: null, order: "", list: [] };
  #painted = { of: [], others: null, spans: [] }; // what was drawn last: of these suggestions and others
  #drawn = new WeakMap(); // suggestion -> [its gold span, the span to draw]
  filter = NOTHING;
  order = "note";
  /** The data for filters and orders: quote(suggestion), rates (see filter.js), and the positions of the labels. */
  facts = { quote: () => "", rates: new Map(), positions: new Map() };

  /** @param {ConstructorParameters<typeof Decisions>} given */
  constructor(...given) {
    super(...given);
    this.rebuild();
  }

  /** first review, second review, resolving (differences), waiting (for another person), or finished. */
  get stage() {
    return this.base.stage ?? (this.finished ? "finished" : "first");
  }

  /** During a second review: `{first, blind, outcome}`, with the first reviewer's outcome if it may be seen; else null. */
  get between() {
    return this.base.between ?? null;
  }

  /** Whether the gold spans here are only in the draft of an open review, which is not gold yet. */
  get goldIsDraft() {
    return this.base.gold_is_draft === true;
  }

  /** The first reviewer's decision on a suggestion: `{state, bounds}`; null if it is not known. */
  firstOf({ id, removal }) {
    const outcome = this.between?.outcome;
    const decided = removal ? outcome?.removals?.[-id] : outcome?.suggestions[id];
    return decided === undefined ? null : { state: Boolean(decided) === Boolean(removal) ? "rejected" : "accepted", bounds: decided };
  }

  /** Added spans that only the first reviewer (`theirs`) or only this person (`own`) has in gold. */
  addedByOne() {
    const outcome = this.between?.outcome;
    if (!outcome) return { theirs: [], own: [] };
    const theirs = outcome.others.map(([start, end, label]) => ({ start, end, label }));
    const own = this.others().filter((span) => !theirs.some((one) => same(one, span)));
    return { theirs: theirs.filter((span) => !this.goldAt(span)), own: own.map((span) => ({ key: keyOf(span), ...bare(span) })) };
  }

  get #left() {
    this.#open ??= this.#list.filter(({ state }) => state === "open");
    return this.#open;
  }

  get open() {
    return this.#left.length;
  }

  /** All suggestions and proposed removals in text order; the same array until something changes. */
  suggestions() {
    return this.#list;
  }

  /** The open suggestions that finishing may accept together: all except planted leaks. */
  rest() {
    return this.#left.filter(({ planted, removal }) => !planted && !removal);
  }

  /** The open proposed removals, which finishing may accept together if the person allows it. */
  restRemovals() {
    return this.#left.filter(({ removal }) => removal);
  }

  /** Whether a planted leak waits for a decision of its own. */
  get plantedOpen() {
    return this.#left.some(({ planted }) => planted);
  }

  /** The bounds of suggestions and rejected removals that gold has. */
  inGold() {
    return this.suggestions().filter(({ bounds }) => bounds).map(boundsOf);
  }

  /** The numbers of undecided planted leaks by outcome, and of found ones. */
  plantedCounts() {
    const count = (wanted, state) => this.suggestions().filter((one) => one.planted === wanted && (!state || one.state === state)).length;
    return { missed: count("missed", "open"), partly: count("partly", "open") + count("elsewhere", "open"), found: count("found") };
  }

  get(id) {
    return this.#shown.byId.get(id) ?? null;
  }

  /** Gold spans without an accepted suggestion: added by a person, or in gold before. In text order. */
  others() {
    const { gold, held } = this.#shown;
    this.#others ??= [...gold].flatMap(([key, span]) => (held.get(key) ? [] : [span])).sort(inOrder);
    return this.#others;
  }

  /** The gold span with these bounds and label, with its provenance; null if there is none. */
  goldAt(bounds) {
    return this.#shown.gold.get(keyOf(bounds)) ?? null;
  }

  /** The spans to draw in the note: suggestions with their state, and the other gold spans. */
  spans(stateWords) {
    const { of, others, spans } = this.#painted;
    const added = this.others();
    let fresh;
    if (added === others) {
      const changed = new Map(this.#list.filter((one, at) => one !== of[at]).map((one) => [`p${one.id}`, this.#span(one, stateWords)]));
      fresh = spans.map((span) => changed.get(span.key) ?? span);
    } else {
      const look = { look: LOOKS.accepted, stateWord: stateWords.added };
      const rest = added.map((span) => ({ key: keyOf(span), ...bare(span), attributes: span.attributes, ...look }));
      fresh = [...this.#list.map((one) => this.#span(one, stateWords)), ...rest];
    }
    fresh.sort((a, b) => a.start - b.start || b.end - a.end || a.label - b.label);
    this.#painted = { of: this.#list, others: added, spans: fresh };
    return fresh;
  }

  #span(suggestion, stateWords) {
    const gold = suggestion.bounds && this.goldAt(boundsOf(suggestion));
    const drawn = this.#drawn.get(suggestion);
    if (drawn && drawn[0] === gold) return drawn[1];
    const span = {
      key: `p${suggestion.id}`,
      ...boundsOf(suggestion),
      attributes: gold?.attributes ?? suggestion.attributes,
      look: lookOf(suggestion),
      stateWord: (suggestion.removal ? stateWords.removal : stateWords)[suggestion.state],
    };
    this.#drawn.set(suggestion, [gold, span]);
    return span;
  }

  /** The item with a key of `spans`: `{key, suggestion}` or `{key, other}`; null if it no longer exists. */
  find(key) {
    if (key === null) return null;
    if (key.startsWith("p")) {
      const suggestion = this.get(Number(key.slice(1)));
      return suggestion && { key, suggestion };
    }
    const other = this.#shown.held.get(key) ? null : this.#shown.gold.get(key);
    return other ? { key, other } : null;
  }

  /** The suggestions that pass the filter, in the chosen order; the same array until something changes. */
  listed() {
    const { filter, order } = this;
    if (this.#listed.of !== this.#list || this.#listed.filter !== filter || this.#listed.order !== order) {
      const list = narrows(filter) ? this.#inOrder().filter((suggestion) => this.#passes(suggestion)) : this.#inOrder();
      this.#listed = { of: this.#list, filter, order, list };
    }
    return this.#listed.list;
  }

  #inOrder() {
    if (this.order === "note") return this.#list;
    if (this.#sorted.of !== this.base || this.#sorted.order !== this.order) {
      this.#sorted = { of: this.base, order: this.order, ids: ordered(this.#list, this.order, this.facts).map(({ id }) => id) };
    }
    return this.#sorted.ids.map((id) => this.get(id));
  }

  #passes(suggestion) {
    return passes(suggestion, this.filter, this.facts.quote);
  }

  /**
   * The listed suggestion after this one (before it with step -1). With `open`, the next open one, going round.
   * The current suggestion keeps its position in the order even if it no longer passes the filter.
   */
  after(id, step, { open = false } = {}) {
    const list = this.#inOrder();
    const from = list.findIndex((suggestion) => suggestion.id === id);
    if (open) return around(list, from, step, (suggestion) => suggestion.state === "open" && this.#passes(suggestion));
    for (let at = from < 0 && step < 0 ? list.length - 1 : from + step; at >= 0 && at < list.length; at += step) {
      if (this.#passes(list[at])) return list[at];
    }
    return null;
  }

  /** The last suggestions that this person decided in the note, newest first. */
  recent(most = Infinity) {
    const at = (suggestion) => suggestion.at ?? "~"; // changes that still wait to be sent are the newest
    const newest = [];
    for (const one of this.#list) {
      if (one.by !== this.person || one.state === "open" || (newest.length === most && at(one) <= at(newest[most - 1]))) continue;
      const place = newest.findIndex((other) => at(other) < at(one));
      newest.splice(place < 0 ? newest.length : place, 0, one);
      newest.length = Math.min(newest.length, most);
    }
    return newest;
  }

  // ── Acts: each returns the queued change, or null if nothing would change ─────────────────────────────────────────

  accept(id) {
    const suggestion = this.get(id);
    if (!suggestion || (suggestion.state === "accepted" && same(boundsOf(suggestion), suggestion))) return null;
    return this.queue({ act: "accept", ...this.#named(suggestion), seen: seenOf(suggestion) });
  }

  reject(id) {
    const suggestion = this.get(id);
    if (!suggestion || (suggestion.state === "rejected" && same(boundsOf(suggestion), suggestion))) return null;
    return this.queue({ act: "reject", ...this.#named(suggestion), seen: seenOf(suggestion) });
  }

  /** Take into gold with other bounds or another label. */
  correct(id, bounds) {
    const suggestion = this.get(id);
    if (!suggestion || (suggestion.bounds && same(boundsOf(suggestion), bounds))) return null;
    if (same(suggestion, bounds)) return suggestion.removal ? this.reject(id) : this.accept(id);
    return this.queue({ act: "correct", ...this.#named(suggestion), seen: seenOf(suggestion), ...bare(bounds) });
  }

  /** The field by which a change names a suggestion or a proposed removal. */
  #named({ id, removal }) {
    return removal ? { removal: -id } : { suggestion: id };
  }

  add(start, end, label) {
    if (this.goldAt({ start, end, label })) return null;
    return this.queue({ act: "add", start, end, label });
  }

  remove(span) {
    return this.queue({ act: "remove", ...bare(span) });
  }

  /** Set an attribute of a gold span; null removes it. @param {string|true|null} value */
  attribute(span, name, value) {
    const gold = this.goldAt(span);
    if (!gold || (gold.attributes?.[name] ?? null) === value) return null;
    return this.queue({ act: "attribute", ...bare(span), name, value });
  }

  /** The conflicting suggestions of a suggestion in a merged list. */
  conflicting(suggestion) {
    return (suggestion.conflicting ?? []).map((id) => this.get(id)).filter(Boolean);
  }

  /** Reject the open conflicting suggestions that overlap the accepted one and are not in gold. */
  #rejectConflicting(accepted) {
    const { byId, gold } = this.#shown;
    for (const other of (accepted.conflicting ?? []).map((id) => byId.get(id))) {
      if (other?.state !== "open" || !overlap(other, boundsOf(accepted)) || gold.has(keyOf(other))) continue;
      this.#shown.set(other.id, { state: "rejected", by: this.person, at: null });
    }
  }

  // ── State from the server ─────────────────────────────────────────────────────────────────────────────────────────

  isState(state) {
    return Array.isArray(state.suggestions);
  }

  merged(state) {
    if (!state.part) return state;
    const { suggestions, gold } = this.base;
    return { ...this.base, ...state, suggestions: replaced(suggestions, state.suggestions, state.part), gold: replaced(gold, state.gold, state.part) };
  }

  keyOf({ suggestion, removal }) {
    return suggestion ? `p${suggestion}` : removal ? `p${-removal}` : null;
  }

  /** The key of the first suggestion or gold span that has changed. */
  difference(before) {
    const was = new Map(listOf(before).map((suggestion) => [suggestion.id, String(seenOf(suggestion))]));
    const changed = listOf(this.base).find((suggestion) => was.get(suggestion.id) !== String(seenOf(suggestion)));
    if (changed) return `p${changed.id}`;
    const there = new Map(before.gold.map((span) => [keyOf(span), JSON.stringify(span.attributes)]));
    const come = this.base.gold.find((span) => there.get(keyOf(span)) !== JSON.stringify(span.attributes) || !there.has(keyOf(span)));
    if (!come) return null;
    const suggestion = this.base.suggestions.find((one) => one.state === "accepted" && same(boundsOf(one), come));
    return suggestion ? `p${suggestion.id}` : keyOf(come);
  }

  /**
   * Apply every waiting change to the server's state, except undo and redo, whose effect is not known here. A decision that was just `queued`
   * is applied to what is shown, unless a change has settled other suggestions, which it may open again.
   */
  rebuild(queued = null) {
    const goesOn = queued && this.#isPlain && this.#known.of === this.base && (queued.suggestion || queued.removal);
    if (this.#known.of !== this.base) this.#read();
    if (!goesOn) this.#shown = this.#known.shown.copy();
    const added = (goesOn ? [queued] : this.pending).map((change) => this.#apply(change)).filter(Boolean);
    const settled = added.filter((key) => this.#settle(key));
    this.#isPlain = !settled.length && !this.between?.outcome && (goesOn || this.pending.every(({ suggestion, removal }) => suggestion || removal));
    if (this.between?.outcome) this.#compare();
    this.#list = [...this.#shown.byId.values()];
    this.#open = null;
    // A decision of that kind changes the other gold spans only where it takes one over. What was drawn stays as long as they do.
    if (!goesOn || queued.removal || this.#others?.some((span) => added.includes(keyOf(span)))) this.#others = null;
  }

  #read() {
    this.#shown = Shown.of(this.base);
    const exact = new Map();
    for (const one of this.#shown.byId.values()) exact.set(keyOf(one), [...(exact.get(keyOf(one)) ?? []), one]);
    this.#known = { of: this.base, shown: this.#shown, exact };
    for (const key of this.#shown.gold.keys()) this.#settle(key);
  }

  /** Apply a change. Returns the key of the gold span that it adds, if any. */
  #apply(change) {
    const suggestion = this.#shown.byId.get(change.removal ? -change.removal : change.suggestion);
    if (suggestion) return this.#decide(suggestion, change);
    if (change.act === "add") return this.#enter(change);
    if (change.act === "remove") this.#shown.leave(keyOf(change));
    else if (change.act === "attribute") this.#describe(change);
    return null;
  }

  #decide(suggestion, change) {
    const { id, removal = false } = suggestion;
    const isIn = change.act !== (removal ? "accept" : "reject");
    if (suggestion.bounds) {
      this.#shown.hold(keyOf(boundsOf(suggestion)), -1);
      this.#shown.leave(keyOf(boundsOf(suggestion)));
    } else if (removal && !isIn) this.#shown.leave(keyOf(suggestion));
    const { start, end, label } = change.act === "correct" ? change : suggestion;
    this.#shown.set(id, { state: isIn === removal ? "rejected" : "accepted", bounds: isIn ? [start, end, label] : null, by: this.person, at: null });
    if (!isIn) return null;
    const key = this.#enter({ start, end, label }, suggestion.attributes);
    this.#shown.hold(key, 1);
    this.#rejectConflicting(this.#shown.byId.get(id));
    return key;
  }

  #enter(bounds, attributes) {
    const key = keyOf(bounds);
    const { gold } = this.#shown;
    if (!gold.has(key)) gold.set(key, { ...bare(bounds), from: `reviewer:${this.person}`, by: this.person, attributes });
    return key;
  }

  #describe({ name, value, start, end, label }) {
    const key = keyOf({ start, end, label });
    const gold = this.#shown.gold.get(key);
    if (!gold) return;
    const { [name]: _old, ...others } = gold.attributes ?? {};
    this.#shown.gold.set(key, { ...gold, attributes: value === null ? others : { ...others, [name]: value } });
  }

  /** A suggestion whose exact span is in gold needs no decision. Returns whether there was one. */
  #settle(key) {
    let found = false;
    if (!this.#shown.gold.has(key)) return found;
    for (const { id, start, end, label } of this.#known.exact.get(key) ?? []) {
      const { state, removal } = this.#shown.byId.get(id);
      if (state !== "open") continue;
      this.#shown.set(id, { state: removal ? "rejected" : "accepted", bounds: [start, end, label] });
      this.#shown.hold(key, 1);
      found = true;
    }
    return found;
  }

  /** Mark the suggestions on which the two reviewers differ. */
  #compare() {
    for (const suggestion of this.#shown.byId.values()) {
      const first = this.firstOf(suggestion);
      const differs = first !== null && suggestion.state !== "open" && String([first.state, first.bounds]) !== String([suggestion.state, suggestion.bounds]);
      if (differs) this.#shown.set(suggestion.id, { differs });
    }
  }
}
