"""Plants wrong lists of mutants and sees whether scripts/mutate names what is wrong."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(sys.argv.pop(1))
RIGHT = json.loads((ROOT / "tests" / "mutations" / "mutations.json").read_text(encoding="utf-8"))


def check(mutants):
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "mutations.json"
        table.write_text(json.dumps(mutants), encoding="utf-8")
        return subprocess.run([sys.executable, str(ROOT / "scripts" / "mutate"), "--check", "--table", str(table)],
                              capture_output=True, text=True, check=False)


class Check(unittest.TestCase):
    def refused(self, words, **changes):
        done = check([RIGHT[0] | changes])
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn(words, done.stderr)

    def test_a_right_list_is_taken(self):
        done = check(RIGHT[:2])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("2 mutants fit the sources", done.stdout)

    def test_there_are_thirty_mutants_and_more(self):
        self.assertGreaterEqual(len(RIGHT), 30)

    def test_a_text_that_is_not_there_is_named(self):
        self.refused("has its text 0 times, but should have it once: 'no such line'", find="no such line")

    def test_a_text_that_is_there_twice_is_named(self):
        self.refused("but should have it once: '#include'", find="#include")

    def test_a_file_that_is_not_there_is_named(self):
        self.refused("actors/nobody.cpp has its text 0 times", file="actors/nobody.cpp")

    def test_a_test_that_is_not_there_is_named(self):
        self.refused('is to be killed by "actors/nobody", which is no test', killed_by="actors/nobody")
        self.refused('"scenarios/nobody", which is no test', killed_by="scenarios/nobody")
        self.refused('"nobody/nobody", which is no test', killed_by="nobody/nobody")

    def test_a_mutant_that_changes_nothing_is_named(self):
        self.refused("changes nothing", replace=RIGHT[0]["find"])

    def test_a_report_whose_test_it_is_not_is_named(self):
        self.refused("is of report A99, but", report="A99")

    def test_a_field_that_is_unknown_is_named(self):
        self.refused("but should have name, file, find, replace, rule, killed_by, and may have report", why="?")

    def test_a_name_that_is_there_twice_is_named(self):
        done = check([RIGHT[0], RIGHT[0]])
        self.assertEqual(done.returncode, 2)
        self.assertIn("is there 2 times", done.stderr)


if __name__ == "__main__":
    unittest.main()
