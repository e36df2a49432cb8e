//! `haft ext list --long`: everything that is known of each.

use haft_config::SandboxLevel;
use haft_core::sanitize::sanitize_line;
use haft_packages::install::lock::{Approval, Entry, How};
use haft_packages::install::quoted;

use super::listed::Listed;

/// A paragraph for each.
pub(crate) fn text(listed: &[Listed]) -> String {
    let paragraph = |listed: &Listed| {
        let lines = lines(listed);
        lines.iter().map(|line| sanitize_line(line)).collect::<Vec<_>>().join("\n")
    };
    listed.iter().map(paragraph).collect::<Vec<_>>().join("\n\n")
}

fn lines(listed: &Listed) -> Vec<String> {
    let row = &listed.row;
    let version = row.version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
    let mut lines = vec![format!("{}{version}", row.name)];
    lines.extend(row.description.iter().map(|text| format!("  says of itself: {text}")));
    lines.push(format!("  scope: {}", listed.scope()));
    lines.push(format!("  state: {}", listed.word()));
    lines.push(format!("  sandbox: {}", sandbox(listed)));
    match (&row.entry, &listed.hook) {
        (Some(entry), _) => lines.push(format!("  from: {}", entry.source)),
        (None, Some(hook)) => {
            lines.push(format!("  process hook of: {}", hook.origin));
            lines.extend((!hook.asked.is_empty()).then(|| format!("  asked: {}", hook.asked)));
            lines.extend(
                hook.priority.map(|priority| format!("  priority: {priority}, the lowest is asked first")),
            );
        }
        (None, None) => lines.push(format!("  lies in: {}", row.dir.display())),
    }
    lines.extend(listed.loosened.lines().into_iter().map(|line| format!("  {line}")));
    lines.extend(row.language.iter().map(|language| format!("  language: {language}")));
    lines.extend(row.exec.as_ref().map(|exec| {
        let words: Vec<_> = [&exec.program].into_iter().chain(&exec.args).map(|word| quoted(word)).collect();
        format!("  runs: {}", words.join(" "))
    }));
    lines.extend(row.entry.iter().flat_map(|entry| approved(listed, entry)));
    lines
}

fn sandbox(listed: &Listed) -> String {
    let level = listed.sandbox.map_or("unknown: config.toml cannot be read", SandboxLevel::name);
    match (&listed.row.exec, listed.runs()) {
        (None, _) => "no program is run".to_owned(),
        (Some(_), true) => level.to_owned(),
        (Some(_), false) => format!("not run; {level}, once it is"),
    }
}

fn approved(listed: &Listed, entry: &Entry) -> Vec<String> {
    let mut lines: Vec<_> =
        entry.interpreter.iter().map(|program| format!("  run by: {}", program.display())).collect();
    lines.push(format!("  runs in: {}", listed.row.runs_in.display()));
    lines.push(format!("  code: {}", entry.tree));
    lines.push(approval(entry));
    if !entry.changed.is_empty() {
        let tools: Vec<_> = entry.changed.keys().map(String::as_str).collect();
        lines.push(format!("  locked tools: {}", tools.join(", ")));
    }
    lines.extend(older(entry));
    lines
}

/// The line about the approval of an extension.
pub(super) fn approval(Entry { approved: Approval { at, how, haft }, .. }: &Entry) -> String {
    let how = match how {
        How::Terminal => "in a terminal",
        How::Yes => "by --yes",
    };
    format!("  approved: {at} {how}, haft {haft}")
}

/// A line for each version that was approved before.
pub(super) fn older(entry: &Entry) -> impl Iterator<Item = String> {
    entry.previous.iter().map(|entry| format!("  before: {} of {}", entry.tree.short(), entry.approved.at))
}
