"""Plants files in a folder of its own and looks at what scripts/check-includes says about them."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

CHECK = sys.argv.pop(1)

# file, its include, part of the rule that it breaks
REFUSED = [
    ("include/kvferry/a.hpp", '"device/device.hpp"', "may include include/kvferry, not device"),
    ("include/kvferry/a.hpp", "<nlohmann/json.hpp>", "a public header includes"),
    ("messages/a.hpp", '"actors/ledger.hpp"', "not actors"),
    ("device/host/a.cpp", '"runtime/trace.hpp"', "not runtime"),
    ("device/host/a.cpp", '"../../actors/ledger.hpp"', "not actors"),
    ("device/host/a.cpp", '"cuda_kernels/copy.hpp"', "not cuda_kernels"),
    ("device/host/a.cpp", "<cuda_runtime.h>", "CUDA is included"),
    ("examples/serve/a.cpp", "<cuda_runtime.h>", "CUDA is included"),
    ("actors/a.cpp", '"runtime/trace.hpp"', "not runtime"),
    ("actors/a.cpp", "<caf/all.hpp>", "CAF is included"),
    ("runtime/a.cpp", '"caf/actor.hpp"', "CAF is included"),
    ("tests/a.cpp", "<caf/all.hpp>", "CAF is included"),
    ("runtime/a.cpp", '"tests/catch.hpp"', "not tests"),
    ("examples/serve/a.cpp", '"runtime/trace.hpp"', "not runtime"),
    ("examples/serve/a.cpp", '"examples/replay/b.hpp"', "its own folder"),
    ("cuda_kernels/a.cu", '"device/device.hpp"', "not device"),
]

ALLOWED = [
    ("include/kvferry/a.hpp", '"kvferry/ids.hpp"'),
    ("include/kvferry/a.hpp", "<tl/expected.hpp>"),
    ("messages/a.cpp", "<nlohmann/json.hpp>"),
    ("device/host/a.cpp", '"kvferry/ids.hpp"'),
    ("device/cuda/a.cpp", '"cuda_kernels/copy.hpp"'),
    ("device/cuda/a.cpp", "<cuda_runtime.h>"),
    ("examples/serve/cuda/a.cpp", "<cuda_runtime.h>"),
    ("tests/cuda/a.cpp", "<cuda_runtime.h>"),
    ("actors/caf_compat.hpp", "<caf/all.hpp>"),
    ("actors/caf_compat.cpp", "<caf/actor_clock.hpp>"),
    ("runtime/a.cpp", '"actors/caf_compat.hpp"'),
    ("examples/serve/a.cpp", '"examples/serve/b.hpp"'),
    ("tests/actors/a.cpp", '"actors/ledger.hpp"'),
    ("tests/serve/a.cpp", '"examples/serve/b.hpp"'),
]

# file, a line of it, whether it is refused
NAMES = [
    ("runtime/a.cpp", "caf::actor_system system;", True),
    ("tests/a.cpp", "#if CAF_MAJOR_VERSION >= 1", True),
    ("runtime/a.cpp", "caf_bridge::actor_system system; // not a caf::actor_system", False),
    ("actors/caf_compat.hpp", "#if CAF_MAJOR_VERSION >= 1", False),
    ("actors/caf_compat.cpp", "caf::actor_system& system;", False),
]


class CheckIncludes(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.plant("actors/ledger.hpp", "// nothing")

    def plant(self, file, text):
        path = Path(self.folder.name) / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n", encoding="utf-8")

    def check(self):
        return subprocess.run([sys.executable, CHECK, self.folder.name], capture_output=True, text=True, timeout=60)

    def test_an_include_against_the_order_is_named_with_its_line_and_rule(self):
        for file, include, rule in REFUSED:
            with self.subTest(file=file, include=include):
                self.plant(file, f"// a comment\n#include {include}")
                run = self.check()
                Path(self.folder.name, file).unlink()
                self.assertEqual(run.returncode, 1, run.stderr)
                self.assertTrue(run.stdout.startswith(f"{file}:2: "), run.stdout)
                self.assertIn(rule, run.stdout)
                self.assertEqual(run.stdout.count("\n"), 1)

    def test_the_actor_library_is_named_in_one_place(self):
        for file, line, refused in NAMES:
            with self.subTest(file=file, line=line):
                self.plant(file, f"// a comment\n{line}")
                run = self.check()
                Path(self.folder.name, file).unlink()
                self.assertEqual(run.returncode, 1 if refused else 0, run.stdout + run.stderr)
                if refused:
                    self.assertTrue(run.stdout.startswith(f"{file}:2: names "), run.stdout)

    def test_an_include_with_the_order_is_silent(self):
        for file, include in ALLOWED:
            self.plant(file, f"#include {include}")
        run = self.check()
        self.assertEqual((run.returncode, run.stdout, run.stderr), (0, "", ""))


if __name__ == "__main__":
    unittest.main()
