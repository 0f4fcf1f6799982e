"""The lab that these tests run in, which may be another than that of this environment."""

from __future__ import annotations

import subprocess

import pytest

from tests.canvas.in_lab.conftest import LAB_PYTHON
from tests.support.lab_canvas import Canvas

pytestmark = pytest.mark.browser

_PARTS = ("xai-mcp-agent:run-card", "xai-mcp-agent:panel-tab")
_LOADED = "name => window.jupyterapp.isPluginActivated(name)"


def test_our_extension_is_loaded_as_it_is(canvas: Canvas) -> None:
    """JupyterLab loads it as its builder's output, which it is not."""
    assert [canvas.page.evaluate(_LOADED, part) for part in _PARTS] == [True, True]
    assert canvas.errors() == []


def test_it_is_the_lab_that_was_asked_for(canvas: Canvas) -> None:
    asked = "import jupyterlab; print(jupyterlab.__version__)"
    version = subprocess.run([LAB_PYTHON, "-c", asked], capture_output=True, text=True, check=True)
    assert canvas.page.evaluate("() => window.jupyterapp.version") == version.stdout.strip()
