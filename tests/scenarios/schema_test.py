"""Holds scenario.schema.json against every scenario, which it must take, and every wrong one, which it must refuse; and
the steps that it knows against those of the loader. Exits with 77 when python3-jsonschema is missing."""

import json
import re
import sys
import unittest
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent.parent

try:
    import jsonschema
except ImportError:
    print("skipped: Debian's python3-jsonschema is not installed (scripts/install-packages)")
    sys.exit(77)

SCHEMA = json.loads((HERE / "scenario.schema.json").read_text(encoding="utf-8"))


def scenarios(folder):
    return sorted(p for p in (HERE / folder).glob("*.json") if not p.name.endswith(".schema.json"))


class Schema(unittest.TestCase):
    def setUp(self):
        jsonschema.Draft202012Validator.check_schema(SCHEMA)
        self.validator = jsonschema.Draft202012Validator(SCHEMA)

    def test_it_takes_every_scenario(self):
        files = scenarios(".")
        self.assertGreater(len(files), 50)
        for file in files:
            with self.subTest(file.name):
                self.validator.validate(json.loads(file.read_text(encoding="utf-8")))

    def test_it_takes_every_scenario_of_the_search(self):
        files = scenarios("../search")
        self.assertGreater(len(files), 8)
        for file in files:
            with self.subTest(file.name):
                self.validator.validate(json.loads(file.read_text(encoding="utf-8")))

    def test_it_refuses_every_wrong_scenario(self):
        files = scenarios("bad")
        self.assertGreater(len(files), 20)
        for file in files:
            with self.subTest(file.name):
                try:
                    value = json.loads(file.read_text(encoding="utf-8"))
                except json.JSONDecodeError:
                    continue
                self.assertFalse(self.validator.is_valid(value))

    def test_it_knows_the_steps_and_fields_of_the_loader(self):
        steps = "".join(p.read_text(encoding="utf-8") for p in (ROOT / "examples/scenario").glob("*_steps.hpp"))
        words = dict(re.findall(r'struct (\w+) \{\s+static constexpr std::string_view word = "(\w+)";', steps))
        self.assertGreater(len(words), 30)
        known = SCHEMA["$defs"]["step"]["properties"]
        self.assertEqual(set(words.values()) | {"note"}, set(known))
        for struct, word in words.items():
            body = re.search(rf"void visit_fields\(auto&\s?\w*, {struct}&(?: \w+)?\) \{{(.*?)\}}\n", steps, re.S)[1]
            definition = SCHEMA["$defs"][known[word]["$ref"].split("/")[-1]]
            if word == "counted":
                names = re.search(r"counter_names\{(.*?)\}", steps, re.S)[1]
                self.assertEqual(set(re.findall(r'"(\w+)"', names)), set(definition["properties"]))
                continue
            with self.subTest(word):
                visited = re.findall(r'\w\.(required|optional|one_of)\("(\w+)"', body)
                self.assertEqual({name for _, name in visited}, set(definition["properties"]))
                required = {name for kind, name in visited if kind == "required"}
                self.assertEqual(required, set(definition.get("required", [])))

    def test_it_knows_the_fields_and_the_codes_of_a_refusal(self):
        refusal = SCHEMA["$defs"]["refusal"]["properties"]
        header = (ROOT / "examples/scenario/refusal.hpp").read_text(encoding="utf-8")
        self.assertEqual(set(re.findall(r'v\.\w+\("(\w+)"', header)), set(refusal))
        errors = (ROOT / "include/kvferry/error.hpp").read_text(encoding="utf-8")
        codes = re.search(r"enum class error_code[^{]*\{(.*?)\};", errors, re.S)[1]
        self.assertEqual(set(re.findall(r"^  (\w+),$", codes, re.M)), set(refusal["code"]["enum"]))


if __name__ == "__main__":
    unittest.main()
