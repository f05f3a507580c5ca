/** The right-hand column and the bar: what is selected, how many spans each label has, whether all is saved. */

import { byId, el } from "./dom.js";
import { words } from "./words.js";

const QUOTE_LENGTH = 160;

/** A quote short enough to show; cut between code points. */
export function shorten(quote, most = QUOTE_LENGTH) {
  const characters = [...quote];
  return characters.length <= most ? quote : `${characters.slice(0, most - 1).join("")}…`;
}

export class Panel {
  #labels;
  #counts;
  #buttons;

  constructor(labels) {
    this.#labels = labels;
    this.#counts = new Map([...document.querySelectorAll("[data-count]")].map((node) => [Number(node.dataset.count), node]));
    this.#buttons = [...document.querySelectorAll("#side [data-label-id]")];
  }

  counts(spans) {
    const counts = new Map();
    for (const { label } of spans) counts.set(label, (counts.get(label) ?? 0) + 1);
    for (const [label, node] of this.#counts) node.textContent = counts.get(label) ?? "";
    byId("count").textContent = words.count(spans.length);
  }

  /** @param {number|null} current label of the selected span @param {number|null} armed */
  marks(current, armed) {
    for (const button of this.#buttons) {
      const label = Number(button.dataset.labelId);
      button.setAttribute("aria-pressed", String(label === armed));
      button.classList.toggle("is-current", label === current);
    }
  }

  /** Show the selected span; null for none: then what will happen to the next selection. */
  selected(span, quote, remove, armed = null) {
    const root = byId("selected");
    if (!span) {
      const armedName = this.#labels.get(armed)?.name;
      root.replaceChildren(
        armedName ? el("p", {}, words.armed(armedName)) : el("p", { class: "mute" }, words.nothing),
      );
      return;
    }
    const label = this.#labels.get(span.label);
    const button = el("button", { type: "button", class: "btn small danger" }, words.remove, " ", el("kbd", {}, words.removeKey));
    button.addEventListener("click", remove);
    root.replaceChildren(
      el(
        "p",
        { class: "wb-quote" },
        el("span", { class: `chip hue-${label?.hue ?? 0}` }, label?.name ?? "?"),
        " ",
        el("bdi", {}, shorten(quote)),
      ),
      el("div", { class: "actions" }, button, el("span", { class: "mute small" }, words.offsets(span.start, span.end))),
    );
  }

  save(state, waiting) {
    const node = byId("save-state");
    const shown = {
      saved: words.saved,
      saving: words.saving,
      offline: words.offline(waiting),
      "signed-out": words.signedOut(waiting),
      "other-person": words.otherPerson(waiting),
    }[state];
    if (node.dataset.save === state && node.textContent === shown) return;
    node.dataset.save = state;
    node.textContent = shown;
  }

  /** Which buttons there are: for a draft, or for a submitted reading. */
  state(state) {
    byId("workbench").dataset.state = state;
    byId("submit-form").hidden = state !== "draft";
    byId("reopen-form").hidden = state !== "submitted";
    for (const id of ["undo", "redo"]) byId(id).disabled = state !== "draft";
  }

  /** A notice that stays until it is closed or answered by the next one. */
  tell(message, kind = "warn") {
    const root = byId("told");
    root.hidden = message === "";
    if (!message) {
      root.replaceChildren();
      return;
    }
    const close = el("button", { type: "button", class: "btn quiet small" }, words.close);
    close.addEventListener("click", () => this.tell(""));
    root.replaceChildren(el("div", { class: `notice ${kind}`, role: "status" }, el("span", {}, message), close));
  }

  /** For screen readers: what was just done. */
  say(message) {
    byId("said").textContent = message;
  }
}
