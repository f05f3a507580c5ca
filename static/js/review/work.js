/** What a reviewer does with the note: choosing, deciding, marking what was missed. Paints at once, then lets the outbox send. */

import { byId } from "../workbench/dom.js";
import { NoteWork } from "../decide/work.js";
import { around } from "../decide/queue.js";
import { hintsOf } from "./hints.js";
import { placeOf } from "./model.js";
import { words } from "./words.js";

export class ReviewWork extends NoteWork {
  endsButton = null; // in the palette, while a proposal is chosen
  others = []; // spans of other runs
  hints = []; // what may have been missed; there once nothing is open
  masked = false;
  #dropped = new Set(); // hints that the reviewer said no to
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
    const hints = this.hints.map(({ key, start, end, label }) => ({ key, start, end, label, look: "is-hint", stateWord: words.states.hint }));
    return [...this.note.spans(words.states), ...hints].sort((a, b) => a.start - b.start || b.end - a.end || a.label - b.label);
  }

  /** Once nothing is open the note is read masked, with hints of what is missing; a step back to the original is a key. */
  #lookForMisses() {
    const { note } = this;
    const done = note.open === 0 && !note.closed;
    const proposals = note.proposals();
    const gold = [...proposals.filter(({ state }) => state === "accepted").map(placeOf), ...note.others()];
    this.hints = done ? hintsOf({ index: this.index, gold, covered: proposals, others: this.others, dropped: this.#dropped }) : [];
    if (done && !this.#readThrough) this.mask(true);
    this.#readThrough = done;
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
    if (hint) return `${words.titles.hint}, ${this.name(hint.label)}: ${this.quote(hint)}. ${words.why(hint)}`;
    if (other) return `${this.name(other.label)}, ${words.states.added}: ${this.quote(other)}`;
    const place = placeOf(proposal);
    return `${this.name(place.label)}, ${words.states[proposal.state]}: ${this.quote(place)}`;
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
    const proposal = this.#proposal;
    const place = this.range && this.trimmed(this.range);
    if (!proposal || !place) {
      this.panel.tell(words.selectFirst);
      return;
    }
    this.letGo(place.end);
    this.#correct(proposal, place);
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
    const proposal = this.#proposal;
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
