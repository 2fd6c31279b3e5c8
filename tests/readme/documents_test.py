"""Holds README.md and docs/ against the sources that they speak of."""

import re
import sys
import unittest
from pathlib import Path

ROOT = Path(sys.argv.pop(1))
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FOLDERS = "actors|cmake|cuda_kernels|device|docs|examples|include|messages|runtime|scripts|tests"


def text_of(path):
    return (ROOT / path).read_text(encoding="utf-8")


def tables_of(document):
    """{heading: [cells of each row]} of the tables under each heading, without the tables' own headings."""
    tables, heading = {}, ""
    for line in text_of(document).splitlines():
        if line.startswith("#"):
            heading = line.lstrip("# ")
        elif line.startswith("| `"):
            tables.setdefault(heading, []).append([cell.strip() for cell in line.strip("|").split(" | ")])
    return tables


def body_of(struct):
    return re.search(rf"struct {struct} \{{(.*?)\n\}};", text_of("include/kvferry/configuration.hpp"), re.S)[1]


def default_of(struct, field):
    """As the table writes it."""
    found = re.search(rf"\b{field}(?: = ([^;]+))?;", body_of(struct))
    if not found[1]:
        return "empty"
    value = found[1].split("::")[-1]
    return f"`{value}`" if value.isdigit() else f'`"{value}"`'


def fields_of(struct):
    """[(name, required | optional | local)] in the order in which they are visited."""
    fields = text_of("runtime/configuration_fields.hpp")
    visit = re.search(rf"remove_const_t<\w+>, {struct}>\n(.*?)\n\}}", fields, re.S)[1]
    return [(name, kind) for kind, name in re.findall(r'visitor\.(\w+)\("(\w+)"', visit)]


class Readme(unittest.TestCase):
    def test_its_embedding_example_is_the_program_that_the_tests_run(self):
        blocks = re.findall(r"^```cpp\n(.*?)^```$", text_of("README.md"), re.S | re.M)
        self.assertIn(text_of("tests/readme/embedding.cpp"), blocks)

    def test_the_programs_have_the_options_that_it_names(self):
        sources = "".join(text_of(f"examples/{program}/options.cpp") for program in ("serve", "replay", "search"))
        known = set(re.findall(r'"(--[a-z-]+)"', sources))
        named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text_of("README.md")))
        self.assertGreater(len(named), 10)
        self.assertEqual(named - known, set())

    def test_the_search_has_the_options_that_its_document_names(self):
        known = set(re.findall(r'"(--[a-z-]+)"', text_of("examples/search/options.cpp")))
        named = set(re.findall(r"`(--[a-z][a-z-]+)", text_of("docs/search.md")))
        self.assertEqual(named, known)

    def test_kvferry_serve_reports_the_keys_that_it_names(self):
        known = set(re.findall(r'\{"(\w+)", ', text_of("examples/serve/report.cpp")))
        named = re.search(r"^The report's keys:\n(.*?)\n\n", text_of("README.md"), re.S | re.M)[1]
        self.assertEqual(set(re.findall(r"`(\w+)`", named)), known)


class Links(unittest.TestCase):
    def test_every_link_and_path_leads_somewhere(self):
        for document in DOCUMENTS:
            text = re.sub(r"^```.*?^```$", "", document.read_text(encoding="utf-8"), flags=re.S | re.M)
            targets = [document.parent / link for link in re.findall(r"\]\((?!https?:)([^)#]+)", text)]
            targets += [ROOT / path for path in re.findall(rf"`((?:{FOLDERS})/[\w./*-]+)`", text)]
            for target in targets:
                found = any(target.parent.glob(target.name)) if "*" in target.name else target.exists()
                with self.subTest(document=document.name, target=target.relative_to(ROOT).as_posix()):
                    self.assertTrue(found)


class Configuration(unittest.TestCase):
    def setUp(self):
        self.tables = tables_of("docs/configuration.md")

    def test_every_field_is_in_the_table_with_its_default(self):
        for struct in ("configuration", "group_config", "buffer_config"):
            rows = [(cells[0].strip("`"), cells[2], cells[3]) for cells in self.tables[struct]]
            code = [(name, kind, default_of(struct, name)) for name, kind in fields_of(struct)]
            with self.subTest(struct=struct):
                self.assertEqual(rows, code)

    def test_every_field_of_a_batch_is_in_the_table_with_its_default(self):
        rows = [(cells[0].strip("`"), cells[2]) for cells in self.tables["batch_config"]]
        names = re.findall(r"^  std::\w+ (\w+) = ", body_of("batch_config"), re.M)
        self.assertEqual(rows, [(name, default_of("batch_config", name)) for name in names])


class TraceFormat(unittest.TestCase):
    def test_every_key_that_is_written_is_in_the_tables(self):
        source = text_of("runtime/trace/record_line.cpp")
        tables = tables_of("docs/trace_format.md")
        for heading, function in (("Header", "append_header"), ("Records", "begin_record")):
            body = re.search(rf"^void {function}\(.*?\n\}}", source, re.S | re.M)[0]
            written = set(re.findall(r'\\"(\w+)\\":', body)) | {"check"}  # which seals every line
            described = {name for cells in tables[heading] for name in re.findall(r"`(\w+)`", cells[0])}
            with self.subTest(heading=heading):
                self.assertEqual(described, written)


if __name__ == "__main__":
    unittest.main()
