# cmake -DOUT=<file> -DFILES=<list> -P write_resources.cmake
set(entries "")
foreach(file IN LISTS FILES)
  get_filename_component(name ${file} NAME)
  file(READ ${file} hex HEX)
  # A raw string would have to be cut into pieces: compilers need not take long ones.
  string(REGEX REPLACE "(..)" "'\\\\x\\1'," bytes "${hex}")
  string(MAKE_C_IDENTIFIER "${name}" symbol)
  string(APPEND arrays "constexpr char ${symbol}[] = {${bytes}'\\0'};\n")
  string(APPEND entries "    {\"${name}\", {${symbol}, sizeof(${symbol}) - 1}},\n")
endforeach()
file(WRITE ${OUT} "#include \"resources.hpp\"

namespace fheres::cli {
namespace {
${arrays}constexpr Resource kResources[] = {
${entries}};
}  // namespace

std::span<const Resource> resources() { return kResources; }

}  // namespace fheres::cli
")
