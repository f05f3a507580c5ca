/** The right-hand column of the review page: the chosen proposal, all proposals, what is left. */

import { byId, el } from "../workbench/dom.js";
import { words as saveWords } from "../workbench/words.js";
import { placeOf } from "./model.js";
import { words } from "./words.js";

export class ReviewPanel {
  #labels;
  #quote;
  #choose;
  #act;

  /** @param {{labels: Map, quote: (span: object) => string, choose: (id: number) => void, act: (name: string) => void}} parts */
  constructor({ labels, quote, choose, act }) {
    this.#labels = labels;
    this.#quote = quote;
    this.#choose = choose;
    this.#act = act;
    byId("proposals").addEventListener("click", (event) => {
      const button = event.target.closest("[data-proposal]");
      if (button) this.#choose(Number(button.dataset.proposal));
    });
  }

  show(review, proposal, other) {
    byId("left").textContent = words.left(review.open);
    this.#chosen(review, proposal, other);
    this.#list(review, proposal);
  }

  #chosen(review, proposal, other) {
    const root = byId("chosen");
    if (other) {
      root.replaceChildren(this.#line(other), this.#actions(review, [["remove", words.remove, "danger", "Del"]]));
      return;
    }
    if (!proposal) {
      root.replaceChildren(el("p", { class: "mute" }, review.proposals().length ? words.nothing : words.none));
      return;
    }
    const facts = [words.confidence(proposal.confidence), words.source(proposal.source)].filter(Boolean).join(", ");
    const place = placeOf(proposal);
    root.replaceChildren(
      this.#line(proposal),
      el("p", { class: "mute small" }, facts),
      proposal.state === "accepted" && proposal.place
        ? el("p", { class: "small" }, words.corrected(this.#label(place.label).name, this.#quote(place)))
        : "",
      this.#actions(review, [
        ["accept", words.accept, proposal.state === "accepted" ? "" : "primary", "A"],
        ["reject", words.reject, "danger", "X"],
      ]),
    );
  }

  #actions(review, buttons) {
    return el(
      "div",
      { class: "actions" },
      ...buttons.map(([name, text, kind, key]) => {
        const button = el("button", { type: "button", class: `btn small ${kind}`, disabled: review.closed, "data-act": name }, text, " ", el("kbd", {}, key));
        button.addEventListener("click", (event) => event.detail < 2 && this.#act(name));
        return button;
      }),
    );
  }

  #label(id) {
    return this.#labels.get(id) ?? { name: "?", hue: 0 };
  }

  #line(span) {
    const label = this.#label(span.label);
    return el("p", { class: "wb-quote" }, el("span", { class: `chip hue-${label.hue}` }, label.name), " ", el("bdi", {}, this.#quote(span)));
  }

  #list(review, chosen) {
    const root = byId("proposals");
    const held = document.activeElement?.dataset?.proposal;
    root.replaceChildren(
      ...review.proposals().map((proposal) => {
        const label = this.#label(proposal.label);
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
            el("bdi", { class: "rv-quote" }, this.#quote(proposal)),
            el("span", { class: "rv-state" }, words.stateTags[proposal.state]),
          ),
        );
      }),
    );
    // The list is made anew: whoever stood in it stands there still.
    if (held) root.querySelector(`[data-proposal="${CSS.escape(held)}"]`)?.focus({ preventScroll: true });
    root.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
  }

  save(state, waiting) {
    const node = byId("save-state");
    node.dataset.save = state;
    node.textContent = {
      saved: saveWords.saved,
      saving: saveWords.saving,
      offline: saveWords.offline(waiting),
      "signed-out": saveWords.signedOut(waiting),
      "other-person": saveWords.otherPerson(waiting),
    }[state];
  }

  tell(message, kind = "warn") {
    const root = byId("told");
    root.hidden = !message;
    if (!message) return;
    const close = el("button", { type: "button", class: "btn quiet small" }, saveWords.close);
    close.addEventListener("click", () => this.tell(""));
    root.replaceChildren(el("div", { class: `notice ${kind}`, role: "status" }, el("span", {}, message), close));
  }

  say(message) {
    byId("said").textContent = message;
  }
}
