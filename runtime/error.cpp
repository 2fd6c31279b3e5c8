#include "kvferry/error.hpp"

namespace kvferry {

std::string_view to_string(error_code code) {
  switch (code) {
  case error_code::invalid_configuration: return "invalid_configuration";
  case error_code::invalid_argument: return "invalid_argument";
  case error_code::unknown_request: return "unknown_request";
  case error_code::wrong_status: return "wrong_status";
  case error_code::gpu_full: return "gpu_full";
  case error_code::host_full: return "host_full";
  case error_code::copies_in_flight: return "copies_in_flight";
  case error_code::publish_first: return "publish_first";
  case error_code::prompt_exceeds_gpu_pool: return "prompt_exceeds_gpu_pool";
  case error_code::batch_full: return "batch_full";
  case error_code::in_other_batch: return "in_other_batch";
  case error_code::exceeds_max_blocks: return "exceeds_max_blocks";
  case error_code::read_open: return "read_open";
  case error_code::stream_capturing: return "stream_capturing";
  case error_code::not_published: return "not_published";
  case error_code::load_failed: return "load_failed";
  case error_code::must_recompute: return "must_recompute";
  case error_code::bound_to_host: return "bound_to_host";
  case error_code::actor_died: return "actor_died";
  case error_code::runtime_stopped: return "runtime_stopped";
  case error_code::out_of_memory: return "out_of_memory";
  case error_code::io_error: return "io_error";
  case error_code::no_device: return "no_device";
  case error_code::device_lost: return "device_lost";
  }
  return "unknown_error";
}

} // namespace kvferry
