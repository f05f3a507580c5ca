/** Remembers in this browser which <details data-fold="key"> are folded. They are open at first. */

/** @param {HTMLDetailsElement} part */
function keyOf(part) {
  return `folded:${part.dataset.fold}`;
}

/** @param {ParentNode} where */
function restore(where) {
  for (const part of where.querySelectorAll("details[data-fold]")) {
    if (!(part instanceof HTMLDetailsElement)) continue;
    try {
      if (localStorage.getItem(keyOf(part))) part.open = false;
    } catch {
      // Without storage, everything is open.
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
      if (part.open) localStorage.removeItem(keyOf(part));
      else localStorage.setItem(keyOf(part), "1");
    } catch {
      // The choice is lost with the page.
    }
  },
  true,
);
// A large project loads the checklist after the page.
document.addEventListener("htmx:load", () => restore(document));
restore(document);
