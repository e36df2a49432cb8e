//! The members of wolli's extension interface, and the parts of the protocol that serve them.

use std::fmt::Write as _;

use anyhow::{Result, ensure};
use haft_protocol::codec::FrameSet;
use haft_protocol::ext::{ExtensionFrame, HostFrame};

use super::registry::RegistryPart;

/// One line for each member: its name, and after a tab the parts that serve it, separated by commas. What does not
/// begin with a kind of part is a remark. `# ` begins a group.
const MEMBERS: &str = include_str!("wolli.txt");

const HEAD: &str = "
## Members of wolli's interface

Extensions of wolli and pi use an interface in TypeScript. This table names the part of the protocol that serves each of
its members; parts in `code` are lines of the tables above or frames of the protocol.
";

/// Returns the tables of all members.
///
/// # Errors
/// When a line names a part that no registry has.
pub(super) fn members_table() -> Result<String> {
    let mut out = HEAD.to_owned();
    for line in MEMBERS.lines().filter(|line| !line.is_empty()) {
        match (line.strip_prefix("# "), line.split_once('\t')) {
            (Some(group), _) => write!(out, "\n### {group}\n\n| Member | Served by |\n|---|---|\n")?,
            (None, Some((member, parts))) => {
                let parts = parts.split(", ").map(part_text).collect::<Result<Vec<_>>>()?;
                writeln!(out, "| `{member}` | {} |", parts.join(", "))?;
            }
            (None, None) => anyhow::bail!("wolli.txt: no tab in {line:?}"),
        }
    }
    Ok(out)
}

/// Returns a part as code, and a remark as it is.
fn part_text(part: &str) -> Result<String> {
    let Some((kind, name)) = part.split_once(' ') else { return Ok(part.to_owned()) };
    let is_known = match kind {
        "call" | "hook" | "event" | "mirror" | "registration" => RegistryPart::has_line(kind, name),
        "frame" => {
            let name = name.split('.').next().unwrap_or_default();
            ExtensionFrame::KINDS.contains(&name) || HostFrame::KINDS.contains(&name)
        }
        _ => return Ok(part.to_owned()),
    };
    ensure!(is_known, "wolli.txt: the protocol has no {part}");
    Ok(format!("{kind} `{name}`"))
}
