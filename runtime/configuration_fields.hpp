// The configuration's fields in JSON, listed once: reading, writing and the check for unknown fields follow.
//
// What describes the model and its memory is required; a policy that is left out has the struct's default.
#pragma once

#include <concepts>
#include <type_traits>

#include "kvferry/configuration.hpp"

namespace kvferry {

// A visitor has required(name, value), optional(name, value) and local(name, value); the latter is for what belongs to
// one process or machine (addresses, paths): it is read, but never written.

template <class Visitor, class Buffer>
requires std::same_as<std::remove_const_t<Buffer>, buffer_config>
void visit_fields(Visitor& visitor, Buffer& buffer) {
  visitor.required("name", buffer.name);
  visitor.required("bytes_per_slot", buffer.bytes_per_slot);
  visitor.local("base_address", buffer.base_address);
  visitor.optional("slot_stride_bytes", buffer.slot_stride_bytes);
}

template <class Visitor, class Group>
requires std::same_as<std::remove_const_t<Group>, group_config>
void visit_fields(Visitor& visitor, Group& group) {
  visitor.required("name", group.name);
  visitor.required("kind", group.kind);
  visitor.optional("window_tokens", group.window_tokens);
  visitor.required("buffers", group.buffers);
  visitor.required("gpu_slots", group.gpu_slots);
  visitor.optional("host_slots", group.host_slots);
}

template <class Visitor, class Config>
requires std::same_as<std::remove_const_t<Config>, configuration>
void visit_fields(Visitor& visitor, Config& config) {
  visitor.required("tokens_per_block", config.tokens_per_block);
  visitor.required("groups", config.groups);
  visitor.optional("defer_steps_max", config.defer_steps_max);
  visitor.optional("on_host_full", config.on_host_full);
  visitor.optional("on_host_hit", config.on_host_hit);
  visitor.optional("copy_retries", config.copy_retries);
  visitor.optional("router_events_max", config.router_events_max);
  visitor.optional("scheduler", config.scheduler);
  visitor.optional("order", config.order);
  visitor.optional("seed", config.seed);
  visitor.optional("worker_threads", config.worker_threads);
  visitor.local("record_path", config.record_path);
}

} // namespace kvferry
