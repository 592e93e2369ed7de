#pragma once

#include <fheres/report/json.hpp>
#include <fheres/report/timeline.hpp>

namespace fheres::report {

/// A run as Chrome trace-event JSON, which Perfetto opens. Process 1 has one track for the host (stages, and what used no
/// stream), and for each device one for its copies and one for its operations; events of a track nest. Each
/// materialization's life is an asynchronous span named `value @ location`, as is each asynchronous copy; each location
/// has a counter `used`, `reserved`, `budget` in MiB; a flow arrow leads from each copy to every operation that reads
/// what it brought. Times are microseconds since the run began.
Json chrome_trace(const Timeline& timeline);
/// That as a file: one line. Bytes of names that are no UTF-8 are replaced.
std::string chrome_trace_text(const Timeline& timeline);

}  // namespace fheres::report
