/**
 * A reading as the page knows it: what the server has confirmed, and on top of it what waits to be sent. Pure: it touches
 * neither the page nor the network.
 *
 * A span is known by a key that stays the same while the page is open: the server's id, or for a span made here a key of
 * its own, which is tied to the id once the server has named it. Undo and redo are the server's to decide (it has the whole
 * log); what they will do is foreseen here where it can be, so that it shows at once.
 */

import { Shown, place, same } from "./shown.js";

/**
 * @typedef {import("./shown.js").Place} Place
 * @typedef {{key: string, before: Place|null, after: Place|null}} Edit
 * @typedef {{id: string, kind: string, key: string|null, edits: Edit[], origin: string}} Change  `key`: of the span, if it is one;
 *   no edits where only the server can tell; `origin`: id of the change that an undo or redo is about
 */

const triple = ({ start, end, label }) => [start, end, label];
const STEPS = ["undo", "redo"];

let madeHere = 0; // spans made in this page, in whatever note: no two have the same key

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
  #shown = new Shown(); // the same with all pending changes made
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

  /** All spans in reading order: `{key, start, end, label}`. The same array as long as nothing changes; not to be changed. */
  spans() {
    return this.#shown.list;
  }

  /** How many spans a label has. */
  count(label) {
    return this.#shown.count(label);
  }

  get(key) {
    return this.#shown.get(this.#resolve(key));
  }

  /** Where a span stands in `spans()`; -1 where it isn't. */
  at(key) {
    const span = this.get(key);
    return span ? this.#shown.at(span) : -1;
  }

  /** The span at exactly this place with this label, or null. */
  find(wanted) {
    return this.#shown.find(wanted);
  }

  /** The server's id of a span; null while it has none. */
  idOf(key) {
    const id = this.#idOf(key);
    return Number.isSafeInteger(id) ? id : null;
  }

  /** The key under which this page knows the span with this id, whether it is there or not. */
  keyOf(id) {
    return this.#keyOf(id);
  }

  // ── What a person does. Each returns the change, or null where there is nothing to change. ──────────────────────────

  create(start, end, label) {
    const after = { start, end, label };
    return this.find(after) ? null : this.#made("create", [this.#fresh(after)]);
  }

  /** Many spans as one change, which one undo takes back. Those that are there already are left out. @param {Place[]} places */
  createMany(places) {
    const wanted = new Map(places.map((each) => [String(triple(each)), place(each)]));
    const edits = [...wanted.values()].filter((each) => !this.find(each)).map((after) => this.#fresh(after));
    return edits.length ? this.#made("create_many", edits) : null;
  }

  relabel(key, label) {
    return this.#alter("relabel", key, { label });
  }

  resize(key, start, end) {
    return this.#alter("resize", key, { start, end });
  }

  remove(key) {
    const span = this.get(key);
    return span && this.#made("delete", [{ key: span.key, before: place(span), after: null }]);
  }

  undo() {
    return this.#step("undo", this.#past, this.#future);
  }

  redo() {
    return this.#step("redo", this.#future, this.#past);
  }

  #fresh(after) {
    madeHere += 1;
    return { key: `new-${madeHere}`, before: null, after };
  }

  #alter(kind, key, values) {
    const span = this.get(key);
    if (!span) return null;
    const after = { ...place(span), ...values };
    return this.find(after) ? null : this.#made(kind, [{ key: span.key, before: place(span), after }]);
  }

  #made(kind, edits) {
    const id = this.#newId();
    const change = { id, kind, key: edits.length === 1 ? edits[0].key : null, edits, origin: id };
    this.#past.push(change);
    this.#future = [];
    return this.#enqueue(change);
  }

  /** An undo is the opposite of the last entry; where this page knows none, only the server can tell. */
  #step(kind, from, to) {
    const entry = from.pop();
    const id = this.#newId();
    if (!entry) return this.#enqueue({ id, kind, key: null, edits: [], origin: id });
    const edits = entry.edits.map(({ key, before, after }) => ({ key, before: after, after: before }));
    const opposite = { id, kind, key: entry.key, edits, origin: entry.origin };
    to.push(opposite);
    return this.#enqueue(opposite);
  }

  #enqueue(change) {
    this.#pending.push(change);
    for (const { key, before, after } of change.edits) this.#apply(this.#resolve(key), before, after);
    return change;
  }

  // ── What the server says ──────────────────────────────────────────────────────────────────────────────────────────

  /** The change as it is sent. Called when its turn comes: by then every span that it names has its id. */
  body(change, quote) {
    const { id, kind, edits } = change;
    const body = { change_id: id, kind, version: this.version };
    const quoted = ({ start, end }) => ({ start, end, quote: quote(start, end) });
    if (kind === "create_many") return { ...body, spans: edits.map(({ after }) => ({ ...quoted(after), label: after.label })) };
    if (STEPS.includes(kind)) return body;
    const [{ key, before, after }] = edits;
    if (kind === "create" || kind === "resize") Object.assign(body, quoted(after));
    if (kind === "create" || kind === "relabel") body.label = after.label;
    if (kind !== "create") Object.assign(body, { span: this.#idOf(key), seen: triple(before) });
    return body;
  }

  /**
   * The first pending change was made. Returns what else has changed in the reading (in another tab), or null.
   */
  accepted(answer) {
    const change = this.#pending.shift();
    if (change.kind === "create" && answer.span) this.#tie(change.key, answer.span.id);
    if (change.kind === "create_many") this.#tieMany(change, answer.made ?? []);
    this.version = answer.version;
    const touched = this.#confirm(change, answer);
    const elsewhere = answer.spans ? this.#takeOver(answer) : null;
    if (!answer.spans) this.#settle([...touched, ...change.edits.map(({ key }) => this.#resolve(key))]);
    const foreseen = change.edits.length > 0 && !answer.message && (!answer.already || change.kind === "create_many");
    if (elsewhere || !foreseen) this.#forgetSteps();
    return elsewhere;
  }

  /** The server's list; returns what in it is not as this page expected, if that is somebody else's doing. */
  #takeOver({ spans, changed_elsewhere: byOthers }) {
    const expected = this.#base;
    this.#base = this.#fromList(spans);
    this.#rebuild();
    return byOthers === false ? null : difference(expected, this.#base);
  }

  /** Write into what is confirmed what the answer names, or where it names nothing, what was foreseen. Returns the keys. */
  #confirm(change, { span, removed, made, already, spans }) {
    const named = made ?? (span && !already ? [span] : []);
    const edits = named.map((one) => [this.#keyOf(one.id), place(one)]);
    if (removed) edits.push([this.#keyOf(removed), null]);
    if (spans && !span && !removed && !made) edits.push(...change.edits.map(({ key, after }) => [this.#resolve(key), after]));
    for (const [key, after] of edits) {
      if (after) this.#base.set(key, after);
      else this.#base.delete(key);
    }
    return edits.map(([key]) => key);
  }

  /** Those that the server made get their ids; the others were there, and an undo won't touch them. */
  #tieMany(change, made) {
    const ids = new Map(made.map((span) => [String(triple(span)), span.id]));
    const twins = new Map([...this.#base].map(([key, at]) => [String(triple(at)), key]));
    const keys = new Set();
    for (const { key, after } of change.edits) {
      const wanted = String(triple(after));
      if (ids.has(wanted)) {
        this.#tie(key, ids.get(wanted));
        keys.add(key);
      } else if (twins.has(wanted)) this.#alias.set(key, twins.get(wanted));
    }
    const mine = (each) => each.origin === change.id;
    for (const each of [...this.#past, ...this.#future, ...this.#pending].filter(mine)) {
      each.edits = each.edits.filter(({ key }) => keys.has(key));
    }
    this.#settle(change.edits.map(({ key }) => key));
  }

  /**
   * The first pending change was refused for good, and so is everything that builds on a span that never came to be, and every undo
   * of what never was. Returns how many changes were dropped, and what else has changed.
   */
  refused(answer) {
    const change = this.#pending.shift();
    const gone = new Set(["create", "create_many"].includes(change.kind) ? change.edits.map(({ key }) => key) : []);
    const stays = (other) => !other.edits.some(({ key }) => gone.has(key)) && (STEPS.includes(change.kind) || other.origin !== change.id);
    const left = this.#pending.filter(stays);
    const dropped = 1 + this.#pending.length - left.length;
    this.#pending = left;
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

  /** It was handed in or reopened elsewhere; what waits goes on waiting, and stays to be seen. */
  stands(state) {
    this.state = state;
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
      this.#settle([key]);
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

  // ── What is shown ─────────────────────────────────────────────────────────────────────────────────────────────────

  /** Show some spans anew: what is confirmed of each, and all pending changes to it. */
  #settle(keys) {
    for (const key of new Set(keys)) {
      this.#shown.put(key, this.#base.get(key) ?? null);
      for (const { edits } of this.#pending) {
        for (const edit of edits) if (this.#resolve(edit.key) === key) this.#apply(key, edit.before, edit.after);
      }
    }
  }

  /** A span that another tab deleted doesn't come back by being changed here. */
  #apply(key, before, after) {
    if (after === null) this.#shown.put(key, null);
    else if (before === null || this.#shown.has(key)) this.#shown.put(key, after);
  }

  #rebuild() {
    const places = new Map(this.#base);
    for (const { edits } of this.#pending) {
      for (const { key, before, after } of edits) {
        const known = this.#resolve(key);
        if (after === null) places.delete(known);
        else if (before === null || places.has(known)) places.set(known, after);
      }
    }
    this.#shown.replace(places);
  }
}
