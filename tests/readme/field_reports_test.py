"""Holds docs/field_reports.md against the tests that ctest knows: each named test is there under its report's number,
each number has a labelled test or a reason. Takes the sources, the build folder and ctest. Exits with 77 when a program
of tests is not built, since its tests are not known then."""

import json
import re
import subprocess
import sys
import unittest
from pathlib import Path

ROOT, BUILD, CTEST = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
del sys.argv[1:]

TESTS = json.loads(
    subprocess.run([CTEST, "--test-dir", BUILD, "--show-only=json-v1"], capture_output=True, text=True, check=True).stdout
)["tests"]
MISSING = [test["name"] for test in TESTS if "_NOT_BUILT" in test["name"]]
if MISSING:
    print("skipped: not built:", ", ".join(MISSING))
    sys.exit(77)


def labelled():
    """{name: its reports} of the tests with the label."""
    found = {}
    for test in TESTS:
        labels = [p["value"] for p in test.get("properties", []) if p["name"] == "LABELS"]
        if labels and "field-report" in labels[0]:
            numbers = re.match(r"[\w-]+/((?:[A-K]\d+ ?)+): ", test["name"])
            found[test["name"]] = numbers[1].split() if numbers else []
    return found


def rows(heading):
    text = (ROOT / "docs/field_reports.md").read_text(encoding="utf-8")
    part = text.split(heading)[1].split("\n## ")[0]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in re.findall(r"^\| [A-K]\d+ \|.*$", part, re.M)]


class FieldReports(unittest.TestCase):
    def test_each_test_of_the_table_is_there_under_its_number(self):
        tests = labelled()
        table = rows("# Field reports")
        self.assertGreaterEqual(len(table), 45)
        for number, _, test in table:
            with self.subTest(number):
                self.assertIn(number, tests.get(test.strip("` |"), []))

    def test_each_test_on_a_gpu_is_in_the_sources_under_its_number(self):
        sources = "".join(p.read_text(encoding="utf-8") for p in (ROOT / "tests/cuda").glob("*.cpp"))
        table = rows("## On a GPU only")
        self.assertGreater(len(table), 0)
        for number, _, test in table:
            with self.subTest(number):
                program, name = test.strip("` |").split("/", 1)
                self.assertEqual(program, "cuda")
                self.assertIn(number, name.split(":")[0].split())
                self.assertIn(f'TEST_CASE("{name}")', sources)

    def test_each_labelled_test_has_numbers_of_the_table(self):
        known = {row[0] for row in rows("# Field reports") + rows("## On a GPU only")}
        for test, numbers in labelled().items():
            with self.subTest(test):
                self.assertTrue(numbers)
                self.assertEqual(set(numbers) - known, set())

    def test_what_only_one_reports_tests_find_is_what_the_mutants_say(self):
        mutants = json.loads((ROOT / "tests/mutations/mutations.json").read_text(encoding="utf-8"))
        alone = [[m["report"], m["name"], f"`{m['killed_by']}`"] for m in mutants if "report" in m]
        self.assertGreaterEqual(len({report for report, _, _ in alone}), 20)
        self.assertEqual(sorted(rows("## What only they find")), sorted(alone))

    def test_what_has_no_test_has_a_reason_and_is_not_in_the_table(self):
        known = {row[0] for row in rows("# Field reports") + rows("## On a GPU only")}
        without = rows("## Not here")
        self.assertGreater(len(without), 0)
        for number, why in without:
            self.assertGreater(len(why), 10)
            self.assertNotIn(number, known)


if __name__ == "__main__":
    unittest.main()
