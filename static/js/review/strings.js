/** Keys for the page of one string: move between occurrences, select and decide. Without this script, the form works by mouse and Tab. */

import { byId } from "../editor/dom.js";
import { namesOf } from "../editor/keys.js";
import { words } from "./words.js";

const form = byId("string-form");
const boxes = form ? [.../** @type {NodeListOf<HTMLInputElement>} */ (form.querySelectorAll("[name=tick]"))] : [];
const all = byId("tick-all");

function step(by) {
  const at = boxes.findIndex((box) => box === document.activeElement);
  const next = boxes[at < 0 ? (by > 0 ? 0 : boxes.length - 1) : at + by];
  next?.focus();
  next?.closest("tr").scrollIntoView({ block: "nearest" });
}

function decide(act) {
  form.querySelector(`button[value=${act}]`)?.click();
}

function show() {
  const ticked = boxes.filter((box) => box.checked).length;
  all.checked = ticked === boxes.length;
  all.indeterminate = ticked > 0 && ticked < boxes.length;
  byId("ticked").dataset.ticked = String(ticked);
  byId("ticked").firstChild.nodeValue = words.ticked(ticked, boxes.length);
}

const KEYS = { j: () => step(1), ArrowDown: () => step(1), k: () => step(-1), ArrowUp: () => step(-1), a: () => decide("accept"), x: () => decide("reject") };

if (boxes.length) {
  all.hidden = false;
  all.addEventListener("change", () => {
    for (const box of boxes) box.checked = all.checked;
    show();
  });
  form.addEventListener("change", show);
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || /** @type {Element} */ (event.target).matches("select, textarea, input:not([type=checkbox])")) return;
    const act = namesOf(event).map((name) => KEYS[name]).find(Boolean);
    if (!act) return;
    event.preventDefault();
    act();
  });
  show();
  if (document.activeElement === document.body) boxes[0].focus({ preventScroll: true });
}
document.documentElement.dataset.strings = "ready";
