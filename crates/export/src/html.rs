//! A session as a readable page: one file without scripts or external resources.
//!
//! All content of a session is untrusted. Text is escaped, images are embedded only if their bytes are an image, and
//! links lead only to the web and to mail. In addition, a policy in the page's head forbids scripts and requests.

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

/// Forbids scripts and requests; images are embedded in the page.
const POLICY: &str =
    "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// The minimum number of prompts for a table of contents.
const CONTENTS_FROM: usize = 3;

/// The maximum number of prompts in a table of contents that is open at first. A longer one would fill the page above the
/// conversation. Beside the conversation, in a wide window, the style opens it.
const CONTENTS_OPEN: usize = 30;

/// Renders the page of a session. Paths of the sender are included; remove them with
/// [`export_portable()`](crate::export_portable()) first.
///
/// # Errors
/// [`NoSuchEntry`] when the selected entry does not exist.
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
        out.push_str("<p class=\"row\">This session has no messages.</p>");
    }
    out.push_str("</article>\n<footer>Exported by haft. Click reasoning and tool calls to expand them.</footer>\n</main>\n</body>\n</html>\n");
    Ok(out)
}

fn write_contents(out: &mut String, prompts: &[(usize, String)]) {
    if prompts.len() < CONTENTS_FROM {
        return;
    }
    let (open, count) = match prompts.len() {
        ..=CONTENTS_OPEN => ("open", String::new()),
        many => ("class=\"long\"", format!(" ({many})")),
    };
    let _ = write!(out, "<nav aria-label=\"Prompts\"><details {open}><summary>Prompts{count}</summary><ol>");
    for (anchor, text) in prompts {
        let text = if text.is_empty() { "…" } else { text };
        let _ = write!(out, "<li><a href=\"#p{anchor}\">{text}</a></li>");
    }
    out.push_str("</ol></details></nav>\n");
}
