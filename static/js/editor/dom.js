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
