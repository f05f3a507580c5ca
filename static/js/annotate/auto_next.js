/**
 * Auto-next, which a person can turn on: after a key has labeled text, the next candidate is selected, so that a span costs one key
 * where the rules find what the annotator looks for.
 *
 * This happens only where keys selected the text: after a drag or a double click people look where the mouse is.
 */

import { byId } from "../editor/dom.js";
import { recall, remember } from "./keeping.js";
import { words } from "../editor/words.js";

// Milliseconds: the label is painted first, and the next candidate is looked for after that frame.
const FRAME = 17;

export class AutoNext {
  #workbench;
  #store; // the key under which this browser keeps the setting
  #isOn;
  #waits = null; // the next look-up, until the label is on the screen
  #made = null; // key of the last span that auto-next followed
  #offered = null; // the candidate that was selected after it, or null

  /** @param {import("./workbench.js").Workbench} workbench */
  constructor(workbench) {
    this.#workbench = workbench;
    this.#store = `deidreview.go-on.${workbench.project.person}`;
    this.#isOn = recall(this.#store) === "yes";
    byId("go-on").addEventListener("click", () => this.toggle());
    workbench.on("leave", () => this.forget());
    workbench.on("open", (note) => this.#open(note));
    workbench.on("started", (note) => this.#open(note));
    this.#show();
  }

  actions() {
    return [{ keys: ["Ctrl+,"], group: words.groups.change, what: words.keys.goOn, run: () => this.toggle() }];
  }

  /** The last labeled span while the next candidate is selected, because `*` then means that span; else null. */
  get made() {
    const { work, note } = this.#workbench;
    return this.#made === null || work.selected || work.range !== this.#offered ? null : note.annotationSet.get(this.#made);
  }

  toggle() {
    this.#isOn = !this.#isOn;
    remember(this.#store, this.#isOn ? "yes" : "no");
    this.#show();
    this.#workbench.say(this.#isOn ? words.goesOn : words.staysThere);
  }

  #show() {
    byId("go-on").setAttribute("aria-pressed", String(this.#isOn));
  }

  /** In a note without spans, select the first candidate. */
  #open({ annotationSet }) {
    this.#made = null;
    if (this.#isOn && annotationSet.isOpen && !annotationSet.spans().length) this.#later({ from: null, palette: null });
  }

  /**
   * Select the next candidate after one or many spans were made.
   * @param {string|null} key of the new span @param {number} from code point @param {{focus: boolean}|null} palette how it was open, if it was
   */
  after(key, from, palette = null) {
    const { candidates } = this.#workbench;
    if (!this.#isOn && !candidates.isLooking) return false;
    this.#made = key ?? this.#made;
    this.#later({ from, palette });
    return true;
  }

  /** The person selected something else. */
  forget() {
    this.#waits = null;
    this.#made = null;
  }

  #later(next) {
    this.#waits = next;
    requestAnimationFrame(() => setTimeout(() => this.#waits === next && this.selectNow(), FRAME));
  }

  /** Select the candidate now: another key was pressed right after the label's. */
  selectNow() {
    const next = this.#waits;
    this.#waits = null;
    const { work, note } = this.#workbench;
    if (!next || (next.from === null && (work.range || work.selected))) return;
    const found = work.moving.onward(next.from ?? note.cursor.head?.end ?? 0);
    this.#offered = work.range;
    if (found && next.palette) work.openPalette(next.palette.focus);
    if (found && this.#workbench.candidates.isLooking) this.#workbench.candidates.tell();
    const others = this.made ? work.mentions.count(this.made) : 0;
    if (others) work.hint(words.othersOfLast(others));
  }
}
