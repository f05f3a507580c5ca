/** Take over label keys that were changed on another page. Of other changes to labels, the page tells the person. */

import { el } from "../editor/dom.js";
import { words } from "../editor/words.js";

const sameButKey = (a, b) => Boolean(b) && ["id", "name", "category", "hue", "underline"].every((name) => a[name] === b[name]);

/** Whether labels differ only in keys and descriptions. */
export function onlyKeysDiffer(before, after) {
  return before.length === after.length && before.every((label, at) => sameButKey(label, after[at]));
}

/** Show a label's key, if it has one, on a button of the label. */
function showKey(button, key) {
  const old = button.querySelector("kbd:not(.is-repeat)");
  if (!key) old?.remove();
  else if (old) old.textContent = key;
  else {
    const kbd = el("kbd", {}, key);
    const repeat = button.querySelector(".is-repeat");
    if (repeat) repeat.before(kbd);
    else button.append(kbd);
  }
}

/** @param {import("./workbench.js").Workbench} workbench @param {{labels: object[], labels_stamp: string}} now as the server has them */
export function takeOverKeys(workbench, { labels, labels_stamp: stamp }) {
  const known = [...workbench.labels.values()];
  if (!onlyKeysDiffer(known, labels)) {
    workbench.tell(words.labelsChanged);
    return;
  }
  labels.forEach(({ key, description }, at) => Object.assign(known[at], { key, description }));
  workbench.stamp = stamp;
  for (const { id, key } of known) {
    for (const button of document.querySelectorAll(`[data-label-id="${id}"]`)) showKey(button, key);
  }
  workbench.bind();
  workbench.tell(words.keysChanged, "ok");
}
