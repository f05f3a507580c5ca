/**
 * What the server said last, and on top of it what waits to be sent. Pure.
 *
 * A review and an adjudication build on it: they say what makes an answer a state (`isState`), what it brings besides the
 * decisions of others (`newsOf`), what an undo has touched (`difference`), and foresee what waits (`rebuild`).
 */
export class Decisions {
  base;
  pending = [];
  person;
  #newId;

  /**
   * What is built on it calls `rebuild` at the end of its own constructor: its fields are not there before.
   * @param {object} state what the server says @param {string} person the user name
   */
  constructor(state, person = "", newId = () => crypto.randomUUID()) {
    this.#newId = newId;
    this.person = person;
    this.base = state;
  }

  get waiting() {
    return this.pending.length;
  }

  get next() {
    return this.pending[0] ?? null;
  }

  get closed() {
    return this.base.closed;
  }

  undo() {
    return this.queue({ act: "undo" });
  }

  redo() {
    return this.queue({ act: "redo" });
  }

  queue(change) {
    const queued = { change_id: this.#newId(), ...change };
    this.pending.push(queued);
    this.rebuild();
    return queued;
  }

  /** The first change is made. Says what else has changed, and after an undo or redo the key of what it touched. */
  accepted(state) {
    const change = this.pending.shift();
    const before = this.base;
    const news = this.take(state);
    const steps = this.base.version - before.version;
    const stepped = change.act === "undo" || change.act === "redo";
    return { ...news, elsewhere: steps > 1, touched: stepped && steps === 1 ? this.difference(before) : null };
  }

  /** Refused for good. The answer holds the note as it is; what waits behind it is still sent. */
  refused(state) {
    this.pending.shift();
    return this.take(state);
  }

  /** The note as it is now, when nothing waits. */
  refreshed(state) {
    return this.take(state);
  }

  take(state) {
    const known = this.isState(state);
    const news = { ...this.newsOf(known ? state : this.base), elsewhere: known && state.version !== this.base.version };
    // An answer that was overtaken by a newer one says nothing new.
    if (known && state.version >= this.base.version) this.base = state;
    this.rebuild();
    return news;
  }

  /** What a state brings besides the decisions of others. */
  newsOf() {
    return {};
  }
}

/** The element after (or, with step -1, before) the one at `from` that is wanted, going round; `from` -1 is none. */
export function around(list, from, step, wanted) {
  const start = from < 0 && step < 0 ? list.length : from;
  for (let n = 1; n <= list.length; n += 1) {
    const found = list[(((start + step * n) % list.length) + list.length) % list.length];
    if (wanted(found)) return found;
  }
  return null;
}

/** The element next to the one at `from`; null past the ends. */
export function beside(list, from, step) {
  return list[(from < 0 && step < 0 ? list.length : from) + step] ?? null;
}
