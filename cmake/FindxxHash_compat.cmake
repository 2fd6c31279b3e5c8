# Finds xxHash, whose packages come without a package config on Debian and Ubuntu.
# Target: kvferry_xxhash. Also used by the installed package.

include(FindPackageHandleStandardArgs)

find_path(xxHash_compat_INCLUDE_DIR xxhash.h)
find_library(xxHash_compat_LIBRARY xxhash)
mark_as_advanced(xxHash_compat_INCLUDE_DIR xxHash_compat_LIBRARY)

find_package_handle_standard_args(
  xxHash_compat
  REQUIRED_VARS xxHash_compat_LIBRARY xxHash_compat_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "install libxxhash-dev")

if(xxHash_compat_FOUND AND NOT TARGET kvferry_xxhash)
  add_library(kvferry_xxhash UNKNOWN IMPORTED)
  set_target_properties(
    kvferry_xxhash PROPERTIES IMPORTED_LOCATION "${xxHash_compat_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES
                                                                           "${xxHash_compat_INCLUDE_DIR}")
endif()
