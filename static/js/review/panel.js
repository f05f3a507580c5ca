/** The right-hand column of the review page: what is chosen, all proposals, what is left; and the bar. */

import { Panel, fill, row } from "../editor/deciding/panel.js";
import { byId, el } from "../editor/dom.js";
import { shorten } from "../editor/panel.js";
import { placeOf } from "./model.js";
import { words } from "./words.js";

// So many of the last decisions stay listed.
const RECENT = 8;

export class ReviewPanel extends Panel {
  /**
   * @param {object} parts  see Panel
   * @param {Record<string, (value?: number) => void>} parts.acts  choose, walk, accept, reject, remove, ends, drop
   */
  constructor({ acts, ...parts }) {
    super(parts);
    for (const list of ["proposals", "recent", "chosen"]) {
      this.listen(byId(list), "proposal", (button) => acts.choose(`p${button.dataset.proposal}`));
    }
    this.listen(byId("hints"), "hint", (button) => acts.choose(button.dataset.hint));
    this.listen(byId("chosen"), "act", (button) => acts[button.dataset.act]());
    byId("before-proposal").addEventListener("click", () => acts.walk(-1));
    byId("after-proposal").addEventListener("click", () => acts.walk(1));
  }

  /** @param {object|null} chosen see Review.find @param {string|null} text what is selected in the note */
  show(review, chosen, text, hints) {
    const proposals = review.listed();
    const at = chosen?.proposal ? proposals.findIndex(({ id }) => id === chosen.proposal.id) : -1;
    this.count({ words, at, open: review.open, total: review.proposals().length, listed: proposals.length, before: "before-proposal", after: "after-proposal" });
    const kind = text !== null ? "text" : chosen?.other ? "gold" : chosen?.hint ? "hint" : "proposal";
    byId("chosen-title").textContent = words.titles[kind];
    fill(byId("chosen"), this.#chosen(review, chosen, text), "act");
    fill(byId("proposals"), proposals.map((proposal) => this.#row(proposal, chosen?.proposal)), "proposal");
    byId("proposals").querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
    this.#stage(review);
    this.#lists(review, chosen, hints);
    this.state(review.closed, "reopen-form");
  }

  /** Between two reviewers: what this is, and what becomes of it. */
  #stage({ stage, between }) {
    const node = byId("stage");
    node.hidden = !between;
    node.textContent = between ? words.stages[between.blind && stage === "second" ? "blind" : stage](between.first) : "";
  }

  #lists(review, chosen, hints) {
    byId("hints-box").hidden = review.closed || (review.open > 0 && !hints.length);
    const rest = review.rest().length;
    byId("close-rest").hidden = review.closed || !rest || rest < review.open;
    byId("rest-count").textContent = rest;
    byId("hints-left").textContent = words.hintsLeft(hints.length);
    fill(byId("hints"), hints.map((hint) => this.#hintRow(hint, chosen?.hint)), "hint");
    fill(byId("recent"), review.recent().slice(0, RECENT).map((proposal) => this.#row(proposal, null)), "proposal");
  }

  /** Whether the note is shown masked. */
  view(masked) {
    byId("masked").setAttribute("aria-pressed", String(masked));
  }

  #chosen(review, chosen, text) {
    if (text !== null) return this.#text(review, chosen, text);
    if (chosen?.other) return this.#gold(review, chosen.other);
    if (chosen?.hint) return this.#hint(review, chosen.hint);
    if (chosen) return this.#proposal(review, chosen.proposal);
    const { none, closedNote, nothing, allDone } = words;
    const said = review.closed ? closedNote : !review.proposals().length ? none : review.open ? nothing : allDone;
    return [el("p", { class: "mute" }, said)];
  }

  #text(review, chosen, text) {
    const label = chosen?.proposal && this.label(placeOf(chosen.proposal).label).name;
    return [
      el("p", { class: "wb-quote" }, el("bdi", {}, text)),
      el("p", { class: "mute small" }, words.hintText),
      this.#buttons(review, [label && ["ends", words.ends(label), "", "E"], ["drop", words.letGo, "quiet", "Esc"]]),
    ];
  }

  #gold(review, span) {
    const own = span.from === `reviewer:${span.by}`;
    const history = own ? words.added(this.#who(span.by), span.at) : words.history(span.from, this.#who(span.by), span.at);
    return [
      this.#line(span),
      history && el("p", { class: "mute small" }, history),
      this.#buttons(review, [["remove", words.remove, "danger", "Del"]]),
    ];
  }

  #hint(review, hint) {
    return [
      this.#line(hint),
      el("p", { class: "mute small" }, words.why(hint)),
      this.#buttons(review, [["accept", words.addIt, "primary", "A"], ["reject", words.notOne, "", "X"]]),
      el("p", { class: "mute small rv-hint" }, words.hintOther),
    ];
  }

  #proposal(review, proposal) {
    const { state } = proposal;
    const facts = words.facts([proposal.runs ? "" : words.source(proposal.source), words.confidence(proposal.confidence)]);
    const place = placeOf(proposal);
    const changed = ["start", "end", "label"].some((part) => place[part] !== proposal[part]);
    return [
      this.#line(proposal),
      facts && el("p", { class: "mute small" }, facts),
      proposal.planted && el("p", { class: "small rv-planted" }, words.planted[proposal.planted]),
      state === "open" ? null : el("p", { class: `rv-verdict is-${state}` }, this.#verdict(review, proposal)),
      changed && el("p", { class: "small" }, `${words.as} `, ...this.#parts(place)),
      this.#first(review, proposal),
      proposal.runs && this.#backing(proposal),
      ...this.#rivals(review, proposal),
      this.#buttons(review, [
        ["accept", words.accept, state === "open" ? "primary" : "", "A"],
        ["reject", words.reject, "danger", "X"],
        proposal.differs && ["first", words.takeFirst(review.between.first), "", "="],
      ]),
      state === "open" && el("p", { class: "mute small rv-hint" }, words.hint),
    ];
  }

  /** What the first of two reviewers said of it, where the second said otherwise. */
  #first(review, proposal) {
    if (!proposal.differs) return null;
    const first = review.firstOf(proposal);
    const [start, end, label] = first.place ?? [];
    const place = first.place ? this.#parts({ start, end, label }) : [];
    return el("p", { class: "small rv-first" }, words.firstSaid(review.between.first, first.state), " ", ...place);
  }

  /** Which of the merged runs propose it, and how sure each is. */
  #backing({ runs, of }) {
    const each = words.facts(runs.map(({ run, confidence }) => words.backer(run, confidence)));
    return el("p", { class: "small rv-backing" }, el("strong", {}, words.agree(runs.length, of)), ` ${each}`);
  }

  /** The other readings of the place: to look at, and what becomes of them. */
  #rivals(review, proposal) {
    const rivals = review.rivals(proposal);
    if (!rivals.length) return [];
    const rows = rivals.map((rival) => this.#row(rival, null));
    const list = el("ul", { class: "rv-rivals", "aria-label": words.rivals }, ...rows);
    const open = proposal.state === "open" && rivals.some(({ state }) => state === "open");
    return [el("p", { class: "mute small" }, open ? words.settles : words.rivals), list];
  }

  #verdict(review, proposal) {
    if (proposal.by) return words.decided[proposal.state](this.#who(proposal.by), proposal.at);
    const gold = review.goldAt(placeOf(proposal));
    const history = gold ? words.history(gold.from, this.#who(gold.by), gold.at) : "";
    return history ? words.thereSince(history) : words.there;
  }

  #who(name) {
    return name && name === this.person ? words.you : name;
  }

  #buttons(review, buttons) {
    return el(
      "div",
      { class: "actions" },
      ...buttons
        .filter(Boolean)
        .map(([name, text, kind, key]) =>
          el("button", { type: "button", class: `btn small ${kind}`, disabled: review.closed && name !== "drop", "data-act": name }, text, " ", el("kbd", {}, key)),
        ),
    );
  }

  #parts(place) {
    const label = this.label(place.label);
    return [el("span", { class: `chip hue-${label.hue}` }, label.name), " ", el("bdi", {}, shorten(this.quote(place)))];
  }

  #line(place) {
    return el("p", { class: "wb-quote" }, ...this.#parts(place));
  }

  #hintRow(hint, chosen) {
    const label = this.label(hint.label);
    return row({
      look: "is-hint",
      data: ["hint", hint.key],
      current: hint.key === chosen?.key,
      mark: el("span", { class: `chip hue-${label.hue}` }, label.name),
      quote: shorten(this.quote(hint), 60),
      state: words.whyTag(hint),
    });
  }

  #row(proposal, chosen) {
    const place = placeOf(proposal);
    const label = this.label(place.label);
    return row({
      look: `is-${proposal.state}`,
      data: ["proposal", proposal.id],
      current: proposal.id === chosen?.id,
      mark: el("span", { class: `chip hue-${label.hue}` }, label.name),
      quote: shorten(this.quote(place), 60),
      state: [proposal.runs && words.agreeShort(proposal.runs.length, proposal.of), words.stateTags[proposal.state], proposal.planted && words.stateTags.planted, proposal.differs && words.stateTags.differs]
        .filter(Boolean)
        .join(" · "),
    });
  }
}
