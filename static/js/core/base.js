// Runs before the first paint (theme) and once the page is there (menus, focus after htmx). Classic script, no module:
// a module would run too late for the theme.
"use strict";

(() => {
  const root = document.documentElement;
  const KEY = "deidreview.theme";

  const stored = () => {
    try {
      return localStorage.getItem(KEY) || "auto";
    } catch {
      return "auto"; // storage may be switched off
    }
  };

  const apply = (theme) => {
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
    else delete root.dataset.theme;
    for (const button of document.querySelectorAll("[data-set-theme]")) {
      button.setAttribute("aria-pressed", String(button.dataset.setTheme === theme));
    }
  };

  apply(stored());
  document.addEventListener("DOMContentLoaded", () => {
    apply(stored());
    for (const group of document.querySelectorAll(".theme")) group.hidden = false;
    const current = document.querySelector(".tabs [aria-current]");
    const tabs = current?.closest(".tabs");
    if (tabs) tabs.scrollLeft = current.offsetLeft - (tabs.clientWidth - current.offsetWidth) / 2;
  });
  window.addEventListener("storage", (event) => event.key === KEY && apply(stored()));

  const closeMenus = (except) => {
    for (const menu of document.querySelectorAll("details.menu[open]")) if (menu !== except) menu.open = false;
  };

  document.addEventListener("click", (event) => {
    if (!(event.target instanceof Element)) return;
    const theme = event.target.closest("[data-set-theme]")?.dataset.setTheme;
    if (theme) {
      try {
        localStorage.setItem(KEY, theme);
      } catch {
        // the choice then lasts for this page only
      }
      apply(theme);
    }
    closeMenus(event.target.closest("details.menu"));
    // "Keep it" inside a confirm panel closes the panel and gives the focus back to its button.
    const keep = event.target.closest("[data-close]");
    const panel = keep?.closest("details");
    if (panel) {
      panel.open = false;
      panel.querySelector("summary")?.focus();
    }
  });

  // htmx leaves the page as it is when an answer is an error; say so, in words that the server wrote into the page.
  const tell = (kind, sentence = "") => {
    const words = sentence || document.querySelector(`template[data-words="${kind}"]`)?.content.textContent.trim();
    const list = document.getElementById("messages");
    if (!words || !list) return;
    const item = document.createElement("p");
    item.className = "notice error";
    item.textContent = words;
    list.replaceChildren(item);
    item.scrollIntoView({ block: "nearest" });
  };
  const kinds = { 403: "forbidden", 404: "missing", 413: "large", 429: "fast" };
  document.addEventListener("htmx:responseError", (event) => {
    const { xhr } = event.detail;
    // A limit, and a request that can't be read, are answered with a sentence.
    const told = [400, 415, 429].includes(xhr.status) && xhr.getResponseHeader("Content-Type")?.startsWith("text/plain");
    const sentence = told ? xhr.responseText : "";
    if (xhr.status !== 401) tell(kinds[xhr.status] || "failed", sentence); // 401 carries the way to the sign-in page
  });
  document.addEventListener("htmx:sendError", () => tell("offline"));
  document.addEventListener("htmx:timeout", () => tell("offline"));

  // htmx gives the focus back to the element with the same id. Else it goes to one that reads the same, such as a link in a part
  // that is fetched every second; where there is none any more, to the new part itself.
  let held = null;
  // What somebody opened or closed stays so, by the words of its summary; figures in them may change.
  let unfolded = new Map();
  const saying = (details) => details.querySelector("summary")?.textContent.replace(/\d+/g, "").trim();
  document.addEventListener("htmx:beforeSwap", (event) => {
    const { activeElement } = document;
    held = event.detail.target.contains(activeElement) ? activeElement : null;
    unfolded = new Map([...event.detail.target.querySelectorAll("details")].map((details) => [saying(details), details.open]));
  });
  document.addEventListener("htmx:afterSettle", (event) => {
    const part = event.detail.elt;
    for (const details of part.querySelectorAll("details")) details.open = unfolded.get(saying(details)) ?? details.open;
    if (!held || (document.activeElement && document.activeElement !== document.body)) return;
    const twin = [...part.querySelectorAll(held.tagName)].find((each) => each.textContent === held.textContent);
    if (!twin && !part.hasAttribute("tabindex")) part.tabIndex = -1;
    (twin ?? part).focus({ preventScroll: true });
    held = null;
  });

  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    const open = document.querySelector("details.menu[open]");
    if (!open) return;
    open.open = false;
    open.querySelector("summary").focus();
    event.stopPropagation();
  });
})();
