/** The chips of spans in the text, as labels for the view: each combination of text, color and underline has a number. Pure. */

export class Names {
  #ids = new Map();
  #labels = new Map();

  /** The number of a text in a color and underline. @param {string} name @param {{hue: number, underline: number}} style */
  of(name, { hue, underline }) {
    const key = `${hue} ${underline} ${name}`;
    if (!this.#ids.has(key)) {
      const id = this.#ids.size + 1;
      this.#ids.set(key, id);
      this.#labels.set(id, { name, hue, underline });
    }
    return this.#ids.get(key);
  }

  get(id) {
    return this.#labels.get(id);
  }
}
