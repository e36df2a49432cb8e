//! The longer texts of `--help`.

use std::fmt::Write as _;

use haft_config::all_keys;

use crate::exit::Exit;

/// The text below `haft -h`.
pub(super) const SHORT: &str = "`haft --help` shows examples, variables and exit codes.";

const EXAMPLES: &str = "\
Examples:
  haft                                       open the interactive mode
  haft fix the tests                         open it with a first prompt
  haft demo                                  play a turn without a key
  haft --inline                              keep the terminal's own scrollback
  haft --linear                              print plain lines, for screen readers
  haft -p \"what does this repository do?\"    print the final answer only
  git diff | haft -p review this             append piped input to the prompt
  haft -c                                    continue the most recent session
  haft -c -p \"and the tests?\"                continue it for one prompt
  haft session list                          list recorded sessions
  haft --json fix the tests                  print one JSON event per line, for programs
  haft -p /hello world                       run a command of an extension
  haft -e ./my-extension -p hi               run an extension without installing it
  haft ext install ./my-extension            install an extension
  haft trust                                 review and trust this project
  haft rpc                                   run as a JSON-lines server
  haft login anthropic                       verify and save an API key
  haft --version --json                      print the version and the target as JSON

Environment:
  HAFT_HOME          directory of haft's files (default: see docs/config.md)
  {variables}
                     set the same as the flags of these names; flags win over
                     variables, variables over config.toml
  ANTHROPIC_API_KEY, OPENAI_API_KEY
                     API keys; --api-key wins over them, they win over auth.json
  HAFT_LOG           log to standard error instead of a file: error, warn, info, debug, trace, or a
                     filter such as haft_host=trace

Exit codes:
";

/// The text below `haft rpc --help`.
pub(super) const RPC: &str = "\
A client writes one command per line to haft's standard input and reads replies and events from its
standard output. The names are those of zot's RPC mode: docs/rpc.md shows how to write a client,
docs/rpc-protocol.md describes every line. Messages for people go to standard error.

  $ echo '{\"id\":\"1\",\"type\":\"prompt\",\"message\":\"list the files\"}' | haft rpc

haft exits with code 0 when its input ends and all prompts are done; a signal ends it with 130.

Environment:
  HAFT_RPC_TOKEN, ZOTCORE_RPC_TOKEN
                     the token that the client's first line, a hello, must contain; if both are set,
                     haft uses the first. Tools and extensions do not receive them
  `haft --help` lists all other variables and the exit codes.";

/// Returns the text below `haft --help`.
pub(super) fn render_long_help() -> String {
    let variables: Vec<&str> = all_keys().filter_map(|key| key.variables.first().copied()).collect();
    let mut text = EXAMPLES.replace("{variables}", &variables.join(", "));
    for exit in Exit::ALL {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "  {:<4} {}", exit.code(), exit.description());
    }
    text.truncate(text.trim_end().len());
    text
}
