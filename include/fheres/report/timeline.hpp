#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <fheres/base/bytes.hpp>
#include <fheres/base/error.hpp>
#include <fheres/report/long_answer.hpp>

namespace fheres::report {

/// A file is no run report, or one that was damaged. The message names the place in it, as a JSON pointer, with
/// expected against actual. Code `report/unreadable`.
class ReportError : public Error {
 public:
  explicit ReportError(const std::string& message) : Error("report/unreadable", message) {}
};

/// What a picture of a run shows, read back from its report: plain data. Times are nanoseconds since the run began,
/// locations are names. Every trace, table and page of a run is made from this, so that all of them tell the same.
struct Timeline {
  struct Stage {
    std::string name;
    std::int64_t start_ns = 0, end_ns = 0;
    Bytes moved_bytes = 0;
    bool complete = false;
  };
  /// A transition that did something. `end_ns` is when the call returned; an asynchronous copy went on until `arrived_ns`.
  struct Transition {
    std::string stage;  // empty: initial placement
    std::string track;  // whose stream it used: `cuda:0 copies`, else `host`
    std::string verb, value;
    std::string source, destination;  // empty where there is none
    Bytes bytes = 0;
    bool asynchronous = false;
    std::int64_t start_ns = 0, end_ns = 0, arrived_ns = 0;
    std::int64_t stall_ns = 0;       // that the host waited for it
    std::uint64_t device_waits = 0;  // streams that were made to wait for it
  };
  struct Operation {
    std::string stage;
    std::string track;  // `cuda:0 operations`
    std::string result, operation, at;
    std::vector<std::string> reads;
    std::int64_t start_ns = 0, end_ns = 0;
  };
  /// A device's stream stood still for a value that was still arriving.
  struct Stall {
    std::string stage;
    std::string track;  // of the operation that wanted it
    std::string value, result, at;
    std::int64_t start_ns = 0, end_ns = 0;
  };
  /// A copy brought what an operation reads, at the device where it reads it. Indices into the two vectors.
  struct Arrow {
    std::size_t transition = 0, operation = 0;
  };
  struct Life {
    std::string value, at;
    Bytes bytes = 0;
    std::int64_t start_ns = 0, end_ns = 0;
  };
  /// The charges of one location from this moment on.
  struct Charge {
    std::string at;
    std::int64_t time_ns = 0;
    Bytes used = 0, reserved = 0;
    std::optional<Bytes> budget;
  };

  std::string document, device, parameters, outcome, failure;
  std::int64_t length_ns = 0;
  Bytes moved_bytes = 0;
  std::vector<std::string> tracks;  // in the order in which people read them: host, then by device
  std::vector<Stage> stages;
  std::vector<Transition> transitions;  // placement, then by stage
  std::vector<Operation> operations;    // that were timed, by stage
  std::size_t untimed_operations = 0;   // never completed, or in a run that did not time them
  std::vector<Stall> stalls;            // by stage
  std::vector<Arrow> arrows;
  std::vector<Life> lives;      // by start
  std::vector<Charge> charges;  // by time
};

/// From a report of `fheres/run/v1`. ReportError.
Timeline read_timeline(const Json& report);
/// The same of one that is not written yet.
Timeline read_timeline(const LongAnswer& report);

/// What one value cost a run, initial placement left out.
struct ValueCost {
  std::string value;
  Bytes moved_bytes = 0;
  std::uint64_t transfers = 0;
  std::int64_t copying_ns = 0;     // of its copies, whether or not something else ran meanwhile
  std::int64_t stall_ns = 0;       // that the host or a device stood still for it
  Bytes charged_bytes = 0;         // of one of its materializations, the largest
  std::int64_t on_devices_ns = 0;  // how long devices held it, summed over devices
};

/// Of every value that ever was somewhere, the costliest first: by bytes moved, bytes held on devices over time, name.
std::vector<ValueCost> costs_of(const Timeline& timeline);

/// One row an event or sample: `kind,stage,track,name,value,source,destination,bytes,start_ns,end_ns,stall_ns,used,
/// reserved,budget`; kinds `stage`, `transition`, `operation`, `stall`, `life`, `charge`. Cells that do not apply are
/// empty, quoting as RFC 4180 has it, one header line, lines end with a newline.
std::string timeline_csv(const Timeline& timeline);

/// One HTML page that needs nothing but itself: timeline, charges over time against each budget, the costliest values.
std::string timeline_page(const Timeline& timeline);

}  // namespace fheres::report
