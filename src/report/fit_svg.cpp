#include <algorithm>

#include <fmt/format.h>

#include <fheres/report/fit_report.hpp>

#include "report/markup.hpp"

namespace fheres::report {
namespace {

using compile::Fit;
using compile::FitPoint;

// In pixels: a panel a location, a frame in it.
constexpr double kWidth = 720, kHeight = 300, kLeft = 90, kRight = 20, kTop = 36, kBottom = 48;

/// One sweep, in a frame from the smallest to the largest budget and from 0 to the most that is moved.
class Panel {
 public:
  Panel(const Fit& fit, double top, std::string& out) : fit_(fit), top_(top), out_(out) {
    first_ = static_cast<double>(fit.sweep.front().budget);
    last_ = std::max(static_cast<double>(fit.sweep.back().budget), first_ + 1);
    for (const FitPoint& point : fit.sweep) most_ = std::max(most_, static_cast<double>(point.moved_bytes));
  }

  void draw() {
    frame();
    line("bound", [](const FitPoint& point) { return point.lower_bound_bytes; });
    line("moved", [](const FitPoint& point) { return point.moved_bytes; });
    for (const FitPoint& point : fit_.sweep) {
      out_ += fmt::format(
          "<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\"><title>{}: {} moved, at least "
          "{}</title></circle>\n",
          point.bend ? "bend" : "point", x(point.budget), y(point.moved_bytes), point.bend ? 5 : 3,
          format_bytes(point.budget), format_bytes(point.moved_bytes), format_bytes(point.lower_bound_bytes));
    }
  }

 private:
  double x(Bytes budget) const {
    return kLeft + (static_cast<double>(budget) - first_) / (last_ - first_) * (kWidth - kLeft - kRight);
  }
  double y(Bytes bytes) const {
    return top_ + kHeight - kBottom - static_cast<double>(bytes) / most_ * (kHeight - kTop - kBottom);
  }

  void text(double at_x, double at_y, const char* anchor, const std::string& words) {
    out_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", at_x, at_y, anchor,
                        escaped(words));
  }

  void frame() {
    out_ += fmt::format("<rect class=\"frame\" x=\"{}\" y=\"{:.1f}\" width=\"{}\" height=\"{}\"/>\n", kLeft,
                        top_ + kTop, kWidth - kLeft - kRight, kHeight - kTop - kBottom);
    text(kLeft, top_ + kTop - 10, "start",
         fmt::format("{}: bytes moved (dashed: no plan moves less) by budget", fit_.at.name()));
    for (int i = 0; i <= 4; ++i) {
      const auto bytes = static_cast<Bytes>(most_ * i / 4);
      out_ += fmt::format("<line class=\"grid\" x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>\n", kLeft,
                          kWidth - kRight, y(bytes), y(bytes));
      text(kLeft - 8, y(bytes) + 4, "end", format_bytes(bytes));
      const auto budget = static_cast<Bytes>(first_ + (last_ - first_) * i / 4);
      text(x(budget), top_ + kHeight - kBottom + 20,
           i == 0   ? "start"
           : i == 4 ? "end"
                    : "middle",
           format_bytes(budget));
    }
  }

  template <class Height>
  void line(const char* style, Height height) {
    std::string points;
    for (const FitPoint& point : fit_.sweep)
      points += fmt::format("{:.1f},{:.1f} ", x(point.budget), y(height(point)));
    out_ += fmt::format("<polyline class=\"{}\" points=\"{}\"/>\n", style, points);
  }

  const Fit& fit_;
  double top_;
  std::string& out_;
  double first_ = 0, last_ = 1, most_ = 1;
};

}  // namespace

std::string fit_svg(const Fits& fits, const std::string& name) {
  std::string body;
  double top = 0;
  for (const auto& item : fits) {
    const auto* fit = std::get_if<Fit>(&item);
    if (fit == nullptr || fit->sweep.empty()) continue;
    Panel(*fit, top, body).draw();
    top += kHeight;
  }
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\">\n"
      "<title>{2}</title>\n"
      "<style>svg {{background: #fff}} text {{font: 12px sans-serif; fill: #333}} .frame {{fill: none; "
      "stroke: #999}}\n"
      ".grid {{stroke: #e4e4e4}} polyline {{fill: none; stroke-width: 2}} .moved {{stroke: #1f6fb2}}\n"
      ".bound {{stroke: #888; stroke-dasharray: 5 4}} .point {{fill: #1f6fb2}} .bend {{fill: "
      "#d9541e}}</style>\n{3}</svg>\n",
      kWidth, std::max(top, kHeight), escaped(name), body);
}

}  // namespace fheres::report
