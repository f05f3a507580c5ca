// The tick above the list ticks all notes of the page. htmx replaces the list, so the document listens.

const all = () => document.getElementById("tick-all");

const show = () => {
  const box = all();
  if (box) box.hidden = false;
};

document.addEventListener("change", (event) => {
  const box = all();
  if (!box || event.target !== box) return;
  for (const one of document.querySelectorAll("#ticked [name=notes]")) {
    if (one instanceof HTMLInputElement) one.checked = box.checked;
  }
});
document.addEventListener("htmx:load", show);
show();
