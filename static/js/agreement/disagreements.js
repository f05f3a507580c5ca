/** The list of disagreements by keys, and each table scrolled to its place. Everything here also works by click. */

import { Keys } from "../editor/keys.js";
import { KeySheet } from "../editor/sheet.js";
import { byId } from "../editor/dom.js";
import { words } from "./words.js";

const list = byId("places");
if (list) begin();

function begin() {
  let at = -1;
  const places = () => [...list.querySelectorAll(".ad-place")];
  const here = () => places()[at] ?? null;
  const walk = (step) => {
    const to = Math.max(0, Math.min(places().length - 1, at + step));
    at = to;
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
    { keys: ["c"], group: groups.place, what: what.discuss, run: () => press('[data-act="talk"]') },
    { keys: ["o"], group: groups.place, what: what.adjudicate, run: () => press('[data-act="open"]') },
    { keys: ["?"], group: groups.place, what: what.sheet, run: () => sheet.open() },
  ]);
  const sheet = new KeySheet(byId("keys"), byId("keys-list"), keys);

  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || sheet.isOpen) return;
    if (event.target instanceof HTMLElement && event.target.matches("input, textarea, select")) writing(event);
    else keys.handle(event);
  });
  // In the field of a discussion: Escape goes back to the place, with the words kept; Ctrl+Enter sends them.
  const writing = (event) => {
    const { key, target, isComposing } = event;
    if (isComposing || !target.matches(".ad-talk textarea")) return;
    if (key === "Escape") here()?.focus();
    else if (key === "Enter" && (event.ctrlKey || event.metaKey)) target.form.requestSubmit();
    else return;
    event.preventDefault();
  };
  const field = (place) => place?.querySelector(".ad-talk > form textarea");
  // A discussion that is open isn't fetched again: words that are being written would go.
  list.addEventListener(
    "click",
    (event) => {
      const open = event.target.closest('[data-act="talk"]') && field(event.target.closest(".ad-place"));
      if (!open || event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      event.stopPropagation();
      open.focus();
    },
    { capture: true },
  );
  window.addEventListener("beforeunload", (event) => {
    if ([...list.querySelectorAll(".ad-talk textarea")].some(({ value }) => value.trim())) event.preventDefault();
  });
  // A click or Tab into a place makes it the one that keys mean.
  list.addEventListener("focusin", (event) => {
    const found = places().indexOf(event.target.closest(".ad-place"));
    if (found >= 0) at = found;
  });
  byId("show-keys")?.addEventListener("click", () => sheet.open());
  for (const box of list.querySelectorAll(".ad-scroll")) {
    const mark = box.querySelector("thead .here");
    const name = box.querySelector("tbody th");
    if (mark && name) box.scrollLeft = Math.max(0, mark.offsetLeft - name.offsetWidth - 24);
  }
  // After a swap of its buttons the focus would be lost: it goes back to the place. A discussion that was opened is to be written in,
  // and what is typed must not be taken for keys.
  document.body.addEventListener("htmx:afterSwap", ({ detail }) => {
    const { elt } = detail.requestConfig;
    if (elt.matches('[data-act="talk"]')) field(elt.closest(".ad-place"))?.focus();
    else if (document.activeElement === document.body) here()?.focus({ preventScroll: true });
  });
  document.documentElement.dataset.disagreements = "ready";
}
