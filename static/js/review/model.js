/**
 * A review as the page knows it: what the server said last, and on top of it what waits to be sent. Pure.
 *
 * A proposal is `{id, start, end, label, confidence, source, state, place}`; `state` is open, accepted or rejected, `place` is
 * `[start, end, label]` where gold has it elsewhere. Offsets are code points, end-exclusive.
 */

const same = (a, b) => a.start === b.start && a.end === b.end && a.label === b.label;
const LOOKS = { open: "is-proposal", accepted: "is-accepted", rejected: "is-rejected" };

export class Review {
  #base;
  #shown;
  #pending = [];
  #newId;

  constructor(state, newId = () => crypto.randomUUID()) {
    this.#newId = newId;
    this.#base = state;
    this.#rebuild();
  }

  get waiting() {
    return this.#pending.length;
  }

  get next() {
    return this.#pending[0] ?? null;
  }

  get closed() {
    return this.#shown.closed;
  }

  get open() {
    return this.proposals().filter(({ state }) => state === "open").length;
  }

  /** In reading order. */
  proposals() {
    return this.#shown.proposals;
  }

  get(id) {
    return this.proposals().find((proposal) => proposal.id === id) ?? null;
  }

  /** Gold spans that no proposal stands for: added by a person, or there from before. */
  others() {
    const accepted = this.proposals().filter(({ state }) => state === "accepted").map(placeOf);
    return this.#shown.gold.filter((span) => !accepted.some((place) => same(place, span)));
  }

  /** What the note shows: proposals with their state, and the other gold spans. */
  spans(stateWords) {
    const proposals = this.proposals().map((proposal) => ({
      key: `p${proposal.id}`,
      ...(proposal.state === "accepted" ? placeOf(proposal) : bare(proposal)),
      look: LOOKS[proposal.state],
      stateWord: stateWords[proposal.state],
    }));
    const others = this.others().map((span) => ({
      key: `g${span.start}-${span.end}-${span.label}`,
      ...bare(span),
      look: LOOKS.accepted,
      stateWord: stateWords.added,
    }));
    return [...proposals, ...others].sort((a, b) => a.start - b.start || b.end - a.end || a.label - b.label);
  }

  /** The proposal after (or, with step -1, before) this one; the next open one first when `open` is set. */
  after(id, step, { open = false } = {}) {
    const list = this.proposals();
    if (!list.length) return null;
    const from = list.findIndex((proposal) => proposal.id === id);
    const start = from < 0 ? (step > 0 ? -1 : list.length) : from;
    if (!open) return list[start + step] ?? null;
    for (let n = 1; n <= list.length; n += 1) {
      const found = list[(((start + step * n) % list.length) + list.length) % list.length];
      if (found.state === "open") return found;
    }
    return null;
  }

  // ── Acts: each returns the change that was queued, or null where it would change nothing. ──────────────────────────

  accept(id) {
    const proposal = this.get(id);
    if (!proposal || (proposal.state === "accepted" && proposal.place === null)) return null;
    return this.#queue({ act: "accept", proposal: id });
  }

  reject(id) {
    const proposal = this.get(id);
    if (!proposal || proposal.state === "rejected") return null;
    return this.#queue({ act: "reject", proposal: id });
  }

  /** Accept with other ends or another label. */
  correct(id, { start, end, label }) {
    const proposal = this.get(id);
    if (!proposal || (proposal.state === "accepted" && same(placeOf(proposal), { start, end, label }))) return null;
    return this.#queue({ act: "correct", proposal: id, start, end, label });
  }

  add(start, end, label) {
    if (this.#shown.gold.some((span) => same(span, { start, end, label }))) return null;
    return this.#queue({ act: "add", start, end, label });
  }

  remove({ start, end, label }) {
    return this.#queue({ act: "remove", start, end, label });
  }

  undo() {
    return this.#queue({ act: "undo" });
  }

  redo() {
    return this.#queue({ act: "redo" });
  }

  #queue(change) {
    const queued = { change_id: this.#newId(), ...change };
    this.#pending.push(queued);
    this.#rebuild();
    return queued;
  }

  // ── What the server says ──────────────────────────────────────────────────────────────────────────────────────────

  accepted(state) {
    this.#pending.shift();
    this.#take(state);
  }

  /** Refused for good. The answer holds the review as it is; what waits behind it is still sent. */
  refused(state) {
    this.#pending.shift();
    this.#take(state);
  }

  refreshed(state) {
    this.#take(state);
  }

  #take(state) {
    if (Array.isArray(state.proposals)) this.#base = state;
    this.#rebuild();
  }

  /** The server's state with every waiting change made, as far as it can be foreseen (undo and redo can't). */
  #rebuild() {
    let { proposals, gold } = this.#base;
    for (const change of this.#pending) {
      if (change.proposal !== undefined) {
        const { start, end, label, act } = change;
        proposals = proposals.map((proposal) => {
          if (proposal.id !== change.proposal) return proposal;
          if (act === "reject") return { ...proposal, state: "rejected", place: null };
          return { ...proposal, state: "accepted", place: act === "correct" ? [start, end, label] : null };
        });
        const before = this.#base.proposals.find(({ id }) => id === change.proposal);
        gold = gold.filter((span) => !before || before.state !== "accepted" || !same(span, placeOf(before)));
      } else if (change.act === "add") {
        gold = [...gold, { start: change.start, end: change.end, label: change.label }];
      } else if (change.act === "remove") {
        gold = gold.filter((span) => !same(span, change));
      }
    }
    this.#shown = {
      closed: this.#base.closed,
      proposals: [...proposals].sort((a, b) => a.start - b.start || a.end - b.end || a.id - b.id),
      gold,
    };
  }
}

const bare = ({ start, end, label }) => ({ start, end, label });

/** Where an accepted proposal stands in gold. */
export function placeOf(proposal) {
  if (!proposal.place) return bare(proposal);
  const [start, end, label] = proposal.place;
  return { start, end, label };
}
