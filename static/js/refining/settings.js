// The form of refinements: only the settings of the chosen method are shown and sent. Without this script, all are shown.
"use strict";

(() => {
  const form = document.getElementById("refine-form");
  if (!(form instanceof HTMLFormElement)) return;
  const look = () => {
    const chosen = form.querySelector("select[name=method]");
    if (!(chosen instanceof HTMLSelectElement)) return;
    for (const part of form.querySelectorAll("[data-methods]")) {
      // A setting with an error stays in view.
      const others = part instanceof HTMLElement && !part.dataset.methods?.split(" ").includes(chosen.value);
      const hidden = others && !part.querySelector("[aria-invalid=true], .errorlist");
      part.toggleAttribute("hidden", hidden);
      if (part instanceof HTMLFieldSetElement) part.disabled = hidden;
      else for (const field of part.querySelectorAll("input, select")) field.toggleAttribute("disabled", hidden);
    }
  };
  form.addEventListener("change", look);
  look();
})();
