"""The look: quiet paper and ink by day, the same by night. System fonts: nothing is fetched."""

from __future__ import annotations

from pathlib import Path

import gradio as gr
from gradio.themes.utils import colors, sizes

CSS = Path(__file__).with_name("texts.css")
"""Colours, and the rules for stories and messages, which every page shares."""

INK = colors.Color(
    c50="#eef5f4", c100="#d8e9e6", c200="#b3d3ce", c300="#86b8b1", c400="#579a92", c500="#377d76",
    c600="#2a655f", c700="#23514d", c800="#1d413e", c900="#183532", c950="#0c201e", name="ink",
)  # fmt: skip
PAPER = colors.Color(
    c50="#fbf9f5", c100="#f4f1ea", c200="#e7e2d7", c300="#d3ccbd", c400="#a39b8b", c500="#7a7365",
    c600="#5b554a", c700="#423e36", c800="#2a2722", c900="#1e1c18", c950="#151411", name="paper",
)  # fmt: skip


def head(description: str, css: Path) -> str:
    """Return what goes into the page's head; ``launch(css=...)`` would rewrite the rules.

    Args:
        description: plain text without quotes, for search engines and previews.
        css: the page's own rules.
    """
    rules = CSS.read_text(encoding="utf-8") + css.read_text(encoding="utf-8")
    return f'<meta name="description" content="{description}"><style>{rules}</style>'


def theme() -> gr.themes.Base:
    """Make the theme."""
    sans = ["system-ui", "-apple-system", "Segoe UI", "Roboto", "Noto Sans", "PingFang SC", "Microsoft YaHei",
            "Noto Sans CJK SC", "sans-serif"]  # fmt: skip
    mono = ["ui-monospace", "SFMono-Regular", "Menlo", "Consolas", "monospace"]
    return gr.themes.Base(
        primary_hue=INK,
        secondary_hue=INK,
        neutral_hue=PAPER,
        radius_size=sizes.radius_md,
        text_size=sizes.text_md,
        font=sans,
        font_mono=mono,
    ).set(
        body_background_fill="*neutral_50",
        body_background_fill_dark="*neutral_950",
        body_text_color="*neutral_800",
        body_text_color_dark="*neutral_100",
        color_accent="*primary_600",
        color_accent_soft="*primary_50",
        color_accent_soft_dark="*neutral_800",
        border_color_accent_dark="*primary_300",
        block_background_fill="#ffffff",
        block_background_fill_dark="*neutral_900",
        block_border_color="*neutral_200",
        block_border_color_dark="*neutral_800",
        block_label_text_color="*neutral_600",
        block_label_text_color_dark="*neutral_300",
        block_title_text_color="*neutral_700",
        block_title_text_color_dark="*neutral_200",
        block_info_text_color="*neutral_500",
        block_info_text_color_dark="*neutral_400",
        input_background_fill="#ffffff",
        input_background_fill_dark="*neutral_950",
        input_border_width="1px",
        input_border_color="*neutral_200",
        input_border_color_dark="*neutral_700",
        input_placeholder_color="*neutral_400",
        input_placeholder_color_dark="*neutral_500",
        button_primary_background_fill="*primary_600",
        button_primary_background_fill_dark="*primary_600",
        button_primary_background_fill_hover="*primary_700",
        button_primary_background_fill_hover_dark="*primary_500",
        button_primary_text_color="#ffffff",
        button_border_width="1px",
        button_secondary_background_fill="#ffffff",
        button_secondary_background_fill_dark="*neutral_800",
        button_secondary_background_fill_hover="*neutral_100",
        button_secondary_background_fill_hover_dark="*neutral_700",
        button_secondary_border_color="*neutral_200",
        button_secondary_border_color_dark="*neutral_700",
        button_secondary_text_color="*neutral_700",
        button_secondary_text_color_dark="*neutral_100",
    )
