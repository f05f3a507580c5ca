/** What stands on the places in the text, as labels for the view: each text and colour has a number of its own. Pure. */

const STYLES = { all: { hue: 4, underline: 0 }, majority: { hue: 7, underline: 1 }, split: { hue: 0, underline: 5 }, one: { hue: 2, underline: 3 } };

export class Names {
  #ids = new Map();
  #labels = new Map();

  /** The number of a text with the look of a consensus. */
  of(name, consensus) {
    const key = `${consensus} ${name}`;
    if (!this.#ids.has(key)) {
      const id = this.#ids.size + 1;
      this.#ids.set(key, id);
      this.#labels.set(id, { name, ...STYLES[consensus] });
    }
    return this.#ids.get(key);
  }

  get(id) {
    return this.#labels.get(id);
  }
}
