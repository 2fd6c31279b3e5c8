#include "examples/replay/options.hpp"

#include <sstream>

#include <CLI/CLI.hpp>

namespace replay {

tl::expected<replay_options, usage_stop> parse_options(int argc, const char* const* argv) {
  replay_options options;
  std::uint64_t block = 0, request = 0;
  CLI::App app{
      "Replays a record of a run (--record of kvferry-serve): feeds its inputs to fresh actors and compares all "
      "that they send. Exit status: 0 when all is the same, 1 when something differs, 2 when the record is "
      "damaged or cannot be read.",
      "kvferry-replay"};
  app.get_formatter()->column_width(36);
  app.add_option("trace", options.trace, "the record")->type_name("TRACE")->required();
  CLI::Option* actor =
      app.add_option("--actor", options.actor,
                     "replays one actor alone from its inbox: page_registry, storage, completions, request_cache/7, "
                     "batch_publisher/1")
          ->type_name("NAME");
  CLI::Option* of_block = app.add_option("--block", block, "tells the life of a block")->type_name("ID");
  CLI::Option* of_request = app.add_option("--request", request, "tells the life of a request")->type_name("ID");
  CLI::Option* perfetto =
      app.add_option("--perfetto", options.perfetto, "writes a picture of the run for ui.perfetto.dev")
          ->type_name("FILE");
  of_block->excludes(of_request)->excludes(actor)->excludes(perfetto);
  of_request->excludes(actor)->excludes(perfetto);
  perfetto->excludes(actor);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& stop) {
    std::ostringstream text;
    bool wrong = app.exit(stop, text, text) != 0;
    return tl::unexpected(usage_stop{wrong ? 2 : 0, text.str()});
  }
  if (*of_block)
    options.block = block;
  if (*of_request)
    options.request = request;
  return options;
}

} // namespace replay
