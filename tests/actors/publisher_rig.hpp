// A batch's publisher alone, over the host device driven by hand. One group, three rows of four columns.
#pragma once

#include <memory>

#include "actors/batch_publisher.hpp"
#include "tests/actors/probe.hpp"
#include "tests/device/rig.hpp"

namespace kvferry::test {

struct publisher_rig {
  static inline const request_id R1{1}, R2{2}, R3{3}, R4{4};
  static inline const batch_id batch{6};
  static inline const batch_config shape{3, 4, 1};

  explicit publisher_rig(publisher_options options = {})
      : engine(device.gpu->create_stream("engine")), other(device.gpu->create_stream("other")),
        tables(device.runtime_view->allocate_tables(table_layout(1, shape).bytes, table_layout(1, shape).ones_bytes)
                   .value()),
        publisher(batch, std::size_t{1}, shape, *device.runtime_view, *tables, options) {}

  /// Entries of every publication lie in staging memory.
  static publisher_options all_staged() { return {{}, 0}; }

  template <class Message>
  void send(const Message& message) {
    publisher.send(message);
  }

  static page_change page(tier on, block_ordinal ordinal, std::uint32_t slot) {
    return {group_id{0}, ordinal, on, true, slot};
  }

  void join(request_id id, row_seq seq, std::vector<page_change> pages, std::vector<group_history> history = {}) {
    send(join_row{id, seq, std::move(pages), std::move(history)});
  }

  void change(request_id id, row_seq seq, std::vector<page_change> pages, bool whole = false,
              std::vector<group_history> history = {}) {
    send(row_changed{id, seq, whole, std::move(pages), std::move(history)});
  }

  /// Asks for a publication; whether it came at once is `published_now`.
  void publish(std::vector<row_number> seen = {}, std::vector<request_id> order = {},
               std::optional<stream_id> on = {}) {
    send(kvferry::publish{call_id{++calls}, std::move(seen), std::move(order), on.value_or(engine), {}, {}});
  }

  /// The same with the order of the publication before.
  void publish_in_same_order(std::vector<row_number> seen = {}) {
    send(kvferry::publish{call_id{++calls}, std::move(seen), std::nullopt, engine, {}, {}});
  }

  bool published_now() const { return publisher.count<published>() == 1; }
  published done() const { return publisher.only<published>(); }
  rows_published told() const { return publisher.only<rows_published>(); }

  /// The tables as the device has them once all work has run.
  table_view view() {
    device.gpu->run_all();
    return table_layout(1, shape).view(tables->data());
  }

  std::vector<int> slots(std::uint32_t row) {
    const std::int32_t* first = view().groups[0].page_index + row * 4;
    return {first, first + 4};
  }

  std::vector<int> tiers(std::uint32_t row) {
    const std::uint8_t* first = view().groups[0].page_tier + row * 4;
    return {first, first + 4};
  }

  int history(std::uint32_t row) { return view().groups[0].num_blocks[row]; }

  std::vector<int> active() {
    const std::int32_t* first = view().active_rows;
    return {first, first + 3};
  }

  rig device;
  stream_id engine;
  stream_id other;
  std::unique_ptr<device_memory> tables;
  probe<batch_publisher> publisher;
  std::uint64_t calls = 0;
};

} // namespace kvferry::test
