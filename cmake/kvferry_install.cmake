# Installs the library, its public headers and a package for find_package(kvferry).

include(CMakePackageConfigHelpers)

set(kvferry_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/kvferry")

install(TARGETS kvferry EXPORT kvferry_targets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/kvferry" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(EXPORT kvferry_targets NAMESPACE kvferry:: DESTINATION "${kvferry_package_dir}")

configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/kvferry-config.cmake.in"
                              "${PROJECT_BINARY_DIR}/kvferry-config.cmake" INSTALL_DESTINATION "${kvferry_package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/kvferry-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(
  FILES "${PROJECT_BINARY_DIR}/kvferry-config.cmake"
        "${PROJECT_BINARY_DIR}/kvferry-config-version.cmake"
        "${PROJECT_SOURCE_DIR}/cmake/FindCAF_compat.cmake"
        "${PROJECT_SOURCE_DIR}/cmake/Findexpected_compat.cmake"
        "${PROJECT_SOURCE_DIR}/cmake/FindxxHash_compat.cmake"
  DESTINATION "${kvferry_package_dir}")
