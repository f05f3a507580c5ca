/**
 * A drag over text with the mouse. What will be taken is shown while it goes on: whole tokens, or with Alt characters.
 *
 * It is done here and not left to the browser for two reasons. The browser's own selection shows characters, so that a person would
 * learn only afterwards what was taken. And while the button is down, Chromium makes a frame at every tick of the screen (to scroll at
 * the edges): a label given by letting go would then wait for the tick after, instead of being painted at once.
 */

import { byId } from "./dom.js";
import { scrollAtEdge } from "./edge_scroll.js";

// A press that moves less is a click.
const MOVED = 4;
// The last pixels of the window's frame: a screen may end there, and the mouse with it.
const EDGE = 3;

export class Sweep {
  #work;
  #note;
  #scroller = byId("scroll");
  #going = null; // {anchor, head, x, y, fromX, fromY, exact, moved, waits}

  /** @param {object} work with `places`, `cursor` and `palette` @param {HTMLElement} note */
  constructor(work, note) {
    this.#work = work;
    this.#note = note;
    document.addEventListener("pointermove", (event) => this.#move(event));
    this.#scroller.addEventListener("scroll", () => this.#going?.moved && this.#follow(this.#going)); // a wheel, or the edge
    for (const type of ["keydown", "keyup"]) document.addEventListener(type, (event) => this.#alt(event));
  }

  /** @param {MouseEvent} event mousedown in the note. Anything but a plain press on text stays the browser's. */
  begin(event) {
    const { clientX: x, clientY: y, altKey } = event;
    this.#going = null;
    if (event.button !== 0 || event.detail !== 1 || event.shiftKey || event.ctrlKey || event.metaKey) return;
    const anchor = this.#work.places.under(x, y);
    if (anchor === null) return;
    event.preventDefault();
    this.#work.places.clear();
    this.#note.focus({ preventScroll: true });
    this.#going = { anchor, head: anchor, x, y, fromX: x, fromY: y, exact: altKey, moved: false, waits: false };
  }

  /** The button was let go: what was swept, as it is under the mouse (tokens or not); empty for a click; null if nothing began here. */
  end({ clientX, clientY, altKey }) {
    const going = this.#going;
    if (!going) return null;
    this.#follow(Object.assign(going, { x: clientX, y: clientY, exact: altKey }), { show: false });
    this.#going = null;
    const { anchor, head } = going;
    return { start: Math.min(anchor, head), end: Math.max(anchor, head) };
  }

  cancel() {
    this.#going = null;
  }

  #move({ clientX, clientY, altKey, buttons }) {
    const going = this.#going;
    if (!going) return;
    // The button was let go where no event told of it.
    if (!(buttons & 1)) return void this.cancel();
    this.#follow(Object.assign(going, { x: clientX, y: clientY, exact: altKey }));
    this.#scroll(going);
  }

  /** Alt pressed or let go in the middle of it. */
  #alt({ key, type }) {
    if (key !== "Alt" || !this.#going) return;
    this.#going.exact = type === "keydown";
    this.#follow(this.#going);
  }

  /** At the edges the text moves on, also while the mouse rests. */
  #scroll(going) {
    if (going.waits || !going.moved || !scrollAtEdge(this.#scroller, going.y, EDGE)) return;
    going.waits = true;
    requestAnimationFrame(() => {
      going.waits = false;
      if (this.#going === going) this.#scroll(going);
    });
  }

  #follow(going, { show = true } = {}) {
    if (!going.moved) {
      if (Math.hypot(going.x - going.fromX, going.y - going.fromY) < MOVED) return;
      going.moved = true;
      this.#work.palette?.close();
    }
    const { places, cursor } = this.#work;
    const offset = places.nearest(going.x, going.y);
    if (offset !== null) going.head = offset;
    if (!show) return;
    const { anchor, head, exact } = going;
    const stretch = anchor === head ? null : cursor.stretch(Math.min(anchor, head), Math.max(anchor, head), { exact });
    if (stretch) places.show(stretch.start, stretch.end);
    else places.clear();
  }
}
