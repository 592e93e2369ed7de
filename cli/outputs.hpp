#pragma once

#include <string>
#include <vector>

namespace fheres::cli {

/// A file of a command line or a document, with what a message calls it: `--report`, `the document`. An empty path is none.
struct NamedFile {
  std::string what;
  std::string path;
};

/// For before anything is done: whether each file that is to be written is none of those that are read, and no other that is
/// written. Says which is not, on stderr.
bool outputs_are_apart(const std::vector<NamedFile>& read, const std::vector<NamedFile>& written);
/// The same, and FileError where one cannot be written: for before long work.
bool outputs_are_ready(const std::vector<NamedFile>& read, const std::vector<NamedFile>& written);

}  // namespace fheres::cli
