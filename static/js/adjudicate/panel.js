/** The page around the note: the chosen place with its layers, the list of places, what is left, and the bar. */

import { byId, el } from "../workbench/dom.js";
import { shorten } from "../workbench/panel.js";
import { words as saveWords } from "../workbench/words.js";
import { idOf } from "./model.js";
import { words } from "./words.js";

const CAUSES = ["AB", "AM", "D", "S"];

export class AdjudicationPanel {
  #labels;
  #person;
  #quote;
  #layers;

  /**
   * @param {object} parts
   * @param {Map<number, object>} parts.labels  by id
   * @param {string} parts.person  the adjudicator's user name
   * @param {(place: object) => string} parts.quote
   * @param {import("./layers.js").Layers} parts.layers
   * @param {Record<string, (value?: any) => void>} parts.acts  choose, walk, majority, reader, nothing, keep, drop, let, cause
   */
  constructor({ labels, person, quote, layers, acts }) {
    this.#labels = labels;
    this.#person = person;
    this.#quote = quote;
    this.#layers = layers;
    byId("list").addEventListener("click", (event) => {
      const button = event.target.closest("[data-place]");
      if (button) acts.choose(button.dataset.place);
    });
    byId("before-place").addEventListener("click", () => acts.walk(-1));
    byId("after-place").addEventListener("click", () => acts.walk(1));
    byId("why").addEventListener("click", (event) => {
      const button = event.target.closest("[data-cause]");
      if (button && event.detail < 2) acts.cause(button.dataset.cause);
    });
    byId("chosen").addEventListener("click", (event) => {
      const button = event.target.closest("[data-act]");
      // The second click of a double click would decide on the next place.
      if (button && event.detail < 2) acts[button.dataset.act](button.dataset.reader ? Number(button.dataset.reader) : button.dataset.span);
    });
  }

  /** @param {object|null} chosen a place @param {string|null} text what is selected in the note */
  show(note, chosen, text) {
    const { places } = note;
    const at = chosen ? places.findIndex((place) => idOf(place) === idOf(chosen)) : -1;
    byId("left").textContent = words.left(note.open, places.length);
    byId("place").textContent = at < 0 ? "" : words.place(at + 1, places.length);
    byId("before-place").disabled = !places.length || at === 0;
    byId("after-place").disabled = !places.length || at === places.length - 1;
    const { agreed } = note;
    byId("unanimous").hidden = agreed.length === 0 || note.closed;
    byId("unanimous").replaceChildren(words.unanimous(agreed.length), " ", el("kbd", {}, "*"));
    this.#why(chosen, note.closed);
    fill(byId("chosen"), this.#chosen(note, chosen, text), "focus");
    fill(byId("list"), places.map((place) => this.#row(note, place, chosen)), "place");
    byId("list").querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
    byId("close").classList.toggle("primary", note.open === 0);
    this.#state(note);
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
      const by = place.by === this.#person ? words.you : place.by;
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
      ...drops.map((span) => button("drop", words.remove(this.#label(span[2]).name), drops.length === 1 ? "Del" : "", "quiet", span.join("-"))),
    ];
  }

  #label(id) {
    return this.#labels.get(id) ?? { name: "?", hue: 0 };
  }

  #row(note, place, chosen) {
    return el(
      "li",
      {},
      el(
        "button",
        {
          type: "button",
          class: `ad-row is-${place.standing}${note.isOpen(place) ? " is-open" : ""}`,
          "data-place": idOf(place),
          "aria-current": chosen && idOf(place) === idOf(chosen) ? "true" : null,
        },
        el("span", { class: `ad-mark is-${place.consensus}` }, words.consensus[place.consensus]),
        el("bdi", { class: "ad-quote" }, shorten(this.#quote(place), 50)),
        el("span", { class: "ad-state" }, `${words.standings[place.standing]}${place.cause ? ` · ${place.cause}` : ""}`),
      ),
    );
  }

  /** Which buttons there are: for a note under way, or for a closed one. */
  #state(note) {
    byId("workbench").dataset.state = note.closed ? "closed" : "draft";
    byId("close-form").hidden = note.closed;
    byId("closed-forms").hidden = !note.closed;
    byId("close").disabled = !note.ready;
    for (const id of ["undo", "redo"]) byId(id).disabled = note.closed;
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

/** New content; whoever stood on a button stands on the same one still, or on the note. */
function fill(root, nodes, name) {
  const held = root.contains(document.activeElement) ? document.activeElement.dataset[name] : undefined;
  root.replaceChildren(...nodes.filter(Boolean));
  if (held === undefined) return;
  const again = root.querySelector(`[data-${name}="${CSS.escape(held)}"]:not(:disabled)`);
  (again ?? byId("note")).focus({ preventScroll: true });
}
