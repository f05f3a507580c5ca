/** Keys for the list of disagreements, and each table scrolled to its location. Everything here also works by click. */

import { Keys } from "../editor/keys.js";
import { KeySheet } from "../editor/sheet.js";
import { byId } from "../editor/dom.js";
import { words } from "./words.js";

const list = byId("locations");
if (list) begin();

function begin() {
  let index = -1;
  const locations = () => [...list.querySelectorAll(".ad-location")];
  const here = () => locations()[index] ?? null;
  const walk = (step) => {
    index = Math.max(0, Math.min(locations().length - 1, index + step));
    here().focus({ preventScroll: true });
    here().scrollIntoView({ block: "nearest" });
  };
  const press = (selector) => {
    const button = here()?.querySelector(selector);
    button?.click();
    return Boolean(button);
  };
  const { causes, groups, keys: what } = words;
  const cause = (key, kind) => ({ keys: [key], group: groups.cause, what: causes[kind], run: () => press(`[data-cause="${kind}"]`) });
  const keys = new Keys([
    { keys: ["j"], group: groups.move, what: what.next, run: () => walk(1) },
    { keys: ["k"], group: groups.move, what: what.before, run: () => walk(-1) },
    cause("a", "AB"),
    cause("m", "AM"),
    cause("d", "D"),
    cause("s", "S"),
    { keys: ["c"], group: groups.location, what: what.discuss, run: () => press('[data-act="talk"]') },
    { keys: ["o"], group: groups.location, what: what.adjudicate, run: () => press('[data-act="open"]') },
    { keys: ["?"], group: groups.location, what: what.sheet, run: () => sheet.open() },
  ]);
  const sheet = new KeySheet(byId("keys"), byId("keys-list"), keys);

  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || sheet.isOpen) return;
    if (event.target instanceof HTMLElement && event.target.matches("input, textarea, select")) writing(event);
    else keys.handle(event);
  });
  // In the field of a discussion, Escape returns to the location and keeps the text; Ctrl+Enter sends it.
  const writing = (event) => {
    const { key, target, isComposing } = event;
    if (isComposing || !target.matches(".ad-talk textarea")) return;
    if (key === "Escape") here()?.focus();
    else if (key === "Enter" && (event.ctrlKey || event.metaKey)) target.form.requestSubmit();
    else return;
    event.preventDefault();
  };
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
  // Keys act on the location that was last clicked or reached by Tab.
  list.addEventListener("focusin", (event) => {
    const found = locations().indexOf(/** @type {Element} */ (event.target).closest(".ad-location"));
    if (found >= 0) index = found;
  });
  byId("show-keys")?.addEventListener("click", () => sheet.open());
  for (const box of list.querySelectorAll(".ad-scroll")) {
    const mark = box.querySelector("thead .here");
    const name = box.querySelector("tbody th");
    if (mark && name) box.scrollLeft = Math.max(0, mark.offsetLeft - name.offsetWidth - 24);
  }
  // A swap of buttons loses the focus: return it to the location. In an opened discussion, focus the field, so that
  // typed letters don't act as keys.
  document.body.addEventListener("htmx:afterSwap", ({ detail }) => {
    const { elt } = detail.requestConfig;
    if (elt.matches('[data-act="talk"]')) field(elt.closest(".ad-location"))?.focus();
    else if (document.activeElement === document.body) here()?.focus({ preventScroll: true });
  });
  document.documentElement.dataset.disagreements = "ready";
}
