/** Helpers that build elements without parsing markup. */

/** An element with attributes and children; strings become text. */
export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

// Code points at the end of a name that are always shown, and the length from which on a name has such an end.
const END = 8;
const LONG = 16;

/** A name in one line, which the browser may shorten in the middle: as the filter `middle` on the server. */
export function middle(name) {
  const characters = [...name];
  const [start, end] = [characters.slice(0, -END).join(""), characters.slice(-END).join("")];
  const whole = characters.length <= LONG;
  const parts = whole
    ? [el("span", { class: "name-start" }, name)]
    : [el("span", { class: "sr-only" }, name), el("span", { class: "name-start", "aria-hidden": "true" }, start), el("span", { class: "name-end", "aria-hidden": "true" }, end)];
  return el("span", { class: "name", title: name }, ...parts);
}

/** A label's name with possible line breaks after underscores, as children for `el`. */
export const breakable = (name) => name.split(/(?<=_)/u).flatMap((part, index) => (index ? [el("wbr"), part] : [part]));

/**
 * @template {keyof PageElements} K
 * @overload
 * @param {K} id  an id with a known element type
 * @returns {PageElements[K]}
 */
/**
 * @overload
 * @param {string} id
 * @returns {HTMLElement}
 */
/** @param {string} id */
export function byId(id) {
  return document.getElementById(id);
}
