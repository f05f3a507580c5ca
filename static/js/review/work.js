/** The reviewer's actions on the note: selecting, deciding, adding missed identifiers. Changes are drawn at once and sent by the outbox. */

import { byId } from "../editor/dom.js";
import { NoteWork } from "../editor/deciding/work.js";
import { around } from "../editor/deciding/queue.js";
import { hintsOf } from "./hints.js";
import { placesOf } from "../editor/source_page.js";
import { boundsOf, stands } from "./model.js";
import { words } from "./words.js";

export class ReviewWork extends NoteWork {
  endsButton = null; // in the palette while a suggestion is selected
  others = []; // spans of other runs
  hints = []; // possible missed identifiers, shown once nothing is open
  views = null; // see views.js
  #rests = []; // parts of a corrected suggestion that are offered to be labeled, the selected one first
  #dropped = new Set(); // hints that the reviewer rejected
  #acceptingRest = false; // the open suggestions count as accepted, and the reviewer checks the hints
  #wasDone = false; // whether nothing was left to decide when the note was last drawn

  get selected() {
    if (!this.key?.startsWith("h")) return this.note.find(this.key);
    const hint = this.hints.find(({ key }) => key === this.key);
    return hint ? { key: hint.key, hint } : null;
  }

  get #suggestion() {
    return this.selected?.suggestion ?? null;
  }

  get isMasked() {
    return this.views.current !== "original";
  }

  painted() {
    this.#findHints();
    this.views.keep();
    const hints = this.hints.filter(({ why }) => why !== "own").map(({ key, start, end, label }) => ({ key, start, end, label, look: "is-hint", stateWord: words.states.hint }));
    const spans = this.note.spans(words.states);
    const shown = this.views.current === "original" ? spans : spans.map((span) => ({ ...span, instead: this.views.instead(span) }));
    return hints.length ? [...shown, ...hints].sort((a, b) => a.start - b.start || b.end - a.end || a.label - b.label) : shown;
  }

  /** Once nothing is open, show the note masked, with hints for possible missed identifiers. */
  #findHints() {
    const { note } = this;
    const done = (note.open === 0 || this.#acceptingRest) && !note.finished;
    // A second reviewer checks existing decisions, so the note is not masked for them.
    const second = note.stage === "resolving" || (note.stage === "second" && !note.between.blind);
    this.hints = done ? this.#missed() : [];
    if (note.stage === "resolving") this.hints = [...this.#addedByOne(), ...this.hints];
    const first = !this.#wasDone;
    this.#wasDone = done;
    if (done && first && !second && this.views.current === "original") this.views.show("masked", { redraw: false });
  }

  #missed() {
    const covered = this.note.suggestions();
    const gold = [...covered.filter(stands).map(boundsOf), ...this.note.others()];
    return hintsOf({ index: this.index, gold, covered, others: this.others, dropped: this.#dropped });
  }

  /** Hints for added spans that only one of the two reviewers has. Own spans keep the key of their gold span. */
  #addedByOne() {
    const { theirs, own } = this.note.addedByOne();
    const first = this.note.between.first;
    const keyed = theirs.map((span) => ({ key: `hf${span.start}-${span.end}-${span.label}`, ...span, why: "first", runs: [first] }));
    const wanted = keyed.filter(({ key }) => !this.#dropped.has(key));
    return [...wanted, ...own.map((span) => ({ ...span, why: "own", runs: [first] }))];
  }

  /** The number of differences left between the two reviewers. */
  get differences() {
    const { theirs, own } = this.note.addedByOne();
    return this.note.suggestions().filter(({ differs }) => differs).length + theirs.length + own.length;
  }

  /** Decide as the first reviewer did. */
  decideLikeFirst() {
    const suggestion = this.#toDecide();
    const first = suggestion && this.note.firstOf(suggestion);
    if (!first) return false;
    if (!first.bounds) {
      const change = suggestion.removal ? this.note.accept(suggestion.id) : this.note.reject(suggestion.id);
      this.decided(change, this.#said(suggestion).out(this.name(suggestion.label), this.quote(suggestion)));
    } else {
      const [start, end, label] = first.bounds;
      this.decided(this.note.correct(suggestion.id, { start, end, label }), this.#said(suggestion).in(this.name(label), this.quote({ start, end })));
    }
    return true;
  }

  /** What to say when a suggestion or a proposed removal is out of gold, in gold, or in gold with other bounds or label. */
  #said({ removal }) {
    return removal
      ? { out: words.saidRemovalAccepted, in: words.saidKept, as: words.saidKeptAs }
      : { out: words.saidRejected, in: words.saidAccepted, as: words.saidCorrected };
  }

  show() {
    const [rest] = this.range ? [] : this.#leftOut;
    this.panel.show(this.note, this.selected, this.range && this.quote(this.range), this.hints, { isRest: this.#isRest, rest: rest && this.quote(rest) });
  }

  described({ suggestion, other, hint }) {
    if (hint) return words.describedHint(this.name(hint.label), this.quote(hint), words.why(hint));
    if (other) return words.described(this.name(other.label), words.states.added, this.quote(other));
    const bounds = boundsOf(suggestion);
    const states = suggestion.removal ? words.states.removal : words.states;
    return words.described(this.name(bounds.label), states[suggestion.state], this.quote(bounds));
  }

  /** Select the next or previous suggestion. With `open`, the next open one, going round, or else the next hint. */
  walk(step, options) {
    const found = this.note.after(this.#suggestion?.id, step, options);
    if (found) this.selectSpan(`p${found.id}`);
    else if (options?.open) return this.#walkHints(step);
    return Boolean(found);
  }

  #walkHints(step) {
    const from = this.hints.findIndex(({ key }) => key === this.key);
    const hint = around(this.hints, from, step, () => true);
    if (hint) this.selectSpan(hint.key);
    return Boolean(hint);
  }

  /** Apply a new filter or order. */
  look(filter, order) {
    this.note.filter = filter;
    this.note.order = order;
    this.redraw();
    const chosen = this.#suggestion;
    if (!chosen || !this.note.listed().includes(chosen)) this.walk(1, { open: true });
  }

  // ── Deciding ──────────────────────────────────────────────────────────────────────────────────────────────────────

  accept() {
    if (this.selected?.hint) {
      this.#addHint(this.selected.hint.label);
      return;
    }
    const suggestion = this.#toDecide();
    if (!suggestion) return;
    const said = suggestion.removal ? words.saidRemovalAccepted : words.saidAccepted;
    this.decided(this.note.accept(suggestion.id), said(this.name(suggestion.label), this.quote(suggestion)));
  }

  reject() {
    if (this.selected?.hint) {
      this.#dropHint();
      return;
    }
    const suggestion = this.#toDecide();
    if (!suggestion) return;
    const said = suggestion.removal ? words.saidKept : words.saidRejected;
    this.decided(this.note.reject(suggestion.id), said(this.name(suggestion.label), this.quote(suggestion)));
  }

  /** Alt+click: reject the innermost open suggestion under the pointer. Returns false if there is none. */
  struck(stack) {
    const key = stack.find((one) => this.note.find(one)?.suggestion?.state === "open");
    if (!key || this.note.finished) return false;
    this.selectSpan(key);
    this.reject();
    return true;
  }

  /** Apply a label: add the selected text as a span, or else accept the selected suggestion with this label. */
  applyLabel(label) {
    if (!this.isOpen()) return;
    this.palette.used(label);
    if (this.range) {
      this.#add(label);
      return;
    }
    if (this.selected?.hint) {
      this.#addHint(label);
      return;
    }
    const suggestion = this.#toDecide();
    if (!suggestion) return;
    const { start, end } = boundsOf(suggestion);
    this.decided(this.note.correct(suggestion.id, { start, end, label }), this.#said(suggestion).as(this.name(label), this.quote({ start, end })));
  }

  #addHint(label) {
    if (!this.isOpen()) return;
    const { start, end, key } = this.selected.hint;
    const at = this.hints.findIndex((hint) => hint.key === key);
    const said = words.saidAdded(this.name(label), this.quote({ start, end }));
    this.#nextHint(at, () => this.made(this.note.add(start, end, label), said));
  }

  /** Drop the selected hint while this page is open. Nothing is stored. */
  #dropHint() {
    if (!this.isOpen()) return;
    const { hint } = this.selected;
    const at = this.hints.findIndex(({ key }) => key === hint.key);
    this.#nextHint(at, () => {
      this.#dropped.add(hint.key);
      this.redraw();
    });
  }

  #nextHint(at, act) {
    this.key = null;
    act();
    const next = this.hints[Math.min(at, this.hints.length - 1)];
    if (next) this.selectSpan(next.key);
    this.focusNote();
  }

  /** Use the selected text as the bounds of a suggestion. Without selected text, offer what a correction left out. */
  useAsBounds() {
    if (!this.isOpen()) return;
    const rests = this.range ? [] : this.#leftOut;
    if (rests.length) {
      this.#rests = rests;
      this.#offerRest(false);
      return;
    }
    const suggestion = this.#touched;
    const bounds = this.range && this.trimmed(this.range);
    if (!suggestion || !bounds) {
      this.panel.tell(words.selectFirst);
      return;
    }
    const whole = boundsOf(suggestion);
    const withPalette = this.palette.isOpen;
    this.letGo(bounds.end);
    this.#correct(suggestion, bounds);
    this.#rests = this.#around(whole, bounds);
    this.#offerRest(withPalette);
  }

  /** The parts of the selected suggestion that its correction left out and that nothing else covers. */
  get #leftOut() {
    const suggestion = this.#suggestion;
    if (!suggestion?.bounds || this.note.finished) return [];
    return this.#around(suggestion, boundsOf(suggestion));
  }

  /** The parts of `whole` to be labeled before and after `bounds`. */
  #around(whole, bounds) {
    return [this.#rest(whole.start, bounds.start), this.#rest(bounds.end, whole.end)].filter(Boolean);
  }

  /** The part of a corrected suggestion between two offsets, from its first to its last word; null if nothing is to be labeled there. */
  #rest(from, past) {
    if (from >= past) return null;
    const text = this.index.slice(from, past);
    const [before] = /^[^\p{L}\p{N}]*/u.exec(text) ?? [""];
    const [after] = /[^\p{L}\p{N}]*$/u.exec(text) ?? [""];
    if (before.length === text.length) return null;
    const rest = { start: from + [...before].length, end: past - [...after].length };
    const suggestions = this.note.suggestions().filter(stands).map(boundsOf);
    const taken = [...suggestions, ...this.note.others()].some(({ start, end }) => start < rest.end && rest.start < end);
    return taken ? null : rest;
  }

  /** Select the next part that a correction left, so that a label's key labels it. */
  #offerRest(withPalette) {
    const rest = this.#rests[0];
    if (!rest) return;
    this.selectText(rest.start, rest.end, { exact: true });
    if (withPalette) this.openPalette(false);
    this.panel.say(words.saidRest(this.quote(rest)));
  }

  /** Whether the selected text is a part that a correction left. */
  get #isRest() {
    const [rest] = this.#rests;
    return Boolean(rest && this.range && rest.start === this.range.start && rest.end === this.range.end);
  }

  letGo(offset) {
    if (!this.#isRest) this.#rests = [];
    super.letGo(offset);
  }

  dropText() {
    this.#rests = [];
    super.dropText();
  }

  /** The suggestion that the selected text belongs to: the selected one, or else the only other one that the text touches. */
  get #touched() {
    const { range } = this;
    const touches = (suggestion) => boundsOf(suggestion).start < range.end && range.start < boundsOf(suggestion).end;
    if (!range || (this.#suggestion && touches(this.#suggestion))) return this.#suggestion;
    const touched = this.note.suggestions().filter((suggestion) => (stands(suggestion) || suggestion.state === "open") && touches(suggestion));
    return touched.length === 1 ? touched[0] : this.#suggestion;
  }

  /** Move one end of the selected suggestion by a word. Returns false if there is nothing to move. */
  moveEnd(edge, step) {
    const suggestion = this.#suggestion;
    if (!suggestion || this.range) return false;
    if (!this.isOpen()) return true;
    const bounds = this.cursor.shift(boundsOf(suggestion), edge, step);
    if (bounds) this.#correct(suggestion, bounds);
    const [rest] = this.#leftOut;
    if (bounds && rest) this.panel.say(words.saidLeftOut(this.quote(rest)));
    return true;
  }

  #correct(suggestion, { start, end }) {
    const { label } = boundsOf(suggestion);
    this.made(this.note.correct(suggestion.id, { start, end, label }), this.#said(suggestion).as(this.name(label), this.quote({ start, end })));
  }

  /** Accept the open suggestions and finish. If there are hints, the reviewer checks them first. */
  finishWithRest() {
    if (!this.isOpen()) return;
    if (this.note.plantedOpen) {
      this.toPlantedLeaks();
      return;
    }
    const rest = this.note.rest();
    const conflicted = rest.find((suggestion) => this.note.conflicting(suggestion).some(({ state }) => state === "open"));
    if (conflicted) {
      this.selectSpan(`p${conflicted.id}`);
      this.panel.tell(words.chooseFirst);
      return;
    }
    const doubtful = rest.find(({ doubt }) => doubt);
    if (doubtful && !byId("with-doubtful").checked) {
      this.selectSpan(`p${doubtful.id}`);
      this.panel.tell(words.doubtfulFirst);
      return;
    }
    const removals = this.note.restRemovals();
    if (removals.length && !byId("with-removals").checked) {
      this.selectSpan(`p${removals[0].id}`);
      this.panel.tell(words.removalsFirst);
      return;
    }
    const count = rest.length + removals.length;
    const seen = this.#acceptingRest || !count;
    this.#acceptingRest = true;
    this.redraw();
    if (!seen && this.#walkHints(1)) this.panel.tell(words.restThenMisses(count, this.hints.length));
    else this.saving.finish({ rest: rest.map(({ id }) => id), removals: removals.map(({ id }) => -id) });
  }

  /** Show the first undecided planted leak, which needs a decision of its own. */
  toPlantedLeaks() {
    const open = this.note.suggestions().filter(({ planted, state }) => planted && state === "open");
    this.views.show("original");
    if (!open.includes(this.#suggestion)) this.selectSpan(`p${open[0].id}`);
    this.panel.tell(words.plantedLeft(this.note.plantedCounts()), "");
    this.focusNote();
  }

  /** Remove a gold span that has no suggestion. */
  remove() {
    const other = this.selected?.other;
    if (!other) return false;
    if (!this.isOpen()) return true;
    this.key = null;
    this.made(this.note.remove(other), words.saidRemoved(this.name(other.label), this.quote(other)));
    this.focusNote();
    return true;
  }

  /** The parts of the document from which the selected item comes. @param {import("../editor/source_page.js").Place[]} source */
  places(source) {
    const { suggestion, other, hint } = this.selected ?? {};
    const span = other ?? hint ?? (suggestion && boundsOf(suggestion));
    return span ? placesOf(source, span) : [];
  }

  /** The gold span of the selected item. */
  attributed() {
    const { suggestion, other } = this.selected ?? {};
    const bounds = other ?? (suggestion?.bounds ? boundsOf(suggestion) : null);
    const gold = bounds && this.note.goldAt(bounds);
    return gold ? [{ key: this.key, ...gold }] : [];
  }

  setAttribute(span, name, value) {
    const change = this.note.attribute(span, name, value);
    this.attributeMade(change, span.label, this.note.goldAt(span)?.attributes);
  }

  #toDecide() {
    if (!this.isOpen()) return null;
    if (!this.#suggestion) this.panel.say(words.nothing);
    return this.#suggestion;
  }

  isOpen() {
    if (!this.note.finished) return true;
    this.panel.tell(words.finished);
    return false;
  }

  // ── Adding missed identifiers ─────────────────────────────────────────────────────────────────────────────────────

  /** Start selecting text after the selected span, or at the first visible word. */
  mark() {
    const chosen = this.selected;
    const bounds = chosen && (chosen.other ?? chosen.hint ?? boundsOf(chosen.suggestion));
    this.letGo(bounds ? bounds.end : this.firstInSight());
    this.moveCursor(1, false);
    this.panel.say(`${words.marking} ${this.range ? this.quote(this.range) : ""}`);
  }

  openPalette(focus) {
    this.endsButton.remove();
    const suggestion = this.#touched;
    if (suggestion) {
      this.endsButton.firstChild.data = `${words.ends(this.name(boundsOf(suggestion).label))} `;
      byId("palette").prepend(this.endsButton);
    }
    super.openPalette(focus);
  }

  #add(label) {
    const bounds = this.range && this.trimmed(this.range);
    if (!bounds) {
      this.panel.tell(words.onlySpace);
      return;
    }
    const rests = this.#isRest ? this.#rests.slice(1) : [];
    const withPalette = this.palette.isOpen;
    this.letGo(bounds.end);
    const change = this.note.add(bounds.start, bounds.end, label);
    const name = this.name(label);
    this.made(change, words.saidAdded(name, this.quote(bounds)));
    if (!change) this.panel.say(this.note.goldIsDraft ? words.saidThereInDraft(name) : words.saidThere(name));
    this.#rests = rests;
    this.#offerRest(withPalette);
  }
}
