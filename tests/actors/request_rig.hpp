// A request's cache alone: the registry and the publisher are played by the test. T is 4; one sparse group.
#pragma once

#include "actors/request_cache.hpp"
#include "tests/actors/probe.hpp"
#include "tests/device/rig.hpp"

namespace kvferry::test {

inline configuration request_configuration() {
  configuration config = config_of({group_of({8}, 8, 8)});
  config.tokens_per_block = 4;
  return config;
}

struct request_rig : probe<request_cache> {
  request_rig() : probe<request_cache>(request_configuration(), id) {}

  static inline const request_id id{7};
  static inline const batch_id batch{2};

  static page_change page(tier on, block_ordinal ordinal, std::uint32_t slot = 0, bool ready = true) {
    return {group_id{0}, ordinal, on, ready, slot};
  }

  static std::vector<page_change> gpu_pages(block_ordinal first, block_ordinal end) {
    std::vector<page_change> pages;
    for (block_ordinal o = first; o < end; ++o)
      pages.push_back(page(tier::gpu, o, o));
    return pages;
  }

  static grant granting(row_seq seq, std::uint32_t blocks, std::vector<page_change> changes = {}) {
    return {seq, blocks, std::move(changes), {}, {}};
  }

  /// Active, with `blocks` GPU pages, of which `complete` are written; number 2.
  void run(std::uint32_t blocks = 3, std::uint32_t complete = 2) {
    send(open_request{call_id{1}, std::vector<token>(std::size_t{blocks} * 4, 5), "", ""});
    send(pages_granted{call_id{1}, granting(1, 0), 0, false});
    send(advance{call_id{2}, {}, {}, blocks * 4, false});
    send(advanced{call_id{2}, granting(2, blocks, gpu_pages(0, blocks)), 0});
    send(advance{call_id{3}, {complete * 4, {}, {}}, {}, 0, false});
    send(advanced{call_id{3}, granting(2, blocks), 0});
  }

  void join(std::uint32_t row = 3) {
    send(join_batch{call_id{9}, batch});
    send(row_joined{batch, row_id{row}});
  }

  void decode(row_seq seq = 2) {
    send(enter_decode{call_id{10}, {}, {}});
    send(offload_accepted{call_id{10}, granting(seq, 3), 2, 0, 0});
  }
};

using strings = std::vector<std::string>;

} // namespace kvferry::test
