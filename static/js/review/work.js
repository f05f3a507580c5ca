/** What a reviewer does with the note: choosing, deciding, marking what was missed. Paints at once, then lets the outbox send. */

import { byId } from "../editor/dom.js";
import { NoteWork } from "../editor/deciding/work.js";
import { around } from "../editor/deciding/queue.js";
import { hintsOf } from "./hints.js";
import { placeOf } from "./model.js";
import { words } from "./words.js";

export class ReviewWork extends NoteWork {
  endsButton = null; // in the palette, while a proposal is chosen
  others = []; // spans of other runs
  hints = []; // what may have been missed; there once nothing is open
  masked = false;
  #dropped = new Set(); // hints that the reviewer said no to
  #through = false; // with the proposals: what is open is taken as accepted, and misses are looked for
  #readThrough = false;

  get selected() {
    if (!this.key?.startsWith("h")) return this.note.find(this.key);
    const hint = this.hints.find(({ key }) => key === this.key);
    return hint ? { key: hint.key, hint } : null;
  }

  get #proposal() {
    return this.selected?.proposal ?? null;
  }

  painted() {
    this.#lookForMisses();
    const hints = this.hints.filter(({ why }) => why !== "own").map(({ key, start, end, label }) => ({ key, start, end, label, look: "is-hint", stateWord: words.states.hint }));
    return [...this.note.spans(words.states), ...hints].sort((a, b) => a.start - b.start || b.end - a.end || a.label - b.label);
  }

  /** Once nothing is open the note is read masked, with hints of what is missing; a step back to the original is a key. */
  #lookForMisses() {
    const { note } = this;
    const done = (note.open === 0 || this.#through) && !note.closed;
    // A second reviewer looks at decisions that are there already, so nothing hides them.
    const second = note.stage === "settling" || (note.stage === "second" && !note.between.blind);
    const proposals = note.proposals();
    const gold = [...proposals.filter(({ state }) => state !== "rejected").map(placeOf), ...note.others()];
    this.hints = done ? hintsOf({ index: this.index, gold, covered: proposals, others: this.others, dropped: this.#dropped }) : [];
    if (note.stage === "settling") this.hints = [...this.#otherwise(), ...this.hints];
    if (done && !this.#readThrough && !second) this.mask(true);
    this.#readThrough = done;
  }

  /** What only one of the two reviewers has in gold besides the proposals; the own ones are chosen by their gold span. */
  #otherwise() {
    const { theirs, own } = this.note.otherwise();
    const first = this.note.between.first;
    const keyed = theirs.map((span) => ({ key: `hf${span.start}-${span.end}-${span.label}`, ...span, why: "first", runs: [first] }));
    const wanted = keyed.filter(({ key }) => !this.#dropped.has(key));
    return [...wanted, ...own.map((span) => ({ ...span, why: "own", runs: [first] }))];
  }

  /** How many differences are left between two reviewers. */
  get differences() {
    const { theirs, own } = this.note.otherwise();
    return this.note.proposals().filter(({ differs }) => differs).length + theirs.length + own.length;
  }

  /** Decide as the first reviewer did. */
  takeFirst() {
    const proposal = this.#toDecide();
    const first = proposal && this.note.firstOf(proposal);
    if (!first) return false;
    if (first.state === "rejected") {
      this.made(this.note.reject(proposal.id), words.saidRejected(this.name(proposal.label), this.quote(proposal)));
    } else {
      const [start, end, label] = first.place;
      this.made(this.note.correct(proposal.id, { start, end, label }), words.saidAccepted(this.name(label), this.quote({ start, end })));
    }
    this.onward();
    return true;
  }

  /** Show what stands in gold as its label, or as it is written. */
  mask(on = !this.masked) {
    this.masked = on;
    this.view.root.classList.toggle("is-masked", on);
    this.panel.view(on);
  }

  show() {
    this.panel.show(this.note, this.selected, this.range && this.quote(this.range), this.hints);
  }

  described({ proposal, other, hint }) {
    if (hint) return words.describedHint(this.name(hint.label), this.quote(hint), words.why(hint));
    if (other) return words.described(this.name(other.label), words.states.added, this.quote(other));
    const place = placeOf(proposal);
    return words.described(this.name(place.label), words.states[proposal.state], this.quote(place));
  }

  /** The next or previous proposal; `open`: the next that is undecided, going round, and then the next hint. */
  walk(step, options) {
    const found = this.note.after(this.#proposal?.id, step, options);
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

  /** Other proposals are wanted, or in another order. */
  look(filter, order) {
    this.note.filter = filter;
    this.note.order = order;
    this.redraw();
    const chosen = this.#proposal;
    if (!chosen || !this.note.listed().includes(chosen)) this.walk(1, { open: true });
  }

  // ── Deciding ──────────────────────────────────────────────────────────────────────────────────────────────────────

  accept() {
    if (this.selected?.hint) {
      this.#addHint(this.selected.hint.label);
      return;
    }
    const proposal = this.#toDecide();
    if (!proposal) return;
    this.made(this.note.accept(proposal.id), words.saidAccepted(this.name(proposal.label), this.quote(proposal)));
    this.onward();
  }

  reject() {
    if (this.selected?.hint) {
      this.#dropHint();
      return;
    }
    const proposal = this.#toDecide();
    if (!proposal) return;
    this.made(this.note.reject(proposal.id), words.saidRejected(this.name(proposal.label), this.quote(proposal)));
    this.onward();
  }

  /** A click with Alt: the innermost open proposal there is rejected, whichever is chosen. False where none is. */
  struck(stack) {
    const key = stack.find((one) => this.note.find(one)?.proposal?.state === "open");
    if (!key || this.note.closed) return false;
    this.selectSpan(key);
    this.reject();
    return true;
  }

  /** A label was chosen: for the selected text a new span, else the chosen proposal is accepted with it. */
  applyLabel(label) {
    if (!this.isOpen()) return;
    if (this.range) {
      this.#add(label);
      return;
    }
    if (this.selected?.hint) {
      this.#addHint(label);
      return;
    }
    const proposal = this.#toDecide();
    if (!proposal) return;
    const { start, end } = placeOf(proposal);
    this.made(this.note.correct(proposal.id, { start, end, label }), words.saidCorrected(this.name(label), this.quote({ start, end })));
    this.onward();
  }

  #addHint(label) {
    if (!this.isOpen()) return;
    const { start, end, key } = this.selected.hint;
    const at = this.hints.findIndex((hint) => hint.key === key);
    const said = words.saidAdded(this.name(label), this.quote({ start, end }));
    this.#nextHint(at, () => this.made(this.note.add(start, end, label), said));
  }

  /** Nothing personal: no hint any more, while this page is open. */
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

  /** The selected words become the ends of the chosen proposal. */
  takeEnds() {
    if (!this.isOpen()) return;
    const proposal = this.#touched;
    const place = this.range && this.trimmed(this.range);
    if (!proposal || !place) {
      this.panel.tell(words.selectFirst);
      return;
    }
    this.letGo(place.end);
    this.#correct(proposal, place);
  }

  /** Whose ends the selected words are: the chosen proposal's, or if they don't touch it, that of the one they touch. */
  get #touched() {
    const { range } = this;
    const touches = (proposal) => placeOf(proposal).start < range.end && range.start < placeOf(proposal).end;
    if (!range || (this.#proposal && touches(this.#proposal))) return this.#proposal;
    const touched = this.note.proposals().filter((proposal) => proposal.state !== "rejected" && touches(proposal));
    return touched.length === 1 ? touched[0] : this.#proposal;
  }

  /** Move one end of the chosen proposal by a word; false where there is nothing to move. */
  moveEnd(edge, step) {
    const proposal = this.#proposal;
    if (!proposal || this.range) return false;
    if (!this.isOpen()) return true;
    const place = this.cursor.shift(placeOf(proposal), edge, step);
    if (place) this.#correct(proposal, place);
    return true;
  }

  #correct(proposal, { start, end }) {
    const { label } = placeOf(proposal);
    this.made(this.note.correct(proposal.id, { start, end, label }), words.saidCorrected(this.name(label), this.quote({ start, end })));
  }

  /** Accept what is open by closing the note; where something may have been missed, that is looked at first. */
  closeWithRest() {
    if (!this.isOpen()) return;
    if (this.note.rest().length < this.note.open) {
      this.toLeftOut();
      return;
    }
    const rest = this.note.rest();
    const torn = rest.find((proposal) => this.note.rivals(proposal).some(({ state }) => state === "open"));
    if (torn) {
      this.selectSpan(`p${torn.id}`);
      this.panel.tell(words.chooseFirst);
      return;
    }
    const seen = this.#through || !rest.length;
    this.#through = true;
    this.redraw();
    if (!seen && this.#walkHints(1)) this.panel.tell(words.restThenMisses(rest.length, this.hints.length));
    else this.saving.close({ rest: rest.map(({ id }) => id) });
  }

  /** Something known had been left out of the proposals and is not marked: show it, for a decision of its own. */
  toLeftOut() {
    const open = this.note.proposals().filter(({ planted, state }) => planted && state === "open");
    this.mask(false);
    if (!open.includes(this.#proposal)) this.selectSpan(`p${open[0].id}`);
    this.panel.tell(words.leftOut(this.note.leftOut()), "");
    this.focusNote();
  }

  /** Take a gold span that no proposal stands for out of gold. */
  remove() {
    const other = this.selected?.other;
    if (!other) return false;
    if (!this.isOpen()) return true;
    this.key = null;
    this.made(this.note.remove(other), words.saidRemoved(this.name(other.label), this.quote(other)));
    this.focusNote();
    return true;
  }

  #toDecide() {
    if (!this.isOpen()) return null;
    if (!this.#proposal) this.panel.say(words.nothing);
    return this.#proposal;
  }

  isOpen() {
    if (!this.note.closed) return true;
    this.panel.tell(words.closed);
    return false;
  }

  // ── Marking what was missed ───────────────────────────────────────────────────────────────────────────────────────

  /** Begin at the chosen span, or where the eye is: the first word that the window shows. */
  mark() {
    const chosen = this.selected;
    const place = chosen && (chosen.other ?? chosen.hint ?? placeOf(chosen.proposal));
    this.letGo(place ? place.end : this.firstInSight());
    this.moveCursor(1, false);
    this.panel.say(`${words.marking} ${this.range ? this.quote(this.range) : ""}`);
  }

  openPalette(focus) {
    this.endsButton.remove();
    const proposal = this.#touched;
    if (proposal) {
      this.endsButton.firstChild.data = `${words.ends(this.name(placeOf(proposal).label))} `;
      byId("palette").prepend(this.endsButton);
    }
    super.openPalette(focus);
  }

  #add(label) {
    const place = this.range && this.trimmed(this.range);
    if (!place) {
      this.panel.tell(words.onlySpace);
      return;
    }
    this.letGo(place.end);
    const change = this.note.add(place.start, place.end, label);
    const name = this.name(label);
    this.made(change, words.saidAdded(name, this.quote(place)));
    if (!change) this.panel.say(words.saidThere(name));
  }
}
