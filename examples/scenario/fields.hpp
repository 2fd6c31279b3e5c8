// The fields of each step in JSON, listed once: reading and the check for unknown fields follow.
#pragma once

#include "examples/scenario/steps.hpp"

namespace scenarios {

// A visitor has required(name, value), optional(name, value), one_of(name, value, words) and exactly_one(names).

void visit_fields(auto& v, refusal& s) {
  v.required("code", s.code);
  v.optional("group", s.group);
  v.one_of("on", s.on, {"gpu", "host"});
  v.optional("needed", s.needed);
  v.optional("free", s.free);
  v.optional("in_copy", s.in_copy);
  v.optional("fenced", s.fenced);
  v.optional("unpublished", s.unpublished);
  v.optional("held", s.held);
  v.optional("says", s.says);
}

void visit_fields(auto& v, open_step& s) {
  v.required("request", s.request);
  v.required("prompt", s.prompt);
  v.optional("adapter", s.adapter);
  v.optional("salt", s.salt);
  v.optional("matched", s.matched);
  v.optional("loading", s.loading);
  v.optional("refused", s.refused);
}

void visit_fields(auto& v, reserve_step& s) {
  v.required("request", s.request);
  v.required("tokens", s.tokens);
  v.optional("refused", s.refused);
}

void visit_fields(auto& v, run_step& s) {
  v.required("request", s.request);
  v.required("until", s.until);
  v.optional("batch", s.batch);
  v.optional("stream", s.stream);
  v.optional("commit", s.commit);
  v.optional("refused", s.refused);
}

void visit_fields(auto& v, write_step& s) {
  v.required("request", s.request);
  v.required("until", s.until);
  v.optional("stream", s.stream);
}

void visit_fields(auto& v, progress_step& s) {
  v.required("request", s.request);
  v.required("history", s.history);
  v.optional("accepted", s.accepted);
  v.optional("stream", s.stream);
  v.optional("commit", s.commit);
  v.optional("refused", s.refused);
}

void visit_fields(auto& v, commit_step& s) {
  v.required("request", s.request);
  v.optional("refused", s.refused);
}

void visit_fields(auto& v, enter_decode_step& s) {
  v.required("request", s.request);
  v.optional("moving", s.moving);
  v.optional("rebound", s.rebound);
  v.optional("deferred", s.deferred);
  v.optional("refused", s.refused);
}

void visit_fields(auto& v, suspend_step& s) {
  v.required("request", s.request);
  v.optional("running", s.running);
  v.optional("refused", s.refused);
}

void visit_fields(auto& v, resume_step& s) {
  v.required("request", s.request);
  v.optional("loading", s.loading);
  v.optional("refused", s.refused);
}

void visit_fields(auto& v, close_step& s) {
  v.required("request", s.request);
  v.optional("running", s.running);
  v.optional("refused", s.refused);
}

void visit_fields(auto& v, create_batch_step& s) {
  v.required("batch", s.batch);
  v.optional("rows", s.rows);
  v.optional("max_blocks", s.max_blocks);
  v.optional("refused", s.refused);
}

void visit_fields(auto& v, close_batch_step& s) { v.required("batch", s.batch); }

void visit_fields(auto& v, add_step& s) {
  v.required("request", s.request);
  v.optional("batch", s.batch);
  v.optional("row", s.row);
  v.optional("refused", s.refused);
}

void visit_fields(auto& v, remove_step& s) {
  v.required("request", s.request);
  v.optional("batch", s.batch);
  v.optional("refused", s.refused);
}

void visit_fields(auto& v, publish_step& s) {
  v.optional("batch", s.batch);
  v.optional("stream", s.stream);
  v.optional("order", s.order);
  v.optional("entries", s.entries);
  v.optional("changed", s.changed);
  v.optional("rows", s.rows);
  v.optional("failed", s.failed);
  v.optional("refused", s.refused);
}

void visit_fields(auto& v, begin_read_step& s) {
  v.optional("batch", s.batch);
  v.required("stream", s.stream);
  v.optional("refused", s.refused);
}

void visit_fields(auto& v, end_read_step& s) {
  v.optional("batch", s.batch);
  v.required("stream", s.stream);
  v.optional("refused", s.refused);
}

void visit_fields(auto& v, run_in_step& s) {
  v.required("request", s.request);
  v.required("until", s.until);
  v.optional("commit", s.commit);
}

void visit_fields(auto& v, refused_in_step& s) {
  v.required("request", s.request);
  v.one_of("call", s.call, {"advance", "enter_decode", "suspend", "close", "reserve", "add"});
  v.required("why", s.why);
}

void visit_fields(auto& v, step_step& s) {
  v.optional("batch", s.batch);
  v.optional("stream", s.stream);
  v.optional("run", s.run);
  v.optional("enter_decode", s.enter_decode);
  v.optional("suspend", s.suspend);
  v.optional("close", s.close);
  v.optional("refused", s.refused);
  v.optional("ready", s.ready);
}

void visit_fields(auto& v, lost_load& s) {
  v.required("request", s.request);
  v.required("matched", s.matched);
}

void visit_fields(auto& v, poll_step& s) {
  v.optional("ready", s.ready);
  v.optional("load_failed", s.load_failed);
}

void visit_fields(auto& v, shut_down_step& s) { v.optional("leftovers", s.leftovers); }

void visit_fields(auto& v, run_device_step& s) {
  v.optional("operations", s.operations);
  v.optional("until", s.until);
}

void visit_fields(auto& v, settle_step& s) {
  v.optional("ready", s.ready);
  v.optional("load_failed", s.load_failed);
}

void visit_fields(auto& v, hold_step& s) { v.required("streams", s.streams); }
void visit_fields(auto& v, release_step& s) { v.required("streams", s.streams); }

void visit_fields(auto& v, fail_copies_step& s) {
  v.optional("from", s.from);
  v.optional("count", s.count);
}

void visit_fields(auto& v, fail_allocations_step& s) {
  v.optional("from", s.from);
  v.optional("count", s.count);
}

void visit_fields(auto& v, kill_step& s) {
  v.optional("request", s.request);
  v.optional("publisher", s.publisher);
  v.one_of("actor", s.actor, {"page_registry", "storage", "completions"});
  v.exactly_one({"request", "publisher", "actor"});
}

void visit_fields(auto& v, pages_step& s) {
  v.required("request", s.request);
  v.optional("group", s.group);
  v.required("places", s.places);
  v.optional("history", s.history);
}

void visit_fields(auto& v, published_step& s) {
  v.required("request", s.request);
  v.optional("batch", s.batch);
  v.optional("group", s.group);
  v.optional("row", s.row);
  v.optional("places", s.places);
  v.optional("history", s.history);
}

void visit_fields(auto& v, remember_step& s) {
  v.required("as", s.as);
  v.optional("group", s.group);
  v.required("block", s.block);
}

void visit_fields(auto& v, same_page_step& s) {
  v.optional("group", s.group);
  v.required("blocks", s.blocks);
  v.optional("same", s.same);
}

void visit_fields(auto& v, blockers_step& s) {
  v.required("request", s.request);
  v.optional("group", s.group);
  v.required("ordinal", s.ordinal);
  v.optional("requests", s.requests);
  v.one_of("causes", s.causes, {"host_full", "copy_failed", "copy_under_way"});
}

void visit_fields(auto& v, dense_ready_step& s) {
  v.required("request", s.request);
  v.required("group", s.group);
  v.optional("refused", s.refused);
}

void visit_fields(auto&, mark_step&) {}

void visit_fields(auto& v, counted_step& s) {
  for (std::string_view name : counter_names) {
    std::optional<std::uint64_t> count;
    v.optional(name, count);
    if (count)
      s.counts.emplace(name, *count);
  }
}

} // namespace scenarios
