# kvferry_add_tests(<name> <sources...> [LABELS <labels...>] [LIBRARIES <libraries...>])
#
# One Catch2 program, bin/test_<name> in the build folder, each of whose cases is a test "<name>/<case>" in ctest. The
# program may include the library's own headers and "tests/catch.hpp". Labels are for ctest -L; "threaded" keeps a
# program out of the tsan preset. A case that prints "skipped: " and why counts as skipped. A case whose name begins with
# the numbers of field reports ("C2: ...", "B7 B8: ...", docs/field_reports.md) is labelled "field-report" as well.

function(kvferry_add_tests name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LABELS;LIBRARIES")
  set(target "test_${name}")
  add_executable(${target} ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(${target} PRIVATE kvferry_internal kvferry_catch ${arg_LIBRARIES})
  # Assertions take most of the compiler's time and next to none of the run's.
  target_compile_options(${target} PRIVATE "$<$<CONFIG:Debug>:-O0>")

  catch_discover_tests(${target} TEST_PREFIX "${name}/" EXTRA_ARGS --warn NoAssertions)

  # catch_discover_tests takes no property whose value is a list, so they are set where ctest has the cases' names. A case
  # without an assertion fails, and so does a name that selects no case, which Catch2 2 would call a success. rapidcheck
  # gets one seed, so that a run says the same each time.
  set(properties "${CMAKE_CURRENT_BINARY_DIR}/${target}_properties.cmake")
  file(
    WRITE "${properties}"
    "foreach(case IN LISTS ${target}_TESTS)\n"
    "  set(labels \"${arg_LABELS}\")\n"
    "  if(case MATCHES \"^${name}/[A-K][0-9]+( [A-K][0-9]+)*: \")\n"
    "    list(APPEND labels field-report)\n"
    "  endif()\n"
    "  set_tests_properties(\"\${case}\" PROPERTIES\n"
    "    TIMEOUT 120\n"
    "    LABELS \"\${labels}\"\n"
    "    ENVIRONMENT \"RC_PARAMS=seed=1\"\n"
    "    SKIP_REGULAR_EXPRESSION \"skipped: \"\n"
    "    FAIL_REGULAR_EXPRESSION \"No tests ran|No test cases matched\")\n"
    "endforeach()\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${properties}")
endfunction()
