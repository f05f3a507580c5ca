/** The page of one string: occurrences are selected and decided. Without this script, the form works by mouse and Tab. */

import { AnsweredList } from "../editor/deciding/answering.js";
import { byId } from "../editor/dom.js";
import { words } from "./words.js";

const form = byId("string-form");
const boxes = form ? [.../** @type {NodeListOf<HTMLInputElement>} */ (form.querySelectorAll("[name=tick]"))] : [];
const all = byId("tick-all");

function show() {
  const ticked = boxes.filter((box) => box.checked).length;
  all.checked = ticked === boxes.length;
  all.indeterminate = ticked > 0 && ticked < boxes.length;
  byId("ticked").dataset.ticked = String(ticked);
  byId("ticked").firstChild.nodeValue = words.ticked(ticked, boxes.length);
}

if (boxes.length) {
  const { groups, occurrenceKeys: what } = words;
  const list = new AnsweredList(form, { items: "[name=tick]" });
  const decide = (act) => () => form.querySelector(`button[value=${act}]`)?.click();
  list.bind([
    { keys: ["a"], group: groups.decide, what: words.accept, run: decide("accept") },
    { keys: ["x"], group: groups.decide, what: words.reject, run: decide("reject") },
    ...list.keys(groups.move, what),
  ]);
  all.hidden = false;
  all.addEventListener("change", () => {
    for (const box of boxes) box.checked = all.checked;
    show();
  });
  form.addEventListener("change", show);
  show();
  if (document.activeElement === document.body) list.go(boxes[0]);
}
document.documentElement.dataset.strings = "ready";
