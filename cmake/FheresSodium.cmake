# libsodium has no CMake package of its own: an imported target `fheres_sodium`, from CMAKE_PREFIX_PATH or the system.
include_guard(GLOBAL)
find_path(FHERES_SODIUM_INCLUDE sodium.h REQUIRED)
find_library(FHERES_SODIUM_LIBRARY NAMES sodium REQUIRED)
add_library(fheres_sodium INTERFACE IMPORTED GLOBAL)
target_include_directories(fheres_sodium SYSTEM INTERFACE ${FHERES_SODIUM_INCLUDE})
target_link_libraries(fheres_sodium INTERFACE ${FHERES_SODIUM_LIBRARY})
