/** Small helpers to build markup without parsing any. */

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

/** A label's name, which may go on in the next line after an underscore: strings and elements for `el`. */
export const breakable = (name) => name.split(/(?<=_)/u).flatMap((part, at) => (at ? [el("wbr"), part] : [part]));

export const byId = (id) => document.getElementById(id);
