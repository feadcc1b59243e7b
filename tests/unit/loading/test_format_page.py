from __future__ import annotations

import format_page

from gpupolicy.linting import lint_text


def test_the_fields_of_the_page_are_those_of_the_schema() -> None:
    assert format_page.written().strip() == format_page.render().strip()


def test_the_policy_of_the_page_is_clean() -> None:
    text = format_page.PAGE.read_text().partition("```yaml\n")[2].partition("```")[0]

    assert lint_text(text) == ()
