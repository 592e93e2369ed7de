# What is installed, and where: the tool with its documents (component `tool`), and the library for C++ programs
# (component `development`), which find it with find_package(fheres). Also the Debian packages of both.
include_guard(GLOBAL)
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(fheres_cmake_folder ${CMAKE_INSTALL_LIBDIR}/cmake/fheres)

# fheres::fheres is the whole library; fheres::residency and so on are its areas.
get_property(areas GLOBAL PROPERTY FHERES_AREAS)
add_library(fheres_all INTERFACE)
foreach(area ${areas})
  target_link_libraries(fheres_all INTERFACE fheres_${area})
  set_target_properties(fheres_${area} PROPERTIES EXPORT_NAME ${area})
endforeach()
set_target_properties(fheres_all PROPERTIES EXPORT_NAME fheres)
list(TRANSFORM areas PREPEND fheres_ OUTPUT_VARIABLE area_targets)
install(TARGETS fheres_all ${area_targets} EXPORT fheresTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
install(EXPORT fheresTargets NAMESPACE fheres:: DESTINATION ${fheres_cmake_folder} COMPONENT development)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/fheres DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development
  FILES_MATCHING PATTERN "*.hpp")
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/fheresConfig.cmake.in ${CMAKE_BINARY_DIR}/cmake/fheresConfig.cmake
  INSTALL_DESTINATION ${fheres_cmake_folder})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/cmake/fheresConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/cmake/fheresConfig.cmake ${CMAKE_BINARY_DIR}/cmake/fheresConfigVersion.cmake
  ${CMAKE_CURRENT_LIST_DIR}/FheresSodium.cmake ${CMAKE_CURRENT_LIST_DIR}/FheresClp.cmake
  DESTINATION ${fheres_cmake_folder} COMPONENT development)

if(TARGET fheres)
  install(TARGETS fheres RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tool)
  # The manual page and the completions are what the tool says of itself.
  set(said ${CMAKE_BINARY_DIR}/said)
  file(MAKE_DIRECTORY ${said})
  install(CODE "
    execute_process(COMMAND $<TARGET_FILE:fheres> man OUTPUT_FILE ${said}/fheres.1 COMMAND_ERROR_IS_FATAL ANY)
    foreach(shell bash zsh fish)
      execute_process(COMMAND $<TARGET_FILE:fheres> completion \${shell} OUTPUT_FILE ${said}/\${shell} COMMAND_ERROR_IS_FATAL ANY)
    endforeach()" COMPONENT tool)
  install(FILES ${said}/fheres.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT tool)
  install(FILES ${said}/bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME fheres COMPONENT tool)
  install(FILES ${said}/zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions RENAME _fheres COMPONENT tool)
  install(FILES ${said}/fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d RENAME fheres.fish COMPONENT tool)
endif()
install(DIRECTORY samples plans DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT tool
  FILES_MATCHING PATTERN "*.yaml" PATTERN "*.json" PATTERN "*.csv" PATTERN "*.npy" PATTERN "cpp" EXCLUDE)
install(DIRECTORY samples/cpp DESTINATION ${CMAKE_INSTALL_DOCDIR}/samples COMPONENT development)
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs COMPONENT tool)
install(FILES README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT tool)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright COMPONENT tool)

# cpack -G DEB makes fheres_VERSION_ARCH.deb and libfheres-dev_VERSION_ARCH.deb.
set(CPACK_PACKAGE_NAME fheres)
set(CPACK_PACKAGE_CONTACT "The fheres authors <fheres@localhost>")
set(CPACK_GENERATOR DEB)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL tool development)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEBIAN_TOOL_PACKAGE_NAME fheres)
set(CPACK_DEBIAN_TOOL_PACKAGE_SECTION science)
set(CPACK_DEBIAN_TOOL_PACKAGE_SHLIBDEPS ON)
set(CPACK_COMPONENT_TOOL_DESCRIPTION "The tool answers whether a CKKS workload fits in a budget of device memory, what has to move
and why, and runs it with real ciphertexts and keys, on CUDA or on an emulated device.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libfheres-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libfmt-dev, libyaml-cpp-dev, nlohmann-json3-dev, libsodium-dev, coinor-libclp-dev")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "The C++ library: managed residency of values under byte budgets, a controller that decides what
to evict, and a CKKS engine whose every byte is known beforehand. Static libraries, headers, CMake targets.")
include(CPack)
