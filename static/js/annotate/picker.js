/** A list of overlapping spans, the innermost first. Moving in the list selects in the note. */

import { Popover, itemBeside } from "../editor/popover.js";
import { el } from "../editor/dom.js";
import { shorten } from "../editor/panel.js";
import { words } from "../editor/words.js";

const QUOTE_LENGTH = 48;
const DIGITS = 9;

/** The spans that contain an offset, the innermost (shortest) first. @param {Array<{key: string, start: number, end: number}>} spans */
export function spansAt(spans, offset) {
  return spans
    .filter(({ start, end }) => start <= offset && offset < end)
    .sort((a, b) => a.end - a.start - (b.end - b.start) || b.start - a.start);
}

export class Picker {
  #workbench;
  #popover;
  #root;
  #spans = []; // the listed spans, as they were then

  constructor(workbench) {
    this.#workbench = workbench;
    this.#root = el("div", { class: "wb-pop wb-picker", role: "dialog", "aria-label": words.pick, hidden: true });
    document.getElementById("palette").after(this.#root);
    this.#popover = new Popover(this.#root, () => workbench.work.focusNote());
    this.#root.addEventListener("click", (event) => this.#click(event));
    this.#root.addEventListener("keydown", (event) => this.#key(event));
    this.#root.addEventListener("focusin", (event) => this.#focused(event));
    workbench.on("drawn", () => this.#check());
    workbench.on("leave", () => this.close());
  }

  actions() {
    return [{ keys: ["Shift+Enter"], group: words.groups.move, what: words.pickHere, run: () => this.openHere() }];
  }

  get isOpen() {
    return this.#popover.isOpen;
  }

  close() {
    this.#popover.close();
  }

  /** Close the list when one of its spans has changed. */
  #check() {
    const { annotationSet } = this.#workbench.note;
    const isCurrent = this.#spans.every((span) => annotationSet.get(span.key) === span);
    if (!isCurrent) this.close();
  }

  /** List the spans at the selected span, the selected text, or the cursor. */
  openHere() {
    const { work, note } = this.#workbench;
    const bounds = work.selected ?? work.range ?? note.cursor.head;
    if (!bounds) return false;
    const found = spansAt(note.annotationSet.spans(), bounds.start);
    if (found.length) this.open(found.map(({ key }) => key), work.selected?.key);
    else this.#workbench.say(words.noSpanHere);
    return true;
  }

  /** @param {string[]} keys the innermost first @param {string} [current] the span to begin at */
  open(keys, current = keys[0]) {
    const { note } = this.#workbench;
    const spans = keys.map((key) => note.annotationSet.get(key)).filter(Boolean);
    if (!spans.length) return;
    this.#spans = spans;
    const items = spans.map((span, at) => this.#item(span, at));
    this.#root.replaceChildren(el("p", { class: "wb-pop-hint" }, words.pickHint(spans.length)), ...items);
    const first = spans.find(({ key }) => key === current) ?? spans[0];
    this.#popover.open(note.layout.box(first.start, first.end));
    items[spans.indexOf(first)].focus();
  }

  #item({ key, label, start, end }, at) {
    const { labels, note } = this.#workbench;
    const shown = labels.get(label);
    return el(
      "button",
      { type: "button", class: "wb-item", "data-pick": key },
      el("kbd", {}, at < DIGITS ? String(at + 1) : " "),
      el("span", { class: `chip hue-${shown?.hue ?? 0}` }, shown?.name ?? "?"),
      el("bdi", { class: "wb-item-text" }, shorten(note.index.slice(start, end), QUOTE_LENGTH)),
    );
  }

  get #items() {
    return [...this.#root.querySelectorAll("button")];
  }

  #focused({ target }) {
    const key = target.closest("[data-pick]")?.dataset.pick;
    if (key && key !== this.#workbench.work.selected?.key) this.#workbench.work.selectSpan(key, { announce: false });
  }

  #click(event) {
    const key = event.target.closest("[data-pick]")?.dataset.pick;
    if (key) this.#choose(key);
  }

  #choose(key) {
    this.#workbench.work.selectSpan(key);
    this.close();
  }

  #key(event) {
    const items = this.#items;
    const digit = items[Number(event.key) - 1];
    if (digit && !event.ctrlKey && !event.altKey) this.#choose(digit.dataset.pick);
    else if (event.key.startsWith("Arrow") && !event.altKey && !event.shiftKey) itemBeside(items, document.activeElement, event.key).focus();
    else if (event.key === "Tab") itemBeside(items, document.activeElement, event.shiftKey ? "ArrowLeft" : "ArrowRight").focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
