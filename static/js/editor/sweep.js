/**
 * Select text by dragging the mouse or a finger. While dragging, the page shows the tokens, or with Alt the characters, that will be selected.
 *
 * The browser doesn't do this for two reasons. Its own selection shows characters, so that a person would see only afterwards which
 * tokens are selected. And while the button is pressed, Chromium makes a frame at every refresh of the screen, to scroll at the edges:
 * a label that is applied on release would then be painted one refresh later.
 */

import { byId } from "./dom.js";
import { scrollAtEdge } from "./edge_scroll.js";

// Pixels below which a press is a click, or a touch a tap.
const MOVED = 4;
const MOVED_FINGER = 12;
// Width in pixels of the zone inside the edges that scrolls: the screen may end at the edge, so the mouse can't go beyond.
const EDGE = 3;

export class Sweep {
  #work;
  #note;
  #scroller = byId("scroll");
  #going = null; // {anchor, head, x, y, fromX, fromY, exact, moved, waits}

  /** @param {object} work with `layout`, `cursor` and `palette` @param {HTMLElement} note */
  constructor(work, note) {
    this.#work = work;
    this.#note = note;
    document.addEventListener("pointermove", (event) => this.#move(event));
    this.#scroller.addEventListener("scroll", () => this.#going?.moved && this.#follow(this.#going)); // by the wheel, or at the edge
    for (const type of /** @type {const} */ (["keydown", "keyup"])) document.addEventListener(type, (event) => this.#alt(event));
  }

  /** @param {MouseEvent} event mousedown, or the touch of a finger, in the note. The browser handles all but a plain press on text. */
  begin(event, { isFinger = false } = {}) {
    const { clientX: x, clientY: y, altKey } = event;
    this.#going = null;
    if (event.button !== 0 || (event.detail !== 1 && !isFinger) || event.shiftKey || event.ctrlKey || event.metaKey) return;
    const anchor = this.#work.layout.under(x, y);
    if (anchor === null) return;
    if (!isFinger) {
      event.preventDefault();
      this.#work.layout.clear();
      this.#note.focus({ preventScroll: true });
    }
    this.#going = { anchor, head: anchor, x, y, fromX: x, fromY: y, exact: altKey, isFinger, moved: false, waits: false };
  }

  /** The button was released. Returns the selected bounds, empty after a click; null if the press didn't begin here. */
  end({ clientX, clientY, altKey }) {
    const going = this.#going;
    if (!going) return null;
    this.#follow(Object.assign(going, { x: clientX, y: clientY, exact: altKey }), { show: false });
    this.#going = null;
    const { anchor, head } = going;
    return { start: Math.min(anchor, head), end: Math.max(anchor, head) };
  }

  /** The button was lost, or the browser scrolls with the finger. */
  cancel() {
    if (this.#going?.moved && this.#going.isFinger) this.#work.layout.clear();
    this.#going = null;
  }

  #move({ clientX, clientY, altKey, buttons }) {
    const going = this.#going;
    if (!going) return;
    // The button was released without an event for this page.
    if (!(buttons & 1)) {
      this.cancel();
      return;
    }
    this.#follow(Object.assign(going, { x: clientX, y: clientY, exact: altKey }));
    this.#scroll(going);
  }

  /** Alt was pressed or released during the drag. */
  #alt({ key, type }) {
    if (key !== "Alt" || !this.#going) return;
    this.#going.exact = type === "keydown";
    this.#follow(this.#going);
  }

  /** Scroll at the edges, even while the mouse rests. */
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
      const [dx, dy] = [Math.abs(going.x - going.fromX), Math.abs(going.y - going.fromY)];
      if (going.isFinger ? dx < MOVED_FINGER || dx < dy : Math.hypot(dx, dy) < MOVED) return;
      going.moved = true;
      this.#work.palette?.close();
    }
    const { layout, cursor } = this.#work;
    const offset = layout.nearest(going.x, going.y);
    if (offset !== null) going.head = offset;
    if (!show) return;
    const { anchor, head, exact } = going;
    const stretch = anchor === head ? null : cursor.stretch(Math.min(anchor, head), Math.max(anchor, head), { exact });
    if (stretch) layout.show(stretch.start, stretch.end);
    else layout.clear();
  }
}
