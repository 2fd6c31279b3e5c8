# Finds tl::expected, with or without its package config. It is in our public headers.
# Target: kvferry_expected. Also used by the installed package.

include(FindPackageHandleStandardArgs)

find_path(expected_compat_INCLUDE_DIR tl/expected.hpp)
mark_as_advanced(expected_compat_INCLUDE_DIR)

find_package_handle_standard_args(
  expected_compat
  REQUIRED_VARS expected_compat_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "install libexpected-dev")

if(expected_compat_FOUND AND NOT TARGET kvferry_expected)
  add_library(kvferry_expected INTERFACE IMPORTED)
  set_target_properties(kvferry_expected PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${expected_compat_INCLUDE_DIR}")
endif()
