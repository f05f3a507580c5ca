/** The setup that the pages of review and adjudication share: the parts of the note, keys, mouse, and the buttons of the bar. */

import { Api } from "../api.js";
import { Cursor } from "../cursor.js";
import { Mouse } from "../mouse.js";
import { TextLayout } from "../selection.js";
import { TextIndex } from "../../text/offsets.js";
import { byId } from "../dom.js";
import { stopsOf } from "../../text/steps.js";
import { tokenize } from "../../text/tokens.js";

/** Parse the page's data from the element `id` and build the parts of the note. */
export function begin(id) {
  const data = JSON.parse(byId(id).textContent);
  const index = new TextIndex(data.text);
  const tokens = tokenize(data.text);
  const root = byId("note");
  return {
    data,
    index,
    tokens,
    root,
    labels: new Map(data.labels.map((label) => [label.id, label])),
    quote: ({ start, end }) => index.slice(start, end),
    cursor: new Cursor(stopsOf(index, tokens)),
    layout: new TextLayout(root, index),
    api: new Api({
      token: document.querySelector("#finish-form [name=csrfmiddlewaretoken]").value,
      person: data.person,
      renewal: () => data.urls.state,
    }),
  };
}

/** Listen to the mouse, the keys (`handle(event)` gets those for the note) and the buttons of the bar. */
export function listen({ work, root, handle }) {
  const mouse = new Mouse(work, root);
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || work.sheet.isOpen || isWriting(event.target) || isElsewhere(event, root)) return;
    mouse.finishSelection();
    handle(event);
  });
  for (const id of ["undo", "toast-undo"]) byId(id).addEventListener("click", () => work.undo());
  byId("redo").addEventListener("click", () => work.redo());
  byId("show-keys").addEventListener("click", () => work.sheet.open());
  // On a phone the lists start closed, because the note and the selected suggestion need the space.
  if (window.matchMedia("(max-width: 600px)").matches) {
    for (const part of byId("side").querySelectorAll("details")) part.open = false;
  }
}

/** Whether the key belongs to a form field. */
function isWriting(target) {
  return target instanceof HTMLElement && target.matches("input, textarea, select, [contenteditable]");
}

/** Whether the key belongs to a focused button (Enter, Space) or to a focused part outside of the note (arrows). */
function isElsewhere({ key, target }, root) {
  if (key === "Enter" || key === " ") return target instanceof Element && target.matches("a, button, summary");
  return key.startsWith("Arrow") && target !== root && target !== document.body;
}

/** A function that follows a visible link by its id once everything is saved. It returns false if there is no such link. */
export function leaver(work) {
  return (id) => {
    const found = /** @type {HTMLAnchorElement | null} */ (byId(id));
    const there = Boolean(found?.offsetParent);
    if (there) work.saving.leaveFor(found.href);
    return there;
  };
}
