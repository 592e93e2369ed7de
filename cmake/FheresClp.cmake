# The linear solver of the compiler's lower bound, COIN-OR CLP: an imported target `fheres_clp` where it is there. Without it
# a combinatorial bound stands in, and evidence says so.
include_guard(GLOBAL)
option(FHERES_CLP "use COIN-OR CLP for lower bounds where it is installed" ON)
find_path(FHERES_CLP_INCLUDE ClpSimplex.hpp PATH_SUFFIXES coin coin-or)
find_library(FHERES_CLP_LIBRARY NAMES Clp)
find_library(FHERES_COINUTILS_LIBRARY NAMES CoinUtils)
set(FHERES_HAS_CLP OFF)
if(FHERES_CLP AND FHERES_CLP_INCLUDE AND FHERES_CLP_LIBRARY AND FHERES_COINUTILS_LIBRARY)
  set(FHERES_HAS_CLP ON)
  add_library(fheres_clp INTERFACE IMPORTED GLOBAL)
  set_target_properties(fheres_clp PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES ${FHERES_CLP_INCLUDE}
    INTERFACE_LINK_LIBRARIES "${FHERES_CLP_LIBRARY};${FHERES_COINUTILS_LIBRARY}"
    INTERFACE_COMPILE_DEFINITIONS FHERES_HAS_CLP)
else()
  message(STATUS "fheres: no COIN-OR CLP, lower bounds of `compile` are combinatorial")
endif()
