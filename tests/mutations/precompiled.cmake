# Included by scripts/mutate behind project(): precompiles what every source includes and no mutant changes, so that a
# mutant is built in about a second.

function(kvferry_precompile)
  target_precompile_headers(
    kvferry
    PRIVATE
    <algorithm>
    <map>
    <memory>
    <optional>
    <string>
    <unordered_map>
    <variant>
    <vector>
    <fmt/format.h>
    "${PROJECT_SOURCE_DIR}/messages/any_message.hpp")
  foreach(program IN ITEMS actors device runtime scenarios)
    target_precompile_headers("test_${program}" PRIVATE "${PROJECT_SOURCE_DIR}/tests/catch.hpp"
                              "${PROJECT_SOURCE_DIR}/messages/any_message.hpp")
  endforeach()
endfunction()

cmake_language(DEFER DIRECTORY "${CMAKE_SOURCE_DIR}" CALL kvferry_precompile)
