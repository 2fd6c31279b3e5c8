// kvferry-workload: writes a workload for kvferry-serve that imitates the public Mooncake conversation trace. The same
// seed gives the same file.
#include <cstdio>
#include <fstream>
#include <iostream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "examples/workload/generator.hpp"

int main(int argc, char** argv) {
  workload::shape shape;
  std::uint64_t seed = 1;
  std::string out;
  CLI::App app{"Writes a workload like the Mooncake conversation trace, as JSON lines.", "kvferry-workload"};
  app.add_option("--requests", shape.requests, fmt::format("requests [{}]", shape.requests))->type_name("N");
  app.add_option("--seed", seed, "of all that is random [1]")->type_name("N");
  app.add_option("--rate", shape.requests_per_second, fmt::format("requests a second [{}]", shape.requests_per_second))
      ->type_name("RATE")
      ->check(CLI::PositiveNumber);
  app.add_option("--length-scale", shape.length_scale,
                 "multiplies the lengths of outputs and of prompts behind the system prompt [1]")
      ->type_name("FACTOR")
      ->check(CLI::PositiveNumber);
  app.add_option("--out", out, "where to write [standard output]")->type_name("FILE");
  CLI11_PARSE(app, argc, argv);

  std::ofstream file;
  if (!out.empty())
    file.open(out, std::ios::binary);
  std::ostream& to = out.empty() ? std::cout : file;
  for (const workload::generated_request& request : workload::generator(shape, seed).run())
    to << workload::line_of(request);
  to.flush();
  if (!to) {
    fmt::print(stderr, "kvferry-workload: {}: cannot be written\n", out.empty() ? "standard output" : out);
    return 1;
  }
  return 0;
}
