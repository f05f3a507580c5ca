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
 */

import { Decisions, around } from "../editor/deciding/queue.js";
import { NOTHING, ordered, passes } from "./filter.js";

const same = (a, b) => a.start === b.start && a.end === b.end && a.label === b.label;
const bare = ({ start, end, label }) => ({ start, end, label });
const overlap = (a, b) => a.start < b.end && b.start < a.end;
const keyOf = ({ start, end, label }) => `g${start}-${end}-${label}`;
const LOOKS = { open: "is-suggestion", accepted: "is-accepted", rejected: "is-rejected" };
const REMOVAL_LOOKS = { open: "is-suggestion is-removal", accepted: "is-rejected", rejected: "is-accepted" };

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

export class Review extends Decisions {
  #shown;
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

  get open() {
    return this.suggestions().filter(({ state }) => state === "open").length;
  }

  /** All suggestions and proposed removals in text order. */
  suggestions() {
    return this.#shown.suggestions;
  }

  /** The open suggestions that finishing may accept together: all except planted leaks. */
  rest() {
    return this.suggestions().filter(({ state, planted, removal }) => state === "open" && !planted && !removal);
  }

  /** The open proposed removals, which finishing may accept together if the person allows it. */
  restRemovals() {
    return this.suggestions().filter(({ state, removal }) => state === "open" && removal);
  }

  /** Whether a planted leak waits for a decision of its own. */
  get plantedOpen() {
    return this.suggestions().some(({ state, planted }) => state === "open" && planted);
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
    return this.suggestions().find((suggestion) => suggestion.id === id) ?? null;
  }

  /** Gold spans without an accepted suggestion: added by a person, or in gold before. */
  others() {
    const accepted = this.inGold();
    return this.#shown.gold.filter((span) => !accepted.some((one) => same(one, span)));
  }

  /** The gold span with these bounds and label, with its provenance; null if there is none. */
  goldAt(bounds) {
    return this.#shown.gold.find((span) => same(span, bounds)) ?? null;
  }

  /** The spans to draw in the note: suggestions with their state, and the other gold spans. */
  spans(stateWords) {
    const suggestions = this.suggestions().map((suggestion) => ({
      key: `p${suggestion.id}`,
      ...boundsOf(suggestion),
      attributes: suggestion.bounds ? (this.goldAt(boundsOf(suggestion))?.attributes ?? suggestion.attributes) : suggestion.attributes,
      look: lookOf(suggestion),
      stateWord: (suggestion.removal ? stateWords.removal : stateWords)[suggestion.state],
    }));
    const others = this.others().map((span) => ({
      key: keyOf(span),
      ...bare(span),
      attributes: span.attributes,
      look: LOOKS.accepted,
      stateWord: stateWords.added,
    }));
    return [...suggestions, ...others].sort((a, b) => a.start - b.start || b.end - a.end || a.label - b.label);
  }

  /** The item with a key of `spans`: `{key, suggestion}` or `{key, other}`; null if it no longer exists. */
  find(key) {
    if (key === null) return null;
    if (key.startsWith("p")) {
      const suggestion = this.get(Number(key.slice(1)));
      return suggestion && { key, suggestion };
    }
    const other = this.others().find((span) => keyOf(span) === key);
    return other ? { key, other } : null;
  }

  /** The suggestions that pass the filter, in the chosen order. */
  listed() {
    return ordered(this.suggestions(), this.order, this.facts).filter((suggestion) => this.#passes(suggestion));
  }

  #passes(suggestion) {
    return passes(suggestion, this.filter, this.facts.quote);
  }

  /**
   * The listed suggestion after this one (before it with step -1). With `open`, the next open one, going round.
   * The current suggestion keeps its position in the order even if it no longer passes the filter.
   */
  after(id, step, { open = false } = {}) {
    const list = ordered(this.suggestions(), this.order, this.facts);
    const from = list.findIndex((suggestion) => suggestion.id === id);
    if (open) return around(list, from, step, (suggestion) => suggestion.state === "open" && this.#passes(suggestion));
    const ahead = step > 0 ? list.slice(from + 1) : list.slice(0, from < 0 ? list.length : from).reverse();
    return ahead.find((suggestion) => this.#passes(suggestion)) ?? null;
  }

  /** The suggestions that this person decided in the note, newest first. */
  recent() {
    const own = this.suggestions().filter(({ by, state }) => by === this.person && state !== "open");
    const at = (suggestion) => suggestion.at ?? "~"; // changes that still wait to be sent are the newest
    return own.sort((a, b) => (at(a) < at(b) ? 1 : at(a) > at(b) ? -1 : 0));
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
  #rejectConflicting(accepted, suggestions, gold) {
    const bounds = boundsOf(accepted);
    const open = (accepted.conflicting ?? []).map((id) => suggestions.get(id)).filter((one) => one?.state === "open");
    for (const other of open.filter((one) => overlap(one, bounds) && !gold.some((span) => same(span, one)))) {
      Object.assign(other, { state: "rejected", by: this.person, at: null });
    }
  }

  // ── State from the server ─────────────────────────────────────────────────────────────────────────────────────────

  isState(state) {
    return Array.isArray(state.suggestions);
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

  /** Apply every waiting change to the server's state, except undo and redo, whose effect is not known here. */
  rebuild() {
    const suggestions = new Map(listOf(this.base).map((suggestion) => [suggestion.id, { ...suggestion }]));
    let gold = [...this.base.gold];
    const leave = (bounds, id) => {
      const held = [...suggestions.values()].some((one) => one.id !== id && one.bounds && same(boundsOf(one), bounds));
      if (!held) gold = gold.filter((span) => !same(span, bounds));
    };
    const enter = (bounds, attributes) => {
      if (!gold.some((span) => same(span, bounds))) gold.push({ ...bare(bounds), from: `reviewer:${this.person}`, by: this.person, attributes });
    };
    const attribute = ({ name, value, ...span }) => {
      gold = gold.map((one) => {
        if (!same(one, span)) return one;
        const { [name]: _old, ...others } = one.attributes ?? {};
        return { ...one, attributes: value === null ? others : { ...others, [name]: value } };
      });
    };
    for (const change of this.pending) {
      const suggestion = suggestions.get(change.removal ? -change.removal : change.suggestion);
      if (suggestion) {
        const { removal = false } = suggestion;
        if (suggestion.bounds) leave(boundsOf(suggestion), suggestion.id);
        else if (removal && change.act === "accept") leave(suggestion, suggestion.id);
        const bounds = change.act === "correct" ? change : suggestion;
        const kept = change.act === (removal ? "accept" : "reject") ? null : [bounds.start, bounds.end, bounds.label];
        Object.assign(suggestion, { state: Boolean(kept) === removal ? "rejected" : "accepted", bounds: kept, by: this.person, at: null });
        if (kept) enter(boundsOf(suggestion), suggestion.attributes);
        if (kept) this.#rejectConflicting(suggestion, suggestions, gold);
      } else if (change.act === "add") enter(change);
      else if (change.act === "remove") leave(change, null);
      else if (change.act === "attribute") attribute(change);
    }
    for (const suggestion of suggestions.values()) {
      // A suggestion whose exact span is in gold needs no decision.
      if (suggestion.state === "open" && gold.some((span) => same(span, suggestion))) {
        Object.assign(suggestion, { state: suggestion.removal ? "rejected" : "accepted", bounds: [suggestion.start, suggestion.end, suggestion.label] });
      }
    }
    for (const suggestion of suggestions.values()) {
      const first = this.firstOf(suggestion);
      suggestion.differs = first !== null && suggestion.state !== "open" && String([first.state, first.bounds]) !== String([suggestion.state, suggestion.bounds]);
    }
    const order = (a, b) => a.start - b.start || a.end - b.end || (a.id ?? 0) - (b.id ?? 0);
    this.#shown = { suggestions: [...suggestions.values()].sort(order), gold: gold.sort(order) };
  }
}
