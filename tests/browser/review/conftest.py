from tests.browser.review.steps import many, opened, world

__all__ = ["many", "opened", "world"]
