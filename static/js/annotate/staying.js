/**
 * Scroll to a target and keep it in view. Lines get their true height only near the window (note.css), which moves the lines below
 * them. The position is therefore corrected until it rests, or until the person does something else.
 */

import { byId } from "../editor/dom.js";

const FRAMES = 20; // enough for the position to rest on any machine
const RESTED = 3; // frames without a change

let going = null; // the distance function of the current target

/** Stop scrolling to the current target. */
export function leaveOff() {
  going = null;
}

/** @param {() => number} missing  how many pixels the text must still be scrolled down */
export function stayAt(missing) {
  going = missing;
  // The browser adds the same listener only once.
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
