"""Plants CAF installations that hold nothing but what a find module reads, and looks at which one
cmake/FindCAF_compat.cmake takes. So no CAF 1.1 is needed for it.
"""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

CMAKE, MODULES = sys.argv.pop(1), sys.argv.pop(1)

PROJECT = """
cmake_minimum_required(VERSION 3.24)
project(finder LANGUAGES CXX)
list(PREPEND CMAKE_MODULE_PATH "{modules}")
# What this machine has is not looked at.
set(CMAKE_FIND_USE_CMAKE_SYSTEM_PATH OFF)
set(CMAKE_FIND_USE_SYSTEM_ENVIRONMENT_PATH OFF)
find_package(CAF_compat {version} REQUIRED)
if(NOT TARGET kvferry_caf)
  message(FATAL_ERROR "no target")
endif()
message(STATUS "taken: ${{CAF_compat_VERSION}} from ${{CAF_compat_LOCATION}}")
"""


class FindCaf(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def plant(self, file, text):
        path = self.root / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n", encoding="utf-8")

    def plant_package(self, version):
        """As CAF from 0.18 on installs itself."""
        self.plant(f"{version}/lib/cmake/CAF/CAFConfig.cmake", "add_library(CAF::core INTERFACE IMPORTED)")
        self.plant(
            f"{version}/lib/cmake/CAF/CAFConfigVersion.cmake",
            f"set(PACKAGE_VERSION {version})\nset(PACKAGE_VERSION_COMPATIBLE TRUE)",
        )
        self.plant(f"{version}/include/caf/config.hpp", "// its version stands elsewhere")
        self.plant(f"{version}/lib/libcaf_core.so", "")
        return self.root / version

    def plant_headers(self, version, number):
        """As CAF 0.17 does."""
        self.plant(f"{version}/include/caf/config.hpp", f"#define CAF_VERSION {number}")
        self.plant(f"{version}/include/caf/scheduler/abstract_coordinator.hpp", "")
        self.plant(f"{version}/lib/libcaf_core.so", "")
        return self.root / version

    def configure(self, prefixes, version="", *options):
        self.plant("source/CMakeLists.txt", PROJECT.format(modules=MODULES, version=version))
        with tempfile.TemporaryDirectory() as build:
            run = subprocess.run(
                [CMAKE, "-S", self.root / "source", "-B", build, *options]
                + ["-DCMAKE_PREFIX_PATH=" + ";".join(map(str, prefixes))],
                capture_output=True,
                text=True,
                timeout=100,
                env={name: value for name, value in os.environ.items() if name not in ("CAF_ROOT", "CMAKE_PREFIX_PATH")},
            )
        return " ".join((run.stdout + run.stderr).split())

    def test_the_newer_one_is_taken_unless_it_is_ruled_out(self):
        old, new = self.plant_headers("0.17.6", 1706), self.plant_package("1.1.9")
        self.assertIn(f"taken: 1.1.9 from {new}/lib/cmake/CAF", self.configure([old, new]))
        for choice in [("0.17.6",), ("", "-DCMAKE_DISABLE_FIND_PACKAGE_CAF=ON")]:
            with self.subTest(choice=choice):
                self.assertIn(f"taken: 0.17.6 from {old}/lib/libcaf_core.so", self.configure([new, old], *choice))

    def test_what_was_built_with_one_does_not_take_the_other(self):
        old = self.plant_headers("0.17.6", 1706)
        self.assertIn("Name CAF 1.1 by", self.configure([old], "1.1.0"))

    def test_other_versions_are_refused_by_name(self):
        for planted, text in [
            (self.plant_package("1.0.2"), "CAF 1.0.2 in"),
            (self.plant_package("1.2.0"), "CAF 1.2.0 in"),
            (self.plant_headers("0.17.5", 1705), "is not 0.17.6"),
        ]:
            with self.subTest(planted=planted.name):
                said = self.configure([planted])
                self.assertIn(text, said)
                self.assertIn("Install libcaf-dev (0.17.6), or name CAF 1.1", said)
                self.assertNotIn("taken:", said)


if __name__ == "__main__":
    unittest.main()
