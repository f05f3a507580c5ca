/** Remembers in this browser which <details data-fold="key"> are open. They are folded at first. */

/** @param {HTMLDetailsElement} part */
function keyOf(part) {
  return `open:${part.dataset.fold}`;
}

/** @param {ParentNode} where */
function restore(where) {
  for (const part of where.querySelectorAll("details[data-fold]")) {
    if (!(part instanceof HTMLDetailsElement)) continue;
    try {
      if (localStorage.getItem(keyOf(part))) part.open = true;
    } catch {
      // Without storage, everything is folded.
    }
  }
}

// The event does not bubble.
document.addEventListener(
  "toggle",
  (event) => {
    const part = event.target;
    if (!(part instanceof HTMLDetailsElement) || !part.dataset.fold) return;
    try {
      if (part.open) localStorage.setItem(keyOf(part), "1");
      else localStorage.removeItem(keyOf(part));
    } catch {
      // The choice is lost with the page.
    }
  },
  true,
);
// A large project loads the checklist after the page.
document.addEventListener("htmx:load", () => restore(document));
restore(document);
