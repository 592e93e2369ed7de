#pragma once

#include <variant>

#include <fheres/workload/draft.hpp>
#include <fheres/workload/machine.hpp>

#include "reader.hpp"

// Parts that several kinds of document have.
namespace fheres::documents {

/// `apiVersion`, `kind` and `metadata`; the kind has been read before.
workload::Metadata read_header(Context& context, MapReader& document);
/// `parameters`, `locations`, `machine`, `policy` and `values`. Plans have no parameters and no policy, and their values are bytes.
workload::WorldDraft read_world(Context& context, MapReader& document, bool plan);
std::optional<workload::ParametersDraft> read_parameters(Context& context, const Node::Entry& entry);
std::optional<workload::Message> read_message(Context& context, const Node& node);

/// A list of `{at, bytes, label}`.
std::vector<workload::Reservation> read_reservations(Context& context, const Node& node);
/// `{cuda:0: [names]}`.
std::vector<workload::RequirementDraft> read_requirements(Context& context, const Node& node);
/// A list of `{ensure|move|drop: name, ...}`.
std::vector<workload::ActionDraft> read_actions(Context& context, const Node& node);
/// `auto` gives nothing.
std::optional<std::vector<workload::Reservation>> read_reserve(Context& context, const Node& node);

/// `[[cuda:0, cuda:1]]`.
void read_peers(Context& context, const Node& node, std::vector<std::pair<Location, Location>>& pairs);
/// What a Machine says, as a document of its own or inside another one.
workload::Machine read_machine_fields(Context& context, MapReader& map);
workload::Machine read_machine_document(Context& context, MapReader& document);
workload::Evidence read_evidence(Context& context, const Node& node);
workload::WorkloadDraft read_workload(Context& context, MapReader& document);
workload::ProgramDraft read_plan(Context& context, MapReader& document);
workload::RequestSetDraft read_requests(Context& context, MapReader& document);

/// The text of a regular file, at most one byte more than the limit; or why not.
std::variant<std::string, std::string> read_file(const std::filesystem::path& path, const Limits& limits);
/// Reads and parses a file that a document names. Reports what is wrong with it. The document of the other kind must
/// be `kind`.
std::shared_ptr<const Node> read_other(Context& context, const Node& path_node, const char* kind,
                                       std::filesystem::path& folder);

}  // namespace fheres::documents
