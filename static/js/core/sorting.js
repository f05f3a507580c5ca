// Tables with `data-sortable` are sorted by a click on a column's name: figures from the highest, times from the newest, words
// from A; the second click reverses the order, the third restores the order of the page. Only for tables that are complete on
// one page.
// A column without a visible name or without text, such as one of plots, can't be sorted. Rows without a value always come last.
"use strict";

(() => {
  const language = document.documentElement.lang || "en";
  let point = "."; // of decimals; sorting looks it up, because a new browser process takes 20 ms to load the data of languages
  // On a small screen, tables become lists of cards without visible column names (static/css/media.css).
  const narrow = matchMedia("(max-width: 640px)");
  const orders = /** @type {WeakMap<HTMLTableSectionElement, HTMLTableRowElement[]>} */ (new WeakMap());

  /** The number at which a cell's text begins; NaN where it has none. @param {string} text */
  const figure = (text) => {
    const found = /[-−]?\d[\d.,\u00a0\u202f’]*/.exec(text);
    if (!found) return NaN;
    const [whole, part] = found[0].replace("−", "-").split(point);
    return Number(`${whole.replace(/[^\d-]/g, "")}.${(part ?? "").replace(/\D/g, "") || 0}`);
  };

  /** @param {HTMLTableRowElement} row @param {number} column */
  const text = (row, column) => row.cells[column]?.textContent.trim() ?? "";

  /** The time in a cell, in milliseconds; NaN where it has none. @param {HTMLTableRowElement} row @param {number} column */
  const time = (row, column) => Date.parse(row.cells[column]?.querySelector("time")?.dateTime ?? "");

  /** @typedef {(row: HTMLTableRowElement) => number} Value */

  /** What a column holds: the number or time of a row, or null if the column holds words. @param {HTMLTableSectionElement} body */
  const valueIn = (body, /** @type {number} */ column, /** @type {boolean} */ numeric) => {
    if (numeric) return /** @type {Value} */ ((row) => figure(text(row, column)));
    const dated = [...body.rows].some((row) => !Number.isNaN(time(row, column)));
    return dated ? /** @type {Value} */ ((row) => time(row, column)) : null;
  };

  /** @param {HTMLTableSectionElement} body @param {number} column @param {Value | null} value @param {number} sign */
  const sort = (body, column, value, sign) => {
    const rows = orders.get(body) ?? [...body.rows];
    orders.set(body, rows);
    if (!sign) {
      body.append(...rows);
      return;
    }
    point = new Intl.NumberFormat(language).formatToParts(1.5).find((part) => part.type === "decimal")?.value ?? ".";
    const words = new Intl.Collator(language, { numeric: true });
    const known = rows.filter((row) => (value ? !Number.isNaN(value(row)) : text(row, column)));
    known.sort((a, b) => sign * (value ? value(a) - value(b) : words.compare(text(a, column), text(b, column))));
    const sorted = new Set(known);
    body.append(...known, ...rows.filter((row) => !sorted.has(row)));
  };

  /** @param {HTMLTableElement} table */
  const enhance = (table) => {
    const [body] = table.tBodies;
    const heads = [...(table.tHead?.rows[0]?.cells ?? [])];
    if (!body || body.rows.length < 2 || table.tHead?.querySelector("button.sort")) return;
    heads.forEach((head, column) => {
      if (!head.textContent.trim() || head.querySelector(":scope > .sr-only")) return;
      const value = valueIn(body, column, head.classList.contains("num"));
      if (!value && ![...body.rows].some((row) => text(row, column))) return;
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      // A word with an explanation is a button of its own.
      const word = head.querySelector(":scope > .term");
      if (word) button.ariaLabel = `↕ ${word.textContent.trim()}`;
      else button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const first = value ? "descending" : "ascending";
        const second = value ? "ascending" : "descending";
        const now = head.getAttribute("aria-sort");
        const next = now === first ? second : now === second ? "" : first;
        for (const other of heads) other.removeAttribute("aria-sort");
        if (next) head.setAttribute("aria-sort", next);
        sort(body, column, value, { ascending: 1, descending: -1 }[next] ?? 0);
      });
    });
  };

  const lock = () => {
    for (const button of document.querySelectorAll("table.stack button.sort")) {
      if (button instanceof HTMLButtonElement) button.disabled = narrow.matches;
    }
  };
  const look = () => {
    for (const table of document.querySelectorAll("table[data-sortable]")) {
      if (table instanceof HTMLTableElement) enhance(table);
    }
    lock();
  };
  look();
  narrow.addEventListener("change", lock);
  document.addEventListener("htmx:afterSettle", look);
})();
