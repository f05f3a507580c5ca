/**
 * The last state from the server, plus the changes that wait to be sent, in batches. Pure.
 *
 * The subclasses of review and adjudication tell whether an answer is a state (`isState`), add a partial state to the known one
 * (`merged`), find other news in a state (`newsOf`) and what an undo touched (`difference`), and apply the waiting changes (`rebuild`).
 *
 * The answer to a batch has the current state and `outcomes`: for each change null, or `{error, message}` if it was refused. `steps` is
 * how many of them changed something.
 */

// The largest batch: the server decides so many in a fraction of a second, and a lost answer repeats no more.
const MOST = 500;
const REVERTING = ["undo", "redo"];

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

  /** The changes to send next, in one request; null without any. Undo and redo go alone, so that the answer shows what they changed. */
  get batch() {
    const [first] = this.pending;
    if (!first) return null;
    const past = this.pending.findIndex((change, at) => at > 0 && (at === MOST || REVERTING.includes(first.act) || !this.joins(change, first)));
    return this.pending.slice(0, past < 0 ? undefined : past);
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
    this.rebuild(queued);
    return queued;
  }

  /**
   * The server answered a batch. Returns other news, the refused changes if any (`[change, {error, message}]`), and after an undo or redo the key
   * of the touched item.
   */
  accepted(answer) {
    const { outcomes = [null], steps = 1 } = answer;
    const changes = this.pending.splice(0, outcomes.length);
    const before = this.base;
    const news = this.take(answer);
    const made = this.base.version - before.version;
    const stepped = REVERTING.includes(changes[0].act) && made === 1;
    const refused = changes.flatMap((change, at) => (outcomes[at] ? [[change, outcomes[at]]] : []));
    return { ...news, ...(refused.length && { refused }), elsewhere: made > steps, touched: stepped && steps === 1 ? this.difference(before) : null };
  }

  /** The server refused the first changes for good. `state` is the current state; the changes behind them are still sent. */
  refused(state, count = 1) {
    this.pending.splice(0, count);
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
    if (known) this.base = this.merged(state);
    this.rebuild();
    return news;
  }

  /** Whether a change may be sent in the batch that begins with `_first`. @param {object} change @param {object} _first */
  joins(change, _first) {
    return !REVERTING.includes(change.act);
  }

  /** The whole state that a state from the server stands for. @param {any} state */
  merged(state) {
    return state;
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
