/** The right-hand column of the review page: what is chosen, all proposals, what is left; and the bar. */

import { byId, el } from "../workbench/dom.js";
import { shorten } from "../workbench/panel.js";
import { words as saveWords } from "../workbench/words.js";
import { placeOf } from "./model.js";
import { words } from "./words.js";

export class ReviewPanel {
  #labels;
  #person;
  #quote;
  #acts;

  /**
   * @param {object} parts
   * @param {Map<number, object>} parts.labels  by id
   * @param {string} parts.person  the reviewer's user name
   * @param {(place: object) => string} parts.quote
   * @param {Record<string, (value?: number) => void>} parts.acts  choose, walk, accept, reject, remove, ends, drop
   */
  constructor({ labels, person, quote, acts }) {
    this.#labels = labels;
    this.#person = person;
    this.#quote = quote;
    this.#acts = acts;
    byId("proposals").addEventListener("click", (event) => {
      const button = event.target.closest("[data-proposal]");
      if (button) acts.choose(Number(button.dataset.proposal));
    });
    byId("before-proposal").addEventListener("click", () => acts.walk(-1));
    byId("after-proposal").addEventListener("click", () => acts.walk(1));
    byId("chosen").addEventListener("click", (event) => {
      const button = event.target.closest("[data-act]");
      // The second click of a double click would decide on the next proposal.
      if (button && event.detail < 2) acts[button.dataset.act]();
    });
  }

  /** @param {object|null} chosen see Review.find @param {string|null} text what is selected in the note */
  show(review, chosen, text) {
    const proposals = review.proposals();
    const at = chosen?.proposal ? proposals.findIndex(({ id }) => id === chosen.proposal.id) : -1;
    byId("left").textContent = words.left(review.open, proposals.length);
    byId("place").textContent = at < 0 ? "" : words.place(at + 1, proposals.length);
    byId("before-proposal").disabled = proposals.length === 0 || at === 0;
    byId("after-proposal").disabled = proposals.length === 0 || at === proposals.length - 1;
    byId("chosen-title").textContent = text !== null ? words.titles.text : chosen?.other ? words.titles.gold : words.titles.proposal;
    this.#fill(byId("chosen"), this.#chosen(review, chosen, text), "act");
    this.#fill(byId("proposals"), proposals.map((proposal) => this.#row(proposal, chosen?.proposal)), "proposal");
    byId("proposals").querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
    // What to do next stands out: deciding, then closing.
    byId("close").classList.toggle("primary", review.open === 0);
    this.#state(review.closed);
  }

  /** New content; whoever stood on a button stands on the same one still, or on the note. */
  #fill(root, nodes, name) {
    const held = root.contains(document.activeElement) ? document.activeElement.dataset[name] : undefined;
    root.replaceChildren(...nodes.filter(Boolean));
    if (held === undefined) return;
    const again = root.querySelector(`[data-${name}="${CSS.escape(held)}"]:not(:disabled)`);
    (again ?? byId("note")).focus({ preventScroll: true });
  }

  #chosen(review, chosen, text) {
    if (text !== null) return this.#text(review, chosen, text);
    if (chosen?.other) return this.#gold(review, chosen.other);
    if (chosen) return this.#proposal(review, chosen.proposal);
    const { none, closedNote, nothing, allDone } = words;
    const said = review.closed ? closedNote : !review.proposals().length ? none : review.open ? nothing : allDone;
    return [el("p", { class: "mute" }, said)];
  }

  #text(review, chosen, text) {
    const label = chosen?.proposal && this.#label(placeOf(chosen.proposal).label).name;
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

  #proposal(review, proposal) {
    const { state } = proposal;
    const facts = [words.source(proposal.source), words.confidence(proposal.confidence)].filter(Boolean).join(", ");
    const place = placeOf(proposal);
    const changed = ["start", "end", "label"].some((part) => place[part] !== proposal[part]);
    return [
      this.#line(proposal),
      facts && el("p", { class: "mute small" }, facts),
      state === "open" ? null : el("p", { class: `rv-verdict is-${state}` }, this.#verdict(review, proposal)),
      changed && el("p", { class: "small" }, `${words.as} `, ...this.#parts(place)),
      this.#buttons(review, [
        ["accept", words.accept, state === "open" ? "primary" : "", "A"],
        ["reject", words.reject, "danger", "X"],
      ]),
      state === "open" && el("p", { class: "mute small rv-hint" }, words.hint),
    ];
  }

  #verdict(review, proposal) {
    if (proposal.by) return words.decided[proposal.state](this.#who(proposal.by), proposal.at);
    const gold = review.goldAt(placeOf(proposal));
    const history = gold ? words.history(gold.from, this.#who(gold.by), gold.at) : "";
    return history ? `${words.there}: ${history}` : words.there;
  }

  #who(name) {
    return name && name === this.#person ? words.you : name;
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

  #label(id) {
    return this.#labels.get(id) ?? { name: "?", hue: 0 };
  }

  #parts(place) {
    const label = this.#label(place.label);
    return [el("span", { class: `chip hue-${label.hue}` }, label.name), " ", el("bdi", {}, shorten(this.#quote(place)))];
  }

  #line(place) {
    return el("p", { class: "wb-quote" }, ...this.#parts(place));
  }

  #row(proposal, chosen) {
    const place = placeOf(proposal);
    const label = this.#label(place.label);
    return el(
      "li",
      {},
      el(
        "button",
        {
          type: "button",
          class: `rv-proposal is-${proposal.state}`,
          "data-proposal": proposal.id,
          "aria-current": proposal.id === chosen?.id ? "true" : null,
        },
        el("span", { class: `chip hue-${label.hue}` }, label.name),
        el("bdi", { class: "rv-quote" }, shorten(this.#quote(place), 60)),
        el("span", { class: "rv-state" }, words.stateTags[proposal.state]),
      ),
    );
  }

  /** Which buttons there are: for a review under way, or for a closed one. */
  #state(closed) {
    byId("workbench").dataset.state = closed ? "closed" : "draft";
    byId("close-form").hidden = closed;
    byId("reopen-form").hidden = !closed;
    for (const id of ["undo", "redo"]) byId(id).disabled = closed;
  }

  save(state, waiting) {
    const node = byId("save-state");
    const shown = {
      saved: saveWords.saved,
      saving: saveWords.saving,
      offline: saveWords.offline(waiting),
      "signed-out": saveWords.signedOut(waiting),
      "other-person": saveWords.otherPerson(waiting),
    }[state];
    if (node.dataset.save === state && node.textContent === shown) return;
    node.dataset.save = state;
    node.textContent = shown;
  }

  /** A notice that stays until it is closed or answered by the next one. */
  tell(message, kind = "warn") {
    const root = byId("told");
    root.hidden = message === "";
    if (!message) {
      root.replaceChildren();
      return;
    }
    const close = el("button", { type: "button", class: "btn quiet small" }, saveWords.close);
    close.addEventListener("click", () => this.tell(""));
    root.replaceChildren(el("div", { class: `notice ${kind}`, role: "status" }, el("span", {}, message), close));
  }

  /** For screen readers: what was just done. */
  say(message) {
    byId("said").textContent = message;
  }
}
