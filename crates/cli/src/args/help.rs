//! The longer texts of `--help`.

use std::fmt::Write as _;

use crate::exit::Exit;

/// Below `haft -h`.
pub(super) const SHORT: &str = "`haft --help` shows examples, variables and exit codes.";

const EXAMPLES: &str = "\
Examples:
  haft demo                                  a whole turn without a key
  haft -p \"what does this repository do?\"    the final answer only
  git diff | haft -p review this             with piped input
  haft -c -p \"and the tests?\"                goes on with the latest session of this directory
  haft session list                          what was recorded here
  haft --json fix the tests                  an event a line, for programs
  haft -p /hello world                       a command of an extension
  haft -e ./my-extension -p hi               with an extension that is not installed
  haft ext install ./my-extension            for all runs from now on
  haft trust                                 show what the project here brings, and allow it
  haft login anthropic                       store a key; it is read without being shown, or from a pipe

Environment:
  HAFT_HOME          where haft keeps its files (see docs/config.md for the default)
  HAFT_PROVIDER, HAFT_MODEL, HAFT_BASE_URL, HAFT_THINKING, HAFT_FALLBACK, HAFT_MAX_STEPS
                     what the flags of these names set; flags are stronger, config.toml is weaker
  ANTHROPIC_API_KEY, OPENAI_API_KEY
                     keys of the providers; --api-key is stronger, auth.json is weaker
  HAFT_LOG           log to standard error instead of a file: error, warn, info, debug, trace, or a
                     filter such as haft_host=trace

Exit codes:
";

/// Below `haft --help`.
pub(super) fn long() -> String {
    let mut text = EXAMPLES.to_owned();
    for exit in Exit::ALL {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "  {:<4} {}", exit.code(), exit.meaning());
    }
    text.truncate(text.trim_end().len());
    text
}
