//! What the command line asks for.

use serde::{Deserialize, Serialize};

use crate::rows::{PEERS, ROWS, Row};

/// How often things are done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Effort {
    /// As the method says.
    Full,
    /// Less often, for a first look and for a check of every change.
    Quick,
}

/// A wish that can be granted.
#[derive(Debug)]
pub(crate) enum Command {
    /// Measure these, and report.
    Measure(Vec<&'static Row>, Effort),
    /// Say whether a change may pass.
    Gate(Effort),
    /// Count instructions; `write` makes the counts the new baseline.
    Counts { write: bool },
    /// Say which rows there are.
    List,
}

/// Reads it. None when there is no such row or option.
pub(crate) fn parse(args: &[&str]) -> Option<Command> {
    let (options, words): (Vec<&str>, Vec<&str>) = args.iter().partition(|arg| arg.starts_with("--"));
    let effort = match *options {
        [] => Effort::Full,
        ["--quick"] => Effort::Quick,
        ["--write"] if words == ["counts"] => return Some(Command::Counts { write: true }),
        ["--list"] if words.is_empty() => return Some(Command::List),
        _ => return None,
    };
    match *words {
        [] => Some(Command::Measure(ROWS.iter().collect(), effort)),
        ["counts"] if options.is_empty() => Some(Command::Counts { write: false }),
        ["gate"] => Some(Command::Gate(effort)),
        ["peers"] => Some(Command::Measure(vec![PEERS], effort)),
        _ => {
            let named = |word: &&str| ROWS.iter().find(|row| row.name == *word);
            Some(Command::Measure(words.iter().map(named).collect::<Option<_>>()?, effort))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(args: &str, expect: Option<&str>) {
        let args: Vec<&str> = args.split_whitespace().collect();
        let found = parse(&args).map(|command| match command {
            Command::Measure(rows, effort) => {
                let names: Vec<&str> = rows.iter().map(|row| row.name).collect();
                format!(
                    "{effort:?} {}",
                    if rows.len() == ROWS.len() { "all".into() } else { names.join(" ") }
                )
            }
            Command::Gate(effort) => format!("gate {effort:?}"),
            Command::Counts { write } => format!("counts {write}"),
            Command::List => "list".to_owned(),
        });
        assert_eq!(found.as_deref(), expect, "{args:?}");
    }

    #[test]
    fn wishes() {
        check("", Some("Full all"));
        check("--quick", Some("Quick all"));
        check("process intercept --quick", Some("Quick process intercept"));
        check("gate", Some("gate Full"));
        check("gate --quick", Some("gate Quick"));
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
    fn no_row_is_named_like_a_command() {
        assert!(ROWS.iter().all(|row| !["gate", "peers", "counts"].contains(&row.name)));
    }
}
