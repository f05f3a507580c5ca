/**
 * Going on by itself, for those who want it: after a label was given by a key, the next stretch worth a look is selected, so that
 * a span costs one key where the rules see what the reader sees.
 *
 * Only where a key chose the text: after a drag or a double click the eye is where the mouse is.
 */

import { byId } from "../editor/dom.js";
import { recall, remember } from "./keeping.js";
import { words } from "../editor/words.js";

// The label is painted first: what comes next is looked for after the gesture's own frame.
const FRAME = 17;

export class GoingOn {
  #workbench;
  #store; // where this browser keeps what the person wants
  #isOn;
  #waits = null; // where to look from, once the label is on the screen
  #made = null; // key of the span that was made last, on this way
  #offered = null; // what was selected after it; null where nothing was left

  /** @param {import("./workbench.js").Workbench} workbench */
  constructor(workbench) {
    this.#workbench = workbench;
    this.#store = `deidreview.go-on.${workbench.project.person}`;
    this.#isOn = recall(this.#store) === "yes";
    byId("go-on").addEventListener("click", () => this.toggle());
    workbench.on("leave", () => this.forget());
    workbench.on("open", (note) => this.#open(note));
    this.#show();
  }

  actions() {
    return [{ keys: ["Ctrl+,"], group: words.groups.change, what: words.keys.goOn, run: () => this.toggle() }];
  }

  /** The span that was made last, while the next stretch is offered: `*` is for it. Else null. */
  get made() {
    const { work, note } = this.#workbench;
    return this.#made === null || work.selected || work.range !== this.#offered ? null : note.reading.get(this.#made);
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

  /** A note in which nothing was done yet begins at its first stretch. */
  #open({ reading }) {
    this.#made = null;
    if (this.#isOn && reading.isOpen && !reading.spans().length) this.#later({ from: null, palette: null });
  }

  /**
   * A span was made, or many were: go on after it.
   * @param {string|null} key of the one that was made @param {number} from code point @param {{focus: boolean}|null} palette as it was open
   */
  after(key, from, palette = null) {
    if (!this.#isOn) return false;
    this.#made = key ?? this.#made;
    this.#later({ from, palette });
    return true;
  }

  /** Something else was chosen meanwhile. */
  forget() {
    this.#waits = null;
    this.#made = null;
  }

  #later(next) {
    this.#waits = next;
    requestAnimationFrame(() => setTimeout(() => this.#waits === next && this.settle(), FRAME));
  }

  /** Go on now: a key was pressed right after the label's. */
  settle() {
    const next = this.#waits;
    this.#waits = null;
    const { work, note } = this.#workbench;
    if (!next || (next.from === null && (work.range || work.selected))) return;
    const found = work.moving.onward(next.from ?? note.cursor.head?.end ?? 0);
    this.#offered = work.range;
    if (found && next.palette) work.openPalette(next.palette.focus);
    const others = this.made ? work.mentions.count(this.made) : 0;
    if (others) work.hint(words.othersOfLast(others));
  }
}
