/** The page around the note: the chosen place with its layers, the list of places, what is left, and the bar. */

import { Panel, fill, row } from "../editor/deciding/panel.js";
import { byId, el } from "../editor/dom.js";
import { shorten } from "../editor/panel.js";
import { idOf } from "./model.js";
import { words } from "./words.js";

const CAUSES = ["AB", "AM", "D", "S"];

export class AdjudicationPanel extends Panel {
  #layers;

  /**
   * @param {object} parts  see Panel
   * @param {import("./layers.js").Layers} parts.layers
   * @param {Record<string, (value?: any) => void>} parts.acts  choose, walk, majority, reader, nothing, keep, drop, let, cause
   */
  constructor({ layers, acts, ...parts }) {
    super(parts);
    this.#layers = layers;
    this.listen(byId("list"), "place", (button) => acts.choose(button.dataset.place));
    this.listen(byId("why"), "cause", (button) => acts.cause(button.dataset.cause));
    this.listen(byId("chosen"), "act", ({ dataset }) => acts[dataset.act](dataset.reader ? Number(dataset.reader) : dataset.span));
    byId("before-place").addEventListener("click", () => acts.walk(-1));
    byId("after-place").addEventListener("click", () => acts.walk(1));
  }

  /** @param {object|null} chosen a place @param {string|null} text what is selected in the note */
  show(note, chosen, text) {
    const { places } = note;
    const at = chosen ? places.findIndex((place) => idOf(place) === idOf(chosen)) : -1;
    this.count({ words, at, open: note.open, total: places.length, before: "before-place", after: "after-place" });
    const { agreed } = note;
    byId("unanimous").hidden = agreed.length === 0 || note.closed;
    byId("unanimous").replaceChildren(words.unanimous(agreed.length), " ", el("kbd", {}, "*"));
    this.#why(chosen, note.closed);
    fill(byId("chosen"), this.#chosen(note, chosen, text), "focus");
    fill(byId("list"), places.map((place) => this.#row(note, place, chosen)), "place");
    byId("list").querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
    this.state(note.closed, "closed-forms");
    byId("close").disabled = !note.ready;
  }

  #why(chosen, closed) {
    byId("why").hidden = !chosen || chosen.consensus === "all";
    for (const kind of CAUSES) {
      const button = byId("why").querySelector(`[data-cause="${kind}"]`);
      button.setAttribute("aria-pressed", chosen?.cause === kind ? "true" : "false");
      button.disabled = closed && !chosen;
    }
  }

  #chosen(note, chosen, text) {
    const parts = [];
    if (!note.ready) parts.push(el("p", { class: "ad-say" }, words.notReady));
    else if (note.missing.length && !note.closed) parts.push(el("p", { class: "ad-say" }, words.missing(note.missing)));
    if (text !== null) parts.push(this.#text(text));
    if (chosen) parts.push(...this.#place(note, chosen));
    else if (text === null) parts.push(el("p", { class: "mute" }, this.#nothingChosen(note)));
    return parts;
  }

  #nothingChosen(note) {
    if (note.closed) return words.closedNote;
    if (!note.places.length) return words.empty;
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

  #place(note, place) {
    const table = this.#layers.table(note, place, note.closed || !note.ready);
    for (const button of table.querySelectorAll("[data-act]")) button.dataset.focus = `${button.dataset.act}${button.dataset.reader ?? ""}`;
    const told = this.#told(note, place);
    return [
      table,
      told && el("p", { class: `small ${place.standing === "changed" ? "ad-say" : "mute"}` }, told),
      el("div", { class: "actions ad-acts" }, ...this.#buttons(note, place)),
    ];
  }

  #told(note, place) {
    if (place.standing === "changed") return words.changed;
    if (place.standing === "decided") {
      const reader = note.readers.find(({ number }) => number === place.reader)?.name;
      const by = place.by === this.person ? words.you : place.by;
      return words.decided(place.choice, place.choice === "reader" ? reader : "", by, place.at);
    }
    if (place.standing === "agreed") return note.isOpen(place) ? words.agreed : words.passes;
    return place.majority === null ? words.tie : "";
  }

  #buttons(note, place) {
    const disabled = note.closed || !note.ready;
    const button = (act, text, key, kind = "", span = null) =>
      el(
        "button",
        { type: "button", class: `btn small ${kind}`, "data-act": act, "data-focus": `${act}${span ?? ""}`, "data-span": span, disabled },
        text,
        key && " ",
        key && el("kbd", {}, key),
      );
    const drops = place.standing === "open" ? [] : (place.outcome ?? []);
    return [
      place.standing === "changed" && button("keep", words.keep, "e", "primary"),
      place.consensus === "all" && place.standing !== "decided" && button("majority", words.consensus.all, "a", "primary"),
      button("nothing", words.nothing, "x"),
      ...drops.map((span) => button("drop", words.remove(this.label(span[2]).name), drops.length === 1 ? "Del" : "", "quiet", span.join("-"))),
    ];
  }

  #row(note, place, chosen) {
    return row({
      look: `is-${place.standing}${note.isOpen(place) ? " is-open" : ""}`,
      data: ["place", idOf(place)],
      current: chosen && idOf(place) === idOf(chosen),
      mark: el("span", { class: `ad-mark is-${place.consensus}` }, words.consensus[place.consensus]),
      quote: shorten(this.quote(place), 50),
      state: `${words.standings[place.standing]}${place.cause ? ` · ${place.cause}` : ""}`,
    });
  }
}
