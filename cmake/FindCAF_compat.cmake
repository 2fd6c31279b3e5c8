# Finds CAF, the actor library: 1.1 by its package config when there is one, else 0.17.6 as Debian and Ubuntu ship
# it, which has none. Target: kvferry_caf. Also used by the installed package.
#
# CAF_ROOT (variable or environment), CAF_DIR and CMAKE_PREFIX_PATH say where to look; CMAKE_DISABLE_FIND_PACKAGE_CAF=ON
# keeps it from looking for 1.x. Sets CAF_compat_VERSION and CAF_compat_LOCATION, where it was found. With a version,
# find_package takes CAF of the same major and minor number only: what was built with the headers of one does not run
# with another.

include(FindPackageHandleStandardArgs)

unset(CAF_compat_LOCATION)
set(CAF_compat_other "") # why a CAF that was seen is not taken
set(CAF_compat_lines 0.17 1.1)
set(CAF_compat_advice "Install libcaf-dev (0.17.6), or name CAF 1.1 by CMAKE_PREFIX_PATH or CAF_ROOT")
if(CAF_compat_FIND_VERSION)
  set(CAF_compat_lines "${CAF_compat_FIND_VERSION_MAJOR}.${CAF_compat_FIND_VERSION_MINOR}")
  set(CAF_compat_advice "Name CAF ${CAF_compat_lines} by CMAKE_PREFIX_PATH or CAF_ROOT")
endif()

if(CAF_compat_lines MATCHES "1\\.")
  find_package(CAF CONFIG QUIET COMPONENTS core)
  if(CAF_FOUND AND "${CAF_VERSION_MAJOR}.${CAF_VERSION_MINOR}" IN_LIST CAF_compat_lines)
    set(CAF_compat_VERSION "${CAF_VERSION}")
    set(CAF_compat_LOCATION "${CAF_DIR}")
  elseif(CAF_FOUND)
    list(JOIN CAF_compat_lines " or " CAF_compat_lines_text)
    set(CAF_compat_other "CAF ${CAF_VERSION} in ${CAF_DIR} is not ${CAF_compat_lines_text}. ")
    unset(CAF_compat_lines_text)
  endif()
endif()

if(CAF_compat_LOCATION)
  if(NOT TARGET kvferry_caf)
    add_library(kvferry_caf INTERFACE IMPORTED)
    target_link_libraries(kvferry_caf INTERFACE CAF::core)
  endif()
elseif(CAF_compat_lines MATCHES "0\\.17")
  # By a header that 1.x does not have, and its library from the same place: both may be installed.
  find_path(CAF_compat_INCLUDE_DIR caf/scheduler/abstract_coordinator.hpp HINTS "${CAF_ROOT}" ENV CAF_ROOT
            PATH_SUFFIXES include)
  find_library(CAF_compat_LIBRARY caf_core PATHS "${CAF_compat_INCLUDE_DIR}/.."
               PATH_SUFFIXES "lib/${CMAKE_LIBRARY_ARCHITECTURE}" lib lib64 NO_DEFAULT_PATH)
  mark_as_advanced(CAF_compat_INCLUDE_DIR CAF_compat_LIBRARY)
  if(CAF_compat_INCLUDE_DIR AND CAF_compat_LIBRARY)
    # The number is major * 10000 + minor * 100 + patch; later versions have it elsewhere.
    file(STRINGS "${CAF_compat_INCLUDE_DIR}/caf/config.hpp" CAF_compat_line REGEX "#define CAF_VERSION [0-9]+$")
    if(CAF_compat_line MATCHES "CAF_VERSION 17([0-9][0-9])$")
      string(REGEX REPLACE "^0" "" CAF_compat_VERSION "${CMAKE_MATCH_1}")
      string(PREPEND CAF_compat_VERSION "0.17.")
    endif()
    unset(CAF_compat_line)
    if(CAF_compat_VERSION VERSION_GREATER_EQUAL 0.17.6)
      set(CAF_compat_LOCATION "${CAF_compat_LIBRARY}")
    else()
      string(APPEND CAF_compat_other "CAF in ${CAF_compat_INCLUDE_DIR} is not 0.17.6. ")
    endif()
  endif()
  if(CAF_compat_LOCATION AND NOT TARGET kvferry_caf)
    find_package(Threads QUIET)
    add_library(kvferry_caf UNKNOWN IMPORTED)
    set_target_properties(
      kvferry_caf PROPERTIES IMPORTED_LOCATION "${CAF_compat_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES
                                                                       "${CAF_compat_INCLUDE_DIR}")
    if(TARGET Threads::Threads)
      target_link_libraries(kvferry_caf INTERFACE Threads::Threads)
    endif()
  endif()
endif()

find_package_handle_standard_args(
  CAF_compat
  REQUIRED_VARS CAF_compat_LOCATION
  VERSION_VAR CAF_compat_VERSION
  REASON_FAILURE_MESSAGE "${CAF_compat_other}${CAF_compat_advice}")
if(CAF_compat_other AND NOT CAF_compat_FIND_QUIETLY)
  message(STATUS "${CAF_compat_other}")
endif()
unset(CAF_compat_other)
unset(CAF_compat_advice)
unset(CAF_compat_lines)
