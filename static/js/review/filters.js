/** The filters beside the note. They are stored in the URL (choices only, never text) and carried to the next note. */

import { byId, el } from "../editor/dom.js";
import { NOTHING, actionOf, narrows } from "./filter.js";
import { VIEW } from "./views.js";
import { words } from "./words.js";

// The field `agree` exists only for merged lists, and `action` only for refined runs.
const CHOICES = ["order", "label", "source", "state", "action", "agree", "least", "most"];
// Values that are not carried on: no choice, and a choice that applies to this note only.
const HERE = ["", "differs"];
// Parameters of this note's address that no filter changes: its view, and the order that chose it (Queue.that_chose).
const STAY = [VIEW, "chosen"];
const percent = (value) => (value === "" ? null : Math.min(Math.max(Number(value) / 100, 0), 1));

export class Filters {
  #form = byId("filters");
  #changed;
  #choices = CHOICES.filter((name) => this.#form.elements[name]);

  /** @param {(filter: object, order: string) => void} changed */
  constructor(suggestions, changed) {
    this.#changed = changed;
    const sources = [...new Set(suggestions.map(({ source }) => source).filter(Boolean))].sort();
    for (const option of this.#form.elements.action?.options ?? []) {
      const count = suggestions.filter((suggestion) => !option.value || actionOf(suggestion) === option.value).length;
      option.textContent = words.withCount(option.textContent, count);
    }
    this.#form.elements.source.append(...sources.map((source) => el("option", { value: source }, source)));
    this.#read();
    this.#form.addEventListener("input", () => this.#apply());
    this.#form.addEventListener("submit", (event) => event.preventDefault());
    byId("no-filters").addEventListener("click", () => {
      this.#form.reset();
      for (const name of this.#choices) this.#form.elements[name].value = "";
      this.#apply();
    });
  }

  #read() {
    const asked = new URLSearchParams(window.location.search);
    for (const name of this.#choices) {
      const field = this.#form.elements[name];
      const value = asked.get(name) ?? "";
      if (name === "source" && value && ![...field.options].some((option) => option.value === value)) {
        field.append(el("option", { value }, value)); // a source of another note stays selectable
      }
      field.value = value;
      if (field.value !== value) field.value = "";
    }
    if (!narrows(this.filter)) return;
    byId("filters-box").open = true;
    byId("filtered").textContent = words.filtered;
  }

  get filter() {
    const { label, source, state, action, agree, least, most, text } = this.#form.elements;
    return {
      ...NOTHING,
      label: label.value === "" ? null : Number(label.value),
      source: source.value,
      state: state.value,
      action: action?.value ?? "",
      agree: agree?.value ? Number(agree.value) : null,
      least: percent(least.value),
      most: percent(most.value),
      text: text.value.trim(),
    };
  }

  get order() {
    return this.#form.elements.order.value || "note";
  }

  /** Show only the suggestions with one state. */
  only(state) {
    for (const name of this.#choices) if (name !== "order") this.#form.elements[name].value = "";
    const field = this.#form.elements.state;
    if (![...field.options].some(({ value }) => value === state)) field.append(el("option", { value: state }, words.stateTags[state]));
    field.value = state;
    this.#apply();
  }

  /** The choices as a query string for the links to other notes. */
  get query() {
    const pairs = this.#choices.map((name) => [name, this.#form.elements[name].value]).filter(([, value]) => !HERE.includes(value));
    return new URLSearchParams(pairs).toString();
  }

  #apply() {
    const { query } = this;
    const address = new URL(window.location.href);
    const stays = STAY.map((name) => [name, address.searchParams.get(name)]).filter(([, value]) => value);
    address.search = query;
    for (const [name, value] of stays) address.searchParams.set(name, value);
    window.history.replaceState(null, "", address.href);
    for (const link of document.querySelectorAll("a[data-keeps]")) carry(link, query);
    this.#changed(this.filter, this.order);
    byId("filtered").textContent = narrows(this.filter) ? words.filtered : "";
  }
}

/** Put these choices into a link. The parameter `after` stays. */
function carry(link, query) {
  const url = new URL(link.href);
  const after = url.searchParams.get("after");
  url.search = query;
  if (after) url.searchParams.set("after", after);
  link.href = url.href;
}
