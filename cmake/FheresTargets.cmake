# How our own targets are made: language level, warnings, sanitizers, in one place.
include_guard(GLOBAL)
include(GNUInstallDirs)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

add_library(fheres_options INTERFACE)
target_include_directories(fheres_options INTERFACE ${CMAKE_SOURCE_DIR}/include)
# Results must not depend on whether the compiler fuses a multiply and an add.
target_compile_options(fheres_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wshadow;-Wconversion;-Wno-sign-conversion;-ffp-contract=off>)
# g++ 12 and 13 see uninitialised, overlapping or too short storage where there is none, once they optimise.
target_compile_options(fheres_options INTERFACE
  $<$<AND:$<COMPILE_LANG_AND_ID:CXX,GNU>,$<CONFIG:Release,RelWithDebInfo>>:-Wno-maybe-uninitialized;-Wno-restrict;-Wno-stringop-overflow;-Wno-array-bounds>)
if(FHERES_WERROR)
  target_compile_options(fheres_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()
if(FHERES_SANITIZE)
  target_compile_options(fheres_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${FHERES_SANITIZE};-fno-omit-frame-pointer;-fno-sanitize-recover=all>)
  # The address sanitizer catches a null access by itself; these two checks make compilation four times slower.
  if(FHERES_SANITIZE MATCHES "undefined")
    target_compile_options(fheres_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize=null,alignment>)
  endif()
  target_link_options(fheres_options INTERFACE -fsanitize=${FHERES_SANITIZE})
endif()

# fheres_area(<area> SOURCES <file>... [LINKS <target>...])
# The library of one area. LINKS are the areas and packages that it may include.
function(fheres_area area)
  cmake_parse_arguments(arg "" "" "SOURCES;LINKS" ${ARGN})
  add_library(fheres_${area} STATIC ${arg_SOURCES})
  add_library(fheres::${area} ALIAS fheres_${area})
  # How our own code is compiled is not passed on to those who use an installed library: only where its headers are.
  target_link_libraries(fheres_${area} PUBLIC $<BUILD_INTERFACE:fheres_options> PRIVATE fmt::fmt)
  target_link_libraries(fheres_${area} PUBLIC ${arg_LINKS})
  target_include_directories(fheres_${area} INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(fheres_${area} INTERFACE cxx_std_20)
  set_property(GLOBAL APPEND PROPERTY FHERES_AREAS ${area})
  target_include_directories(fheres_${area} PRIVATE ${CMAKE_SOURCE_DIR}/src)
  set_target_properties(fheres_${area} PROPERTIES POSITION_INDEPENDENT_CODE ON)
endfunction()

# fheres_test(<name> SOURCES <file>... [LINKS <target>...] [LABELS <label>...] [TIMEOUT <s>])
# One doctest executable, registered with ctest. The label is `unit` where none is given.
function(fheres_test name)
  cmake_parse_arguments(arg "" "TIMEOUT" "SOURCES;LINKS;LABELS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE fheres_options fheres_test_main ${arg_LINKS})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  if(NOT arg_LABELS)
    set(arg_LABELS unit)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 600)
  endif()
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT})
endfunction()
