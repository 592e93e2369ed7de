# The interpreter of the tests: one that has the packages which scripts/test.sh installs. The first python3 on the path
# may be another one, without them.
include_guard(GLOBAL)

if(NOT DEFINED Python3_EXECUTABLE)
  foreach(needed "jsonschema, sarif_om, yaml" "jsonschema, yaml")
    foreach(candidate python3 /usr/bin/python3)
      execute_process(COMMAND ${candidate} -c "import ${needed}, sys; print(sys.executable)"
        OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed ERROR_QUIET)
      if(NOT failed AND NOT DEFINED Python3_EXECUTABLE)
        set(Python3_EXECUTABLE ${found} CACHE FILEPATH "the interpreter of the tests")
      endif()
    endforeach()
  endforeach()
endif()
