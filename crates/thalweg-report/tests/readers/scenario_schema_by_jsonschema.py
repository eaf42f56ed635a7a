"""Has Python's jsonschema read the schema of scenario files: it is one, takes every scenario of this repository, and refuses what an
editor should underline.

    scenario_schema_by_jsonschema.py SCHEMA SCENARIO...
"""

import json
import sys
import tomllib
from pathlib import Path

from jsonschema import Draft202012Validator

GOOD = """
duration = "10 s"
[[link]]
name = "{name}"
between = {ends}
rate = "10 Mbit/s"
delay = "{delay}"
jitter = {jitter}
[[flow]]
from = "a"
to = "b"
scheme = "{scheme}"
workload = {workload}
"""
RIGHT = {"name": "Übersee/2", "ends": '["a", "b"]', "delay": "10 ms", "jitter": '"1 ms"', "scheme": "cubic", "workload": '"bulk"'}
# Further valid and invalid cases.
TAKEN = [
    {"name": "core-1"},
    {"ends": '["host-1", "b_2"]'},
    {"scheme": "bbr"},
    {"scheme": "bbr:filter-advance=ten-rounds"},
    {"jitter": '{ distribution = "pareto", min = "1 ms", shape = 1.5, max = "20 ms", each = "flow" }'},
    {"workload": '{ kind = "poisson", load = "1 Mbit/s", size = "10 kB" }'},
]
REFUSED = [
    {"name": ""},
    {"name": "a name!"},
    {"ends": '["a"]'},
    {"ends": '["a", "b", "c"]'},
    {"ends": '["a", 2]'},
    {"ends": '"a"'},
    {"ends": '["a", ""]'},
    {"delay": "10"},
    {"delay": "10 Mbit/s"},
    {"scheme": "cubik"},
    {"scheme": "cubik:beta=0.8"},
    {"jitter": '{ distribution = "gauss" }'},
    {"jitter": '{ distribution = "exponential" }'},
    {"workload": '{ kind = "poison" }'},
]


def main():
    schema = json.loads(Path(sys.argv[1]).read_text())
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    wrong = 0

    def expect(takes, what, document):
        nonlocal wrong
        if validator.is_valid(document) != takes:
            wrong += 1
            print(f"{what}: {'refused' if takes else 'taken'}", file=sys.stderr)

    for file in sys.argv[2:]:
        expect(True, file, tomllib.loads(Path(file).read_text()))
    of = lambda changes: tomllib.loads(GOOD.format(**{**RIGHT, **changes}))
    expect(True, "what is right", of({}))
    for takes, cases in [(True, TAKEN), (False, REFUSED)]:
        for changes in cases:
            expect(takes, changes, of(changes))
    sys.exit(1 if wrong else 0)


main()
