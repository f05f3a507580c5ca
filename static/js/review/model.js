/**
 * A review as the page knows it: what the server said last, and on top of it what waits to be sent. Pure.
 *
 * A proposal is `{id, start, end, label, confidence, source, state, place, by, at}`: `state` is open, accepted or rejected; an
 * accepted one stands in gold at `place`, `[start, end, label]`. Offsets are code points, end-exclusive. One of a list merged from
 * several runs also has `runs`, `{run, confidence, source}` of each that proposed it, `of`, out of how many, and `rivals`, the ids of
 * other readings of the same place: accepting it rejects those that are open. One that had been left out to measure what reading
 * misses says in `planted` what became of it: found, partly, missed or elsewhere.
 */

import { Decisions, around } from "../editor/deciding/queue.js";
import { NOTHING, ordered, passes } from "./filter.js";

const same = (a, b) => a.start === b.start && a.end === b.end && a.label === b.label;
const bare = ({ start, end, label }) => ({ start, end, label });
const overlap = (a, b) => a.start < b.end && b.start < a.end;
const keyOf = ({ start, end, label }) => `g${start}-${end}-${label}`;
const LOOKS = { open: "is-proposal", accepted: "is-accepted", rejected: "is-rejected" };

/** Where a proposal stands: in gold if it is accepted, else where the run put it. */
export function placeOf(proposal) {
  if (!proposal.place) return bare(proposal);
  const [start, end, label] = proposal.place;
  return { start, end, label };
}

/** The proposal as the page shows it, for the server to see whether somebody decided otherwise meanwhile. */
export function seenOf(proposal) {
  return proposal.state === "accepted" ? ["accepted", ...proposal.place] : [proposal.state];
}

export class Review extends Decisions {
  #shown;
  filter = NOTHING;
  order = "note";
  /** What filters and orders need to know: quote(proposal), rates (see filter.js), and the labels' places. */
  facts = { quote: () => "", rates: new Map(), places: new Map() };

  constructor(...given) {
    super(...given);
    this.rebuild();
  }

  /** first (review), second (person's), settling (what the two differ in), waiting (for another person), or closed. */
  get stage() {
    return this.base.stage ?? (this.closed ? "closed" : "first");
  }

  /** Between two reviewers: `{first, blind, outcome}`, the outcome where it may be seen. */
  get between() {
    return this.base.between ?? null;
  }

  /** What the first reviewer said of a proposal: `{state, place}`; null where that is not known. */
  firstOf({ id }) {
    const said = this.between?.outcome?.proposals[id];
    return said === undefined ? null : { state: said ? "accepted" : "rejected", place: said };
  }

  /** Gold spans of no proposal that the first added and this person has not, and those that only this person has. */
  otherwise() {
    const outcome = this.between?.outcome;
    if (!outcome) return { theirs: [], own: [] };
    const theirs = outcome.others.map(([start, end, label]) => ({ start, end, label }));
    const own = this.others().filter((span) => !theirs.some((one) => same(one, span)));
    return { theirs: theirs.filter((span) => !this.goldAt(span)), own: own.map((span) => ({ key: keyOf(span), ...bare(span) })) };
  }

  get open() {
    return this.proposals().filter(({ state }) => state === "open").length;
  }

  /** In reading order. */
  proposals() {
    return this.#shown.proposals;
  }

  /** What closing the note may accept unseen: open proposals, but for those that had been left out and were not marked. */
  rest() {
    return this.proposals().filter(({ state, planted }) => state === "open" && !planted);
  }

  /** Planted leaks by what became of them, as far as they wait for a decision; and those that were found. */
  leftOut() {
    const count = (wanted, state) => this.proposals().filter((one) => one.planted === wanted && (!state || one.state === state)).length;
    return { missed: count("missed", "open"), partly: count("partly", "open") + count("elsewhere", "open"), found: count("found") };
  }

  get(id) {
    return this.proposals().find((proposal) => proposal.id === id) ?? null;
  }

  /** Gold spans that no proposal stands for: added by a person, or there from before. */
  others() {
    const accepted = this.proposals().filter(({ state }) => state === "accepted").map(placeOf);
    return this.#shown.gold.filter((span) => !accepted.some((place) => same(place, span)));
  }

  /** The gold span at a place, with how it came about. */
  goldAt(place) {
    return this.#shown.gold.find((span) => same(span, place)) ?? null;
  }

  /** What the note shows: proposals with their state, and the other gold spans. */
  spans(stateWords) {
    const proposals = this.proposals().map((proposal) => ({
      key: `p${proposal.id}`,
      ...placeOf(proposal),
      look: LOOKS[proposal.state],
      stateWord: stateWords[proposal.state],
    }));
    const others = this.others().map((span) => ({
      key: keyOf(span),
      ...bare(span),
      look: LOOKS.accepted,
      stateWord: stateWords.added,
    }));
    return [...proposals, ...others].sort((a, b) => a.start - b.start || b.end - a.end || a.label - b.label);
  }

  /** What a key of `spans` stands for: `{key, proposal}` or `{key, other}`; null when it is gone. */
  find(key) {
    if (key === null) return null;
    if (key.startsWith("p")) {
      const proposal = this.get(Number(key.slice(1)));
      return proposal && { key, proposal };
    }
    const other = this.others().find((span) => keyOf(span) === key);
    return other ? { key, other } : null;
  }

  /** In the order wanted, those that the filter lets through. */
  listed() {
    return ordered(this.proposals(), this.order, this.facts).filter((proposal) => this.#passes(proposal));
  }

  #passes(proposal) {
    return passes(proposal, this.filter, this.facts.quote);
  }

  /**
   * The proposal after (or, with step -1, before) this one, of those listed; the next open one, going round, when `open` is set.
   * One that the filter no longer lets through keeps its place in the order.
   */
  after(id, step, { open = false } = {}) {
    const list = ordered(this.proposals(), this.order, this.facts);
    const from = list.findIndex((proposal) => proposal.id === id);
    if (open) return around(list, from, step, (proposal) => proposal.state === "open" && this.#passes(proposal));
    const ahead = step > 0 ? list.slice(from + 1) : list.slice(0, from < 0 ? list.length : from).reverse();
    return ahead.find((proposal) => this.#passes(proposal)) ?? null;
  }

  /** What this person decided in the note, the last first. */
  recent() {
    const own = this.proposals().filter(({ by, state }) => by === this.person && state !== "open");
    const at = (proposal) => proposal.at ?? "~"; // what still waits to be sent is the newest
    return own.sort((a, b) => (at(a) < at(b) ? 1 : at(a) > at(b) ? -1 : 0));
  }

  // ── Acts: each returns the change that was queued, or null where it would change nothing. ──────────────────────────

  accept(id) {
    const proposal = this.get(id);
    if (!proposal || (proposal.state === "accepted" && same(placeOf(proposal), proposal))) return null;
    return this.queue({ act: "accept", proposal: id, seen: seenOf(proposal) });
  }

  reject(id) {
    const proposal = this.get(id);
    if (!proposal || proposal.state === "rejected") return null;
    return this.queue({ act: "reject", proposal: id, seen: seenOf(proposal) });
  }

  /** Accept with other ends or another label. */
  correct(id, place) {
    const proposal = this.get(id);
    if (!proposal || (proposal.state === "accepted" && same(placeOf(proposal), place))) return null;
    if (same(proposal, place)) return this.accept(id);
    return this.queue({ act: "correct", proposal: id, seen: seenOf(proposal), ...bare(place) });
  }

  add(start, end, label) {
    if (this.goldAt({ start, end, label })) return null;
    return this.queue({ act: "add", start, end, label });
  }

  remove(span) {
    return this.queue({ act: "remove", ...bare(span) });
  }

  /** The other readings of the place of a proposal. */
  rivals(proposal) {
    return (proposal.rivals ?? []).map((id) => this.get(id)).filter(Boolean);
  }

  /** One reading of a place was accepted: what is open of the others and not in gold is rejected with it. */
  #settle(accepted, proposals, gold) {
    const place = placeOf(accepted);
    const open = (accepted.rivals ?? []).map((id) => proposals.get(id)).filter((rival) => rival?.state === "open");
    for (const rival of open.filter((one) => overlap(one, place) && !gold.some((span) => same(span, one)))) {
      Object.assign(rival, { state: "rejected", by: this.person, at: null });
    }
  }

  // ── What the server says ──────────────────────────────────────────────────────────────────────────────────────────

  isState(state) {
    return Array.isArray(state.proposals);
  }

  /** The key of the first proposal or gold span that is not as it was. */
  difference(before) {
    const was = new Map(before.proposals.map((proposal) => [proposal.id, String(seenOf(proposal))]));
    const changed = this.base.proposals.find((proposal) => was.get(proposal.id) !== String(seenOf(proposal)));
    if (changed) return `p${changed.id}`;
    const there = new Set(before.gold.map(keyOf));
    const come = this.base.gold.find((span) => !there.has(keyOf(span)));
    return come ? keyOf(come) : null;
  }

  /** The server's state with every waiting change made, as far as it can be foreseen (undo and redo can't). */
  rebuild() {
    const proposals = new Map(this.base.proposals.map((proposal) => [proposal.id, { ...proposal }]));
    let gold = [...this.base.gold];
    const leave = (place, id) => {
      const held = [...proposals.values()].some((one) => one.id !== id && one.state === "accepted" && same(placeOf(one), place));
      if (!held) gold = gold.filter((span) => !same(span, place));
    };
    const enter = (place) => {
      if (!gold.some((span) => same(span, place))) gold.push({ ...bare(place), from: `reviewer:${this.person}`, by: this.person });
    };
    for (const change of this.pending) {
      const proposal = proposals.get(change.proposal);
      if (proposal) {
        if (proposal.state === "accepted") leave(placeOf(proposal), proposal.id);
        const place = change.act === "correct" ? change : proposal;
        const kept = change.act === "reject" ? null : [place.start, place.end, place.label];
        Object.assign(proposal, { state: kept ? "accepted" : "rejected", place: kept, by: this.person, at: null });
        if (kept) enter(placeOf(proposal));
        if (kept) this.#settle(proposal, proposals, gold);
      } else if (change.act === "add") enter(change);
      else if (change.act === "remove") leave(change, null);
    }
    for (const proposal of proposals.values()) {
      // What gold holds already leaves nothing to decide.
      if (proposal.state === "open" && gold.some((span) => same(span, proposal))) {
        Object.assign(proposal, { state: "accepted", place: [proposal.start, proposal.end, proposal.label] });
      }
    }
    for (const proposal of proposals.values()) {
      const first = this.firstOf(proposal);
      proposal.differs = first !== null && proposal.state !== "open" && String([first.state, first.place]) !== String([proposal.state, proposal.place]);
    }
    const order = (a, b) => a.start - b.start || a.end - b.end || (a.id ?? 0) - (b.id ?? 0);
    this.#shown = { proposals: [...proposals.values()].sort(order), gold: gold.sort(order) };
  }
}
