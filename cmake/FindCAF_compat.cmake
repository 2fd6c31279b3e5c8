# Finds CAF, from 1.0 on by its package config, else 0.17 as Debian and Ubuntu ship it, which has none.
# Target: kvferry_caf. Also used by the installed package.

include(FindPackageHandleStandardArgs)

find_package(CAF CONFIG QUIET COMPONENTS core)
if(CAF_FOUND AND CAF_VERSION VERSION_GREATER_EQUAL 1.0)
  set(CAF_compat_VERSION "${CAF_VERSION}")
  find_package_handle_standard_args(CAF_compat REQUIRED_VARS CAF_DIR VERSION_VAR CAF_compat_VERSION)
  if(NOT TARGET kvferry_caf)
    add_library(kvferry_caf INTERFACE IMPORTED)
    target_link_libraries(kvferry_caf INTERFACE CAF::core)
  endif()
  return()
endif()

find_path(CAF_compat_INCLUDE_DIR caf/all.hpp)
find_library(CAF_compat_LIBRARY caf_core)
mark_as_advanced(CAF_compat_INCLUDE_DIR CAF_compat_LIBRARY)

if(CAF_compat_INCLUDE_DIR)
  file(STRINGS "${CAF_compat_INCLUDE_DIR}/caf/config.hpp" version_line REGEX "#define CAF_VERSION [0-9]+$")
  # The number is major * 10000 + minor * 100 + patch.
  if(version_line MATCHES "CAF_VERSION ([0-9]+)([0-9][0-9])$")
    set(CAF_compat_VERSION "0.${CMAKE_MATCH_1}.${CMAKE_MATCH_2}")
    string(REPLACE ".0" "." CAF_compat_VERSION "${CAF_compat_VERSION}")
  endif()
  unset(version_line)
endif()

find_package_handle_standard_args(
  CAF_compat
  REQUIRED_VARS CAF_compat_LIBRARY CAF_compat_INCLUDE_DIR
  VERSION_VAR CAF_compat_VERSION
  REASON_FAILURE_MESSAGE "install libcaf-dev, or name CAF >= 1.0 by CMAKE_PREFIX_PATH")

if(CAF_compat_FOUND AND NOT TARGET kvferry_caf)
  find_package(Threads QUIET)
  add_library(kvferry_caf UNKNOWN IMPORTED)
  set_target_properties(
    kvferry_caf PROPERTIES IMPORTED_LOCATION "${CAF_compat_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES
                                                                     "${CAF_compat_INCLUDE_DIR}")
  if(TARGET Threads::Threads)
    target_link_libraries(kvferry_caf INTERFACE Threads::Threads)
  endif()
endif()
