// The search over all places of a project: Ctrl+K, Cmd+K or its button opens it; arrows choose, Enter goes, Escape closes.
"use strict";

(() => {
  const dialog = document.getElementById("places");
  const input = dialog?.querySelector("input");
  if (!(dialog instanceof HTMLDialogElement) || !input) return;
  const all = () => /** @type {NodeListOf<HTMLElement>} */ (dialog.querySelectorAll("a[role=option]"));

  /** Choose an option; without one, none. The focus stays in the field. @param {HTMLElement} [option] */
  const choose = (option) => {
    for (const each of all()) each.setAttribute("aria-selected", String(each === option));
    if (option) input.setAttribute("aria-activedescendant", option.id);
    else input.removeAttribute("aria-activedescendant");
    option?.scrollIntoView({ block: "nearest" });
  };
  // Enter, pressed before the answer to what was typed has come.
  let entered = false;
  /** Choose nothing until the answer comes: what is listed answers something else. */
  const wait = () => {
    entered = false;
    choose();
  };
  input.addEventListener("input", wait);
  const open = () => {
    if (dialog.open) return;
    input.value = "";
    wait();
    dialog.showModal();
    input.dispatchEvent(new Event("places:open"));
  };

  for (const button of document.querySelectorAll("[data-places]")) {
    button.removeAttribute("hidden");
    button.addEventListener("click", open);
  }
  document.addEventListener(
    "keydown",
    (event) => {
      if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
      // Browsers would put the focus into their address bar.
      event.preventDefault();
      event.stopPropagation();
      open();
    },
    true,
  );
  dialog.addEventListener("click", (event) => {
    // A click beside the dialog is on the dialog itself. A place on this page has no new page that closes it.
    if (event.target === dialog || (event.target instanceof Element && event.target.closest("a"))) dialog.close();
  });
  // The keys of the page below don't act on it meanwhile.
  dialog.addEventListener("keydown", (event) => {
    event.stopPropagation();
    const options = [...all()];
    const at = options.findIndex((each) => each.getAttribute("aria-selected") === "true");
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && options.length) choose(options[(at + step + options.length) % options.length]);
    else if (event.key !== "Enter") return;
    else if (options[at]) options[at].click();
    else entered = true;
    event.preventDefault();
  });
  document.addEventListener("htmx:afterSwap", (event) => {
    if (!(event.target instanceof Element) || event.target.id !== "places-list") return;
    const { requestConfig } = /** @type {CustomEvent} */ (event).detail;
    if (requestConfig.parameters.text !== input.value) return;
    choose(all()[0]);
    if (entered) all()[0]?.click();
  });
})();
