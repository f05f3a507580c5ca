/** What a reviewer does with the note: choosing, deciding, marking what was missed. Paints at once, then lets the outbox send. */

import { byId } from "../workbench/dom.js";
import { placeOf } from "./model.js";
import { shorten } from "../workbench/panel.js";
import { trim } from "../text/tokens.js";
import { words } from "./words.js";

// A proposal that lies in this middle part of the note's window has its context around it.
const CONTEXT = 0.18;

export class ReviewWork {
  #review;
  #view;
  #panel;
  #labels;
  #index;
  #cursor;
  #places;
  #key = null; // what is chosen: see Review.find
  armed = null; // the review page has no armed label; the mouse asks
  saving = null;
  palette = null;
  endsButton = null; // in the palette, while a proposal is chosen
  sheet = null;

  constructor({ review, view, panel, labels, index, cursor, places }) {
    this.#review = review;
    this.#view = view;
    this.#panel = panel;
    this.#labels = labels;
    this.#index = index;
    this.#cursor = cursor;
    this.#places = places;
  }

  get range() {
    return this.#cursor.range;
  }

  get places() {
    return this.#places;
  }

  get selected() {
    return this.#review.find(this.#key);
  }

  get #proposal() {
    return this.selected?.proposal ?? null;
  }

  focusNote() {
    this.#view.root.focus({ preventScroll: true });
  }

  /** Show the review as it is now. */
  redraw() {
    this.#view.draw(this.#review.spans(words.states));
    if (!this.selected) this.#key = null;
    this.#view.select(this.#key);
    this.#show();
    if (this.range) this.#places.show(this.range.start, this.range.end);
  }

  #show() {
    this.#panel.show(this.#review, this.selected, this.range && shorten(this.#quote(this.range)));
  }

  // ── Choosing ──────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Choose a proposal or a gold span; null lets go. */
  selectSpan(key) {
    this.#letGo();
    this.#key = key;
    const chosen = this.selected;
    const piece = this.#view.select(chosen ? key : null);
    if (piece) keepInContext(byId("scroll"), piece);
    this.#show();
    if (chosen?.proposal) {
      const { proposal } = chosen;
      this.#panel.say(`${this.#name(placeOf(proposal).label)}, ${words.states[proposal.state]}: ${this.#quote(placeOf(proposal))}`);
    } else if (chosen) this.#panel.say(`${this.#name(chosen.other.label)}, ${words.states.added}: ${this.#quote(chosen.other)}`);
  }

  /** The next or previous proposal; `open`: the next that is undecided, going round. */
  walk(step, options) {
    const found = this.#review.after(this.#proposal?.id, step, options);
    if (found) this.selectSpan(`p${found.id}`);
    return Boolean(found);
  }

  /** After a decision: the next open proposal; when none is open, what was decided stays chosen. */
  #onward() {
    if (!this.walk(1, { open: true })) this.redraw();
  }

  #letGo(offset = null) {
    this.palette?.close();
    this.#cursor.clear(offset);
    this.#places.clear();
  }

  clearAll(offset = null) {
    this.#letGo(offset);
    this.#key = null;
    this.#view.select(null);
    this.#show();
  }

  /** Let go of the selected text (what is chosen stays). */
  dropText() {
    this.#letGo();
    this.#show();
  }

  /** One step out: the palette, the selected text, what is chosen, and at last the note. */
  escape() {
    if (this.palette.isOpen) this.palette.close();
    else if (this.range) this.dropText();
    else if (this.#key !== null) this.clearAll();
    else byId("side").focus();
  }

  // ── Deciding ──────────────────────────────────────────────────────────────────────────────────────────────────────

  accept() {
    const proposal = this.#toDecide();
    if (!proposal) return;
    this.#made(this.#review.accept(proposal.id), words.saidAccepted(this.#name(proposal.label), this.#quote(proposal)));
    this.#onward();
  }

  reject() {
    const proposal = this.#toDecide();
    if (!proposal) return;
    this.#made(this.#review.reject(proposal.id), words.saidRejected(this.#name(proposal.label), this.#quote(proposal)));
    this.#onward();
  }

  /** A label was chosen: for the selected text a new span, else the chosen proposal is accepted with it. */
  applyLabel(label) {
    if (!this.#isOpen()) return;
    if (this.range) {
      this.#add(label);
      return;
    }
    const proposal = this.#toDecide();
    if (!proposal) return;
    const { start, end } = placeOf(proposal);
    this.#made(this.#review.correct(proposal.id, { start, end, label }), words.saidCorrected(this.#name(label), this.#quote({ start, end })));
    this.#onward();
  }

  /** The selected words become the ends of the chosen proposal. */
  takeEnds() {
    if (!this.#isOpen()) return;
    const proposal = this.#proposal;
    const place = this.#trimmed();
    if (!proposal || !place) {
      this.#panel.tell(words.selectFirst);
      return;
    }
    this.#letGo(place.end);
    this.#correct(proposal, place);
  }

  /** Move one end of the chosen proposal by a word; false where there is nothing to move. */
  moveEnd(edge, step) {
    const proposal = this.#proposal;
    if (!proposal || this.range) return false;
    if (!this.#isOpen()) return true;
    const place = this.#cursor.shift(placeOf(proposal), edge, step);
    if (place) this.#correct(proposal, place);
    return true;
  }

  #correct(proposal, { start, end }) {
    const { label } = placeOf(proposal);
    this.#made(this.#review.correct(proposal.id, { start, end, label }), words.saidCorrected(this.#name(label), this.#quote({ start, end })));
  }

  /** Take a gold span that no proposal stands for out of gold. */
  remove() {
    const other = this.selected?.other;
    if (!other) return false;
    if (!this.#isOpen()) return true;
    this.#key = null;
    this.#made(this.#review.remove(other), words.saidRemoved(this.#name(other.label), this.#quote(other)));
    this.focusNote();
    return true;
  }

  undo() {
    if (this.#isOpen()) this.#made(this.#review.undo(), words.undone);
  }

  redo() {
    if (this.#isOpen()) this.#made(this.#review.redo(), words.redone);
  }

  #toDecide() {
    if (!this.#isOpen()) return null;
    if (!this.#proposal) this.#panel.say(words.nothing);
    return this.#proposal;
  }

  #isOpen() {
    if (!this.#review.closed) return true;
    this.#panel.tell(words.closed);
    return false;
  }

  /** A change was queued (or was none): paint, say so, and let it be sent. */
  #made(change, said) {
    this.redraw();
    this.#panel.say(change ? said : words.saidAsItWas);
    if (change) this.saving.poke();
  }

  // ── Marking what was missed ───────────────────────────────────────────────────────────────────────────────────────

  /** Begin at the chosen span, or where the eye is: the first word that the window shows. */
  mark() {
    const chosen = this.selected;
    const place = chosen && (chosen.other ?? placeOf(chosen.proposal));
    this.#letGo(place ? place.end : this.#firstInSight());
    this.moveCursor(1, false);
    this.#panel.say(`${words.marking} ${this.range ? this.#quote(this.range) : ""}`);
  }

  #firstInSight() {
    const frame = byId("scroll").getBoundingClientRect();
    const line = [...this.#view.root.querySelectorAll(".line-text")].find((node) => node.getBoundingClientRect().bottom > frame.top);
    return Number(line?.dataset.start ?? 0);
  }

  moveCursor(step, extend) {
    this.palette.close();
    this.#cursor.move(step, extend);
    if (!this.range) return;
    this.#places.show(this.range.start, this.range.end);
    const head = this.#cursor.head;
    keepInContext(byId("scroll"), { getBoundingClientRect: () => this.#places.box(head.start, head.end).first });
    this.#show();
    this.#panel.say(this.#quote(this.range));
  }

  /** Text was selected with the mouse. `exact` takes characters, else whole words. What is chosen stays chosen, for its ends. */
  selectText(start, end, { exact = false, show = true } = {}) {
    if (!this.#cursor.select(start, end, { exact })) return false;
    if (show) this.#places.show(this.range.start, this.range.end);
    this.#show();
    return true;
  }

  openPalette(focus) {
    if (!this.range || !this.#isOpen()) return;
    const proposal = this.#proposal;
    this.endsButton.remove();
    if (proposal) {
      this.endsButton.firstChild.data = `${words.ends(this.#name(placeOf(proposal).label))} `;
      byId("palette").prepend(this.endsButton);
    }
    this.palette.open(this.#places.box(this.range.start, this.range.end), focus);
  }

  #add(label) {
    const place = this.#trimmed();
    if (!place) {
      this.#panel.tell(words.onlySpace);
      return;
    }
    this.#letGo(place.end);
    const change = this.#review.add(place.start, place.end, label);
    const name = this.#name(label);
    this.#made(change, words.saidAdded(name, this.#quote(place)));
    if (!change) this.#panel.say(words.saidThere(name));
  }

  #trimmed() {
    if (!this.range) return null;
    const [start, end] = trim(this.#index, this.range.start, this.range.end);
    return start < end ? { start, end } : null;
  }

  #quote({ start, end }) {
    return shorten(this.#index.slice(start, end));
  }

  #name(label) {
    return this.#labels.get(label)?.name ?? "?";
  }
}

/** Scroll only if there is too little text around it; then it comes to the middle. */
function keepInContext(scroller, place) {
  const box = place.getBoundingClientRect();
  const frame = scroller.getBoundingClientRect();
  const margin = frame.height * CONTEXT;
  if (box.top >= frame.top + margin && box.bottom <= frame.bottom - margin) return;
  scroller.scrollTop += box.top - frame.top - frame.height / 2;
}
