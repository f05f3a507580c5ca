// The training form: only the settings of the chosen type of model are shown. Without this script, all types' are shown.
"use strict";

(() => {
  const form = document.getElementById("train-form");
  if (!(form instanceof HTMLFormElement)) return;
  const look = () => {
    const chosen = form.querySelector("input[name=algorithm]:checked");
    if (!(chosen instanceof HTMLInputElement)) return;
    const kind = chosen.value.split(":")[0];
    for (const part of form.querySelectorAll("[data-kinds]")) {
      // A field with an error stays in view.
      const others = part instanceof HTMLElement && !part.dataset.kinds?.split(" ").includes(kind);
      part.toggleAttribute("hidden", others && !part.querySelector("[aria-invalid=true]"));
    }
  };
  form.addEventListener("change", look);
  look();
})();
