"""kvferry-search: its exit status, its report, and that kvferry-replay shows what it has written."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SEARCH = sys.argv.pop(1)
REPLAY = sys.argv.pop(1)
ROOT = Path(sys.argv.pop(1))
SCENARIO = ROOT / "tests/search/an_abort_during_a_copy.json"


def run(*command):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=100)


class Search(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def test_it_reports_what_it_did(self):
        report = self.folder / "report.json"
        done = run(SEARCH, SCENARIO, "--deviations", 1, "--report", report)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("complete; ", done.stdout)
        told = json.loads(report.read_text(encoding="utf-8"))
        self.assertTrue(told["complete"])
        self.assertGreater(told["schedules"], 20)
        self.assertEqual(told["failures"], [])
        self.assertGreater(told["schedules_per_s"], 0)
        self.assertEqual(told["scenarios"][0]["complete_deviations"], 1)
        self.assertGreater(len(told["scenarios"][0]["message_pairs"]), 20)

    def test_it_says_when_its_budget_was_exhausted(self):
        done = run(SEARCH, SCENARIO, "--exhaustive", "--budget", 50)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("budget exhausted, complete at 1 deviations; 50 schedules", done.stdout)

    def test_a_failure_is_written_as_a_record_that_replays(self):
        scenario = json.loads(SCENARIO.read_text(encoding="utf-8"))
        scenario["steps"] = scenario["steps"][:4] + [{"pages": {"request": "A", "places": ["host", "host"], "history": 2}}]
        wrong, trace, report = (self.folder / name for name in ("wrong.json", "trace.jsonl", "report.json"))
        wrong.write_text(json.dumps(scenario), encoding="utf-8")
        done = run(SEARCH, wrong, "--random", "--budget", 10, "--trace", trace, "--report", report)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("should be host host", done.stdout)
        failure = json.loads(report.read_text(encoding="utf-8"))["failures"][0]
        self.assertEqual(failure["trace"], str(trace))
        self.assertLessEqual(failure["deviations"], 10)
        again = run(SEARCH, wrong, "--schedule", failure["schedule"], "--trace", trace)
        self.assertEqual(again.returncode, 1)
        self.assertIn("should be host host", again.stdout)
        shown = run(REPLAY, trace)
        self.assertEqual(shown.returncode, 0, shown.stdout)
        self.assertIn("the same", shown.stdout)
        self.assertIn("enter_decode", run(REPLAY, trace, "--request", 1).stdout)

    def test_wrong_files_and_options_are_refused_by_name(self):
        for arguments, words in ((["nowhere.json"], "nowhere.json: cannot be read"),
                                 ([SCENARIO, "--schedule", "1"], 'schedule "1": must be point:option'),
                                 ([SCENARIO, "--fault", "sunspots"], "sunspots"),
                                 ([SCENARIO, "--plant", "sunspots"], "fault"),
                                 ([SCENARIO, "--random", "--exhaustive"], "--exhaustive"),
                                 ([SCENARIO, "--report", self.folder / "no" / "report.json", "--deviations", 0],
                                  "cannot be written"),
                                 ([], "scenario")):
            done = run(SEARCH, *arguments)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertIn(words, done.stderr)


if __name__ == "__main__":
    unittest.main()
