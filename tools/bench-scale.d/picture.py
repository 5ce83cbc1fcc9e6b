# SPDX-License-Identifier: BSD-3-Clause
"""The ratios of a run as a drawing: a panel for each place, a square for each call."""

SQUARE, GAP, HEAD, LETTER = 46, 22, 40, 6.6
# Best selector / Tutti, from this on; what is above 1 is Tutti's.
COLOURS = [(2.0, "#1a7f37"), (1.25, "#57ab5a"), (1.05, "#b7e1b9"), (0.95, "#eeeeee"),
           (0.8, "#f6c7a9"), (0.5, "#e8894f"), (0.0, "#b5402a")]


def colour(ratio):
    return next(name for least, name in COLOURS if ratio >= least)


def text(x, y, words, size=12, anchor="middle", fill="#222222"):
    return (f'<text x="{x:g}" y="{y:g}" font-size="{size}" text-anchor="{anchor}" fill="{fill}">'
            f"{words}</text>")


def square(x, y, ratio):
    if ratio is None:
        return [f'<rect x="{x}" y="{y}" width="{SQUARE - 2}" height="22" fill="none" '
                'stroke="#dddddd"/>']
    is_dark = ratio >= 2.0 or ratio < 0.5
    return [f'<rect x="{x}" y="{y}" width="{SQUARE - 2}" height="22" fill="{colour(ratio)}"/>',
            text(x + SQUARE / 2 - 1, y + 15, f"{ratio:.2f}" if ratio < 9.995 else f"{ratio:.0f}",
                 11, fill="#ffffff" if is_dark else "#222222")]


def names_width(names):
    """Of the column of names, right of which the squares stand."""
    return round(max([72, *(LETTER * len(name) + 12 for name in names)]))


def panel(left, top, title, rows, sizes, names):
    """rows: {(collective, size name): ratio or None}; a barrier stands in the first column."""
    parts = [text(left, top + 12, title, 12, "start")]
    left += names_width(names)
    for column, name in enumerate(sizes):
        parts.append(text(left + column * SQUARE + SQUARE / 2, top + 32, name, 10))
    for line, collective in enumerate(names):
        y = top + HEAD + line * 24
        parts.append(text(left - 6, y + 15, collective, 11, "end"))
        for column, name in enumerate(sizes):
            key = (collective, "0" if collective == "barrier" else name)
            if key in rows and (collective != "barrier" or column == 0):
                parts += square(left + column * SQUARE, y, rows[key])
    return parts


def draw(panels, sizes, names, title):
    """panels: [(title, rows)], three side by side."""
    width = names_width(names) + len(sizes) * SQUARE + GAP
    height = HEAD + len(names) * 24 + GAP
    across = min(3, max(len(panels), 1))
    down = -(-len(panels) // across)
    parts = [text(GAP, 20, title, 13, "start")]
    for i, (name, rows) in enumerate(panels):
        left, top = GAP + i % across * width, 34 + i // across * height
        parts += panel(left, top, name, rows, sizes, names)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{GAP + across * width}" '
            f'height="{34 + down * height}" font-family="sans-serif">\n'
            '<rect width="100%" height="100%" fill="#ffffff"/>\n' + "\n".join(parts) + "\n</svg>\n")
