/** The chips of locations in the text, as labels for the view: each combination of text and consensus has a number. Pure. */

const STYLES = { all: { hue: 4, underline: 0 }, majority: { hue: 7, underline: 1 }, split: { hue: 0, underline: 5 }, one: { hue: 2, underline: 3 } };

export class Names {
  #ids = new Map();
  #labels = new Map();

  /** The number of a text in the style of a consensus. */
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
