/**
 * Remember the scroll position and the selection in each note while the tab is open: ids and offsets, never text.
 */

import { byId } from "../editor/dom.js";
import { leaveOff, stayAt } from "./staying.js";

const KEY = "deidreview.positions";
const MOST = 100;

export class PositionKeeper {
  #workbench;
  #storage;

  constructor(workbench, storage = sessionStorage) {
    this.#workbench = workbench;
    this.#storage = storage;
    workbench.on("leave", (note) => this.#remember(note));
    document.addEventListener("visibilitychange", () => document.hidden && this.#remember(workbench.note));
  }

  /** Restore scroll position and selection. Call when the note is on the page. */
  restore(note) {
    const scroller = byId("scroll");
    const known = this.#read()[note.id];
    leaveOff();
    scroller.scrollTop = 0;
    if (!known) return;
    const { work } = this.#workbench;
    const span = known.span && note.annotationSet.find({ start: known.span[0], end: known.span[1], label: known.span[2] });
    if (span) work.selectSpan(span.key, { announce: false });
    else if (known.text && known.text[1] <= note.index.length) work.selectText(...known.text, { exact: true });
    else note.cursor.clear(Math.min(known.offset, note.index.length));
    const line = byId(`L${known.line}`);
    if (line) stayAt(() => line.getBoundingClientRect().top - scroller.getBoundingClientRect().top + known.below);
  }

  #remember(note) {
    if (!note.view) return;
    const { work } = this.#workbench;
    const span = work.selected;
    const all = this.#read();
    delete all[note.id]; // so that it becomes the newest
    all[`${note.id}`] = {
      offset: note.cursor.head?.end ?? 0,
      text: work.range && [work.range.start, work.range.end],
      span: span && [span.start, span.end, span.label],
      ...firstLine(),
      at: Date.now(),
    };
    const entries = Object.entries(all).sort(([, a], [, b]) => b.at - a.at);
    this.#write(Object.fromEntries(entries.slice(0, MOST)));
  }

  #read() {
    try {
      return JSON.parse(this.#storage.getItem(KEY)) ?? {};
    } catch {
      return {};
    }
  }

  #write(all) {
    try {
      this.#storage.setItem(KEY, JSON.stringify(all));
    } catch {
      // Storage may be disabled or full: then the position is forgotten.
    }
  }
}

/** The line at the top of the window, and the distance in pixels from its top to the window's top. */
function firstLine() {
  const { top } = byId("scroll").getBoundingClientRect();
  const block = firstBelow(byId("note").children, top); // measuring lines of other blocks would make the browser lay these out
  const line = block && firstBelow(block.children, top);
  return line ? { line: Number(line.id.slice(1)), below: Math.round(top - line.getBoundingClientRect().top) } : { line: 1, below: 0 };
}

/** The first of elements in vertical order whose bottom is below a height; the last one if there is none. */
function firstBelow(elements, height) {
  let low = 0;
  let high = elements.length - 1;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (elements[middle].getBoundingClientRect().bottom > height) high = middle;
    else low = middle + 1;
  }
  return elements[low];
}
