/**
 * The notes in this page's memory: those fetched ahead because they may be opened next, and those opened before. Nothing of them
 * is stored on the computer.
 */

import { Visit } from "./visit.js";

// How many notes are kept, in addition to those with unsent changes.
const KEPT = 8;

/** The address of a note's data, from the address of its page. */
export const dataUrl = (url) => new URL("../data", url).href;

export class Visits {
  #api;
  #stamp;
  #made;
  #visits = new Map(); // address of the page -> Visit, least recently used first
  #coming = new Map(); // address -> promise of a Visit or null

  /**
   * @param {import("../editor/api.js").Api} api
   * @param {() => string} stamp  the hash of the labels that the page knows
   * @param {(visit: Visit) => void} made  called with every new visit
   */
  constructor(api, stamp, made) {
    this.#api = api;
    this.#stamp = stamp;
    this.#made = made;
  }

  /** Add a note that the page was loaded with. */
  add(visit, url) {
    this.#made(visit);
    this.#keep(visit, url);
    return visit;
  }

  all() {
    return [...this.#visits.values()];
  }

  has(url) {
    return this.#visits.has(url);
  }

  /** A note from memory, else from the server; null if there is none, or its labels are unknown to this page. */
  async get(url) {
    const known = this.#visits.get(url);
    if (!known) return this.ahead(url, false);
    this.#keep(known, url);
    return known;
  }

  /** Fetch a note that may be opened next. */
  ahead(url, isAhead = true) {
    if (this.#visits.has(url)) return Promise.resolve(this.#visits.get(url));
    if (!this.#coming.has(url)) {
      const coming = this.#fetch(url, isAhead).finally(() => this.#coming.delete(url));
      this.#coming.set(url, coming);
    }
    return this.#coming.get(url);
  }

  async #fetch(url, isAhead) {
    const asked = performance.now();
    const { kind, data } = await this.#api.get(dataUrl(url) + (isAhead ? "?ahead=1" : ""));
    if (kind !== "ok" || !data.note || data.labels_stamp !== this.#stamp()) return null;
    const visit = new Visit(data);
    visit.asked = asked;
    visit.confirmed = !isAhead;
    return this.add(visit, url);
  }

  #keep(visit, url) {
    this.#visits.delete(url);
    this.#visits.set(url, visit);
    for (const [address, { view, annotationSet }] of [...this.#visits].slice(0, -KEPT)) {
      if (!view && !annotationSet.waiting) this.#visits.delete(address);
    }
  }
}
