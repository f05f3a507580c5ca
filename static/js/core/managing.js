// Small aids for the management pages: forms are sent once, links can be copied, unsaved text gets a warning.

const once = (form) => {
  form.addEventListener("submit", (event) => {
    if (form.dataset.sent) {
      event.preventDefault();
      return;
    }
    form.dataset.sent = "1";
    // Not `disabled`, which would leave the button's name and value out of the form data.
    for (const button of form.querySelectorAll("[type=submit]")) button.setAttribute("aria-disabled", "true");
  });
};

const again = (form) => {
  delete form.dataset.sent;
  for (const button of form.querySelectorAll("[aria-disabled]")) button.removeAttribute("aria-disabled");
};

const copies = (button) => {
  if (!navigator.clipboard) return; // only in secure contexts; one click selects the text anyway
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
// The back button may restore the page as it was left, so its buttons must work again.
addEventListener("pageshow", (event) => event.persisted && all("form[data-once]", again));
