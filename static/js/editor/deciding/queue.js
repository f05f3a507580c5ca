/**
 * The last state from the server, plus the changes that wait to be sent. Pure.
 *
 * The subclasses of review and adjudication tell whether an answer is a state (`isState`), find other news in a state
 * (`newsOf`) and what an undo touched (`difference`), and apply the waiting changes (`rebuild`).
 */
export class Decisions {
  base;
  pending = [];
  person;
  #newId;

  /**
   * A subclass calls `rebuild` at the end of its own constructor, when its fields exist.
   * @param {object} state from the server @param {string} person the user name
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

  get finished() {
    return this.base.finished;
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

  /** The server accepted the first change. Returns other news and, after an undo or redo, the key of the touched item. */
  accepted(state) {
    const change = this.pending.shift();
    const before = this.base;
    const news = this.take(state);
    const steps = this.base.version - before.version;
    const stepped = change.act === "undo" || change.act === "redo";
    return { ...news, elsewhere: steps > 1, touched: stepped && steps === 1 ? this.difference(before) : null };
  }

  /** The server refused the first change for good. `state` is the current state; the changes behind it are still sent. */
  refused(state) {
    this.pending.shift();
    return this.take(state);
  }

  /** A new state from the server while no change waits. */
  refreshed(state) {
    return this.take(state);
  }

  take(state) {
    // An older answer that arrives after a newer one is ignored.
    const known = this.isState(state) && state.version >= this.base.version;
    const news = { ...this.newsOf(known ? state : this.base), elsewhere: known && state.version !== this.base.version };
    if (known) this.base = state;
    this.rebuild();
    return news;
  }

  /** The key of the item that a change decides, or null. @param {object} _change @returns {string | null} */
  keyOf(_change) {
    return null;
  }

  /** Other news in a state besides the decisions of others. @param {object} _state @returns {object} */
  newsOf(_state) {
    return {};
  }
}

/** The next element (with step -1, the previous one) that is wanted, going round. `from` is an index, or -1 for none. */
export function around(list, from, step, wanted) {
  const start = from < 0 && step < 0 ? list.length : from;
  for (let n = 1; n <= list.length; n += 1) {
    const found = list[(((start + step * n) % list.length) + list.length) % list.length];
    if (wanted(found)) return found;
  }
  return null;
}

/** The element next to the one at index `from`; null past the ends. */
export function beside(list, from, step) {
  return list[(from < 0 && step < 0 ? list.length : from) + step] ?? null;
}
