/**
 * Scrolling to a place, and staying there. Lines get their true height only once they are near the window (note.css), which moves
 * what lies below them: so the place is looked at again until it rests, or until somebody does something else.
 */

import { byId } from "../editor/dom.js";

const FRAMES = 20; // in which it rests on any machine
const RESTED = 3; // frames without a change

let going = null; // the place that is being gone to

/** Whatever was being gone to: no longer. */
export function leaveOff() {
  going = null;
}

/** @param {() => number} missing  how many pixels further down the text must be scrolled, as it lies now */
export function stayAt(missing) {
  going = missing;
  // Again and again the same function: it is added once.
  for (const name of ["wheel", "keydown", "pointerdown"]) window.addEventListener(name, leaveOff, { capture: true, passive: true });
  look(missing, FRAMES, RESTED);
}

function look(missing, frames, rest) {
  if (going !== missing) return;
  const by = missing();
  const rests = Math.abs(by) < 1;
  if (!rests) byId("scroll").scrollTop += by;
  const left = rests ? rest - 1 : RESTED;
  if (frames && left) requestAnimationFrame(() => look(missing, frames - 1, left));
}
