/** The list of notes beside a text: closed where there is no room for it, else as it was left; the open note in view. */

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
