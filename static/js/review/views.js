/** The views of the text: original, masked with placeholders, or with surrogates in place of what gold holds. The view is in the URL of the note, and the next note begins with the original. */

import { byId } from "../editor/dom.js";
import { words } from "./words.js";

const NAMES = ["original", "masked", "surrogates"];
export const VIEW = "view";

/** The address with this view. */
function withView(address, name) {
  const url = new URL(address);
  if (name === "original") url.searchParams.delete(VIEW);
  else url.searchParams.set(VIEW, name);
  return url.href;
}

export class Views {
  current = "original";
  #work;
  #api;
  #address;
  #placeholders;
  #buttons;
  #texts = new Map(); // surrogates by the bounds of the stretch that they replace
  #asked = ""; // the spans for which they were requested

  /**
   * @param {{work: any, api: import("../editor/api.js").Api, address: string, placeholders: Map<number, string>}} parts
   *   `address`: where surrogates come from; empty if nothing makes them. `placeholders`: by label id
   */
  constructor({ work, api, address, placeholders }) {
    this.#work = work;
    this.#api = api;
    this.#address = address;
    this.#placeholders = placeholders;
    this.#buttons = /** @type {HTMLButtonElement[]} */ ([...byId("views").querySelectorAll("button")]);
    for (const button of this.#buttons) button.addEventListener("click", () => this.show(button.value));
  }

  /** Show the view that the URL names. */
  begin() {
    const asked = new URLSearchParams(window.location.search).get(VIEW);
    if (this.#names.includes(asked)) this.show(asked);
  }

  get #names() {
    return NAMES.filter((name) => this.#buttons.some(({ value }) => value === name));
  }

  /** Show the view after the current one, going round. */
  next() {
    const names = this.#names;
    this.show(names[(names.indexOf(this.current) + 1) % names.length]);
  }

  show(name, { redraw = true } = {}) {
    this.current = name;
    this.#work.view.root.classList.toggle("is-masked", name !== "original");
    for (const button of this.#buttons) button.setAttribute("aria-pressed", String(button.value === name));
    window.history.replaceState(null, "", withView(window.location.href, name));
    if (redraw) this.#work.redraw();
  }

  /** What the view shows in place of a span: undefined for the original text, and a placeholder until its surrogate has come. */
  instead({ start, end, label, look }) {
    if (this.current === "original" || !look.includes("is-accepted")) return undefined;
    const placeholder = this.#placeholders.get(label) ?? "";
    if (this.current === "masked") return placeholder;
    const whole = this.#texts.get(`${start}-${end}`);
    if (whole !== undefined) return whole ?? undefined; // null: the text stays
    // Overlapping spans are replaced together: the surrogate stands at the first one.
    const stretch = [...this.#texts].find(([key]) => {
      const [from, past] = key.split("-").map(Number);
      return from <= start && end <= past;
    });
    if (!stretch) return placeholder;
    if (stretch[1] === null) return undefined;
    return stretch[0].startsWith(`${start}-`) ? stretch[1] : "";
  }

  /** Request the surrogates of the spans that gold holds now, unless they are here. */
  async keep() {
    if (this.current !== "surrogates" || !this.#address) return;
    const { note } = this.#work;
    const spans = [...note.inGold(), ...note.others()].map(({ start, end, label }) => [start, end, label]);
    const asked = JSON.stringify(spans);
    if (asked === this.#asked) return;
    this.#asked = asked;
    if (!spans.length) this.#work.panel.tell(words.noneForSurrogates);
    const outcome = spans.length ? await this.#api.post(this.#address, { spans }) : { kind: "ok", data: { texts: [] } };
    if (this.#asked !== asked) return;
    if (outcome.kind === "ok") {
      this.#texts = new Map(outcome.data.texts.map(([start, end, text]) => [`${start}-${end}`, text]));
      if (this.current === "surrogates") this.#work.redraw();
    } else {
      this.#asked = "";
      this.show("masked");
      this.#work.panel.tell(outcome.data?.message ?? words.noSurrogates);
    }
  }
}
