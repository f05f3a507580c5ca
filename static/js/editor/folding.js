/** The list of notes next to a text: closed and over the text in narrow windows, else as the person left it. */

const KEY = "deidreview.notes";

export const narrow = window.matchMedia("(max-width: 1100px)");

/** @param {HTMLDetailsElement} list */
export function foldNotes(list) {
  const fold = () => {
    list.open = !narrow.matches && sessionStorage.getItem(KEY) !== "closed";
  };
  fold();
  narrow.addEventListener("change", fold);
  list.addEventListener("toggle", () => {
    if (!narrow.matches) sessionStorage.setItem(KEY, list.open ? "open" : "closed");
    list.querySelector("[aria-current]")?.scrollIntoView({ block: "center" });
  });
  document.addEventListener("click", ({ target }) => {
    if (narrow.matches && target instanceof Node && !list.querySelector("summary").contains(target)) list.open = false;
  });
}
