"""kvferry-serve --scenario: its exit status, and what it prints. Takes the program and the root of the sources."""

import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM = sys.argv.pop(1)
ROOT = Path(sys.argv.pop(1))


def run(file, *options):
    return subprocess.run([PROGRAM, "--scenario", file, *options], capture_output=True, text=True, timeout=60)


def run_text(text):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "x.json"
        file.write_text(text, encoding="utf-8")
        return run(file)


def example():
    document = (ROOT / "docs/scenarios.md").read_text(encoding="utf-8")
    return re.search(r"^```json\n(.*?)^```$", document, re.S | re.M)[1]


class Serve(unittest.TestCase):
    def test_the_example_of_the_documents_holds_and_shows_the_table_after_each_step(self):
        done = run_text(example())
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("all held", done.stdout)
        self.assertIn("nobody else needs it now\n  9  {\"close\":{\"request\":\"B\"}}\n", done.stdout)
        self.assertRegex(done.stdout, r"A +decode +active +kv +gpu \d+, host \d+, gpu \d+ \| history 0 \| row \d: ")
        self.assertRegex(done.stdout, r"A +decode +active +kv +host \d+, host \d+, gpu \d+ \| history 2")

    def test_it_exits_with_1_when_something_does_not_hold(self):
        done = run_text(example().replace('"history": 2', '"history": 1'))
        self.assertEqual(done.returncode, 1)
        self.assertIn("NOT: history is 2, but should be 1", done.stdout)
        self.assertIn("1 did not hold", done.stdout)

    def test_it_exits_with_2_when_the_file_is_wrong_or_missing(self):
        done = run(ROOT / "tests/scenarios/bad/misspelt_field.json")
        self.assertEqual(done.returncode, 2)
        self.assertIn("steps[1].run.untill is unknown", done.stderr)
        done = run(ROOT / "tests/scenarios/nowhere.json")
        self.assertEqual(done.returncode, 2)
        self.assertIn("nowhere.json: cannot be read", done.stderr)

    def test_another_order_of_messages_is_taken(self):
        file = ROOT / "tests/scenarios/a_deferral_is_bounded.json"
        self.assertEqual(run(file, "--order", "random", "--seed", "9").returncode, 0)


if __name__ == "__main__":
    unittest.main()
