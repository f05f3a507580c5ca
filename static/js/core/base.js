// Runs before the first paint (theme) and after the page has loaded (time zone, menus, focus after htmx). A classic script, because a
// module would run too late for the theme.
"use strict";

(() => {
  const root = document.documentElement;
  const KEY = "deidreview.theme";

  const stored = () => {
    try {
      return localStorage.getItem(KEY) || "auto";
    } catch {
      return "auto"; // storage may be disabled
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
    for (const row of document.querySelectorAll(".project-nav :is(.tabs, .second)")) {
      const current = /** @type {HTMLElement | null} */ (row.querySelector(":scope > li > [aria-current]"));
      if (current) row.scrollLeft = current.offsetLeft - (row.clientWidth - current.offsetWidth) / 2;
    }
  });
  // Where a list with a scroll bar of its own was left; the browser itself restores only the page's.
  document.addEventListener("scrollend", ({ target }) => {
    if (target instanceof Element && target.matches(".long-list")) history.replaceState({ ...history.state, list: target.scrollTop }, "");
  }, true);
  document.addEventListener("DOMContentLoaded", () => document.querySelector(".long-list")?.scrollTo(0, history.state?.list ?? 0));

  window.addEventListener("storage", (event) => event.key === KEY && apply(stored()));

  // Cookies that last until the browser is closed.
  const keep = (name, value) => {
    if (document.cookie.split("; ").includes(`${name}=${value}`)) return;
    document.cookie = `${name}=${value}; path=/; samesite=lax${location.protocol === "https:" ? "; secure" : ""}`;
  };
  const afterOpening = () => {
    // The server shows times in this zone (deidreview/middleware.py). Its name takes a new browser process 20 ms.
    keep("deidreview-timezone", Intl.DateTimeFormat().resolvedOptions().timeZone);
    const ahead = /** @type {HTMLTemplateElement | null} */ (document.getElementById("files-ahead"));
    if (ahead) document.head.append(ahead.content);
  };
  window.addEventListener("load", () => (window.requestIdleCallback ?? setTimeout)(afterOpening));
  // Later pages need not contain the files that this one contained or loaded (annotations/core/templatetags/static.py).
  window.addEventListener("load", () => root.dataset.files && keep("deidreview-files", root.dataset.files));

  const closeMenus = (except) => {
    for (const menu of /** @type {NodeListOf<HTMLDetailsElement>} */ (document.querySelectorAll("details.menu[open]"))) if (menu !== except) menu.open = false;
  };

  document.addEventListener("click", (event) => {
    if (!(event.target instanceof Element)) return;
    const theme = event.target.closest("[data-set-theme]")?.dataset.setTheme;
    if (theme) {
      try {
        localStorage.setItem(KEY, theme);
      } catch {
        // The choice then applies to this page only.
      }
      apply(theme);
    }
    closeMenus(event.target.closest("details.menu"));
    // "Cancel" in a confirmation panel closes the panel and returns the focus to its button.
    const close = event.target.closest("[data-close]");
    const panel = close?.closest("details");
    if (panel) {
      panel.open = false;
      panel.querySelector("summary")?.focus();
    }
  });

  // A control that shows an icon only says under the pointer what it says to screen readers.
  document.addEventListener("pointerover", ({ target }) => {
    const control = target instanceof Element && /** @type {HTMLElement | null} */ (target.closest("button, a, summary"));
    if (!control || (control.title && control.title !== control.dataset.hidden)) return;
    const hidden = [...control.querySelectorAll("span")].find((each) => each.offsetWidth <= 1 && each.textContent.trim());
    const isShown = (node) => node !== hidden && node.textContent.trim() && !(node instanceof Element && node.matches("kbd, svg, [aria-hidden]"));
    const words = [...control.childNodes].some(isShown) ? "" : (hidden?.textContent.trim() ?? control.getAttribute("aria-label"));
    if (words) control.title = control.dataset.hidden = words;
    else if (control.dataset.hidden) control.removeAttribute("title");
  });

  // htmx does not change the page after an error, so show a message. The server has put the messages into the page.
  const tell = (kind, sentence = "") => {
    const written = /** @type {HTMLTemplateElement | null} */ (document.querySelector(`template[data-message="${kind}"]`));
    const message = sentence || written?.content.textContent.trim();
    const list = document.getElementById("messages");
    if (!message || !list) return;
    const item = document.createElement("p");
    item.className = "notice error";
    item.textContent = message;
    list.replaceChildren(item);
    item.scrollIntoView({ block: "nearest" });
  };
  const kinds = { 403: "forbidden", 404: "missing", 413: "large", 429: "fast" };
  document.addEventListener("htmx:responseError", (event) => {
    const { xhr } = event.detail;
    // For limits, invalid requests and archived projects the server answers with a sentence.
    const isMessage = [400, 403, 415, 429].includes(xhr.status) && xhr.getResponseHeader("Content-Type")?.startsWith("text/plain");
    const sentence = isMessage ? xhr.responseText : "";
    if (xhr.status !== 401) tell(kinds[xhr.status] || "failed", sentence); // 401 redirects to the sign-in page
  });
  document.addEventListener("htmx:sendError", () => tell("offline"));
  document.addEventListener("htmx:timeout", () => tell("offline"));

  // htmx returns the focus to the element with the same id. Otherwise focus an element with the same text, or else the new part.
  let held = null;
  document.addEventListener("htmx:beforeSwap", (event) => {
    const { activeElement } = document;
    held = event.detail.target.contains(activeElement) ? activeElement : null;
  });
  document.addEventListener("htmx:afterSettle", (event) => {
    const part = event.detail.elt;
    if (!held || (document.activeElement && document.activeElement !== document.body)) return;
    const twin = [...part.querySelectorAll(held.tagName)].find((each) => each.textContent === held.textContent);
    if (!twin && !part.hasAttribute("tabindex")) part.tabIndex = -1;
    (twin ?? part).focus({ preventScroll: true });
    held = null;
  });

  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    const open = /** @type {HTMLDetailsElement | null} */ (document.querySelector("details.menu[open]") ?? document.querySelector("details.nav-button[open]"));
    if (!open) return;
    open.open = false;
    open.querySelector("summary").focus();
    event.stopPropagation();
  });
})();
