"""The page's colours: whatever is read or told apart stands out from what is behind it."""

import re
from importlib.resources import files

import pytest

CSS = files("antiphon.report").joinpath("templates", "page.css").read_text(encoding="utf-8")

BACKGROUNDS = ("page", "panel", "band0", "band1")
TEXTS = (
    "ink", "soft", "holds", "violated", "unknown", "accent", "witness", *(f"c{n}" for n in range(8))
)  # fmt: skip
LINES = ("lane", "hold")


def themes() -> list[dict[str, str]]:
    """Return the colours of the light page, and of the dark one."""
    blocks = re.findall(r":root \{(.*?)\}", CSS, re.DOTALL)
    return [dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", block)) for block in blocks[:2]]


def luminance(color: str) -> float:
    """Return how bright a colour is, as the Web Content Accessibility Guidelines define it."""
    parts = [int(color[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours, 1 to 21."""
    dark, bright = sorted((luminance(one), luminance(other)))
    return (bright + 0.05) / (dark + 0.05)


def test_contrast_is_that_of_the_guidelines() -> None:
    """Black on white is 21, a colour on itself 1."""
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#b97a00", "#b97a00") == 1


@pytest.mark.parametrize("theme", themes(), ids=["light", "dark"])
def test_colours_stand_out(theme: dict[str, str]) -> None:
    """Text has a contrast of 4.5, lines and marks of 3, on each of the backgrounds."""
    for behind in BACKGROUNDS:
        for name, least in (*((text, 4.5) for text in TEXTS), *((line, 3.0) for line in LINES)):
            found = contrast(theme[name], theme[behind])
            assert found >= least, f"{name} on {behind}: {found:.2f}, should be {least}"
