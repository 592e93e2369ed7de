#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include <fheres/ckks/context.hpp>
#include <fheres/ckks/value_file.hpp>
#include <fheres/workload/value.hpp>

namespace fheres::runtime {

/// The files that values come from, each mapped when it is first needed. Thread safe.
class ValueFiles {
 public:
  explicit ValueFiles(const scheme::Parameters& parameters);

  /// The bytes of a value that has a file, of the value's type. A file that holds it in seeded form serves a full value,
  /// also one of a deeper level: it is expanded here. ckks::ValueFile's errors.
  void read(const workload::Value& value, std::span<std::byte> out);

 private:
  const ckks::ValueFile& open(const std::string& path);

  ckks::Context host_;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<const ckks::ValueFile>> files_;
};

}  // namespace fheres::runtime
