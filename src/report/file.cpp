#include <span>

#include <fheres/report/file.hpp>

namespace fheres::report {

void write_file(const std::filesystem::path& path, const std::string& text) {
  OutputFile file(path);
  file.write(std::as_bytes(std::span(text)));
  file.finish();
}

}  // namespace fheres::report
