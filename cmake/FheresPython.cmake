# The interpreter of the tests: one that has the packages which scripts/test.sh installs. The first python3 on the path
# may be another one, without them.
include_guard(GLOBAL)

if(NOT DEFINED Python3_EXECUTABLE)
  foreach(candidate python3 /usr/bin/python3)
    execute_process(COMMAND ${candidate} -c "import jsonschema, yaml, sys; print(sys.executable)"
      OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed ERROR_QUIET)
    if(NOT failed)
      set(Python3_EXECUTABLE ${found} CACHE FILEPATH "the interpreter of the tests")
      break()
    endif()
  endforeach()
endif()
