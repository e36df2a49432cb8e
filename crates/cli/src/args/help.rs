//! The longer texts of `--help`.

use std::fmt::Write as _;

use haft_config::all_keys;

use crate::exit::Exit;

/// Below `haft -h`.
pub(super) const SHORT: &str = "`haft --help` shows examples, variables and exit codes.";

const EXAMPLES: &str = "\
Examples:
  haft                                       the interactive mode, on a terminal
  haft fix the tests                         the same, which begins with this prompt
  haft demo                                  a whole turn without a key
  haft --inline                              the same below what the terminal shows, printed there to stay
  haft --linear                              the same in lines that are printed, for screen readers
  haft -p \"what does this repository do?\"    the final answer only
  git diff | haft -p review this             with piped input
  haft -c                                    goes on with the latest session of this directory
  haft -c -p \"and the tests?\"                the same, for one prompt
  haft session list                          what was recorded here
  haft --json fix the tests                  an event a line, for programs
  haft -p /hello world                       a command of an extension
  haft -e ./my-extension -p hi               with an extension that is not installed
  haft ext install ./my-extension            for all runs from now on
  haft trust                                 show what the project here brings, and allow it
  haft rpc                                   driven by another program; haft rpc --help says how
  haft login anthropic                       store a key; it is read without being shown, or from a pipe

Environment:
  HAFT_HOME          where haft keeps its files (see docs/config.md for the default)
  {variables}
                     what the flags of these names set; flags are stronger, config.toml is weaker
  ANTHROPIC_API_KEY, OPENAI_API_KEY
                     keys of the providers; --api-key is stronger, auth.json is weaker
  HAFT_LOG           log to standard error instead of a file: error, warn, info, debug, trace, or a
                     filter such as haft_host=trace

Exit codes:
";

/// Below `haft rpc --help`.
pub(super) const RPC: &str = "\
A client writes a command a line to haft's standard input, and reads replies and events from its
standard output. The names are those of zot's RPC mode: docs/rpc.md shows how to write a client,
docs/rpc-protocol.md has every line. What is told people goes to standard error.

  $ echo '{\"id\":\"1\",\"type\":\"prompt\",\"message\":\"list the files\"}' | haft rpc

It ends when its input does and all prompts are done, with code 0; a signal ends it with 130.

Environment:
  HAFT_RPC_TOKEN, ZOTCORE_RPC_TOKEN
                     the token that the client's first line, a hello, has to show; with both the
                     first counts. No tool and no extension gets them
  `haft --help` has all other variables, and the exit codes.";

/// Below `haft --help`.
pub(super) fn long() -> String {
    let variables: Vec<&str> = all_keys().filter_map(|key| key.variables.first().copied()).collect();
    let mut text = EXAMPLES.replace("{variables}", &variables.join(", "));
    for exit in Exit::ALL {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "  {:<4} {}", exit.code(), exit.meaning());
    }
    text.truncate(text.trim_end().len());
    text
}
