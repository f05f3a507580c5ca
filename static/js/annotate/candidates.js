/**
 * Candidates in the open note, where the project shows them: what the server's rules find, and where capitalized strings that this
 * person labeled stand again. They are underlined lightly, `,` goes to the next one, Delete dismisses one, and submitting asks about
 * those that are left.
 */

import { Cover } from "./cover.js";
import { standing } from "../text/standing.js";
import { words } from "../editor/words.js";

// Milliseconds until candidates are underlined anew: by then, the gesture is painted.
const LATER = 150;
// Painting more highlights than this would be slow.
const PAINTED = 1000;
const NAME = /\p{Lu}/u;
const SHORTEST = 3;

const keyOf = ({ start, end }) => `${start}-${end}`;

export class Candidates {
  #workbench;
  #timer = 0;
  /** Whether the person looks at the candidates that are left, one by one, before submitting. */
  isLooking = false;

  /** @param {import("./workbench.js").Workbench} workbench */
  constructor(workbench) {
    this.#workbench = workbench;
    workbench.on("open", (note) => this.#open(note));
    workbench.on("drawn", () => this.#later());
    workbench.on("leave", () => {
      this.isLooking = false;
      globalThis.CSS?.highlights?.delete("candidate");
    });
  }

  /** Ask for candidates once the note is on the screen. */
  #open(note) {
    const later = window.requestIdleCallback ?? ((task) => setTimeout(task, LATER));
    later(async () => {
      if (note.offer.isKnown || note !== this.#workbench.note) return;
      const { kind, data } = await this.#workbench.api.get(note.urls.candidates);
      if (kind !== "ok") return;
      note.take(data);
      if (note === this.#workbench.note) this.#later();
    });
  }

  get isShown() {
    return this.#workbench.note.offer.isShown;
  }

  /** The label that the rules give to bounds, or to what overlaps them; undefined without. */
  labelOf(bounds) {
    const over = this.#workbench.note.offer.candidates.filter(({ start, end }) => start < bounds.end && bounds.start < end);
    return (over.find((each) => keyOf(each) === keyOf(bounds)) ?? over[0])?.label;
  }

  /** The candidate that contains an offset, whether or not it is labeled. */
  at(offset) {
    return this.#all().find(({ start, end }) => start <= offset && offset < end) ?? null;
  }

  /** All candidates in text order. Where two overlap, what the rules found stays. */
  #all() {
    const { note } = this.#workbench;
    if (!this.isShown) return [];
    const { index, annotationSet, cursor, offer } = note;
    const own = annotationSet.spans().map(({ start, end }) => index.slice(start, end));
    const names = new Set([...own, ...offer.strings.map(({ text }) => text)].filter((text) => text.length >= SHORTEST && NAME.test(text)));
    const cover = new Cover(offer.candidates);
    const again = standing(index, cursor.tokens, names).filter((bounds) => cover.isFree(bounds));
    return [...offer.candidates, ...again].sort((a, b) => a.start - b.start);
  }

  /** Those that overlap no span and were not dismissed. */
  left() {
    const { annotationSet, offer } = this.#workbench.note;
    const cover = new Cover(annotationSet.spans());
    return this.#all().filter((bounds) => cover.isFree(bounds) && !offer.dismissed.has(keyOf(bounds)));
  }

  /** The next one that is left after an offset (step 1) or before it (-1), else from the other end of the note; null without. */
  next(from, step) {
    const left = this.left();
    const ahead = step > 0 ? left.find(({ start }) => start >= from) : left.findLast(({ end }) => end <= from);
    return ahead ?? left.at(step > 0 ? 0 : -1) ?? null;
  }

  /** Look at those that are left, one by one. */
  look() {
    this.isLooking = true;
    const [first] = this.left();
    this.#workbench.work.choose(first);
    this.tell();
  }

  /** Say how many are left, and what to do with one. */
  tell() {
    const said = words.candidatesLeft(this.left().length);
    this.#workbench.work.hint(`${said} ${words.candidateKeys}`);
    this.#workbench.say(said);
  }

  /** Dismiss the selected candidate, and go on to the next one. False if none is selected. */
  dismiss() {
    const { work, note } = this.#workbench;
    const { range } = work;
    if (!range || !this.left().some((each) => keyOf(each) === keyOf(range))) return false;
    note.offer.dismissed.add(keyOf(range));
    this.#later();
    if (!work.labeling.autoNext.after(null, range.end)) work.clearAll(range.end);
    this.#workbench.say(words.dismissed);
    return true;
  }

  #later() {
    clearTimeout(this.#timer);
    if (this.isShown) this.#timer = setTimeout(() => this.#paint(), LATER);
  }

  #paint() {
    if (!globalThis.CSS?.highlights) return;
    const { layout, annotationSet } = this.#workbench.note;
    const ranges = (annotationSet.isOpen ? this.left() : []).slice(0, PAINTED).map(({ start, end }) => layout.range(start, end));
    CSS.highlights.set("candidate", new Highlight(...ranges));
  }
}
