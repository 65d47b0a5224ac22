# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
"""Checks a JSON file against a JSON schema, as far as bench/report/schema.json uses one: a keyword that is
not known here is an error, so that nothing goes unchecked. Standard library only.

Usage: check_schema.py SCHEMA FILE    exit status 1, and what is wrong, when the file does not fit"""
import json
import re
import sys

IGNORED = {"$schema", "$comment", "$defs", "title"}
TYPES = {
    "object": lambda v: isinstance(v, dict),
    "array": lambda v: isinstance(v, list),
    "string": lambda v: isinstance(v, str),
    "boolean": lambda v: isinstance(v, bool),
    "null": lambda v: v is None,
    "integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
    "number": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
}


def find(root, reference):
    node = root
    for key in reference.removeprefix("#/").split("/"):
        node = node[key]
    return node


def check_object(root, schema, value, at):
    properties = schema.get("properties", {})
    for key in schema.get("required", []):
        if key not in value:
            yield f"{at}: {key} is missing"
    for key, member in value.items():
        rule = properties.get(key, schema.get("additionalProperties", True))
        if rule is False:
            yield f"{at}: {key} is unknown"
        elif rule is not True:
            yield from check(root, rule, member, f"{at}.{key}")


def check(root, schema, value, at):
    """Yields what is wrong with the value."""
    is_number = TYPES["number"](value)
    for keyword, rule in schema.items():
        if keyword == "$ref":
            yield from check(root, find(root, rule), value, at)
        elif keyword == "type":
            if not any(TYPES[name](value) for name in ([rule] if isinstance(rule, str) else rule)):
                yield f"{at}: {value!r} is not of type {rule}"
        elif keyword in ("const", "enum"):
            if value not in ([rule] if keyword == "const" else rule):
                yield f"{at}: {value!r} is not {rule}"
        elif keyword == "pattern":
            if isinstance(value, str) and not re.search(rule, value):
                yield f"{at}: {value!r} does not match {rule}"
        elif keyword == "minimum":
            if is_number and not value >= rule:
                yield f"{at}: {value} is less than {rule}"
        elif keyword == "exclusiveMinimum":
            if is_number and not value > rule:
                yield f"{at}: {value} is not more than {rule}"
        elif keyword == "items":
            for i, item in enumerate(value if isinstance(value, list) else []):
                yield from check(root, rule, item, f"{at}[{i}]")
        elif keyword == "required":
            if isinstance(value, dict):
                yield from check_object(root, schema, value, at)
        elif keyword in ("properties", "additionalProperties"):
            if isinstance(value, dict) and "required" not in schema:
                yield from check_object(root, {keyword: rule}, value, at)
        elif keyword not in IGNORED:
            raise SystemExit(f"check_schema.py does not know the keyword {keyword}")


def main():
    with open(sys.argv[1], encoding="utf-8") as schema, open(sys.argv[2], encoding="utf-8") as file:
        root, value = json.load(schema), json.load(file)
    wrong = list(check(root, root, value, "$"))
    print("\n".join(wrong[:20]), end="\n" if wrong else "")
    sys.exit(1 if wrong else 0)


main()
