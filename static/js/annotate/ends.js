/** Handles at the ends of the selected span, or of the text that a finger selected: drag one to resize it by tokens, with Alt by characters; Escape cancels. */

import { byId, el } from "../editor/dom.js";
import { scrollAtEdge } from "../editor/edge_scroll.js";
import { covered } from "../text/tokens.js";
import { isRightToLeftAt } from "../text/steps.js";

// Width of a handle, and how much of it lies inside the span: mostly inside, so that the text next to the span can be selected.
const TARGET = 24;
const INSIDE = 18;
// A press that moves less is a click on the text.
const MOVED = 4;
const EDGE = 28;
const MOST_BOXES = 300;

/**
 * The bounds after an end was dragged to `offset`: to the nearer token boundary, or with `exact` to the offset itself, and never
 * past the other end. Pure; offsets in code points.
 * @param {Array<{start: number, end: number}>} tokens @param {"start"|"end"} edge @param {{start: number, end: number}} span
 * @returns {{start: number, end: number}}
 */
export function dragged(tokens, span, edge, offset, { exact = false } = {}) {
  if (exact) {
    return edge === "end"
      ? { start: span.start, end: Math.max(offset, span.start + 1) }
      : { start: Math.min(offset, span.end - 1), end: span.end };
  }
  const [first, past] = covered(tokens, offset, offset);
  const inside = first < past ? tokens[first] : null; // the token that has `offset` strictly inside
  if (edge === "end") {
    const least = tokens[covered(tokens, span.start, span.start + 1)[0]]?.end ?? span.start + 1;
    const before = tokens[first - 1]?.end ?? least;
    const end = inside && offset - inside.start > (inside.end - inside.start) / 3 ? inside.end : before;
    return { start: span.start, end: Math.max(end, least) };
  }
  const most = tokens[covered(tokens, span.end - 1, span.end)[1] - 1]?.start ?? span.end - 1;
  const after = tokens[inside ? first + 1 : first]?.start ?? most;
  const start = inside && inside.end - offset > (inside.end - inside.start) / 3 ? inside.start : after;
  return { start: Math.min(start, most), end: span.end };
}

// Milliseconds of a frame.
const FRAME = 17;

function haveSameBounds(a, b) {
  return a === b || (a !== null && b !== null && a.start === b.start && a.end === b.end);
}

export class Ends {
  #workbench;
  #scroller = byId("scroll");
  #handles = new Map();
  #boxes = el("div", { class: "wb-ends-boxes" });
  #layer;
  #drag = null; // {edge, span, bounds, exact, dx, dy, x, y, moved, id}
  #waits = false;
  #shownFor = null; // the span whose ends the handles show

  constructor(workbench) {
    this.#workbench = workbench;
    for (const edge of ["start", "end"]) this.#handles.set(edge, el("div", { class: `wb-end is-${edge}`, "data-edge": edge }));
    this.#layer = el("div", { class: "wb-ends", "aria-hidden": "true", hidden: true }, this.#boxes, ...this.#handles.values());
    this.#scroller.append(this.#layer);
    for (const name of ["selected", "drawn", "open"]) workbench.on(name, () => this.#later());
    workbench.on("leave", () => this.#stop());
    new ResizeObserver(() => this.#later()).observe(byId("note"));
    this.#layer.addEventListener("pointerdown", (event) => this.#down(event));
    this.#layer.addEventListener("pointermove", (event) => this.#move(event));
    this.#layer.addEventListener("pointerup", (event) => this.#up(event));
    this.#layer.addEventListener("lostpointercapture", () => this.#stop());
    // Pressing a handle must keep focus and selection in the note.
    this.#layer.addEventListener("mousedown", (event) => event.preventDefault());
    this.#layer.addEventListener("click", (event) => this.#click(event));
    // Without this the browser may take a drag by finger for a fling, and the next tap anywhere as the wish to stop it.
    this.#layer.addEventListener("touchmove", (event) => event.preventDefault(), { passive: false });
    document.addEventListener("keydown", (event) => this.#key(event), true);
    // While text is being selected, the handles let the mouse through.
    document.addEventListener("pointerdown", (event) => this.#through(!(event.target instanceof Element && event.target.matches(".wb-end"))), true);
    for (const name of ["pointerup", "pointercancel"]) document.addEventListener(name, () => this.#through(false));
  }

  #through(on) {
    this.#layer.classList.toggle("is-through", on);
  }

  get #selected() {
    const { work, mouse } = this.#workbench;
    return work?.selected ?? (mouse?.isByFinger && work?.range ? work.range : null);
  }

  // ── Where the handles are ─────────────────────────────────────────────────────────────────────────────────────────

  /** Position the handles after the frame of the gesture is painted, so that measuring doesn't delay it. */
  #later() {
    const span = this.#selected;
    // A saved span is another object with the same bounds: its handles stay, because somebody may be about to press one.
    if (!this.#drag && !haveSameBounds(span, this.#shownFor)) this.#layer.hidden = true;
    if (this.#waits || (!span && this.#shownFor === null)) return;
    this.#waits = true;
    requestAnimationFrame(() =>
      setTimeout(() => {
        this.#waits = false;
        if (this.#drag) return;
        this.#shownFor = this.#workbench.note.layout ? this.#selected : null;
        this.#show(this.#shownFor);
      }, FRAME),
    );
  }

  #show(span) {
    const isShown = Boolean(span) && this.#workbench.note.annotationSet.isOpen;
    this.#layer.hidden = !isShown;
    if (!isShown) return;
    const from = this.#edge(span, "start");
    const to = this.#edge(span, "end");
    const oneRow = Math.abs(from.top - to.top) < from.height / 2;
    const width = oneRow ? Math.abs(to.x - from.x) : Infinity;
    const inside = Math.min(INSIDE, width / 2);
    this.#put("start", from, inside);
    this.#put("end", to, inside);
  }

  /** Position of an end on the screen; `inward` is the direction from there into the span (1: right, -1: left). */
  #edge({ start, end }, edge) {
    const { layout, index } = this.#workbench.note;
    const at = edge === "start" ? start : end - 1;
    const box = edge === "start" ? layout.box(start, start + 1).first : layout.box(end - 1, end).last;
    const flips = isRightToLeftAt(index.text, index.toUtf16(at));
    const isLeft = (edge === "start") !== flips;
    return { x: isLeft ? box.left : box.right, top: box.top, height: box.height, inward: isLeft ? 1 : -1 };
  }

  #put(edge, { x, top, height, inward }, inside) {
    const frame = this.#scroller.getBoundingClientRect();
    const left = inward > 0 ? x - (TARGET - inside) : x - inside;
    const handle = this.#handles.get(edge);
    handle.style.setProperty("--x", `${Math.round(left - frame.left + this.#scroller.scrollLeft)}px`);
    handle.style.setProperty("--y", `${Math.round(top - frame.top + this.#scroller.scrollTop)}px`);
    handle.style.setProperty("--h", `${Math.round(Math.max(height, TARGET))}px`);
    handle.style.setProperty("--mark", `${Math.round(x - left)}px`);
  }

  // ── Dragging ──────────────────────────────────────────────────────────────────────────────────────────────────────

  #down(event) {
    const edge = event.target.dataset.edge;
    const span = this.#selected;
    if (!edge || !span || event.button !== 0 || this.#drag) return;
    event.preventDefault();
    this.#dragged = false; // a drag by finger ends without a click
    event.target.setPointerCapture(event.pointerId);
    const { x, top, height } = this.#edge(span, edge);
    const { clientX, clientY, altKey } = event;
    // A finger hides the text under it, so the end keeps its distance to the finger; a mouse points at the end itself.
    const isFinger = event.pointerType === "touch";
    this.#drag = {
      edge, span, bounds: span, exact: altKey, id: event.pointerId, moved: false, waits: false,
      dx: isFinger ? clientX - x : 0, dy: isFinger ? clientY - (top + height / 2) : 0, x: clientX, y: clientY, fromX: clientX, fromY: clientY,
    }; // prettier-ignore
  }

  #move(event) {
    const drag = this.#drag;
    if (!drag || event.pointerId !== drag.id) return;
    Object.assign(drag, { x: event.clientX, y: event.clientY, exact: event.altKey });
    if (!drag.moved && Math.hypot(drag.x - drag.fromX, drag.y - drag.fromY) < MOVED) return;
    if (!drag.moved) {
      drag.moved = true;
      this.#workbench.palette.close();
      this.#layer.classList.add("is-dragging");
    }
    this.#frame(drag);
  }

  /** Measure the page at most once in a frame. */
  #frame(drag) {
    if (drag.waits) return;
    drag.waits = true;
    requestAnimationFrame(() => {
      drag.waits = false;
      if (this.#drag !== drag) return;
      if (scrollAtEdge(this.#scroller, drag.y, EDGE)) this.#frame(drag); // the text scrolls too
      this.#follow(drag);
    });
  }

  #follow(drag) {
    const { layout, cursor } = this.#workbench.note;
    // A pointer beyond the edge means the text that scrolls in at the edge.
    const { top, bottom } = this.#scroller.getBoundingClientRect();
    const offset = layout.under(drag.x - drag.dx, Math.min(Math.max(drag.y - drag.dy, top + 1), bottom - 1));
    if (offset === null) return;
    drag.bounds = dragged(cursor.tokens, drag.span, drag.edge, offset, drag);
    this.#show(drag.bounds);
    this.#preview(drag.bounds);
  }

  #preview({ start, end }) {
    const frame = this.#scroller.getBoundingClientRect();
    const boxes = [...this.#workbench.note.layout.range(start, end).getClientRects()].slice(0, MOST_BOXES);
    while (this.#boxes.childElementCount < boxes.length) this.#boxes.append(el("i"));
    [...this.#boxes.children].forEach((node, at) => {
      node.hidden = at >= boxes.length;
      if (node.hidden) return;
      const { left, top, width, height } = boxes[at];
      node.style.setProperty("--x", `${left - frame.left + this.#scroller.scrollLeft}px`);
      node.style.setProperty("--y", `${top - frame.top + this.#scroller.scrollTop}px`);
      node.style.setProperty("--w", `${width}px`);
      node.style.setProperty("--h", `${height}px`);
    });
  }

  #up(event) {
    const drag = this.#drag;
    if (!drag || event.pointerId !== drag.id) return;
    if (drag.moved) this.#follow(Object.assign(drag, { exact: event.altKey }));
    this.#stop();
    const { work } = this.#workbench;
    if (drag.moved && work.selected) work.resizing.to(drag.bounds);
    else if (drag.moved) {
      work.selectText(drag.bounds.start, drag.bounds.end, { exact: true });
      work.openPalette(false);
    }
    // The handles are hidden now, so that the click of a finger may meet the text instead: it is passed on here.
    const isTap = !drag.moved && event.pointerType === "touch";
    if (isTap) this.#workbench.mouse.clickThrough(event);
    this.#dragged = drag.moved || isTap;
  }

  #dragged = false;

  /** End the drag without a change. */
  #stop() {
    if (!this.#drag) return;
    const { id } = this.#drag;
    const handle = this.#handles.get(this.#drag.edge);
    this.#drag = null;
    this.#layer.classList.remove("is-dragging");
    this.#boxes.replaceChildren();
    this.#layer.hidden = true; // until the handles have their new position
    if (handle.hasPointerCapture(id)) handle.releasePointerCapture(id);
    this.#later();
  }

  #key(event) {
    if (event.key !== "Escape" || !this.#drag) return;
    event.preventDefault();
    event.stopPropagation();
    this.#dragged = true;
    this.#stop();
  }

  /** A click on a handle, without a drag, is passed to the text below. */
  #click(event) {
    if (this.#dragged) {
      this.#dragged = false;
      return;
    }
    this.#through(true);
    this.#workbench.mouse.clickThrough(event);
    this.#through(false);
  }
}
