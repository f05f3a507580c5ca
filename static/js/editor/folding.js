/** The list of notes next to a text: closed on narrow screens, else as the person left it, scrolled to the open note. */

const KEY = "deidreview.notes";

export const isNarrow = window.matchMedia("(max-width: 1100px)").matches;

/** @param {HTMLDetailsElement} list */
export function foldNotes(list) {
  list.open = !isNarrow && sessionStorage.getItem(KEY) !== "closed";
  list.addEventListener("toggle", () => {
    if (!isNarrow) sessionStorage.setItem(KEY, list.open ? "open" : "closed");
  });
  list.querySelector("[aria-current]")?.scrollIntoView({ block: "center" });
}
