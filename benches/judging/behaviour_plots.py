"""The page of plots of `judge.py shown`, as SVG."""

from svg_text import GREY, STYLE, svg_text

from . import behaviour_experiments as experiments

WIDTH, LEFT, TOP, HIGH, GAP, RIGHT = 860, 56, 84, 130, 58, 16
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#111111", "#56b4e9")


def scheme_colour(number):
    return COLOURS[number % len(COLOURS)]


def draw_axes(left, top, width, title, most, seconds, unit):
    """A frame with a few marks, and what places a point."""
    x = lambda at: left + at / seconds * width
    y = lambda value: top + HIGH * (1 - min(value, most) / most)
    parts = [svg_text(left, top - 8, title, 12, "#111111"),
             f'<path d="M{left} {top}V{top + HIGH}H{left + width}" fill="none" stroke="{GREY}"/>',
             svg_text(left - 6, top + 4, f"{most:g}", 11, anchor="end"), svg_text(left - 6, top + 18, unit, 10, anchor="end")]
    for quarter in range(5):
        at = seconds * quarter / 4
        parts.append(svg_text(x(at), top + HIGH + 15, f"{at:g} s", 11, anchor="middle"))
    return parts, x, y


def draw_line(points, x, y, stroke):
    path = " ".join(f"{'ML'[place > 0]}{x(at):.1f} {y(value):.1f}" for place, (at, value) in enumerate(points))
    return f'<path d="{path}" fill="none" stroke="{stroke}" stroke-width="1.4"/>' if points else ""


def draw_bars(left, top, width, title, groups, schemes, most):
    """Bars in groups, one for each scheme, and a line at 1."""
    parts = [svg_text(left, top - 8, title, 12, "#111111")]
    wide = width / len(groups)
    each = wide * 0.8 / len(schemes)
    y = lambda value: top + HIGH * (1 - min(value, most) / most)
    for place, (name, values) in enumerate(groups):
        for number, value in enumerate(values):
            at = left + place * wide + wide * 0.1 + number * each
            parts.append(f'<rect x="{at:.1f}" y="{y(value):.1f}" width="{each * 0.85:.1f}" height="{top + HIGH - y(value):.1f}" '
                         f'fill="{scheme_colour(number)}"/>')
            parts.append(svg_text(at + each * 0.42, y(value) - 3, f"{value:.2f}", 10, anchor="middle"))
        parts.append(svg_text(left + (place + 0.5) * wide, top + HIGH + 15, name, 11, anchor="middle"))
    parts.append(f'<path d="M{left} {y(1):.1f}H{left + width}" stroke="{GREY}" stroke-dasharray="3 3"/>')
    return parts


def svg_page(drawn, schemes):
    """All panels: flows that join, one scheme a panel; shares; what happens when the path changes, all schemes in one."""
    whole, half = WIDTH - LEFT - RIGHT, (WIDTH - 2 * LEFT - RIGHT - 10) / 2
    parts, top = [], TOP
    for number, spec in enumerate(schemes):
        left = LEFT + (number % 2) * (half + LEFT + 10)
        more, x, y = draw_axes(left, top, half, f"Five flows of {spec}, one after another", 100, experiments.END, "Mbit/s")
        parts += more
        for flow, points in enumerate(drawn["five_flows_converge", spec]):
            parts.append(draw_line(points, x, y, scheme_colour(flow)))
        if number % 2 or number == len(schemes) - 1:
            top += HIGH + GAP
    groups = [(f"{others} CUBIC", [drawn["beside_cubic", spec][place] for spec in schemes]) for place, others in enumerate((1, 4, 16))]
    most = max(2.0, max(max(values) for _, values in groups))
    parts += draw_bars(LEFT, top, whole, "Share beside CUBIC flows, in fair shares", groups, schemes, most)
    top += HIGH + GAP
    changes = [
        ("An outage of 2 s after 10 s", 100, 30, "Mbit/s", lambda spec: drawn["outage", spec]),
        ("The capacity falls to a tenth after 10 s, and is back after 25 s", 100, 40, "Mbit/s",
         lambda spec: drawn["capacity_to_a_tenth", spec][0]),
        ("The same: how long the queue is, at the rate of the time", 1000, 40, "ms", lambda spec: drawn["capacity_to_a_tenth", spec][1]),
    ]
    for title, most, seconds, unit, of in changes:
        more, x, y = draw_axes(LEFT, top, whole, title, most, seconds, unit)
        parts += more
        parts += [draw_line(of(spec), x, y, scheme_colour(number)) for number, spec in enumerate(schemes)]
        top += HIGH + GAP
    legend = [svg_text(LEFT + 200 * number, 44, spec, 12, scheme_colour(number)) for number, spec in enumerate(schemes)]
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top}" style="{STYLE}">',
        f'<rect width="{WIDTH}" height="{top}" fill="#ffffff"/>',
        svg_text(LEFT, 22, "Schemes on 100 Mbit/s and 100 ms, a queue of one BDP, simulated between measured hosts", 15, "#111111"),
        *legend, *parts, "</svg>"]) + "\n"
