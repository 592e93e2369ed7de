#pragma once

#include <functional>

#include <fheres/runtime/session.hpp>

#include "options.hpp"

namespace fheres::cli {

/// One line on stderr that is drawn over and over, at most ten times a second, and wiped at the end. Only on a terminal.
class ProgressLine {
 public:
  explicit ProgressLine(const CommonOptions& common);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// For SessionOptions::progress; empty where nothing is to be seen. The line must outlive it.
  std::function<void(const runtime::Progress&)> listener();

 private:
  void draw(const runtime::Progress& progress);

  bool shown_ = false;
  std::int64_t drawn_ns_ = 0;
};

/// `tile-3: 12 of 96 operations, 212 MiB moved, error so far 1.2e-07, about 3.4 s left`.
std::string progress_text(const runtime::Progress& progress);

}  // namespace fheres::cli
