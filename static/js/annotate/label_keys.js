/** The keys of the labels, changed on another page while this one is open: taken over. Other changes of labels are told. */

import { el } from "../editor/dom.js";
import { words } from "../editor/words.js";

const sameButKey = (a, b) => Boolean(b) && ["id", "name", "category", "hue", "underline"].every((name) => a[name] === b[name]);

/** True where labels differ by their keys and descriptions alone. */
export function onlyKeysDiffer(before, after) {
  return before.length === after.length && before.every((label, at) => sameButKey(label, after[at]));
}

/** The key of a label on its button; none where it has none. */
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
