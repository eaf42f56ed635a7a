"""Text of the pictures that benchmarks draw, as SVG."""

GREY = "#7d8590"
STYLE = "font-family:system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif"


def svg_text(x, y, text, size=12, colour=GREY, anchor="start"):
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{colour}" text-anchor="{anchor}">{text}</text>'
