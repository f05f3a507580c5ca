/** The right-hand column and the bar: the selection, the number of spans of each label, the state of saving. */

import { AfterFrame } from "./after_frame.js";
import { byId, el } from "./dom.js";
import { Bar } from "./bar.js";
import { placesLine } from "./source_page.js";
import { attributeWords, words } from "./words.js";

const QUOTE_LENGTH = 160;
// Milliseconds until slow look-ups begin: by then, the gesture is painted.
const LATER = 50;

/** A quote of at most `most` code points. */
export function shorten(quote, most = QUOTE_LENGTH) {
  const characters = [...quote];
  return characters.length <= most ? quote : `${characters.slice(0, most - 1).join("")}…`;
}

/** Everything but the state of saving and notices is updated a frame after the text, which people look at first. */
export class Panel extends Bar {
  #later = new AfterFrame();
  #labels;
  #counts;
  #shownCounts = new Map();
  #total = null;
  #state = null;
  #buttons;
  #marked = { current: null, armed: null };
  #signature = null; // of the shown selection
  #selectedRoot = byId("selected");
  #acts = {};

  constructor(labels) {
    super();
    this.#labels = labels;
    this.#counts = new Map([...document.querySelectorAll("[data-count]")].map((node) => [Number(node.dataset.count), node]));
    this.#buttons = new Map([...document.querySelectorAll("#side [data-label-id]")].map((node) => [Number(node.dataset.labelId), node]));
    this.#selectedRoot.addEventListener("click", (event) => {
      const act = /** @type {Element} */ (event.target).closest("[data-act]")?.dataset.act;
      if (act) this.#acts[act]?.();
    });
  }

  /** Show the number of spans of each label; only changed numbers are written. */
  counts(annotationSet) {
    this.#later.put("counts", () => this.#count(annotationSet));
  }

  #count(annotationSet) {
    for (const [label, node] of this.#counts) {
      const count = annotationSet.count(label);
      if (this.#shownCounts.get(label) === count) continue;
      this.#shownCounts.set(label, count);
      node.textContent = count || "";
    }
    const total = annotationSet.spans().length;
    if (total !== this.#total) byId("count").textContent = words.count(total);
    this.#total = total;
  }

  /** @param {number|null} current label of the selected span @param {number|null} armed */
  marks(current, armed) {
    this.#later.put("marks", () => this.#mark(current, armed));
  }

  #mark(current, armed) {
    const before = this.#marked;
    if (before.current === current && before.armed === armed) return;
    this.#marked = { current, armed };
    for (const label of new Set([before.current, before.armed, current, armed])) {
      const button = this.#buttons.get(label);
      button?.setAttribute("aria-pressed", String(label === armed));
      button?.classList.toggle("is-current", label === current);
    }
  }

  /**
   * Show the selected span; without one (null), the selected text or what happens to the next selection.
   * @param {object|null} span
   * @param {{quote: string, armed: number|null, isOpen: boolean, sameLabel: number, mentions: () => number, places: import("./source_page.js").Place[], acts: Record<string, () => void>}} about
   *   `quote`: the text of the span or the selection; `sameLabel`: the number of spans with the same label, so that the number of other
   *   mentions is updated with it
   */
  selected(span, about) {
    const { quote, armed, isOpen, sameLabel } = about;
    this.#acts = about.acts;
    const signature = span ? [span.key, span.start, span.end, span.label, ...attributeWords(span.attributes), isOpen, sameLabel].join() : `none,${armed},${isOpen},${quote}`;
    if (signature === this.#signature) return; // even while the update waits: its order among the updates stays
    this.#signature = signature;
    this.#later.put("selected", () => this.#show(span, signature, about));
  }

  #show(span, signature, { quote, armed, isOpen, mentions, places }) {
    this.#selectedRoot.replaceChildren(...(span ? this.#span(span, quote, isOpen, places) : this.#nothing(armed, isOpen, quote)));
    // Counting the other mentions can wait until the span is painted.
    if (span && isOpen) setTimeout(() => this.#signature === signature && this.#others(mentions()), LATER);
  }

  #nothing(armed, isOpen, quote) {
    const name = this.#labels.get(armed)?.name;
    const next = name ? el("p", {}, words.armed(name)) : el("p", { class: "mute" }, quote ? words.chosen : words.nothing);
    return [
      quote && el("p", { class: "wb-quote" }, el("bdi", {}, shorten(quote))),
      (!quote || isOpen) && next,
      isOpen && el("div", { class: "actions" }, this.#button("untouched", words.untouched, ",")),
    ].filter(Boolean);
  }

  #button(act, text, key, look = "") {
    return el("button", { type: "button", class: `btn small${look}`, "data-act": act }, text, " ", el("kbd", {}, key));
  }

  #span({ start, end, label: id, attributes }, quote, isOpen, places) {
    const label = this.#labels.get(id);
    const shown = attributeWords(attributes);
    return [
      el(
        "p",
        { class: "wb-quote" },
        el("bdi", {}, shorten(quote)),
        " ",
        el("span", { class: `chip hue-${label?.hue ?? 0}`, title: label?.name }, label?.name ?? "?"),
      ),
      shown.length > 0 && el("p", { class: "small wb-attributes" }, shown.join(" · ")),
      isOpen &&
        el(
          "div",
          { class: "actions" },
          this.#button("relabel", words.relabel, "F2"),
          label?.attributes && this.#button("attributes", words.attributes, "F4"),
          this.#button("remove", words.remove, words.removeKey, " danger"),
        ),
      placesLine(places),
      el("p", { class: "mute small wb-offsets" }, words.offsets(start, end)),
    ].filter(Boolean);
  }

  #others(count) {
    if (!count) return;
    this.#selectedRoot.querySelector(".actions")?.append(this.#button("all", words.allOthers(count), "*"));
  }

  /** Show a hint below the selected span until another one is selected. */
  hint(text) {
    this.#later.put("hint", () => this.#hint(text));
  }

  #hint(text) {
    const old = this.#selectedRoot.querySelector(".wb-hint");
    if (!text) old?.remove();
    else if (old) old.textContent = text;
    else this.#selectedRoot.append(el("p", { class: "wb-hint small" }, text));
  }

  /** Show the buttons that belong to the annotation set's state. */
  state(state) {
    if (state === this.#state) return;
    this.#state = state;
    byId("workbench").dataset.state = state;
    byId("start-form").hidden = state !== "unstarted";
    byId("submit-form").hidden = state !== "draft";
    byId("reopen-form").hidden = state !== "submitted";
    for (const id of /** @type {const} */ (["undo", "redo"])) byId(id).disabled = state !== "draft";
  }

  /** Announce to screen readers what was just done. */
  say(message) {
    this.#later.put("said", () => super.say(message));
  }
}
