// Swagger UI follows deidreview's theme, and its buttons get the names that they lack for screen readers.

import { gettext } from "../core/translating.js";

const root = document.documentElement;
const system = matchMedia("(prefers-color-scheme: dark)");
const page = /** @type {HTMLElement} */ (document.getElementById("swagger-ui"));

/** Swagger UI has its own dark colors, below a class of <html>. */
function follow() {
  const { theme } = root.dataset;
  root.classList.toggle("dark-mode", theme ? theme === "dark" : system.matches);
}

const NAMES = Object.entries({
  ".close-modal": gettext("Close"),
  ".copy-to-clipboard button": gettext("Copy"),
});

function repair() {
  for (const [selector, name] of NAMES) {
    for (const button of page.querySelectorAll(`${selector}:not([aria-label])`)) button.setAttribute("aria-label", name);
  }
  // Names that differ from what the buttons show.
  for (const button of page.querySelectorAll(".modal-btn[aria-label]")) button.removeAttribute("aria-label");
  for (const heading of page.querySelectorAll("h6:not([role])")) heading.setAttribute("role", "presentation");
  for (const table of page.querySelectorAll(".responses-table[role]")) table.removeAttribute("role");
  for (const code of page.querySelectorAll("pre:not([tabindex])")) code.setAttribute("tabindex", "0");
}

/** Escape closes the dialog, and the focus goes back to the button that opened it. */
let opened = false;
function keepFocus() {
  const open = page.querySelector(".dialog-ux") !== null;
  if (opened && !open) /** @type {HTMLElement | null} */ (page.querySelector(".btn.authorize"))?.focus();
  opened = open;
}

page.addEventListener("keydown", (event) => {
  if (event.key === "Escape") /** @type {HTMLElement | null} */ (page.querySelector(".close-modal"))?.click();
});

follow();
repair();
system.addEventListener("change", follow);
new MutationObserver(follow).observe(root, { attributeFilter: ["data-theme"] });
new MutationObserver(() => {
  repair();
  keepFocus();
}).observe(page, { childList: true, subtree: true });
