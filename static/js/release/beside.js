/** Highlight a stretch of the original and what replaced it together, while the pointer or the focus is on one of them. */

const pieceOf = (target) => (target instanceof Element ? target.closest("[data-piece]") : null);

function link(event) {
  const piece = pieceOf(event.target);
  for (const one of document.querySelectorAll(".stretch.is-linked")) one.classList.remove("is-linked");
  if (!(piece instanceof HTMLElement)) return;
  const pair = piece.closest(".beside").querySelectorAll(`[data-piece="${CSS.escape(piece.dataset.piece)}"]`);
  for (const one of pair) one.classList.add("is-linked");
}

for (const kind of ["mouseover", "focusin", "focusout"]) document.addEventListener(kind, link);
document.documentElement.dataset.beside = "ready";
