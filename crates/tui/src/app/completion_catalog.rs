//! The sources of completion: commands, files and arguments.

use std::collections::BTreeSet;

use haft_protocol::ext::CompletionItem;
use haft_protocol::rpc::{CommandInfo, ModelInfo, SessionInfo, ToolInfo};
use haft_protocol::thinking::ThinkingLevel;
use unicode_segmentation::UnicodeSegmentation as _;

use crate::complete::{CandidateSource, CommandArgument, CompletionCandidate, CompletionCommand};

use super::LoginProvider;
use super::settings::list_settings;

/// The kind of a command's argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CommandArgumentKind {
    Models,
    Levels,
    Sessions,
    Themes,
    Tools,
    Extensions,
    Providers,
    Settings,
}

/// A built-in command, for completion.
#[derive(Debug)]
pub(super) struct CompletableCommand {
    pub(super) name: &'static str,
    pub(super) aliases: &'static [&'static str],
    pub(super) hint: &'static str,
    pub(super) help: &'static str,
    pub(super) completes: Option<CommandArgumentKind>,
}

/// The sources of completion.
#[derive(Debug, Default)]
pub(super) struct CompletionCatalog {
    built_in: Vec<CompletableCommand>,
    commands: Vec<CompletionCommand>,
    /// The commands that are not built in.
    pub(super) external_commands: Vec<CommandInfo>,
    pub(super) files: Vec<String>,
    pub(super) models: Option<Vec<ModelInfo>>,
    pub(super) sessions: Option<Vec<SessionInfo>>,
    pub(super) tools: Option<Vec<ToolInfo>>,
    /// The names in `tools.approve` that were checked.
    pub(super) approved: BTreeSet<String>,
    pub(super) providers: Option<Vec<LoginProvider>>,
    pub(super) extensions: Vec<String>,
    pub(super) themes: Vec<String>,
    pub(super) extension_completions: Option<ExtensionCompletions>,
}

/// The completions that an extension returned for its command.
#[derive(Debug)]
pub(super) struct ExtensionCompletions {
    pub(super) query: (String, String),
    pub(super) items: Vec<CompletionItem>,
}

/// The prefix of a skill's command name.
const SKILLS: &str = "skill:";

/// The source of a skill's command.
pub(super) const SKILL: &str = "skill";

pub(super) fn command_source(info: &CommandInfo) -> String {
    match &info.extension {
        Some(extension) => extension.to_string(),
        None if info.name.starts_with(SKILLS) => SKILL.to_owned(),
        None => "template".to_owned(),
    }
}

impl CompletionCatalog {
    pub(super) fn set_built_in(&mut self, own: Vec<CompletableCommand>) {
        self.built_in = own;
        self.set_commands(Vec::new());
    }

    pub(super) fn argument_kind(&self, name: &str) -> Option<CommandArgumentKind> {
        let matches = |known: &str| known.eq_ignore_ascii_case(name);
        let is_named =
            |own: &&CompletableCommand| matches(own.name) || own.aliases.iter().any(|alias| matches(alias));
        self.built_in.iter().find(is_named).and_then(|own| own.completes)
    }

    pub(super) fn set_commands(&mut self, others: Vec<CommandInfo>) {
        let own = self.built_in.iter().map(|command| CompletionCommand {
            name: command.name.to_owned(),
            hint: Some(command.hint).filter(|hint| !hint.is_empty()).map(str::to_owned),
            description: command.help.to_owned(),
            source: String::new(),
        });
        let external = others.iter().map(|info| CompletionCommand {
            name: info.name.clone(),
            // The command may take arguments, so completing it must not run it.
            hint: Some("…".to_owned()),
            description: info.description.clone(),
            source: command_source(info),
        });
        self.commands = own.chain(external).collect();
        self.external_commands = others;
    }

    /// Returns the command of that name that is not built in.
    pub(super) fn external_command(&self, name: &str) -> Option<&CommandInfo> {
        self.external_commands.iter().find(|info| info.name.eq_ignore_ascii_case(name))
    }

    pub(super) fn skills(&self) -> impl Iterator<Item = &CommandInfo> {
        self.external_commands.iter().filter(|info| info.extension.is_none() && info.name.starts_with(SKILLS))
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.commands.iter().map(|command| command.name.as_str())
    }

    fn argument_candidates(&self, completes: CommandArgumentKind) -> Option<Vec<CommandArgument>> {
        let argument = |text: &str, description: &str| CommandArgument {
            text: text.to_owned(),
            description: description.to_owned(),
        };
        let found = match completes {
            CommandArgumentKind::Models => {
                let models = self.models.as_ref()?.iter();
                let named = |model: &ModelInfo| format!("{}/{}", model.provider, model.id);
                models
                    .filter(|model| model.is_available())
                    .map(|model| argument(&named(model), model.name.as_deref().unwrap_or_default()))
                    .collect()
            }
            CommandArgumentKind::Levels => {
                ThinkingLevel::NAMES.iter().map(|name| argument(name, "")).collect()
            }
            CommandArgumentKind::Sessions => {
                let sessions = self.sessions.as_ref()?.iter();
                sessions.map(|session| argument(&session.session, session_description(session))).collect()
            }
            CommandArgumentKind::Themes => self.themes.iter().map(|name| argument(name, "")).collect(),
            CommandArgumentKind::Tools => {
                let first = |tool: &ToolInfo| tool.description.lines().next().unwrap_or_default().to_owned();
                self.tools.as_ref()?.iter().map(|tool| argument(&tool.name, &first(tool))).collect()
            }
            CommandArgumentKind::Extensions => {
                self.extensions.iter().map(|name| argument(name, "")).collect()
            }
            CommandArgumentKind::Providers => {
                let providers = self.providers.as_ref()?.iter();
                let key = |provider: &LoginProvider| provider.key.clone().unwrap_or_default();
                providers.map(|provider| argument(&provider.name, &key(provider))).collect()
            }
            CommandArgumentKind::Settings => {
                list_settings().map(|key| argument(key.path, &key.plain_summary())).collect()
            }
        };
        Some(found)
    }
}

fn to_candidate(item: &CompletionItem, prefix: &str, source: String) -> CompletionCandidate {
    let matched = match item.value.starts_with(prefix) {
        true => (0..u32::try_from(prefix.graphemes(true).count()).unwrap_or(0)).collect(),
        false => Vec::new(),
    };
    CompletionCandidate {
        text: item.value.clone(),
        matched,
        hint: item.label.clone(),
        description: item.description.clone(),
        source,
    }
}

pub(super) fn session_description(session: &SessionInfo) -> &str {
    let name = session.name.as_deref().filter(|name| !name.is_empty());
    name.or(session.first_text.as_deref()).unwrap_or_default()
}

impl CandidateSource for CompletionCatalog {
    fn commands(&self) -> &[CompletionCommand] {
        &self.commands
    }

    fn arguments(&self, command: &str, before: &str) -> Option<Vec<CommandArgument>> {
        match self.argument_kind(command).filter(|_| before.is_empty()) {
            Some(completes) => self.argument_candidates(completes),
            None => Some(Vec::new()),
        }
    }

    fn command_candidates(&self, command: &str, prefix: &str) -> Option<Vec<CompletionCandidate>> {
        let info = self.external_command(command).filter(|info| info.completes)?;
        let Some(ExtensionCompletions { query: (of, before), items }) = &self.extension_completions else {
            return Some(Vec::new());
        };
        if of != &info.name || !prefix.starts_with(before.as_str()) {
            return Some(Vec::new());
        }
        // Until the reply for the longer prefix arrives, the earlier items are filtered by it.
        let fits = |item: &&CompletionItem| prefix == before || item.value.starts_with(prefix);
        Some(items.iter().filter(fits).map(|item| to_candidate(item, prefix, command_source(info))).collect())
    }

    fn files(&self) -> &[String] {
        &self.files
    }
}
