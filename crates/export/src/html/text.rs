//! Conversion of untrusted text to HTML.

use haft_core::sanitize::{sanitize, sanitize_line};
use haft_protocol::message::Rfc3339Time;
use pulldown_cmark::{CodeBlockKind, CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

pub(super) fn html_text(text: &str) -> String {
    escape_html(&sanitize(text))
}

/// Returns the beginning of a text as one escaped line.
pub(super) fn short_text(full: &str, most: usize) -> String {
    let line = sanitize_line(full);
    let mut words = line.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((cut, _)) = words.char_indices().nth(most) {
        words.truncate(cut);
        words.push('…');
    }
    escape_html(&words)
}

fn escape_html(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 16);
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// Formats a time as `2026-01-02 03:04 UTC`. Text that is not a time is escaped and returned.
pub(super) fn time_element(time: &Rfc3339Time) -> String {
    let Ok(at) = time.0.parse::<jiff::Timestamp>() else { return html_text(&time.0) };
    let at = at.to_string();
    let (day, minute) = (at.get(..10).unwrap_or_default(), at.get(11..16).unwrap_or_default());
    format!("<time datetime=\"{}\">{day} {minute} UTC</time>", html_text(&at))
}

/// Renders Markdown. HTML in the text is shown as text, external images are named instead of loaded, and links lead
/// only to the web and to mail.
pub(super) fn markdown(text: &str) -> String {
    let clean = sanitize(text);
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut sanitizer = MarkdownSanitizer::default();
    let events = Parser::new_ext(&clean, options).map(|event| sanitizer.sanitize_event(event));
    let mut out = String::with_capacity(clean.len() * 3 / 2);
    pulldown_cmark::html::push_html(&mut out, events);
    out
}

/// Replaces the active parts of Markdown.
#[derive(Default)]
struct MarkdownSanitizer {
    open: Vec<&'static str>,
}

impl MarkdownSanitizer {
    fn sanitize_event<'t>(&mut self, event: Event<'t>) -> Event<'t> {
        match event {
            Event::Html(html) | Event::InlineHtml(html) => Event::Text(html),
            Event::Start(tag) => self.start(tag),
            Event::End(TagEnd::Link | TagEnd::Image) => {
                Event::Html(self.open.pop().unwrap_or_default().into())
            }
            Event::End(TagEnd::HtmlBlock) => Event::End(TagEnd::CodeBlock),
            Event::End(TagEnd::Heading(level)) => Event::End(TagEnd::Heading(demote_heading(level))),
            // All variants are listed, so that additions of later parser versions are reviewed.
            plain @ (Event::End(_)
            | Event::Text(_)
            | Event::Code(_)
            | Event::InlineMath(_)
            | Event::DisplayMath(_)
            | Event::FootnoteReference(_)
            | Event::SoftBreak
            | Event::HardBreak
            | Event::Rule
            | Event::TaskListMarker(_)) => plain,
        }
    }

    fn start<'t>(&mut self, tag: Tag<'t>) -> Event<'t> {
        match tag {
            Tag::HtmlBlock => Event::Start(Tag::CodeBlock(CodeBlockKind::Indented)),
            Tag::Heading { level, .. } => Event::Start(Tag::Heading {
                level: demote_heading(level),
                id: None,
                classes: Vec::new(),
                attrs: Vec::new(),
            }),
            Tag::Link { dest_url, .. } if is_external_link(&dest_url) => self
                .open("</a>", format!("<a href=\"{}\" rel=\"noopener noreferrer\">", escape_html(&dest_url))),
            Tag::Link { .. } => self.open("</span>", "<span class=\"nolink\">".to_owned()),
            Tag::Image { dest_url, .. } => {
                let from =
                    if is_external_link(&dest_url) { short_text(&dest_url, 80) } else { String::new() };
                self.open("]</span>", format!("<span class=\"nolink\">[picture {from} "))
            }
            plain @ (Tag::Paragraph
            | Tag::BlockQuote(_)
            | Tag::CodeBlock(_)
            | Tag::List(_)
            | Tag::Item
            | Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Table(_)
            | Tag::TableHead
            | Tag::TableRow
            | Tag::TableCell
            | Tag::Emphasis
            | Tag::Strong
            | Tag::Strikethrough
            | Tag::Superscript
            | Tag::Subscript
            | Tag::MetadataBlock(_)) => Event::Start(plain),
        }
    }

    fn open<'t>(&mut self, end: &'static str, begin: String) -> Event<'t> {
        self.open.push(end);
        Event::Html(CowStr::from(begin))
    }
}

fn is_external_link(url: &str) -> bool {
    let url = url.to_ascii_lowercase();
    ["http://", "https://", "mailto:"].iter().any(|scheme| url.starts_with(scheme))
}

/// Demotes a heading, because the page has its own headings above.
fn demote_heading(level: HeadingLevel) -> HeadingLevel {
    HeadingLevel::try_from(level as usize + 2).unwrap_or(HeadingLevel::H6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(source: &str, expect: &str) {
        assert_eq!(markdown(source).trim_end(), expect);
    }

    #[test]
    fn shows_active_content_as_text() {
        check("a <b onclick=x>b</b>", "<p>a &lt;b onclick=x&gt;b&lt;/b&gt;</p>");
        check("<script>\nx\n</script>", "<pre><code>&lt;script&gt;\nx\n&lt;/script&gt;</code></pre>");
        check("[a](javascript:alert(1))", "<p><span class=\"nolink\">a</span></p>");
        check(
            "[a](JaVaScRiPt:x) <javascript:x>",
            "<p><span class=\"nolink\">a</span> <span class=\"nolink\">javascript:x</span></p>",
        );
        check("[a](data:text/html,x)", "<p><span class=\"nolink\">a</span></p>");
        check(
            "![a](https://t.example/p.png)",
            "<p><span class=\"nolink\">[picture https://t.example/p.png a]</span></p>",
        );
        check("![a](x\"onerror=\"y)", "<p><span class=\"nolink\">[picture  a]</span></p>");
        check("```x\" onload=\"y\na\n```", "<pre><code class=\"language-x&quot;\">a\n</code></pre>");
    }

    #[test]
    fn keeps_external_links_and_demotes_headings() {
        check(
            "[a](https://x.example/?a=1&b=\"2\") <me@x.example>",
            "<p><a href=\"https://x.example/?a=1&amp;b=&quot;2&quot;\" rel=\"noopener noreferrer\">a</a> \
             <span class=\"nolink\">me@x.example</span></p>",
        );
        check("# One", "<h3>One</h3>");
        check("###### Six", "<h6>Six</h6>");
    }

    #[test]
    fn short_text_is_one_escaped_line() {
        assert_eq!(short_text("a\n<b>  \x1b[1mc", 10), "a &lt;b&gt; c");
        assert_eq!(short_text("abcdef", 3), "abc…");
        assert_eq!(
            time_element(&Rfc3339Time("2026-01-02T03:04:05.678Z".to_owned())),
            "<time datetime=\"2026-01-02T03:04:05.678Z\">2026-01-02 03:04 UTC</time>"
        );
        assert_eq!(time_element(&Rfc3339Time("<x>".to_owned())), "&lt;x&gt;");
    }
}
