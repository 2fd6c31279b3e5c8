// What a trace holds besides messages (docs/trace_format.md): what makes and ends actors, and their calls on the device
// with its answers. Written by the recorder, read by replay; no actor receives one.
#pragma once

#include <string>

#include "messages/address.hpp"
#include "messages/parts.hpp"

namespace kvferry {

/// An input: a batch was made; in the name of its publisher.
struct create_batch {
  std::uint32_t rows = 0;
  std::uint32_t max_blocks = 0;
  KVFERRY_FIELDS(create_batch, rows, max_blocks)
  static constexpr message_info info{"create_batch", "engine", actor_kind::batch_publisher, "", ""};
};

/// An input: the runtime shuts down; messages on their way may get lost from here on.
struct end_of_run {
  KVFERRY_NO_FIELDS
  static constexpr message_info info{"end_of_run", "engine", actor_kind::engine, "", ""};
};

struct device_create_stream {
  std::string name;
  stream_id stream;
  KVFERRY_FIELDS(device_create_stream, name, stream)
  static constexpr message_info info{"device_create_stream", "storage", actor_kind::device, "", ""};
};

struct device_record {
  stream_id stream;
  fence recorded;
  KVFERRY_FIELDS(device_record, stream, recorded)
  static constexpr message_info info{"device_record", "batch_publisher", actor_kind::device, "", ""};
};

struct device_wait {
  stream_id stream;
  fence_set fences;
  KVFERRY_FIELDS(device_wait, stream, fences)
  static constexpr message_info info{"device_wait", "storage, batch_publisher", actor_kind::device, "", ""};
};

struct device_copy_pages {
  stream_id stream;
  bool to_host = false;
  bool within_gpu = false; ///< neither: to the GPU
  std::uint32_t pages = 0;
  std::uint64_t content = 0; ///< over groups and slots, in order
  fence submitted;
  KVFERRY_FIELDS(device_copy_pages, stream, to_host, within_gpu, pages, content, submitted)
  static constexpr message_info info{"device_copy_pages", "storage", actor_kind::device, "", ""};
};

struct device_allocate_staging {
  std::uint64_t bytes = 0;
  std::optional<refusal> refused;
  KVFERRY_FIELDS(device_allocate_staging, bytes, refused)
  static constexpr message_info info{"device_allocate_staging", "batch_publisher", actor_kind::device, "", ""};
};

struct device_write_tables {
  stream_id stream;
  std::uint64_t entries = 0;
  std::uint64_t content = 0; ///< over places and values, in order
  KVFERRY_FIELDS(device_write_tables, stream, entries, content)
  static constexpr message_info info{"device_write_tables", "batch_publisher", actor_kind::device, "", ""};
};

} // namespace kvferry
