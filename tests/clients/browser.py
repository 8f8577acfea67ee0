"""A page in headless chromium: its width when laid out, what its script has made of it, a picture. Skips where there is
no chromium."""

from __future__ import annotations

import html
import re
import shutil
import subprocess
from pathlib import Path

import pytest

TIMEOUT_S = 60.0
PHONE_PX, DESKTOP_PX = 390, 1280


def chromium(folder: Path, target: str, *options: str, wait_ms: int = 3000) -> str:
    """Run it on an address or file; what it prints."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("chromium is not installed")
    command = [program, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'profile'}"]
    command += ["--hide-scrollbars", f"--virtual-time-budget={wait_ms}", *options, target]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def framed(folder: Path, text: str, width_px: int, height_px: int = 3000) -> Path:
    """A file that shows the page as a window of this width does: chromium's own has at least 500 pixels."""
    file = folder / f"framed-{width_px}.html"
    says = "document.body.dataset.width = frame.contentDocument.documentElement.scrollWidth"
    file.write_text(
        f'<!doctype html><body style="margin:0"><iframe id="frame" width="{width_px}" height="{height_px}" '
        f'style="border:0" srcdoc="{html.escape(text)}" onload="{says}"></iframe>'
    )
    return file


def laid_out_px(folder: Path, text: str, width_px: int) -> int:
    """Width of the page in a window of ``width_px``: more, and it scrolls sideways."""
    printed = chromium(folder, str(framed(folder, text, width_px)), "--dump-dom")
    found = re.search(r'data-width="(\d+)"', printed)
    assert found is not None, printed[:2000]
    return int(found[1])


def picture(folder: Path, text: str, width_px: int, file: Path, height_px: int = 3000) -> None:
    """Write a PNG of the page."""
    size = f"--window-size={max(500, width_px)},{height_px}"
    chromium(folder, str(framed(folder, text, width_px, height_px)), f"--screenshot={file}", size)
