// A project that knows kvferry by its installed package alone: public headers, and the library.
#include <cstdio>

#include "kvferry/configuration.hpp"

int main() {
  kvferry::configuration config;
  config.groups = {{"full", kvferry::group_kind::sparse, 0, {{"kv", 4096, 0, 0}}, 64, 256}};
  if (const auto valid = kvferry::validate(config); !valid) {
    std::printf("a right configuration was refused: %s\n", valid.error().message.c_str());
    return 1;
  }
  config.groups[0].host_slots = 0;
  const auto refused = kvferry::validate(config);
  if (refused || refused.error().code != kvferry::error_code::invalid_configuration) {
    std::printf("a sparse group without a host pool was accepted\n");
    return 1;
  }
  const auto parsed = kvferry::parse_configuration("{}");
  std::printf("refused, as it should be: %s\n", parsed ? "nothing" : parsed.error().message.c_str());
  return parsed ? 1 : 0;
}
