// The tick above the list ticks all notes of the page. htmx replaces the list, so the document listens.
export {};

const show = () => {
  const all = document.getElementById("tick-all");
  if (all) all.hidden = false;
};

document.addEventListener("change", (event) => {
  const all = document.getElementById("tick-all");
  if (event.target !== all) return;
  for (const one of document.querySelectorAll("#ticked [name=notes]")) {
    if (one instanceof HTMLInputElement) one.checked = all.checked;
  }
});
document.addEventListener("htmx:load", show);
show();
