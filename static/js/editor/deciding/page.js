/** What begins and ties a page of review or adjudication: the note's parts, the keys, the mouse, the buttons of the bar. */

import { Api } from "../api.js";
import { Cursor } from "../cursor.js";
import { Mouse } from "../mouse.js";
import { Places } from "../selection.js";
import { TextIndex } from "../../text/offsets.js";
import { byId } from "../dom.js";
import { stopsOf } from "../../text/steps.js";
import { tokenize } from "../../text/tokens.js";

/** The page's data, and the parts that it is made of. */
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
    places: new Places(root, index),
    api: new Api({
      token: document.querySelector("#close-form [name=csrfmiddlewaretoken]").value,
      person: data.person,
      renewal: () => data.urls.state,
    }),
  };
}

/** Keys of the page: `handle(event)` gets those that are for the note; then the buttons of the bar. */
export function listen({ work, root, handle }) {
  const mouse = new Mouse(work, root);
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || work.sheet.isOpen || isWriting(event.target) || isElsewhere(event, root)) return;
    mouse.settle();
    handle(event);
  });
  byId("undo").addEventListener("click", () => work.undo());
  byId("redo").addEventListener("click", () => work.redo());
  byId("show-keys").addEventListener("click", () => work.sheet.open());
  // On a phone the lists are closed at first: the note and what is chosen need the room.
  if (window.matchMedia("(max-width: 760px)").matches) {
    for (const part of document.querySelectorAll("#side details")) part.open = false;
  }
}

/** Keys that a field of the page needs for itself. */
function isWriting(target) {
  return target instanceof HTMLElement && target.matches("input, textarea, select, [contenteditable]");
}

/** Arrows are for the note only while it has the focus, or nothing has; Enter and Space belong to a button that has it. */
function isElsewhere({ key, target }, root) {
  if (key === "Enter" || key === " ") return target instanceof Element && target.matches("a, button, summary");
  return key.startsWith("Arrow") && target !== root && target !== document.body;
}

/** Go to another page by its link, once everything is saved; false where there is no such link to be seen. */
export function leaver(work) {
  return (id) => {
    const found = byId(id);
    const there = Boolean(found?.offsetParent);
    if (there) work.saving.leaveFor(found.href);
    return there;
  };
}
