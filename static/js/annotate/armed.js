/** The armed label at the mouse pointer, or in the corner of the text while the pointer is elsewhere. */

import { byId, el } from "../editor/dom.js";
import { words } from "../editor/words.js";

export class ArmedLabel {
  #root = byId("armed");
  #place = null; // of the pointer over the text, in pixels of the window

  constructor() {
    const text = byId("scroll");
    text.addEventListener("pointermove", (event) => {
      this.#place = event.pointerType === "touch" ? null : { x: event.clientX, y: event.clientY };
      this.#put();
    });
    text.addEventListener("pointerleave", () => {
      this.#place = null;
      this.#put();
    });
  }

  /** @param {{name: string, hue: number} | undefined} label  the armed label; undefined for none */
  show(label) {
    this.#root.hidden = !label;
    this.#root.replaceChildren(...(label ? [el("span", { class: `chip hue-${label.hue}` }, label.name), words.stops] : []));
    this.#put();
  }

  #put() {
    if (this.#root.hidden) return;
    this.#root.classList.toggle("is-at-pointer", this.#place !== null);
    if (!this.#place) return;
    this.#root.style.setProperty("--left", `${Math.min(this.#place.x, window.innerWidth - this.#root.offsetWidth - 24)}px`);
    this.#root.style.setProperty("--top", `${this.#place.y}px`);
  }
}
