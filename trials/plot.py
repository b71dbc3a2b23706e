"""Curves as a picture: SVG that shows alike everywhere (letters are outlines) and is the same for the same curves."""

from __future__ import annotations

import io
from collections.abc import Sequence

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from ..grader.text import short
from .curves import Curve

COLOURS = ("#3366cc", "#c2571a", "#1a7f43", "#8a3ffc", "#b28600", "#c2273b", "#00778a", "#626b75")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES = ("-", "--", ":", "-.")
AXES = {"cutoff": "session 1 cut at its n-th edit", "wave": "wave that asked first"}
MAX_CURVES = 24


def curves_svg(curves: Sequence[Curve]) -> bytes:
    """One panel for each kind of curve and task; colour is the arm, marker and dash the agent."""
    return draw(curves, "svg")


def draw(curves: Sequence[Curve], form: str) -> bytes:
    """The picture as "svg" or "png"."""
    panels: dict[tuple[str, str, str], list[Curve]] = {}
    for curve in curves:
        panels.setdefault((curve.kind, curve.task, curve.variant), []).append(curve)
    with mpl.rc_context({"svg.fonttype": "path", "svg.hashsalt": "takeover", "font.size": 9}):
        figure = Figure(figsize=(9, 3.6 * max(1, len(panels))), layout="constrained")
        axes = figure.subplots(max(1, len(panels)), 1, squeeze=False)[:, 0]
        for place, (key, group) in zip(axes, panels.items(), strict=False):
            _panel(place, key, group)
        out = io.BytesIO()
        figure.savefig(out, format=form, metadata={"Date": None} if form == "svg" else None, dpi=110)
    return out.getvalue()


def _panel(axes: Axes, key: tuple[str, str, str], curves: Sequence[Curve]) -> None:
    kind, task, variant = key
    arms = list(dict.fromkeys(curve.arm for curve in curves))
    agents = list(dict.fromkeys(curve.agent for curve in curves))
    last = max((point.at for curve in curves for point in curve.points), default=1)
    for curve in curves[:MAX_CURVES]:
        colour, agent = COLOURS[arms.index(curve.arm) % len(COLOURS)], agents.index(curve.agent)
        area = "n/a" if curve.area is None else f"{curve.area:.2f}"
        # Lines that lie on one another stay to be told apart: the first are wide, the later ones thin.
        rank = curves.index(curve) / max(1, len(curves) - 1)
        axes.plot(
            [point.at for point in curve.points],
            [float("nan") if point.share is None else point.share for point in curve.points],
            color=colour,
            linestyle=DASHES[agent % len(DASHES)],
            marker=MARKERS[agent % len(MARKERS)],
            markersize=9 - 4 * rank,
            linewidth=3.5 - 2.3 * rank,
            fillstyle="none" if rank < 0.5 else "full",
            alpha=0.5 + 0.5 * rank,
            label=_plain(f"{curve.arm}, {curve.agent}: area {area}"),
            clip_on=False,
        )
        if curve.uncut is not None and curve.uncut.share is not None:
            axes.plot(last + 1, curve.uncut.share, color=colour, marker=MARKERS[agent % len(MARKERS)], clip_on=False)
    _dress(axes, kind, f"{task}@{variant}" if variant != "0" else task, last, any(c.uncut for c in curves))


def _dress(axes: Axes, kind: str, title: str, last: int, uncut: bool) -> None:
    axes.set_title(_plain(title), loc="left", fontweight="bold", pad=12, parse_math=False)
    axes.set_xlabel(AXES[kind])
    axes.set_ylabel("kept (net)")
    axes.set_ylim(0, 1)
    axes.set_xlim(0.7, last + (1.3 if uncut else 0.3))
    axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=16))
    if uncut:
        ticks = [tick for tick in MaxNLocator(integer=True, nbins=12).tick_values(1, last) if 1 <= tick <= last]
        axes.set_xticks([*ticks, last + 1], [*(f"{tick:.0f}" for tick in ticks), "not cut"])
        axes.axvline(last + 0.5, color="#dde1e6", linewidth=1)
    axes.grid(axis="y", color="#dde1e6", linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    legend = axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, handlelength=3)
    for text in legend.get_texts():
        text.set_parse_math(False)


def _plain(text: str) -> str:
    """A name of whatever origin in letters that every font has, and never empty or hidden from a legend."""
    return short(text.encode("ascii", "backslashreplace").decode("ascii"), 60).lstrip("_") or "?"
