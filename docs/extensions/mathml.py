"""Formulas as MathML, which browsers draw by themselves: no script, no font and no server is needed."""

from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer `mathml` of `html_math_renderer`."""
    app.add_html_math_renderer("mathml", inline_renderers=(_inline, None), block_renderers=(_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _inline(translator: Any, node: nodes.math) -> None:
    translator.body.append(convert(node.astext()))
    raise nodes.SkipNode


def _block(translator: Any, node: nodes.math_block) -> None:
    translator.body.append(convert(node.astext(), display="block"))
    raise nodes.SkipNode
