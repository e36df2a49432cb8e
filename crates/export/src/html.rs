//! A session as a page for people: one file, no script, nothing fetched.
//!
//! Everything that a session says came from outside. It is escaped, images are only those whose bytes say so, links
//! lead to the web and to mail, and a policy in the page's head forbids what should slip through all the same.

mod blocks;
mod entries;
mod facts;
mod plot;
mod text;
mod thread;
mod tool;

use std::fmt::Write as _;

use haft_core::session::RecoveredSession;
use haft_protocol::message::TokenUsage;

use crate::select::{EntrySelection, NoSuchEntry};
use entries::ThreadWriter;
use facts::SessionFacts;
use thread::BranchTree;

const STYLE: &str = include_str!("html/style.css");

/// Nothing is loaded and nothing runs; images are in the page itself.
const POLICY: &str =
    "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// Fewer prompts than this are found without a table of contents.
const CONTENTS_FROM: usize = 3;

/// The page of a session. Paths of the sender are in it as they are in the session: take them out with
/// [`export_portable()`](crate::portable()) first.
///
/// # Errors
/// [`NoEntry`].
pub fn render_page(session: &RecoveredSession, selection: &EntrySelection) -> Result<String, NoSuchEntry> {
    let branch = selection.branch_indices(&session.entries)?;
    let thread = BranchTree::new(&session.entries).thread_along(&branch, selection.all);
    let turns: Vec<TokenUsage> =
        thread.steps().filter_map(|step| step.answer).map(|answer| answer.usage).collect();
    let facts = SessionFacts::from_session(session);
    let mut body = ThreadWriter::new(&session.entries);
    body.write_thread(&thread);
    let mut out = String::with_capacity(body.out.len() + STYLE.len() + 4096);
    let title = facts.title();
    let _ = write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n<meta name=\"robots\" content=\"noindex\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n"
    );
    write_contents(&mut out, &body.prompts);
    out.push_str("<main>\n");
    facts.write_header(&mut out, session);
    plot::write_charts(&mut out, &turns);
    out.push_str("<article>\n");
    out.push_str(&body.out);
    if thread.items.is_empty() {
        out.push_str("<p class=\"row\">Nothing was said in this session.</p>");
    }
    out.push_str("</article>\n<footer>Written by haft, which keeps this session as a file of lines. Reasoning and tool calls unfold.</footer>\n</main>\n</body>\n</html>\n");
    Ok(out)
}

fn write_contents(out: &mut String, prompts: &[(usize, String)]) {
    if prompts.len() < CONTENTS_FROM {
        return;
    }
    out.push_str("<nav aria-label=\"Prompts\"><details open><summary>Prompts</summary><ol>");
    for (anchor, text) in prompts {
        let text = if text.is_empty() { "…" } else { text };
        let _ = write!(out, "<li><a href=\"#p{anchor}\">{text}</a></li>");
    }
    out.push_str("</ol></details></nav>\n");
}
