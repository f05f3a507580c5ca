/**
 * A reading as the page knows it: what the server has confirmed, and on top of it what waits to be sent. Pure: it touches
 * neither the page nor the network.
 *
 * A span is known by a key that stays the same while the page is open: the server's id, or for a span made here a key of
 * its own, which is tied to the id once the server has named it. Undo and redo are the server's to decide (it has the whole
 * log); what they will do is foreseen here where it can be, so that it shows at once.
 */

/** @typedef {{start: number, end: number, label: number}} Place  code points, end-exclusive, and a label id */
/** @typedef {{id: string, kind: string, key: string|null, before: Place|null, after: Place|null}} Change */

const same = (a, b) => a.start === b.start && a.end === b.end && a.label === b.label;
const place = ({ start, end, label }) => ({ start, end, label });
const triple = ({ start, end, label }) => [start, end, label];

/** What differs between two maps of places: how many spans were added, removed and changed; null if nothing. */
export function difference(before, after) {
  let changed = 0;
  let removed = 0;
  let kept = 0;
  for (const [key, was] of before) {
    const is = after.get(key);
    if (is === undefined) removed += 1;
    else {
      kept += 1;
      if (!same(was, is)) changed += 1;
    }
  }
  const added = after.size - kept;
  return added || removed || changed ? { added, removed, changed } : null;
}

export class Reading {
  #base = new Map(); // key -> Place, as the server has it
  #shown = new Map(); // the same with all pending changes made
  #pending = []; // changes in the order in which they were made; the first may be under way
  #ids = new Map(); // key -> id, for spans made here
  #keys = new Map(); // id -> key, the other way round
  #alias = new Map(); // key -> key, where a span made here turned out to be there already
  #past = []; // what undo will take back, as far as this page knows
  #future = [];
  #newId;

  constructor({ spans, version, state }, newId = () => crypto.randomUUID()) {
    this.#newId = newId;
    this.version = version;
    this.state = state;
    this.#base = this.#fromList(spans);
    this.#rebuild();
  }

  /** How many changes the server has not confirmed. */
  get waiting() {
    return this.#pending.length;
  }

  /** The change to send next; null when all is saved. */
  get next() {
    return this.#pending[0] ?? null;
  }

  get isOpen() {
    return this.state === "draft";
  }

  /** All spans in reading order. */
  spans() {
    return [...this.#shown]
      .map(([key, at]) => ({ key, ...at }))
      .sort((a, b) => a.start - b.start || b.end - a.end || a.label - b.label);
  }

  get(key) {
    const found = this.#shown.get(this.#resolve(key));
    return found ? { key: this.#resolve(key), ...found } : null;
  }

  /** The span at exactly this place with this label, or null. */
  find(wanted) {
    for (const [key, at] of this.#shown) if (same(at, wanted)) return { key, ...at };
    return null;
  }

  // ── What a person does. Each returns the change, or null where there is nothing to change. ──────────────────────────

  create(start, end, label) {
    const after = { start, end, label };
    if (this.find(after)) return null;
    const id = this.#newId();
    return this.#made({ id, kind: "create", key: `new-${id}`, before: null, after });
  }

  relabel(key, label) {
    return this.#alter("relabel", key, { label });
  }

  resize(key, start, end) {
    return this.#alter("resize", key, { start, end });
  }

  remove(key) {
    const span = this.get(key);
    if (!span) return null;
    return this.#made({ id: this.#newId(), kind: "delete", key: span.key, before: place(span), after: null });
  }

  undo() {
    return this.#step("undo", this.#past, this.#future);
  }

  redo() {
    return this.#step("redo", this.#future, this.#past);
  }

  #alter(kind, key, values) {
    const span = this.get(key);
    if (!span) return null;
    const before = place(span);
    const after = { ...before, ...values };
    if (this.find(after)) return null;
    return this.#made({ id: this.#newId(), kind, key: span.key, before, after });
  }

  #made(change) {
    this.#past.push(change);
    this.#future = [];
    return this.#enqueue(change);
  }

  /** An undo is the opposite of the last entry; where this page knows none, only the server can tell. */
  #step(kind, from, to) {
    const entry = from.pop();
    const change = { id: this.#newId(), kind, key: null, before: null, after: null };
    if (!entry) return this.#enqueue(change);
    const opposite = { key: entry.key, before: entry.after, after: entry.before };
    to.push(opposite);
    return this.#enqueue({ ...change, ...opposite });
  }

  #enqueue(change) {
    this.#pending.push(change);
    this.#rebuild();
    return change;
  }

  // ── What the server says ──────────────────────────────────────────────────────────────────────────────────────────

  /** The change as it is sent. Called when its turn comes: by then every span that it names has its id. */
  body(change, quote) {
    const body = { change_id: change.id, kind: change.kind, version: this.version };
    if (["create", "resize"].includes(change.kind)) {
      const { start, end } = change.after;
      Object.assign(body, { start, end, quote: quote(start, end) });
    }
    if (["create", "relabel"].includes(change.kind)) body.label = change.after.label;
    if (["relabel", "resize", "delete"].includes(change.kind)) {
      body.span = this.#idOf(change.key);
      body.seen = triple(change.before);
    }
    return body;
  }

  /**
   * The first pending change was made. Returns what else has changed in the reading (in another tab), or null.
   */
  accepted(answer) {
    const change = this.#pending.shift();
    if (change.kind === "create" && answer.span) this.#tie(change.key, answer.span.id);
    const expected = new Map(this.#base);
    if (answer.span && !answer.already) expected.set(this.#keyOf(answer.span.id), place(answer.span));
    if (answer.removed) expected.delete(this.#keyOf(answer.removed));
    this.#base = answer.spans ? this.#fromList(answer.spans) : expected;
    this.version = answer.version;
    const elsewhere = answer.spans ? difference(expected, this.#base) : null;
    const foreseen = change.key !== null && !answer.already && !answer.message;
    if (elsewhere || !foreseen) this.#forgetSteps();
    this.#rebuild();
    return elsewhere;
  }

  /**
   * The first pending change was refused for good, and so is everything that builds on a span that never came to be.
   * Returns how many changes were dropped, and what else has changed.
   */
  refused(answer) {
    const change = this.#pending.shift();
    let dropped = 1;
    if (change.kind === "create") {
      const left = this.#pending.filter((other) => other.key !== change.key);
      dropped += this.#pending.length - left.length;
      this.#pending = left;
    }
    this.#forgetSteps();
    return { dropped, elsewhere: this.refreshed(answer) };
  }

  /** Take over the server's list, where the answer has one. Returns what that changed, or null. */
  refreshed(answer) {
    let elsewhere = null;
    if (answer.spans) {
      const before = this.#base;
      this.#base = this.#fromList(answer.spans);
      elsewhere = difference(before, this.#base);
      if (elsewhere) this.#forgetSteps();
    }
    if (Number.isInteger(answer.version)) this.version = answer.version;
    if (answer.state) this.state = answer.state;
    this.#rebuild();
    return elsewhere;
  }

  #forgetSteps() {
    this.#past = [];
    this.#future = [];
  }

  #fromList(spans) {
    return new Map(spans.map((span) => [this.#keyOf(span.id), place(span)]));
  }

  /** The span made here under `key` is the server's `id`. */
  #tie(key, id) {
    const known = this.#keys.get(id) ?? String(id);
    if (this.#base.has(known) && known !== key) {
      this.#alias.set(key, known);
      return;
    }
    this.#ids.set(key, id);
    this.#keys.set(id, key);
  }

  #resolve(key) {
    return this.#alias.get(key) ?? key;
  }

  #keyOf(id) {
    return this.#keys.get(id) ?? String(id);
  }

  #idOf(key) {
    const known = this.#resolve(key);
    return this.#ids.get(known) ?? Number(known);
  }

  #rebuild() {
    const shown = new Map(this.#base);
    for (const { key, before, after } of this.#pending) {
      if (key === null) continue;
      const known = this.#resolve(key);
      if (after === null) shown.delete(known);
      else if (before === null || shown.has(known)) shown.set(known, place(after));
    }
    this.#shown = shown;
  }
}
