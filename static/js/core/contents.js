// The contents list of a long page: open where it stands beside the text, and with the current section marked.

const nav = /** @type {HTMLElement} */ (document.querySelector("nav.contents"));
const list = /** @type {HTMLDetailsElement} */ (nav.querySelector("details"));
// As in static/css/frame.css.
const beside = matchMedia("(min-width: 1100px)");

const fit = () => (list.open = beside.matches);
fit();
beside.addEventListener("change", fit);

/** The link that was followed last. Its section is current until the person scrolls, even if it is too short to be at the top. */
let chosen = null;
list.addEventListener("click", (event) => {
  if (!(event.target instanceof HTMLAnchorElement)) return;
  chosen = event.target;
  later();
  // On a small screen, the list would take the place of the section.
  if (!beside.matches) list.open = false;
});
for (const kind of ["wheel", "touchmove", "keydown"]) {
  addEventListener(kind, () => (chosen = null), { passive: true });
}

const mark = () => {
  // A section is current once its heading is in the upper third of the window. At the end, the last one is.
  const line = innerHeight / 3;
  const atEnd = scrollY > 0 && scrollY + innerHeight >= document.documentElement.scrollHeight - 2;
  let current = chosen;
  for (const link of nav.querySelectorAll("a")) {
    const heading = document.getElementById(decodeURIComponent(link.hash.slice(1)));
    if (!chosen && heading && (atEnd || heading.getBoundingClientRect().top < line)) current = link;
  }
  for (const link of nav.querySelectorAll("a")) {
    if (link === current) link.setAttribute("aria-current", "location");
    else link.removeAttribute("aria-current");
  }
};

let asked = false;
const later = () => {
  if (asked) return;
  asked = true;
  requestAnimationFrame(() => {
    asked = false;
    mark();
  });
};
addEventListener("scroll", later, { passive: true });
addEventListener("resize", later);
mark();
