# fheres_resources(<target> <source> FILES <file>...)
# Gives the target a generated source that defines `fheres::cli::resources()`: each file's name and whole text.
include_guard(GLOBAL)

function(fheres_resources target source)
  cmake_parse_arguments(arg "" "" "FILES" ${ARGN})
  add_custom_command(
    OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} -DOUT=${source} "-DFILES=${arg_FILES}" -P ${CMAKE_SOURCE_DIR}/cmake/write_resources.cmake
    DEPENDS ${arg_FILES} ${CMAKE_SOURCE_DIR}/cmake/write_resources.cmake
    COMMENT "Embedding documents that the tool prints"
    VERBATIM)
  target_sources(${target} PRIVATE ${source})
endfunction()
