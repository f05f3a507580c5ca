// A slider that chooses which of the drawn steps is shown. Without this script, the slider's form loads the page again.
"use strict";

(() => {
  const range = document.querySelector("input[type=range][data-steps]");
  const box = range?.closest("section");
  if (!(range instanceof HTMLInputElement) || !box) return;
  range.form?.querySelector("button")?.setAttribute("hidden", "");
  const show = () => {
    for (const part of box.querySelectorAll("[data-step]")) {
      part.toggleAttribute("hidden", part.getAttribute("data-step") !== range.value);
    }
    const sentence = box.querySelector("p[data-step]:not([hidden])");
    range.setAttribute("aria-valuetext", sentence?.textContent?.replace(/\s+/g, " ").trim() ?? range.value);
  };
  range.addEventListener("input", show);
  show();
})();
