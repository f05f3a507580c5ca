/** The parts of the page around the note that review and adjudication share: the bar, notices, lists, what is chosen. */

import { Bar } from "../bar.js";
import { byId, el } from "../dom.js";

const UNKNOWN = { name: "?", hue: 0 };

export class Panel extends Bar {
  labels;
  person;
  quote;

  /**
   * @param {object} parts
   * @param {Map<number, object>} parts.labels  by id
   * @param {string} parts.person  the user name
   * @param {(place: object) => string} parts.quote
   */
  constructor({ labels, person, quote }) {
    super();
    this.labels = labels;
    this.person = person;
    this.quote = quote;
  }

  label(id) {
    return this.labels.get(id) ?? UNKNOWN;
  }

  /** For what stands in a list: {root, name of its data attribute, what a click does}. */
  listen(root, name, act) {
    root.addEventListener("click", (event) => {
      const button = event.target.closest(`[data-${name}]`);
      // The second click of a double click would act on what comes next.
      if (button && event.detail < 2) act(button);
    });
  }

  /** Where the chosen one stands in its list, and what is left. */
  count({ words, at, open, total, listed = total, before, after }) {
    byId("left").textContent = words.left(open, total);
    byId("place").textContent = at < 0 ? "" : words.place(at + 1, listed);
    byId(before).disabled = listed === 0 || at === 0;
    byId(after).disabled = listed === 0 || at === listed - 1;
    // What to do next stands out: deciding, then closing.
    byId("close").classList.toggle("primary", open === 0);
  }

  /** Which buttons there are: for a note under way, or for a closed one. */
  state(closed, closedForms) {
    byId("workbench").dataset.state = closed ? "closed" : "draft";
    byId("close-form").hidden = closed;
    byId(closedForms).hidden = !closed;
    for (const id of ["undo", "redo"]) byId(id).disabled = closed;
  }
}

/** New content; whoever stood on a button (known by its data attribute `name`) stands on the same one still, or on the note. */
export function fill(root, nodes, name) {
  const held = root.contains(document.activeElement) ? document.activeElement.dataset[name] : undefined;
  root.replaceChildren(...nodes.filter(Boolean));
  if (held === undefined) return;
  const again = root.querySelector(`[data-${name}="${CSS.escape(held)}"]:not(:disabled)`);
  (again ?? byId("note")).focus({ preventScroll: true });
}

/** A row of the list on the right: a mark, a quote, a state. `data` is [attribute, value]. */
export function row({ look, data: [name, value], current, mark, quote, state }) {
  return el(
    "li",
    {},
    el(
      "button",
      { type: "button", class: `de-row ${look}`, [`data-${name}`]: value, "aria-current": current ? "true" : null },
      mark,
      el("bdi", { class: "de-quote" }, quote),
      el("span", { class: "de-state" }, state),
    ),
  );
}
