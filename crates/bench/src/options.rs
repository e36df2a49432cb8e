//! The options of the command line.

use std::path::PathBuf;

use crate::method::EffortLevel;
use crate::rows::{BenchmarkRow, PEERS, ROWS};

/// The use of the gated lines.
#[derive(Debug)]
pub(crate) enum GateMode {
    /// Prints the figures without judging them.
    Report,
    /// Prints one row as JSON, for the gate of another build.
    Json(&'static BenchmarkRow),
    /// Compares the figures with those of another build of this program.
    Against(PathBuf),
}

/// A parsed command line.
#[derive(Debug)]
pub(crate) enum BenchCommand {
    /// Measures these rows and reports the results.
    Measure(Vec<&'static BenchmarkRow>, EffortLevel),
    /// Measures the gated lines.
    Gate(GateMode, EffortLevel),
    /// Counts instructions and judges them; with `write`, the counts become the new baseline.
    Counts { write: bool },
    /// Lists the rows.
    List,
}

/// Parses the arguments. Returns `None` for an unknown row or option.
pub(crate) fn parse(args: &[&str]) -> Option<BenchCommand> {
    match *args {
        ["counts"] => return Some(BenchCommand::Counts { write: false }),
        ["counts", "--write"] => return Some(BenchCommand::Counts { write: true }),
        ["--list"] => return Some(BenchCommand::List),
        _ => {}
    }
    let quick = args.contains(&"--quick");
    let effort = if quick { EffortLevel::Quick } else { EffortLevel::Full };
    let words: Vec<&str> = args.iter().copied().filter(|arg| *arg != "--quick").collect();
    match *words {
        [] => Some(BenchCommand::Measure(ROWS.iter().collect(), effort)),
        ["gate", "--report"] => Some(BenchCommand::Gate(GateMode::Report, effort)),
        ["gate", "--json", row] => find_row(row).map(|row| BenchCommand::Gate(GateMode::Json(row), effort)),
        ["gate", "--against", program] => Some(BenchCommand::Gate(GateMode::Against(program.into()), effort)),
        ["peers"] => Some(BenchCommand::Measure(vec![PEERS], effort)),
        _ => Some(BenchCommand::Measure(words.into_iter().map(find_row).collect::<Option<_>>()?, effort)),
    }
}

fn find_row(word: &str) -> Option<&'static BenchmarkRow> {
    ROWS.iter().find(|row| row.name == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(args: &str, expect: Option<&str>) {
        let args: Vec<&str> = args.split_whitespace().collect();
        let found = parse(&args).map(|command| match command {
            BenchCommand::Measure(rows, effort) => {
                let names: Vec<&str> = rows.iter().map(|row| row.name).collect();
                format!(
                    "{effort:?} {}",
                    if rows.len() == ROWS.len() { "all".into() } else { names.join(" ") }
                )
            }
            BenchCommand::Gate(GateMode::Report, effort) => format!("gate report {effort:?}"),
            BenchCommand::Gate(GateMode::Json(row), effort) => format!("gate json {} {effort:?}", row.name),
            BenchCommand::Gate(GateMode::Against(program), effort) => {
                format!("gate against {} {effort:?}", program.display())
            }
            BenchCommand::Counts { write } => format!("counts {write}"),
            BenchCommand::List => "list".to_owned(),
        });
        assert_eq!(found.as_deref(), expect, "{args:?}");
    }

    #[test]
    fn parses_arguments() {
        check("", Some("Full all"));
        check("--quick", Some("Quick all"));
        check("process intercept --quick", Some("Quick process intercept"));
        check("gate --report", Some("gate report Full"));
        check("gate --quick --report", Some("gate report Quick"));
        check("gate --json chain --quick", Some("gate json chain Quick"));
        check("gate --against a/b", Some("gate against a/b Full"));
        check("gate", None);
        check("gate --json", None);
        check("gate --json no-such-row", None);
        check("counts", Some("counts false"));
        check("counts --write", Some("counts true"));
        check("counts --quick", None);
        check("process --write", None);
        check("peers --quick", Some("Quick peers"));
        check("--list", Some("list"));
        check("--list gate", None);
        check("no-such-row", None);
        check("gate process", None);
        check("--slow", None);
    }

    #[test]
    fn row_names_differ_from_commands() {
        assert!(ROWS.iter().all(|row| !["gate", "peers", "counts"].contains(&row.name)));
    }
}
