/**
 * An annotation set as the page knows it: the state that the server has confirmed, with the unsent changes applied. Pure: it uses
 * neither the page nor the network.
 *
 * A span has a key that stays the same while the page is open: the server's id, or for a span made here a key of its own, which is
 * tied to the id when the server answers. The server decides what undo and redo do, because it has the whole log. This module
 * foresees their effect where it can, so that the page shows it at once.
 */

import { Shown, alike, boundsOf } from "./shown.js";

/**
 * @typedef {import("./shown.js").LabeledBounds} LabeledBounds
 * @typedef {{key: string, before: LabeledBounds|null, after: LabeledBounds|null}} Edit
 * @typedef {{id: string, kind: string, key: string|null, edits: Edit[], origin: string, name?: string, value?: string|true|null}} Change
 *   `key`: the span's, if the change is of one span; no edits where only the server knows the effect; `origin`: id of the change that an
 *   undo or redo reverts; `name` and `value`: the attribute that is set, or with null removed
 */

const triple = ({ start, end, label }) => [start, end, label];
const STEPS = ["undo", "redo"];

let madeHere = 0; // counts the spans made on this page in all notes, so that keys are unique

/** How many spans were added, removed and changed between two maps of bounds; null if none. */
export function difference(before, after) {
  let changed = 0;
  let removed = 0;
  let kept = 0;
  for (const [key, was] of before) {
    const is = after.get(key);
    if (is === undefined) removed += 1;
    else {
      kept += 1;
      if (!alike(was, is)) changed += 1;
    }
  }
  const added = after.size - kept;
  return added || removed || changed ? { added, removed, changed } : null;
}

export class AnnotationSet {
  #base = new Map(); // key -> LabeledBounds, as the server has it
  #shown = new Shown(); // the same with all pending changes applied
  #pending = []; // changes in the order of making; the first may be on its way
  #ids = new Map(); // key -> id, for spans made here
  #keys = new Map(); // id -> key, the reverse
  #alias = new Map(); // key -> key, where a span made here existed already on the server
  #past = []; // the changes that undo will revert, as far as this page knows
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

  /** All spans in text order: `{key, start, end, label}`. The same array while nothing changes; don't change it. */
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

  /** The index of a span in `spans()`; -1 if it isn't there. */
  at(key) {
    const span = this.get(key);
    return span ? this.#shown.at(span) : -1;
  }

  /** The span with exactly these bounds and label, or null. */
  find(wanted) {
    return this.#shown.find(wanted);
  }

  /** The server's id of a span; null while it has none. */
  idOf(key) {
    const id = this.#idOf(key);
    return Number.isSafeInteger(id) ? id : null;
  }

  /** The key of the span with this id, whether or not the span exists. */
  keyOf(id) {
    return this.#keyOf(id);
  }

  // ── Changes by the person. Each returns the change, or null where it would change nothing. ──────────────────────────

  create(start, end, label) {
    const after = { start, end, label };
    return this.find(after) ? null : this.#made("create", [this.#fresh(after)]);
  }

  /** Add many spans as one change, which one undo reverts; existing spans are left out. @param {LabeledBounds[]} bounds */
  createMany(bounds) {
    const wanted = new Map(bounds.map((each) => [String(triple(each)), boundsOf(each)]));
    const edits = [...wanted.values()].filter((each) => !this.find(each)).map((after) => this.#fresh(after));
    return edits.length ? this.#made("create_many", edits) : null;
  }

  relabel(key, label) {
    return this.#alter("relabel", key, { label });
  }

  resize(key, start, end) {
    return this.#alter("resize", key, { start, end });
  }

  /** Set an attribute of a span; the value null removes it. @param {string|true|null} value */
  attribute(key, name, value) {
    const span = this.get(key);
    if (!span) return null;
    const others = Object.entries(span.attributes ?? {}).filter(([other]) => other !== name);
    const all = value === null ? others : [...others, [name, value]];
    const before = boundsOf(span);
    const after = boundsOf({ ...before, attributes: Object.fromEntries(all.sort(([a], [b]) => (a < b ? -1 : 1))) });
    return alike(before, after) ? null : this.#made("attribute", [{ key: span.key, before, after }], { name, value });
  }

  remove(key) {
    const span = this.get(key);
    return span && this.#made("delete", [{ key: span.key, before: boundsOf(span), after: null }]);
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
    const after = { ...boundsOf(span), ...values };
    return this.find(after) ? null : this.#made(kind, [{ key: span.key, before: boundsOf(span), after }]);
  }

  #made(kind, edits, more = {}) {
    const id = this.#newId();
    const change = { id, kind, key: edits.length === 1 ? edits[0].key : null, edits, origin: id, ...more };
    this.#past.push(change);
    this.#future = [];
    return this.#enqueue(change);
  }

  /** Undo or redo: the opposite of the last entry. Where this page knows none, only the server knows the effect. */
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

  // ── Answers of the server ──────────────────────────────────────────────────────────────────────────────────────────

  /** The body of a change's request. Call it when the earlier changes are answered: then every span has its id. */
  body(change, quote) {
    const { id, kind, edits } = change;
    const body = { change_id: id, kind, version: this.version };
    const quoted = ({ start, end }) => ({ start, end, quote: quote(start, end) });
    if (kind === "create_many") return { ...body, spans: edits.map(({ after }) => ({ ...quoted(after), label: after.label })) };
    if (STEPS.includes(kind)) return body;
    const [{ key, before, after }] = edits;
    if (kind === "create" || kind === "resize") Object.assign(body, quoted(after));
    if (kind === "create" || kind === "relabel") body.label = after.label;
    if (kind === "attribute") Object.assign(body, { name: change.name, value: change.value });
    if (kind !== "create") Object.assign(body, { span: this.#idOf(key), seen: triple(before) });
    return body;
  }

  /**
   * The first pending change was made. Returns what else has changed in the set (in another tab), or null.
   */
  accepted(answer) {
    const change = this.#pending.shift();
    if (change.kind === "create" && answer.span) this.#tie(change.key, answer.span.id);
    if (change.kind === "create_many") this.#tieMany(change, answer.made ?? []);
    this.version = answer.version;
    const touched = this.#confirm(change, answer);
    const elsewhere = answer.spans ? this.#takeOver(answer) : null;
    if (!answer.spans) this.#showAgain([...touched, ...change.edits.map(({ key }) => this.#resolve(key))]);
    const foreseen = change.edits.length > 0 && !answer.message && (!answer.already || change.kind === "create_many");
    if (elsewhere || !foreseen) this.#forgetSteps();
    return elsewhere;
  }

  /** Take over the server's list. Returns what in it is unexpected, if another tab changed it. */
  #takeOver({ spans, changed_elsewhere: byOthers }) {
    const expected = this.#base;
    this.#base = this.#fromList(spans);
    this.#rebuild();
    return byOthers === false ? null : difference(expected, this.#base);
  }

  /** Apply the answer to the confirmed spans; where it names none, apply the foreseen edits. Returns the keys. */
  #confirm(change, { span, removed, made, already, spans }) {
    const named = made ?? (span && !already ? [span] : []);
    // The answer to a change of one span has its attributes only where it changed them.
    const edits = named.map((one) => [this.#keyOf(one.id), boundsOf({ attributes: this.#base.get(this.#keyOf(one.id))?.attributes, ...one })]);
    if (removed) edits.push([this.#keyOf(removed), null]);
    if (spans && !span && !removed && !made) edits.push(...change.edits.map(({ key, after }) => [this.#resolve(key), after]));
    for (const [key, after] of edits) {
      if (after) this.#base.set(key, after);
      else this.#base.delete(key);
    }
    return edits.map(([key]) => key);
  }

  /** Tie the spans that the server made to their ids; the others existed already, and an undo leaves them alone. */
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
    this.#showAgain(change.edits.map(({ key }) => key));
  }

  /**
   * The first pending change was refused. Drop it, all changes of a span that it would have made, and its undo. Returns how many
   * changes were dropped, and what else has changed.
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

  /** Take over version, state and spans, as far as the answer has them. Returns what changed in the spans, or null. */
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

  /** The set was submitted or reopened elsewhere. Pending changes stay pending and visible. */
  stands(state) {
    this.state = state;
  }

  #forgetSteps() {
    this.#past = [];
    this.#future = [];
  }

  #fromList(spans) {
    return new Map(spans.map((span) => [this.#keyOf(span.id), boundsOf(span)]));
  }

  /** The span made here under `key` is the server's `id`. */
  #tie(key, id) {
    const known = this.#keys.get(id) ?? String(id);
    if (this.#base.has(known) && known !== key) {
      this.#alias.set(key, known);
      this.#showAgain([key]);
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

  // ── Shown spans ───────────────────────────────────────────────────────────────────────────────────────────────────

  /** Show some spans again: the confirmed state of each with all pending changes to it. */
  #showAgain(keys) {
    for (const key of new Set(keys)) {
      this.#shown.put(key, this.#base.get(key) ?? null);
      for (const { edits } of this.#pending) {
        for (const edit of edits) if (this.#resolve(edit.key) === key) this.#apply(key, edit.before, edit.after);
      }
    }
  }

  /** Apply an edit to the shown spans. Changing a span that another tab deleted doesn't restore it. */
  #apply(key, before, after) {
    if (after === null) this.#shown.put(key, null);
    else if (before === null || this.#shown.has(key)) this.#shown.put(key, after);
  }

  #rebuild() {
    const bounds = new Map(this.#base);
    for (const { edits } of this.#pending) {
      for (const { key, before, after } of edits) {
        const known = this.#resolve(key);
        if (after === null) bounds.delete(known);
        else if (before === null || bounds.has(known)) bounds.set(known, after);
      }
    }
    this.#shown.replace(bounds);
  }
}
