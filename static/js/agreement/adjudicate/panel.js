/** The page around the note: the selected location with its layers, the list of locations, their counts, and the bar. */

import { showLocation } from "../../agreement/in_view.js";
import { WindowedList } from "../../editor/deciding/list.js";
import { Panel, fill, row } from "../../editor/deciding/panel.js";
import { byId, el } from "../../editor/dom.js";
import { shorten } from "../../editor/panel.js";
import { idOf } from "./model.js";
import { words } from "./words.js";

const CAUSES = ["AB", "AM", "D", "S"];

export class AdjudicationPanel extends Panel {
  #layers;
  #note = null;
  #list = new WindowedList(byId("list"), "location", (location) => this.#row(location), ({ state }) => state === "decided" || state === "agreed");

  /**
   * @param {ConstructorParameters<typeof Panel>[0] & {layers: import("./layers.js").Layers, acts: Record<string, (value?: any) => void>}} parts
   *   `acts`: choose, walk, majority, annotator, nothing, keep, drop, let, attributes, cause
   */
  constructor({ layers, acts, ...parts }) {
    super(parts);
    this.#layers = layers;
    this.listen(byId("list"), "location", (button) => acts.choose(button.dataset.location));
    this.listen(byId("why"), "cause", (button) => acts.cause(button.dataset.cause));
    this.listen(byId("chosen"), "act", ({ dataset }) => acts[dataset.act](dataset.annotator ? Number(dataset.annotator) : dataset.span));
    byId("before-location").addEventListener("click", () => acts.walk(-1));
    byId("after-location").addEventListener("click", () => acts.walk(1));
  }

  /** @param {object|null} chosen the selected location @param {string|null} text the selected text of the note */
  show(note, chosen, text) {
    const { locations } = note;
    const index = chosen ? locations.findIndex((location) => idOf(location) === idOf(chosen)) : -1;
    this.count({ words, at: index, open: note.open, total: locations.length, before: "before-location", after: "after-location" });
    const { agreed } = note;
    byId("unanimous").hidden = agreed.length === 0 || note.finished;
    byId("unanimous").replaceChildren(words.unanimous(agreed.length), " ", el("kbd", {}, "*"));
    this.#why(chosen, note.finished);
    fill(byId("chosen"), this.#chosen(note, chosen, text), "focus");
    showLocation(byId("chosen").querySelector(".ad-scroll"));
    this.#note = note;
    this.#list.show(locations, index);
    this.state(note.finished, "finished-forms");
    byId("finish").disabled = !note.ready;
  }

  #why(chosen, finished) {
    byId("why").hidden = !chosen || chosen.consensus === "all";
    for (const kind of CAUSES) {
      const button = /** @type {HTMLButtonElement} */ (byId("why").querySelector(`[data-cause="${kind}"]`));
      button.setAttribute("aria-pressed", chosen?.causes.includes(kind) ? "true" : "false");
      button.disabled = finished && !chosen;
    }
  }

  #chosen(note, chosen, text) {
    const parts = [];
    if (!note.ready) parts.push(el("p", { class: "ad-say" }, words.notReady));
    else if (note.missing.length && !note.finished) parts.push(el("p", { class: "ad-say" }, words.missing(note.missing)));
    if (text !== null) parts.push(this.#text(text));
    if (chosen) parts.push(...this.#location(note, chosen));
    else if (text === null) parts.push(el("p", { class: "mute" }, this.#nothingChosen(note)));
    return parts;
  }

  #nothingChosen(note) {
    if (note.finished) return words.finishedNote;
    if (!note.locations.length) return words.empty;
    return note.open ? words.pick : words.allDone;
  }

  #text(text) {
    return el(
      "p",
      { class: "ad-say" },
      el("strong", {}, el("bdi", {}, shorten(text, 80))),
      ` ${words.hintText} `,
      el("button", { type: "button", class: "btn small quiet", "data-act": "let", "data-focus": "let" }, words.letGo),
    );
  }

  #location(note, location) {
    const table = this.#layers.table(note, location, note.finished || !note.ready);
    for (const button of table.querySelectorAll("[data-act]")) button.dataset.focus = `${button.dataset.act}${button.dataset.annotator ?? ""}`;
    const message = this.#messageFor(note, location);
    return [
      table,
      message && el("p", { class: `small ${location.state === "changed" ? "ad-say" : "mute"}` }, message),
      el("div", { class: "actions ad-acts" }, ...this.#buttons(note, location)),
    ];
  }

  #messageFor(note, location) {
    if (location.state === "changed") return words.changed;
    if (location.state === "decided") {
      const annotator = note.annotators.find(({ number }) => number === location.annotator)?.name;
      const by = location.by === this.person ? words.you : location.by;
      return words.decided(location.choice, location.choice === "annotator" ? annotator : "", by, location.at);
    }
    if (location.state === "agreed") return note.isOpen(location) ? words.agreed : words.passes;
    if (location.same_spans) return location.majority === null ? words.otherAttributes : words.attributesByMajority;
    return location.majority === null ? words.tie : "";
  }

  #buttons(note, location) {
    const disabled = note.finished || !note.ready;
    const button = (act, text, key, kind = "", span = null) =>
      el(
        "button",
        { type: "button", class: `btn small ${kind}`, "data-act": act, "data-focus": `${act}${span ?? ""}`, "data-span": span, disabled },
        text,
        key && " ",
        key && el("kbd", {}, key),
      );
    const drops = location.state === "open" ? [] : (location.outcome ?? []);
    return [
      location.state === "changed" && button("keep", words.keep, "e", "primary"),
      location.consensus === "all" && location.state !== "decided" && button("majority", words.consensus.all, "a", "primary"),
      button("nothing", words.nothing, "x"),
      location.state === "decided" && (location.outcome ?? []).some(([, , id]) => this.label(id).attributes) && button("attributes", words.attributes, "F4"),
      ...drops.map((span) => button("drop", words.remove(this.label(span[2]).name), drops.length === 1 ? "Del" : "", "quiet", span.join("-"))),
    ];
  }

  #row(location) {
    return row({
      look: `is-${location.state}${this.#note.isOpen(location) ? " is-open" : ""}`,
      data: ["location", idOf(location)],
      mark: el("span", { class: `ad-mark is-${location.consensus}` }, words.consensus[location.consensus]),
      quote: shorten(this.quote(location), 50),
      state: [words.states[location.state], ...CAUSES.filter((kind) => location.causes.includes(kind)).map((kind) => words.causes[kind])].filter(Boolean).join(" · "),
    });
  }
}
