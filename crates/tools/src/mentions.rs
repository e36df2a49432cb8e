//! `FileMentions`: puts the files and web pages that a user mentions as `@path` or `@https://…` into the prompt.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use haft_core::TextFilter;
use haft_core::hooks::{AttachedFile, OnInput, UserInput, UserInputDecision};
use haft_core::sanitize::sanitize_line;
use haft_core::tool::{Tool, ToolContext, ToolOutput};
use haft_protocol::RawJson;
use haft_protocol::content::{ContentBlock, InputSource, ToolCall, joined_text};
use haft_protocol::ids::ToolCallId;
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use crate::builtin::BuiltIn as _;
use crate::environment::{Environment, FileKind};
use crate::ls::{LsArgs, LsTool};
use crate::path;
use crate::read::{ReadArgs, ReadTool};

/// The maximum number of files in one prompt.
const MOST_FILES: usize = 20;

/// The maximum number of words of one prompt that may be mentions: a pasted log can have any number.
const MOST_MENTIONS: usize = 200;

/// The text in place of a file beyond a limit.
const NOT_ATTACHED: &str =
    "[not attached: the prompt mentions too many or too long files; read it with the tools]";

/// The maximum size of all attached texts of a prompt, in bytes.
const MOST_BYTES: usize = 256 * 1024;

/// Characters that end a sentence or a quotation and belong to a mention only if such a file exists.
const CLOSING: &[char] = &['.', ',', ';', ':', '!', '?', ')', ']', '}', '>', '"', '\'', '`'];

/// Attaches the files that the user mentions: `@path`, `@"path with spaces"`, `@path:10-40` and `@directory/`. The
/// model's own tools read them, with the same rules and limits; an image becomes an image of the prompt. A mention
/// without a file stays text. Only what a person writes has mentions.
pub struct FileMentions {
    filter: TextFilter,
    environment: Arc<dyn Environment>,
    read: Arc<dyn Tool>,
    ls: Arc<dyn Tool>,
    /// Reads mentioned web pages.
    fetch: Option<Arc<dyn Tool>>,
}

impl fmt::Debug for FileMentions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileMentions").finish_non_exhaustive()
    }
}

/// The arguments of the tool that reads a page.
#[derive(Debug, Serialize)]
struct PageArgs {
    url: String,
}

/// The place that a mention names.
enum MentionedPlace {
    File(FileKind),
    /// A web page, and the tool that reads it.
    Page(Arc<dyn Tool>),
}

/// A mention in a text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct FileMention {
    path: String,
    /// The first and the last line, counted from 1.
    lines: Option<(u64, u64)>,
}

impl FileMentions {
    /// Creates the hook with the tools of a session; `None` if they lack `read` or `ls`. `filter` removes secrets from the
    /// attached texts, as from the results of tools.
    pub fn new(
        environment: Arc<dyn Environment>,
        tools: &[Arc<dyn Tool>],
        filter: TextFilter,
    ) -> Option<Self> {
        let named = |name: &str| tools.iter().find(|tool| tool.spec().name == name).cloned();
        Some(Self {
            filter,
            environment,
            read: named(ReadTool::NAME)?,
            ls: named(LsTool::NAME)?,
            fetch: None,
        })
    }

    /// Attaches mentioned web pages, too: `@https://…`. The tool has the argument `url`. The user names the page, so it
    /// is read also if the model has no such tool.
    #[must_use]
    pub fn with_pages(self, fetch: Arc<dyn Tool>) -> Self {
        Self { fetch: Some(fetch), ..self }
    }

    /// Returns the mention with its place; tries the spellings in order.
    async fn find_place(&self, spellings: Vec<FileMention>) -> Option<(FileMention, MentionedPlace)> {
        // A URL may contain a colon with a number, and ends before the punctuation of the sentence.
        let shortest = spellings.iter().rfind(|mention| mention.lines.is_none());
        if let (Some(fetch), Some(page)) = (&self.fetch, shortest.filter(|mention| mention.is_page())) {
            return Some((page.clone(), MentionedPlace::Page(Arc::clone(fetch))));
        }
        for mention in spellings {
            let Ok(path) = path::resolve(&*self.environment, &mention.path) else { continue };
            if let Ok(stat) = self.environment.stat(&path).await {
                return Some((mention, MentionedPlace::File(stat.kind)));
            }
        }
        None
    }

    async fn read_place(
        &self,
        cancel: &CancellationToken,
        mention: &FileMention,
        place: &MentionedPlace,
    ) -> ToolOutput {
        let path = mention.path.clone();
        let (tool, args) = match place {
            MentionedPlace::Page(fetch) => (fetch, RawJson::from_value(&PageArgs { url: path })),
            MentionedPlace::File(FileKind::Directory) => {
                (&self.ls, RawJson::from_value(&LsArgs { path: Some(path) }))
            }
            MentionedPlace::File(FileKind::File | FileKind::Link | FileKind::Other) => {
                let (offset, limit) = mention.lines.map(|(first, last)| (first, last - first + 1)).unzip();
                (&self.read, RawJson::from_value(&ReadArgs { path, offset, limit }))
            }
        };
        let name = tool.spec().name.clone();
        let args = match args {
            Ok(args) => args,
            Err(error) => return ToolOutput::error(error.to_string()),
        };
        let call = ToolCall { id: ToolCallId::new("mention"), name, args };
        tool.execute(ToolContext::new(cancel.clone(), |_| {}), call).await
    }
}

#[async_trait]
impl OnInput for FileMentions {
    async fn on_input(&self, cancel: &CancellationToken, input: &UserInput) -> UserInputDecision {
        let is_typed = matches!(input.source, InputSource::Interactive | InputSource::Print);
        if !is_typed || !input.text.contains('@') {
            return UserInputDecision::Keep;
        }
        let (mut changed, mut seen, mut bytes) = (input.clone(), BTreeSet::new(), 0);
        for spellings in find_mentions(&input.text).into_iter().take(MOST_MENTIONS) {
            let Some((mention, place)) = self.find_place(spellings).await else { continue };
            if !seen.insert(mention.clone()) {
                continue;
            }
            if seen.len() > MOST_FILES {
                let text = NOT_ATTACHED.to_owned();
                changed.attached.push(AttachedFile::new(mention.name(), text));
                continue;
            }
            let output = self.read_place(cancel, &mention, &place).await;
            let text = joined_text(&output.content);
            let text = self.filter.apply(&text).unwrap_or(text);
            let fits = bytes + text.len() <= MOST_BYTES;
            let text = if fits { text } else { NOT_ATTACHED.to_owned() };
            bytes += text.len();
            let images = output.content.into_iter().filter_map(|block| match block {
                ContentBlock::Image(image) => Some(image),
                ContentBlock::Text { .. } => None,
            });
            changed.images.extend(images);
            changed.attached.push(AttachedFile::new(mention.name(), text));
        }
        if changed.attached.len() == input.attached.len() {
            return UserInputDecision::Keep;
        }
        UserInputDecision::Change(changed)
    }
}

impl FileMention {
    /// Reads `path` or `path:10` or `path:10-40`.
    fn with_lines(text: &str) -> Option<Self> {
        let (path, lines) = text.rsplit_once(':')?;
        let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
        let (first, last) = (first.parse().ok()?, last.parse().ok()?);
        (first > 0 && first <= last && !path.is_empty())
            .then(|| Self { path: path.to_owned(), lines: Some((first, last)) })
    }

    /// Returns the spellings of a mention, the literal one first.
    fn read_spellings(text: &str) -> Vec<Self> {
        let literal = Self { path: text.to_owned(), lines: None };
        std::iter::once(literal).chain(Self::with_lines(text)).collect()
    }

    fn is_page(&self) -> bool {
        self.path.starts_with("https://") || self.path.starts_with("http://")
    }

    fn name(&self) -> String {
        let path = sanitize_line(&self.path).replace('"', "'");
        match self.lines {
            None => path,
            Some((first, last)) if first == last => format!("{path}:{first}"),
            Some((first, last)) => format!("{path}:{first}-{last}"),
        }
    }
}

/// Returns the mentions of a text, each with its possible spellings.
fn find_mentions(text: &str) -> Vec<Vec<FileMention>> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices('@') {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        // The `@` of an email address is in the middle of a word.
        let begins = before.is_none_or(|c| c.is_whitespace() || "([{<\"'`,".contains(c));
        let Some(rest) = text.get(at + 1..).filter(|_| begins) else { continue };
        if let Some(quoted) = rest.strip_prefix('"') {
            if let Some((path, behind)) = quoted.split_once('"').filter(|(path, _)| !path.contains('\n')) {
                let lines = behind.split_whitespace().next().unwrap_or_default();
                let mut spellings = FileMention::read_spellings(path);
                spellings.splice(0..0, FileMention::with_lines(&format!("{path}{lines}")));
                found.push(spellings);
            }
            continue;
        }
        let word = rest.split_whitespace().next().filter(|_| !rest.starts_with(char::is_whitespace));
        let Some(word) = word else { continue };
        let mut spellings = FileMention::read_spellings(word);
        let trimmed = word.trim_end_matches(CLOSING);
        if trimmed != word && !trimmed.is_empty() {
            spellings.extend(FileMention::read_spellings(trimmed));
        }
        found.push(spellings);
    }
    found
}

#[cfg(test)]
mod tests {
    use std::fs;

    use haft_core::hooks::UserInput;
    use haft_core::tool::ToolSpec;

    use super::*;
    use crate::{HostEnvironment, builtin_tools};

    /// Returns the attached files of a prompt in a directory with some files.
    async fn attached(text: &str, source: InputSource) -> Vec<(String, String)> {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("src")).unwrap();
        fs::write(dir.path().join("src/main.rs"), "one\ntwo\nthree\nfour\n").unwrap();
        fs::write(dir.path().join(".env"), "KEY=sk-1\n").unwrap();
        fs::write(dir.path().join("a plan.md"), "first\nsecond\n").unwrap();
        let environment: Arc<dyn Environment> = Arc::new(HostEnvironment::new(dir.path()));
        let tools = builtin_tools(Arc::clone(&environment));
        let filter = TextFilter::new(|text| text.contains("sk-1").then(|| text.replace("sk-1", "***")));
        let hook = FileMentions::new(environment, &tools, filter).unwrap();
        let decision = hook.on_input(&CancellationToken::new(), &UserInput::new(text, source)).await;
        let UserInputDecision::Change(input) = decision else { return Vec::new() };
        assert_eq!(input.text, text, "the text stays as it was written");
        input.attached.into_iter().map(|file| (file.name, file.text)).collect()
    }

    fn pairs(expect: &[(&str, &str)]) -> Vec<(String, String)> {
        expect.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
    }

    #[tokio::test]
    async fn attaches_files_directories_and_lines() {
        let typed = |text| attached(text, InputSource::Interactive);
        let main = "one\ntwo\nthree\nfour\n";
        assert_eq!(typed("explain @src/main.rs.").await, pairs(&[("src/main.rs", main)]));
        assert_eq!(typed("(@src/main.rs, @src/main.rs)").await, pairs(&[("src/main.rs", main)]));
        assert_eq!(typed("see @src/").await, pairs(&[("src/", "main.rs\n")]));
        let quoted = typed("@\"a plan.md\" and @\"a plan.md\":2").await;
        assert_eq!(quoted, pairs(&[("a plan.md", "first\nsecond\n"), ("a plan.md:2", "second\n")]));
        assert_eq!(typed("@.env").await, pairs(&[(".env", "KEY=***\n")]));
        let lines = typed("what does @src/main.rs:2-3 do?").await;
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].0 == "src/main.rs:2-3" && lines[0].1.starts_with("two\nthree\n"), "{lines:?}");
        assert!(!lines[0].1.contains("four\n"), "{lines:?}");
    }

    /// A tool that returns its arguments.
    struct Echo;

    #[async_trait]
    impl Tool for Echo {
        fn spec(&self) -> Arc<ToolSpec> {
            Arc::new(ToolSpec::new("fetch", ""))
        }

        async fn execute(&self, _: ToolContext, call: ToolCall) -> ToolOutput {
            ToolOutput::text(call.args.as_str())
        }
    }

    #[tokio::test]
    async fn attaches_pages_only_with_a_tool_for_them() {
        let dir = tempfile::tempdir().unwrap();
        let environment: Arc<dyn Environment> = Arc::new(HostEnvironment::new(dir.path()));
        let tools = builtin_tools(Arc::clone(&environment));
        let hook = FileMentions::new(environment, &tools, TextFilter::new(|_| None)).unwrap();
        let fetch: Arc<dyn Tool> = Arc::new(Echo);
        let cancel = CancellationToken::new();
        let input = UserInput::new("see @https://a.example:80/x.html, please", InputSource::Interactive);
        assert!(matches!(hook.on_input(&cancel, &input).await, UserInputDecision::Keep));
        let hook = hook.with_pages(fetch);
        let UserInputDecision::Change(changed) = hook.on_input(&cancel, &input).await else { panic!("kept") };
        let attached = changed.attached.into_iter().map(|page| (page.name, page.text)).collect::<Vec<_>>();
        let url = "https://a.example:80/x.html";
        assert_eq!(attached, pairs(&[(url, &format!(r#"{{"url":"{url}"}}"#))]));
    }

    #[tokio::test]
    async fn other_text_stays_as_it_is() {
        let source = InputSource::Interactive;
        for text in ["mail a@src/main.rs", "@types are fine", "@ src/main.rs", "no mention", "@\"open"] {
            assert_eq!(attached(text, source).await, [], "{text}");
        }
        assert_eq!(attached("@src/main.rs", InputSource::Extension).await, []);
        assert_eq!(attached("@src/main.rs", InputSource::Rpc).await, [], "a client attaches what it wants");
    }
}
