"""A long but sensible scenario file, for measuring how fast files are read."""


def scenario_with_lines(lines=1000):
    """The text of a scenario with this number of lines: a chain of routers with flows over parts of it."""
    # Eight lines of head, then for each router a link of 7 lines and two flows of 9 lines.
    head = ['title = "A chain of many routers"', 'duration = "10 s"', 'warmup = "1 s"', "",
            "[scheme.careful]", 'base = "vegas"', 'beta = "4 pkt"', ""]
    routers = (lines - len(head)) // 25
    text = list(head)
    for number in range(routers):
        text += ["[[link]]", f'name = "hop-{number}"', f'between = ["r{number}", "r{number + 1}"]',
                 f'rate = "{50 + number} Mbit/s"', f'delay = "{1 + number % 5} ms"', 'queue = "50 ms"', ""]
        for kind, scheme in (("a", "careful"), ("b", "newreno")):
            text += ["[[flow]]", f'name = "{kind}-{number}"', "count = 2", f'from = "r{max(0, number - 3)}"',
                     f'to = "r{number + 1}"', f'scheme = "{scheme}"', 'workload = "10 MB"',
                     f'start = "{number % 7} s"', ""]
    text += ["# The rest are lines that say nothing."] * (lines - len(text))
    return "\n".join(text) + "\n"
