/** The find bar: every hit is shown without touching the note's elements; what it ends on is selected, so that a label key labels it. */

import { findAll, firstFrom } from "../text/find.js";
import { byId } from "../editor/dom.js";
import { findWords as words } from "./talk_words.js";
import { words as pageWords } from "../editor/words.js";

// More highlights than this would be slow to paint, and nobody looks at them.
const PAINTED = 1000;
const LONGEST = 200;

export class Find {
  #workbench;
  #form = byId("find");
  #field = byId("find-text");
  #hits = [];
  #at = -1;
  #from = 0; // where the search began

  /** @param {import("./workbench.js").Workbench} workbench */
  constructor(workbench) {
    this.#workbench = workbench;
    byId("show-find").addEventListener("click", () => this.open());
    byId("find-close").addEventListener("click", () => this.close());
    byId("find-next").addEventListener("click", () => this.step(1));
    byId("find-previous").addEventListener("click", () => this.step(-1));
    this.#field.addEventListener("input", () => this.#search());
    this.#form.addEventListener("submit", (event) => event.preventDefault());
    this.#form.addEventListener("keydown", (event) => this.#key(event));
    workbench.on("leave", () => this.#hide());
    workbench.on("drawn", () => this.isOpen && this.#paint());
  }

  actions() {
    const group = pageWords.groups.note;
    return [
      { keys: ["/"], group, what: words.action, run: () => this.open() },
      { keys: ["F3", "Shift+F3"], group, what: words.next, run: (_, key) => this.#again(key === "F3" ? 1 : -1) },
    ];
  }

  get isOpen() {
    return !this.#form.hidden;
  }

  open() {
    const { work, note } = this.#workbench;
    const place = work.range ?? work.selected;
    this.#from = place?.start ?? note.cursor.head?.start ?? 0;
    if (place && place.end - place.start <= LONGEST) this.#field.value = note.index.slice(place.start, place.end);
    work.palette?.close();
    this.#form.hidden = false;
    this.#field.focus();
    this.#field.select();
    this.#search();
  }

  /** The hit becomes the selection. */
  close() {
    const hit = this.#hits[this.#at];
    this.#hide();
    const { work } = this.#workbench;
    if (hit) work.selectText(hit.start, hit.end, { exact: true });
    work.focusNote();
  }

  #hide() {
    if (!this.isOpen) return;
    this.#form.hidden = true;
    this.#hits = [];
    this.#paint();
  }

  #key(event) {
    if (event.isComposing) return;
    if (event.key === "Escape") this.close();
    else if (event.key === "F3" || (event.key === "Enter" && event.target === this.#field)) this.step(event.shiftKey ? -1 : 1);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** F3 in the note: the next hit of what was last sought, which is selected. */
  #again(step) {
    if (!this.#field.value.trim()) return false;
    const { work, note } = this.#workbench;
    const places = findAll(note.index, this.#field.value);
    const here = work.range ?? work.selected ?? note.cursor.head;
    const next = firstFrom(places, here ? here.start + 1 : 0);
    const same = places.findIndex(({ start }) => start >= (here?.start ?? 0));
    const hit = places[step > 0 ? next : ((same < 0 ? places.length : same) - 1 + places.length) % places.length];
    if (!hit) {
      this.#workbench.say(words.none);
      return true;
    }
    work.selectText(hit.start, hit.end, { exact: true });
    this.#show(hit);
    this.#workbench.say(words.found(places.indexOf(hit) + 1, places.length, this.#around(hit)));
    return true;
  }

  #search() {
    this.#hits = findAll(this.#workbench.note.index, this.#field.value);
    this.#at = firstFrom(this.#hits, this.#from);
    this.#tell();
  }

  step(by) {
    if (!this.#hits.length) return;
    this.#at = (this.#at + by + this.#hits.length) % this.#hits.length;
    this.#from = this.#hits[this.#at].start;
    this.#tell();
  }

  #tell() {
    const count = this.#hits.length;
    byId("find-count").textContent = count ? words.count(this.#at + 1, count) : this.#field.value.trim() ? words.none : "";
    for (const id of ["find-next", "find-previous"]) byId(id).disabled = count < 2;
    this.#paint();
    const hit = this.#hits[this.#at];
    if (!hit) return;
    this.#show(hit);
    this.#workbench.say(words.found(this.#at + 1, count, this.#around(hit)));
  }

  /** The words around a hit, for those who hear the page. */
  #around({ start, end }) {
    const { index } = this.#workbench.note;
    return index.slice(Math.max(0, start - 30), Math.min(index.length, end + 30)).replace(/\s+/gu, " ");
  }

  /** Through the browser's highlights; where it has none, the hit is selected instead. */
  #paint() {
    const { places } = this.#workbench.note;
    const hit = this.#hits[this.#at];
    if (!globalThis.CSS?.highlights) {
      if (hit && this.isOpen) places.show(hit.start, hit.end);
      return;
    }
    const first = Math.max(0, this.#at - PAINTED / 2);
    const ranges = this.#hits.slice(first, first + PAINTED).map(({ start, end }) => places.range(start, end));
    CSS.highlights.set("found", new Highlight(...ranges));
    CSS.highlights.set("found-here", new Highlight(...(hit ? [places.range(hit.start, hit.end)] : [])));
  }

  #show({ start, end }) {
    const box = this.#workbench.note.places.range(start, end).getBoundingClientRect();
    const scroller = byId("scroll");
    const frame = scroller.getBoundingClientRect();
    if (box.top < frame.top + 40 || box.bottom > frame.bottom - 40) scroller.scrollTop += box.top - frame.top - frame.height / 3;
  }
}
