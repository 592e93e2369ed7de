#pragma once

#include <functional>

#include "reader.hpp"

// `for`: entries of a map or list that stand for many.
namespace fheres::documents {

/// Reads each entry of a map; one with a `for`, such as `w${t}: {for: {t: 0..15}, bytes: 1 MiB, ...}`, once for each
/// value of its variables (for several: each combination, the last one running fastest), with each `${...}` of its key
/// and of everything below replaced. The reader sees no `for`, and its diagnostics say for which values. Items are
/// made one at a time. What is wrong with a `for`, an expression outside of one, and more items than Limits allow are
/// reported, and the entry is not read.
void expand_entries(Context& context, const Node& map, const std::function<void(const Node::Entry&)>& read);
/// The same for the items of a list. With `group`, such as `stages`, an item may be a group: `for` and a list of items
/// under that key, which are repeated together, one combination of the variables after the other. Groups may stand in
/// groups; a variable is known in all that is below it.
void expand_items(Context& context, const Node& list, const std::function<void(const Node&)>& read,
                  const char* group = nullptr);

}  // namespace fheres::documents
