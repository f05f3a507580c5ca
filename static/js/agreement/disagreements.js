/** The list of disagreements: causes, discussions, and each table scrolled to its location. Everything here also works by click. */

import { byId } from "../editor/dom.js";
import { causeList } from "./causes.js";
import { showLocation } from "./in_view.js";
import { words } from "./words.js";

const list = byId("locations");
if (list) begin();

function begin() {
  const { groups, keys: what } = words;
  // In the field of a discussion, Escape returns to the location and keeps the text; Ctrl+Enter sends it.
  const writing = (event, { here }) => {
    const { key, target, isComposing } = event;
    if (isComposing || !target.matches(".ad-talk textarea")) return;
    if (key === "Escape") here?.focus();
    else if (key === "Enter" && (event.ctrlKey || event.metaKey)) target.form.requestSubmit();
    else return;
    event.preventDefault();
  };
  const discussing = (locations) => [{ keys: ["c"], group: groups.location, what: what.discuss, run: () => locations.press('[data-act="talk"]') }];
  causeList(list, { items: ".ad-location", groups, what }, discussing, writing);
  const field = (location) => location?.querySelector(".ad-talk > form textarea");
  // An open discussion isn't fetched again, because that would delete the text being written.
  list.addEventListener(
    "click",
    (event) => {
      const target = /** @type {Element} */ (event.target);
      const open = target.closest('[data-act="talk"]') && field(target.closest(".ad-location"));
      if (!open || event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      event.stopPropagation();
      open.focus();
    },
    { capture: true },
  );
  window.addEventListener("beforeunload", (event) => {
    const written = /** @type {NodeListOf<HTMLTextAreaElement>} */ (list.querySelectorAll(".ad-talk textarea"));
    if ([...written].some(({ value }) => value.trim())) event.preventDefault();
  });
  const shown = (location) => showLocation(location?.querySelector(".ad-scroll"));
  shown(list.querySelector("[open]"));
  list.addEventListener("toggle", ({ target }) => shown(target), { capture: true });
  // In an opened discussion, focus the field, so that typed letters don't act as keys. htmx knows its form by then.
  document.body.addEventListener("htmx:afterSettle", ({ detail }) => {
    const elt = detail.requestConfig?.elt; // none where the buttons of causes are replaced
    if (elt?.matches('[data-act="talk"]')) field(elt.closest(".ad-location"))?.focus();
  });
  document.documentElement.dataset.disagreements = "ready";
}
