#include <fmt/format.h>

#include <fheres/workload/check.hpp>

#include "expand.hpp"
#include "sections.hpp"

namespace fheres::documents {
namespace {

/// The world of a workload in another file, before its first stage or after one of them.
void read_other_world(Context& context, const Node& node, workload::RequestSetDraft& draft) {
  MapReader map(context, node, "world");
  const Node* file = map.need("file");
  if (const Node* after = map.get("after")) draft.after = read_name(context, *after, "a stage's name");
  map.finish();
  if (!file) return;
  std::filesystem::path folder;
  const auto root = read_other(context, *file, "Workload", folder);
  if (!root) return;
  // Paths inside the other document are relative to it.
  std::swap(context.folder, folder);
  MapReader document(context, *root, "the document");
  workload::CheckedWorkload other = workload::check(read_workload(context, document));
  std::swap(context.folder, folder);
  for (workload::Problem& problem : other.problems) context.diagnostics.push_back(std::move(problem));
  if (other.workload) draft.checked_workload = std::move(other.workload);
}

}  // namespace

workload::RequestSetDraft read_requests(Context& context, MapReader& document) {
  workload::RequestSetDraft draft;
  draft.metadata = read_header(context, document);
  if (const Node* world = document.get("world")) {
    read_other_world(context, *world, draft);
    for (const char* other : {"parameters", "locations", "machine", "policy", "values"}) {
      if (const Node::Entry* beside = document.entry(other)) {
        context.report("FHR0113", beside->place,
                       fmt::format("`{}` stands beside `world`, which settles it", other));
      }
    }
    draft.world_is_other = true;
  } else {
    draft.world = read_world(context, document, false);
  }
  if (const Node* requests = document.need("requests")) {
    read_list(context, *requests, "requests");
    expand_items(context, *requests, [&](const Node& item) {
      workload::RequestDraft request;
      MapReader map(context, item, "a request");
      request.name.place = item.place;
      if (const Node* name = map.need("name")) {
        if (const auto read = read_name(context, *name, "a request's name")) request.name = *read;
      }
      if (const Node* require = map.need("require")) {
        request.require = read_requirements(context, *require);
        if (require->kind == Node::Kind::map && require->entries.empty()) {
          context.report("FHR0105", require->place, "require is empty, expected at least one value");
        }
      }
      if (const Node* reserve = map.get("reserve")) request.reserve = read_reservations(context, *reserve);
      map.finish();
      draft.requests.push_back(std::move(request));
    });
    if (requests->kind == Node::Kind::sequence && requests->items.empty()) {
      context.report("FHR0105", requests->place, "requests is empty, expected at least one");
    }
  }
  document.finish();
  return draft;
}

}  // namespace fheres::documents
