/** What a reviewer does with the note: choosing, deciding, marking what was missed. Paints at once, then lets the outbox send. */

import { byId } from "../workbench/dom.js";
import { NoteWork } from "../decide/work.js";
import { placeOf } from "./model.js";
import { words } from "./words.js";

export class ReviewWork extends NoteWork {
  endsButton = null; // in the palette, while a proposal is chosen

  get selected() {
    return this.note.find(this.key);
  }

  get #proposal() {
    return this.selected?.proposal ?? null;
  }

  painted() {
    return this.note.spans(words.states);
  }

  show() {
    this.panel.show(this.note, this.selected, this.range && this.quote(this.range));
  }

  described({ proposal, other }) {
    if (other) return `${this.name(other.label)}, ${words.states.added}: ${this.quote(other)}`;
    const place = placeOf(proposal);
    return `${this.name(place.label)}, ${words.states[proposal.state]}: ${this.quote(place)}`;
  }

  /** The next or previous proposal; `open`: the next that is undecided, going round. */
  walk(step, options) {
    const found = this.note.after(this.#proposal?.id, step, options);
    if (found) this.selectSpan(`p${found.id}`);
    return Boolean(found);
  }

  // ── Deciding ──────────────────────────────────────────────────────────────────────────────────────────────────────

  accept() {
    const proposal = this.#toDecide();
    if (!proposal) return;
    this.made(this.note.accept(proposal.id), words.saidAccepted(this.name(proposal.label), this.quote(proposal)));
    this.onward();
  }

  reject() {
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
    const proposal = this.#toDecide();
    if (!proposal) return;
    const { start, end } = placeOf(proposal);
    this.made(this.note.correct(proposal.id, { start, end, label }), words.saidCorrected(this.name(label), this.quote({ start, end })));
    this.onward();
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
    const place = chosen && (chosen.other ?? placeOf(chosen.proposal));
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
