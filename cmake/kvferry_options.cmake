# Compiler settings of everything built here. A target takes them by linking kvferry_options.

add_library(kvferry_options INTERFACE)
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

target_compile_options(kvferry_options INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wno-sign-conversion)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC bug 105651: optimised, every "literal" + std::string is said to overlap itself.
  target_compile_options(kvferry_options INTERFACE -Wno-restrict)
endif()
if(KVFERRY_WERROR)
  target_compile_options(kvferry_options INTERFACE -Werror)
endif()
if(KVFERRY_TEST_HOOKS)
  target_compile_definitions(kvferry_options INTERFACE KVFERRY_TEST_HOOKS=1)
endif()
if(KVFERRY_CHECK_INVARIANTS)
  target_compile_definitions(kvferry_options INTERFACE KVFERRY_CHECK_INVARIANTS=1)
endif()
