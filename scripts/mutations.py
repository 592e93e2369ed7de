"""One deliberate fault for each residency rule that lives in `State`, and the tests that must notice it.

`scripts/mutate.py` applies them one by one. A mutation is killed by the tests of its own rule (`R15: ...` in
residency_test) unless it names others. Originals are short, so that a change nearby does not make them stale, and
each occurs exactly once in its file.
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Mutation:
    rule: int
    fault: str  # what is wrong with the mutated rule
    file: str
    original: str
    replacement: str
    target: str = "residency_test"
    tests: str = ""  # doctest's filter; the rule's own tests where it is empty

    @property
    def filter(self) -> str:
        return self.tests or f"R{self.rule}:*"


STATE = "src/residency/state.cpp"
TRANSITIONS = "src/residency/state_transitions.cpp"
BACKING = "src/residency/state_backing.cpp"
LAYOUT = "src/residency/layout.cpp"
SCOPE = "src/residency/scope.cpp"
CORE = "src/residency/core.cpp"
EXPLAIN = "src/residency/explain.cpp"
BINDING = "src/workload/binding.cpp"

# Files whose comments name the rules that live there. What these tests hold lives in State too.
RULE_FILES = (STATE, TRANSITIONS, BACKING, LAYOUT)
STATE_TESTS = ("tests/residency/state_test.cpp", "tests/residency/recount_test.cpp")

MUTATIONS = [
    Mutation(2, "the account of a use that failed stays", TRANSITIONS,
             "if (!provisional_.empty()) drop_empty_provisional();", ""),
    Mutation(2, "a budgeted location has no account before its first use", STATE,
             "accounts_.push_back({at, budget});", "if (budget != 0) accounts_.push_back({at, budget});"),
    Mutation(3, "absent locations are admitted", STATE,
             "if (!present(at)) return Refusal{.rule = Refusal::Rule::absent_location", "if (false) return Refusal{.rule = Refusal::Rule::absent_location"),
    Mutation(3, "an absent location holds nothing, so that dropping there does nothing", TRANSITIONS,
             "if (!present(action.at))", "if (false)"),
    Mutation(4, "an adopted value stays what its specification says", STATE,
             "add_value(spec, Recoverability::must_preserve);                   // R4",
             "add_value(spec, spec.recoverability);"),
    Mutation(4, "a refused adoption leaves a value", STATE,
             "if (auto refusal = admit(at, spec.storage_bytes)) return *refusal;                       // R24",
             "if (auto refusal = admit(at, spec.storage_bytes)) {\n"
             "    add_value(spec, Recoverability::must_preserve);\n    return *refusal;\n  }"),
    Mutation(5, "a must-preserve value may have a source", STATE,
             "if (spec.recoverability != Recoverability::reconstructible)", "if (false)"),
    Mutation(6, "handles of other managers are taken for this one's", STATE,
             "if (value.manager != manager_) return", "if (false) return"),
    Mutation(6, "a discarded handle is as good as any", STATE,
             "if (values_[value.serial].discarded) return", "if (false) return"),
    Mutation(7, "a replica is charged what its block has", TRANSITIONS,
             "t.charge = record.spec->storage_bytes;",
             "t.charge = source != nullptr ? round_up_to_granule(source->actual_bytes) : record.spec->storage_bytes;"),
    Mutation(9, "an exclusive value may have a second replica", TRANSITIONS,
             "!moves && record.spec->replica_mode == ReplicaMode::exclusive &&", "false &&"),
    Mutation(10, "move leaves its source", TRANSITIONS,
             "t.removes_source = moves;", ""),
    Mutation(10, "a move to where the value is removes nothing", TRANSITIONS,
             "if (source == nullptr || source->at == to) {  // R10", "if (true) {"),
    Mutation(11, "the last copy of a must-preserve value may go", TRANSITIONS,
             "if (record.materializations.size() == 1)\n    if (auto refusal = last", "if (record.materializations.empty())\n    if (auto refusal = last"),
    Mutation(11, "the last copy of a reconstructible value stays too", BACKING,
             "if (record.spec->recoverability == Recoverability::must_preserve) return Rule::last_copy;",
             "return Rule::last_copy;"),
    Mutation(12, "a discarded value keeps its source", TRANSITIONS,
             "record.source.reset();", ""),
    Mutation(12, "discard looks at the last materialization's protections alone", TRANSITIONS,
             "if (auto refusal = protected_at(action.value, m)) return *refusal;",
             "if (m.at == values_[action.value.serial].materializations.back().at)\n"
             "      if (auto refusal = protected_at(action.value, m)) return *refusal;"),
    Mutation(13, "an omitted source is the last in location order", TRANSITIONS,
             "if (copies_.source_order == SourceOrder::location_order) return &m;",
             "if (copies_.source_order == SourceOrder::location_order) {\n      best = &m;\n      continue;\n    }"),
    Mutation(13, "an explicit source that is not resident is passed over", TRANSITIONS,
             "if (from && record.at(*from) == nullptr)",
             "if (from && record.at(*from) == nullptr && record.at(to) == nullptr)"),
    Mutation(14, "the slowest source is read", TRANSITIONS,
             "speed(m.at) > speed(best->at)", "speed(m.at) < speed(best->at)"),
    Mutation(14, "of equally fast sources the last is read", TRANSITIONS,
             "speed(m.at) > speed(best->at)", "speed(m.at) >= speed(best->at)"),
    Mutation(15, "the destination is charged only when the copy is installed", TRANSITIONS,
             "charge(*t->destination, t->charge, 0);\n  begun_", "begun_"),
    Mutation(16, "a load that goes elsewhere charges its source location nothing", TRANSITIONS,
             "t.temporary = *record.source == to ? 0 :", "t.temporary = true ? 0 :"),
    Mutation(16, "a load where it stays is charged twice", TRANSITIONS,
             "t.temporary = *record.source == to ? 0 :", "t.temporary = false ? 0 :"),
    Mutation(20, "a failed copy's destination stays charged", TRANSITIONS,
             "if (!keep_destination) discharge(*t.destination, t.charge, 0);", ""),
    Mutation(21, "a copy may arrive asynchronously from or at a pageable end", TRANSITIONS,
             "if (end == Location::pageable_host())", "if (false)"),
    Mutation(21, "only the destination of what arrives is protected", TRANSITIONS,
             "++place(values_.edit(read), *t.source)->protection.pending;", ""),
    Mutation(23, "a settled arrival stays pending at its source", TRANSITIONS,
             "--end->protection.pending;", "if (end == &there) --end->protection.pending;"),
    Mutation(23, "only what arrives counts as an end, not what it is read from", TRANSITIONS,
             "m.at == *gone || reads_it()", "m.at == *gone"),
    Mutation(23, "what a body has read stays on its way", SCOPE,
             "core->end_arrivals(plan.reads);", "", tests="*R23*"),
    Mutation(23, "nobody waits for what a body should have read", SCOPE,
             "std::vector<ValuePlace> ends = plan.reads;", "std::vector<ValuePlace> ends;", tests="*R23*"),
    Mutation(23, "a complete copy ends an arrival that only settling should end", CORE,
             "if (options.arrivals_end_when_settled && !all) return tell_arrivals();", "", tests="*R23*"),
    Mutation(23, "explain ends such arrivals where their copies are complete", CORE,
             "if (options.arrivals_end_when_settled) return {std::move(copy), std::move(addresses)};", "", tests="*R23*"),
    Mutation(23, "explain leaves what a body has read on its way", EXPLAIN,
             "for (const ValuePlace& read : reads) {", "for (const ValuePlace& read : reads.first(0)) {", tests="*R23*"),
    Mutation(23, "a workload's own plans do not say what their bodies read", BINDING,
             "plan.reads = bind_reads(stage.require, handles);", "", target="verify_test", tests="*R23*"),
    Mutation(24, "admission forgets reservations", STATE,
             "if (requested <= *a->budget - a->used - a->reserved)", "if (requested <= *a->budget - a->used)"),
    Mutation(24, "the last granule is refused", STATE,
             "if (requested <= *a->budget - a->used - a->reserved)", "if (requested < *a->budget - a->used - a->reserved)"),
    Mutation(24, "an unbudgeted location wraps around", STATE,
             "checked_add(checked_add(a->used, a->reserved), requested);", ""),
    Mutation(25, "the peak of materializations counts reservations", STATE,
             "a->peak_used = std::max(a->peak_used, a->used);",
             "a->peak_used = std::max(a->peak_used, a->used + a->reserved);"),
    Mutation(25, "the peak of charges forgets reservations", STATE,
             "std::max(a->peak_charged, a->used + a->reserved)", "std::max(a->peak_charged, a->used)"),
    Mutation(26, "what is removed stays charged in part", STATE,
             "discharge(at, record.spec->storage_bytes, 0);", "discharge(at, record.spec->logical_bytes, 0);"),
    Mutation(26, "a recount forgets transitions that have begun", STATE,
             "for (const Charge& c : begun_) {", "for (const Charge& c : std::vector<Charge>()) {"),
    Mutation(27, "protected blocks slide", LAYOUT,
             "return there != nullptr && !there->protection.any();", "return there != nullptr;"),
    Mutation(27, "nothing slides", LAYOUT,
             "return there != nullptr && !there->protection.any();", "return false && there != nullptr;"),
    Mutation(27, "what is brought ahead takes the first hole", LAYOUT,
             "return transition.asynchronous ? memory::End::high : memory::End::low;",
             "return transition.asynchronous ? memory::End::low : memory::End::low;"),
    Mutation(32, "a released use is not pending", STATE,
             "protect(value, at, Token::pending);\n  --version_;", ""),
    Mutation(35, "only uses protect a materialization", TRANSITIONS,
             "if (!where.protection.any()) return", "if (where.protection.use == 0) return"),
    Mutation(35, "a copying move may take a protected source", TRANSITIONS,
             "if (moves)\n      if (auto refusal = protected_at(value, *source)) return *refusal;", ""),
    Mutation(36, "a reservation is charged its bare bytes", STATE,
             "const Bytes bytes = round_up_to_granule(spec.bytes);", "const Bytes bytes = spec.bytes;"),
    Mutation(36, "a reservation needs no label", STATE,
             "if (spec.label.empty()) throw", "if (false) throw"),
    Mutation(36, "a released reservation stays charged", STATE,
             "discharge(gone->spec.at, 0, gone->spec.bytes);", ""),
    Mutation(37, "counts go below zero", STATE,
             "FHERES_CHECK(tokens > 0);", ""),
    Mutation(38, "an adopted output is charged twice for a moment", STATE,
             "discharge(at, 0, bytes);\n  charge(at, bytes, 0);", "charge(at, bytes, 0);\n  discharge(at, 0, bytes);"),
    Mutation(38, "adoption leaves the reservation as it was", STATE,
             "reservations_[payer].spec.bytes -= bytes;\n  discharge(at, 0, bytes);", ""),
    Mutation(38, "a reservation pays more than it has", STATE,
             "if (payer->spec.bytes < spec.storage_bytes)", "if (payer->spec.bytes < 1)"),
    Mutation(48, "releasing a reservation is no change", STATE,
             "reservations_.erase(gone);\n  ++version_;", "reservations_.erase(gone);"),
    Mutation(48, "a transition is no change", TRANSITIONS,
             "// R15: only after install\n  }\n  ++version_;", "// R15: only after install\n  }"),
    Mutation(48, "a no-op is a change", TRANSITIONS,
             "if (t.work == Work::nothing) return;\n  const HandleId", "++version_;\n  if (t.work == Work::nothing) return;\n  const HandleId"),
    Mutation(64, "a copy between devices needs no staging", TRANSITIONS,
             "t.staging = sent;  // R64", ";"),
    Mutation(64, "peers copy through staging too", TRANSITIONS,
             " && !copies_.are_peers(*t.source, to))", ")"),
    Mutation(64, "staging ends before its asynchronous copy does", TRANSITIONS,
             "const bool stays = t.asynchronous && keep_destination;", "const bool stays = false;"),
    Mutation(66, "as many bytes are reason enough to expand", BACKING,
             "to_copy < source->actual_bytes", "to_copy <= source->actual_bytes", tests="R66*"),
    Mutation(66, "the last copy of a backing may go", BACKING,
             "if (!record.dependents.empty()) return Rule::last_backing;", "", tests="R66*"),
    Mutation(66, "the last copy may go of a value whose backing is discarded", BACKING,
             "if (record.backing && values_[record.backing->serial].discarded) return Rule::backing_gone;", "", tests="R66*"),
    Mutation(66, "a backing that is there is sent all the same", BACKING,
             "return there != nullptr ? there : source_of", "return source_of", tests="R66*"),
    Mutation(66, "an expansion on the host may be asynchronous", BACKING,
             "if (to.is_host()) return", "if (to == Location::pageable_host()) return", tests="R66*"),
    Mutation(66, "value and copy of the backing are not admitted together", TRANSITIONS,
             "together ? checked_add(t.charge, t.temporary) : t.charge", "t.charge", tests="R66*"),
    Mutation(66, "the copy of a backing stays charged", TRANSITIONS,
             "discharge(at, 0, arrival.temporary);", "", tests="R66*"),
    Mutation(66, "an expansion that reads a backing does not count among its arrivals", TRANSITIONS,
             "if (m.arrival && m.arrival->backing && (!gone", "if (false && (!gone", tests="R66*"),
    Mutation(66, "a discarded value still depends on its backing", TRANSITIONS,
             "if (record.backing) std::erase(values_.edit(record.backing->serial).dependents, value);", "", tests="R66*"),
    Mutation(66, "a needed backing may be discarded", TRANSITIONS,
             "if (auto refusal = needed_backing(action.value)) return *refusal;", "", tests="R66*"),
]
