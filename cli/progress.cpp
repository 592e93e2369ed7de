#include "progress.hpp"

#include <cstdio>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <fheres/base/clock.hpp>
#include <fheres/report/table.hpp>

namespace fheres::cli {
namespace {

constexpr std::int64_t kBetweenNs = 100'000'000;
constexpr const char* kWipe = "\r\033[K";

/// A line that is longer than the terminal would not be drawn over.
std::size_t terminal_columns() {
  struct winsize size = {};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col : report::kColumns;
}

}  // namespace

ProgressLine::ProgressLine(const CommonOptions& common)
    : shown_(!common.quiet && isatty(STDERR_FILENO) == 1) {}

ProgressLine::~ProgressLine() {
  if (drawn_ns_ != 0) fmt::print(stderr, "{}", kWipe);
}

std::function<void(const runtime::Progress&)> ProgressLine::listener() {
  if (!shown_) return {};
  return [this](const runtime::Progress& progress) {
    const std::int64_t now = now_ns();
    if (drawn_ns_ != 0 && now - drawn_ns_ < kBetweenNs) return;
    drawn_ns_ = now;
    draw(progress);
  };
}

void ProgressLine::draw(const runtime::Progress& progress) {
  // Names may be of any script: whole characters are cut off.
  std::string text = progress_text(progress);
  const std::size_t room = terminal_columns() - 1;
  while (report::display_width(text) > room) {
    while ((static_cast<unsigned char>(text.back()) & 0xC0) == 0x80) text.pop_back();
    text.pop_back();
  }
  fmt::print(stderr, "{}{}", kWipe, text);
}

std::string progress_text(const runtime::Progress& progress) {
  std::string text = progress.what;
  if (progress.total != 0) text += fmt::format(": {} of {} operations", progress.done, progress.total);
  if (progress.moved_bytes != 0) text += fmt::format(", {} moved", format_bytes(progress.moved_bytes));
  if (progress.largest_error) text += fmt::format(", error so far {:.1e}", *progress.largest_error);
  if (progress.left_ns)
    text += fmt::format(", about {} left", report::format_duration(static_cast<double>(*progress.left_ns)));
  return text;
}

}  // namespace fheres::cli
