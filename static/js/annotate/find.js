/** The find bar. Hits are highlighted without changing the note's elements; the current hit gets selected for labeling. */

import { findAll, firstFrom } from "../text/find.js";
import { byId } from "../editor/dom.js";
import { findWords as words } from "./talk_words.js";
import { words as pageWords } from "../editor/words.js";

// Painting more highlights than this would be slow.
const PAINTED = 1000;
const LONGEST = 200;

export class Find {
  #workbench;
  #form = byId("find");
  #field = byId("find-text");
  #hits = [];
  #at = -1;
  #from = 0; // the offset from which the search began

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
    const bounds = work.range ?? work.selected;
    this.#from = bounds?.start ?? note.cursor.head?.start ?? 0;
    if (bounds && bounds.end - bounds.start <= LONGEST) this.#field.value = note.index.slice(bounds.start, bounds.end);
    work.palette?.close();
    this.#form.hidden = false;
    this.#field.focus();
    this.#field.select();
    this.#search();
  }

  /** Select the current hit. */
  close() {
    const hit = this.#hits[this.#at];
    this.#hide();
    if (hit) this.#select(hit);
    this.#workbench.work.focusNote();
  }

  /** Select the whole words of a hit, so that a label's key labels them; a hit without any word as it is. */
  #select({ start, end }) {
    const { work } = this.#workbench;
    if (!work.selectText(start, end)) work.selectText(start, end, { exact: true });
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

  /** F3 in the note: select the next hit of the last search. */
  #again(step) {
    if (!this.#field.value.trim()) return false;
    const { work, note } = this.#workbench;
    const hits = findAll(note.index, this.#field.value);
    const here = work.range ?? work.selected ?? note.cursor.head;
    // The selected words may begin before their hit.
    const next = firstFrom(hits, work.range?.end ?? (here ? here.start + 1 : 0));
    const same = hits.findIndex(({ start }) => start >= (here?.start ?? 0));
    const hit = hits[step > 0 ? next : ((same < 0 ? hits.length : same) - 1 + hits.length) % hits.length];
    if (!hit) {
      this.#workbench.say(words.none);
      return true;
    }
    this.#select(hit);
    this.#show(hit);
    this.#workbench.say(words.found(hits.indexOf(hit) + 1, hits.length, this.#around(hit)));
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
    for (const id of /** @type {const} */ (["find-next", "find-previous"])) byId(id).disabled = count < 2;
    this.#paint();
    const hit = this.#hits[this.#at];
    if (!hit) return;
    this.#show(hit);
    this.#workbench.say(words.found(this.#at + 1, count, this.#around(hit)));
  }

  /** The text around a hit, for screen readers. */
  #around({ start, end }) {
    const { index } = this.#workbench.note;
    return index.slice(Math.max(0, start - 30), Math.min(index.length, end + 30)).replace(/\s+/gu, " ");
  }

  /** Show the hits by the browser's highlights; without these, select the current hit. */
  #paint() {
    const { layout } = this.#workbench.note;
    const hit = this.#hits[this.#at];
    if (!globalThis.CSS?.highlights) {
      if (hit && this.isOpen) layout.show(hit.start, hit.end);
      return;
    }
    const first = Math.max(0, this.#at - PAINTED / 2);
    const ranges = this.#hits.slice(first, first + PAINTED).map(({ start, end }) => layout.range(start, end));
    CSS.highlights.set("found", new Highlight(...ranges));
    CSS.highlights.set("found-here", new Highlight(...(hit ? [layout.range(hit.start, hit.end)] : [])));
  }

  #show({ start, end }) {
    const box = this.#workbench.note.layout.range(start, end).getBoundingClientRect();
    const scroller = byId("scroll");
    const frame = scroller.getBoundingClientRect();
    if (box.top < frame.top + 40 || box.bottom > frame.bottom - 40) scroller.scrollTop += box.top - frame.top - frame.height / 3;
  }
}
