/**
 * The three labels that the selected text probably gets, which 1, 2 and 3 apply: by how this person labeled the same text before, by
 * the rules' label for it, by how often this person uses a label, and by which was used last. What others did never counts.
 */

import { byId, el, middle } from "../editor/dom.js";
import { putBeside } from "../editor/popover.js";
import { words } from "../editor/words.js";

const RANKED = 3;
// Milliseconds for which the selection rests before the labels appear beside it: not at each step of the cursor.
const REST = 400;

/**
 * @param {number[]} labels in the project's order
 * @param {Array<(label: number) => number>} scores  the more, the better; a later one decides among equals
 * @returns {number[]} three labels at most, the best first
 */
export function best(labels, scores) {
  const rows = labels.map((label, at) => [label, ...scores.map((score) => -score(label)), at]);
  rows.sort((a, b) => a.slice(1).map((value, at) => value - b[at + 1]).find((difference) => difference !== 0) ?? 0);
  return rows.slice(0, RANKED).map(([label]) => label);
}

export class Ranking {
  #workbench;
  #timer = 0;
  #root = el("div", { class: "wb-ranked", "aria-hidden": "true", hidden: true });

  /** @param {import("./workbench.js").Workbench} workbench */
  constructor(workbench) {
    this.#workbench = workbench;
    byId("palette").after(this.#root);
    workbench.on("selected", () => this.#selected());
    workbench.on("leave", () => this.hide());
    byId("scroll").addEventListener("scroll", () => this.hide(), { passive: true });
  }

  actions() {
    return [{ keys: this.#keys(), group: words.groups.change, what: words.keys.ranked, run: (_, key) => this.#apply(Number(key)) }];
  }

  /** The digits that no label has as its key. */
  #keys() {
    const taken = new Set([...this.#workbench.labels.values()].map(({ key }) => key));
    return ["1", "2", "3"].filter((key) => !taken.has(key));
  }

  #apply(place) {
    const { work } = this.#workbench;
    const bounds = work.range ?? work.selected;
    const label = bounds && this.labels(bounds)[place - 1];
    if (!label) return false;
    work.applyLabel(label);
    return true;
  }

  /** @param {{start: number, end: number}} bounds @returns {number[]} ids of labels, the likeliest first */
  labels(bounds) {
    const { note, labels, work, candidates, palette } = this.#workbench;
    const { index, annotationSet } = note;
    const quote = index.slice(bounds.start, bounds.end).toLowerCase();
    const own = new Map();
    const count = (label, times) => own.set(label, (own.get(label) ?? 0) + times);
    for (const span of annotationSet.spans()) {
      if (span.end - span.start !== bounds.end - bounds.start || span.key === work.selected?.key) continue;
      if (index.slice(span.start, span.end).toLowerCase() === quote) count(span.label, 1);
    }
    for (const { text, label, times } of note.offer.strings) if (text.toLowerCase() === quote) count(label, times);
    const ruled = candidates.labelOf(bounds);
    return best([...labels.keys()], [
      (label) => own.get(label) ?? 0,
      (label) => Number(label === ruled),
      (label) => annotationSet.count(label) + (note.offer.uses.get(label) ?? 0),
      (label) => palette.recency(label),
    ]);
  }

  #selected() {
    this.hide();
    const { work, palette } = this.#workbench;
    if (!work?.range) return;
    const { range } = work;
    this.#timer = setTimeout(() => {
      if (work.range === range && work.isByKeys && !palette.isOpen && this.#workbench.note.annotationSet.isOpen) this.#show(range);
    }, REST);
  }

  #show(range) {
    const { labels, note } = this.#workbench;
    const keys = this.#keys();
    const chips = this.labels(range).map((id, at) => {
      const { hue, name, key } = labels.get(id);
      const shown = keys.includes(String(at + 1)) ? String(at + 1) : key;
      return el("span", { class: `chip hue-${hue}` }, shown && el("kbd", {}, shown), middle(name));
    });
    this.#root.replaceChildren(...chips);
    this.#root.hidden = false;
    putBeside(this.#root, note.layout.box(range.start, range.end));
  }

  hide() {
    clearTimeout(this.#timer);
    this.#root.hidden = true;
  }
}
