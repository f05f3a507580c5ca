"""A person with only a keyboard, and a person with only a mouse: the same acts by different means.

`Keys` presses keys and nothing else. `Mouse` types words into a field where words are needed, and presses no other key.
"""

from typing import Any

from playwright.sync_api import Locator, Page, expect

from tests.browser.annotate.steps import click_text, drag, label_button, place, press, pull

# More than the number of focusable elements of any page.
STOPS = 120


def squeezed(text: str) -> str:
    return "".join(text.split())


class Keys:
    def __init__(self, page: Page, keys: dict[str, str]) -> None:
        self.page = page
        self.keys = keys  # of the labels, by name

    def go(self, role: Any, name: str) -> None:
        """Press a link or a button."""
        self._tab_to(self.page.get_by_role(role, name=name).first)
        press(self.page, "Enter")

    def fill(self, label: str, words: str) -> None:
        self._tab_to(self.page.get_by_label(label, exact=True))
        press(self.page, "Control+a")
        self.page.keyboard.type(words)

    def _tab_to(self, target: Locator) -> None:
        expect(target).to_be_visible()
        for _ in range(STOPS):
            if target.evaluate("node => node === document.activeElement"):
                return
            press(self.page, "Tab")
        raise AssertionError(f"the focus never comes to {target}")

    @property
    def _chosen(self) -> str:
        return squeezed(self.page.evaluate("document.getSelection().toString()"))

    def select(self, words: str, nth: int = 0) -> None:
        """Move to its first word by arrows, and extend to its end by Shift."""
        press(self.page, "Control+Home")
        wanted = squeezed(words)
        for _ in range(STOPS):
            if wanted.startswith(self._chosen):
                if nth == 0:
                    break
                nth -= 1
            press(self.page, "ArrowRight")
        while self._chosen != wanted:
            assert wanted.startswith(self._chosen), self._chosen
            press(self.page, "Shift+ArrowRight")

    def label(self, name: str) -> None:
        press(self.page, self.keys[name])

    def let_go(self) -> None:
        press(self.page, "Escape")

    def pick(self, words: str, label: str) -> None:
        """Choose one of the overlapping spans there."""
        self.select(words)
        press(self.page, "Shift+Enter")
        items = self.page.get_by_role("dialog", name="Spans here").get_by_role("button")
        while label not in items.and_(self.page.locator(":focus")).inner_text():
            press(self.page, "ArrowDown")
        press(self.page, "Enter")

    def delete(self) -> None:
        press(self.page, "Backspace")

    def undo(self) -> None:
        press(self.page, "Control+z")

    def redo(self) -> None:
        press(self.page, "Control+Shift+z")

    def move_start(self, onto: str, tokens: int) -> None:
        """Move the start of the selected span by so many tokens."""
        press(self.page, *["Alt+ArrowRight"] * tokens)

    def other_mentions(self, without: int) -> None:
        press(self.page, "*", *["ArrowDown"] * without, "Space", "Enter")

    def comment(self, words: str) -> None:
        press(self.page, "m")
        self.page.keyboard.type(words)
        press(self.page, "Control+Enter")

    def flag(self, reason: str) -> None:
        press(self.page, "f", "Space")
        while not self.page.get_by_label(reason).is_checked():
            press(self.page, "ArrowDown")
        press(self.page, "Enter")

    def guidelines(self) -> None:
        press(self.page, "g")

    def find(self, words: str, step: int = 0) -> None:
        press(self.page, "/")
        self.page.keyboard.type(words)
        press(self.page, *["Enter"] * step, "Escape")

    def sheet(self) -> None:
        press(self.page, "?")

    def submit(self) -> None:
        press(self.page, "Enter")

    def next_note(self) -> None:
        press(self.page, "n")

    def previous_note(self) -> None:
        press(self.page, "p")


class Mouse:
    def __init__(self, page: Page, keys: dict[str, str]) -> None:
        self.page = page

    def go(self, role: Any, name: str) -> None:
        self.page.get_by_role(role, name=name).first.click()

    def fill(self, label: str, words: str) -> None:
        self.page.get_by_label(label, exact=True).click(click_count=3)  # what it holds is selected
        self.page.keyboard.type(words)

    def select(self, words: str, nth: int = 0) -> None:
        first, _, last = words.partition("\n")
        drag(self.page, first, last or first, nth=nth)

    def label(self, name: str) -> None:
        label_button(self.page, name).click()

    def let_go(self) -> None:
        """A click beside the text."""
        box = self.page.locator("#note .line").last.bounding_box()
        assert box is not None
        self.page.mouse.click(box["x"] + box["width"] - 20, box["y"] + box["height"] / 2)

    def pick(self, words: str, label: str) -> None:
        click_text(self.page, words)
        self.page.get_by_role("dialog", name="Spans here").get_by_role("button", name=label).click()

    def delete(self) -> None:
        self.page.locator("#selected").get_by_role("button", name="Delete").click()

    def undo(self) -> None:
        self.page.get_by_role("button", name="Undo").click()

    def redo(self) -> None:
        self.page.get_by_role("button", name="Redo").click()

    def move_start(self, onto: str, tokens: int) -> None:
        pull(self.page, "start", place(self.page, onto))
        self.page.mouse.up()

    def other_mentions(self, without: int) -> None:
        self.page.locator("#selected [data-act=all]").click()
        box = self.page.get_by_role("dialog", name="Label other mentions")
        box.locator("li input").nth(without).click()
        box.get_by_role("button", name="Label ").click()

    def comment(self, words: str) -> None:
        self.page.locator("#comment-add").click()
        self.page.locator("#comment-text").click()
        self.page.keyboard.type(words)
        self.page.get_by_role("button", name="Save comment").click()

    def flag(self, reason: str) -> None:
        self.page.get_by_role("button", name="Flag").click()
        self.page.get_by_label(reason).click()
        self.page.get_by_role("button", name="Flag note").click()

    def guidelines(self) -> None:
        self.page.locator("#guidelines").click()

    def find(self, words: str, step: int = 0) -> None:
        self.page.get_by_role("button", name="Find").click()
        self.page.keyboard.type(words)
        for _ in range(step):
            self.page.get_by_role("button", name="Next match").click()
        self.page.locator("#find-close").click()

    def sheet(self) -> None:
        self.page.get_by_role("button", name="Keys").click()

    def submit(self) -> None:
        self.page.get_by_role("button", name="Submit").click()

    def next_note(self) -> None:
        self.page.locator("#next-note").click()

    def previous_note(self) -> None:
        self.page.locator("#previous-note").click()
