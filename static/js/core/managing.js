// Small helps for the managing pages: no form is sent twice, a link is copied, an unsaved text is not lost.

const once = (form) => {
  form.addEventListener("submit", (event) => {
    if (form.dataset.sent) {
      event.preventDefault();
      return;
    }
    form.dataset.sent = "1";
    // Not `disabled`: that would take the button's own name and value out of what is sent.
    for (const button of form.querySelectorAll("[type=submit]")) button.setAttribute("aria-disabled", "true");
  });
};

const again = (form) => {
  delete form.dataset.sent;
  for (const button of form.querySelectorAll("[aria-disabled]")) button.removeAttribute("aria-disabled");
};

const copies = (button) => {
  if (!navigator.clipboard) return; // only in secure contexts; the text can be selected by one click anyway
  button.hidden = false;
  const said = button.parentElement.querySelector("[data-copied]");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent.trim());
      said.textContent = said.dataset.copied;
    } catch {
      getSelection().selectAllChildren(document.getElementById(button.dataset.copy));
    }
  });
};

const keeps = (form) => {
  let sent = false;
  const changed = () => [...form.querySelectorAll("textarea")].some((box) => box.value !== box.defaultValue);
  form.addEventListener("submit", () => (sent = true));
  addEventListener("beforeunload", (event) => {
    if (!sent && changed()) event.preventDefault();
  });
};

const all = (selector, act) => {
  for (const element of document.querySelectorAll(selector)) act(element);
};

all("form[data-once]", once);
all("[data-copy]", copies);
all("form[data-keep]", keeps);
// The back button shows a page as it was left: its buttons must work again.
addEventListener("pageshow", (event) => event.persisted && all("form[data-once]", again));
