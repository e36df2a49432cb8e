//! The composer: the input area, with completion, history and pastes.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;

use haft_protocol::content::Image;
use haft_protocol::rpc::{
    CommandFailure, CompleteCommand, CompletionsData, GetModels, GetTools, ListSessions,
};

use super::completion_catalog::{CommandArgumentKind, CompletionCatalog, ExtensionCompletions};
use super::component::{CLOSE, Component, InputContext, InputOutcome};
use super::intent::ComponentIntent;
use super::outbox::Outbox;
use super::pastes::PendingPastes;
use super::pending_request::{ListUse, PendingRequest};
use super::search::{SearchField, SearchKeyOutcome};
use super::{BackendRequest, Effect, FileList};
use crate::complete::{self, Completer, CompletionKind, CompletionPopup};
use crate::editor::{EditOutcome, Editor, EditorContent, PasteOutcome, Submission};
use crate::history::{self, PromptHistory};
use crate::keys::{Action, Completion, Context, Edit, KeyPress, Prompt};
use crate::queue::DeliveryTime;
use crate::transcript::SearchOutcome;

/// The prefix of a typed line that becomes a follow-up.
const FOLLOW_UP: &str = ">>";

/// The columns of the mark before the text, for example `› `.
pub(super) const MARK: u16 = 2;

/// The input area for prompts.
#[derive(Debug)]
pub(super) struct Composer {
    editor: Editor,
    completer: Completer,
    completions: CompletionCatalog,
    history: PromptHistory,
    search: Option<HistorySearch>,
    files: FileListState,
    /// The directories that were requested one by one.
    directories: BTreeSet<String>,
    pastes: PendingPastes,
    /// The revision of the text for which missing candidates were requested.
    requested_revision: u64,
    /// The text that was handed to the external editor.
    edited: Option<EditorContent>,
}

/// The state of the list of the project's files.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum FileListState {
    /// The list was not requested yet, or may be out of date.
    #[default]
    Unknown,
    Requested,
    Known {
        /// True if the project has more files than the list.
        is_cut: bool,
    },
}

/// A search in the prompt history.
#[derive(Debug)]
struct HistorySearch {
    field: SearchField,
    search: history::PromptSearch,
    /// The text of the composer before the search.
    before: EditorContent,
}

impl Composer {
    pub(super) fn new(known: CompletionCatalog) -> Self {
        Self {
            editor: Editor::default(),
            completer: Completer::default(),
            completions: known,
            history: PromptHistory::default(),
            search: None,
            files: FileListState::default(),
            directories: BTreeSet::new(),
            pastes: PendingPastes::default(),
            requested_revision: 0,
            edited: None,
        }
    }

    pub(super) fn editor(&self) -> &Editor {
        &self.editor
    }

    pub(super) fn completions(&self) -> &CompletionCatalog {
        &self.completions
    }

    pub(super) fn completions_mut(&mut self) -> &mut CompletionCatalog {
        &mut self.completions
    }

    pub(super) fn update_completions(&mut self, learn: impl FnOnce(&mut CompletionCatalog)) {
        learn(&mut self.completions);
        self.update_popup();
    }

    pub(super) fn popup(&self) -> Option<&CompletionPopup> {
        self.completer.popup().filter(|_| self.search.is_none())
    }

    pub(super) fn close_popup(&mut self) {
        self.completer.close();
    }

    pub(super) fn search(&self) -> Option<(&SearchField, SearchOutcome)> {
        let search = self.search.as_ref()?;
        let found = if search.search.has_failed() { SearchOutcome::Nothing } else { SearchOutcome::Match };
        Some((&search.field, found))
    }

    pub(super) fn history_match(&self) -> Option<&str> {
        let search = self.search.as_ref()?;
        search.search.current_match(&self.history).map(|found| found.prompt)
    }

    /// Takes the prompt for sending. Returns `None` if it is empty or must wait for its pastes.
    pub(super) fn take_submission(&mut self, when: DeliveryTime) -> Option<Submission> {
        let submission = self.editor.submission();
        if submission.text.is_empty() || self.pastes.delay_submit(when) {
            return None;
        }
        self.clear();
        self.completer.close();
        Some(submission)
    }

    /// Adds a prompt to the history. Returns true if it was stored.
    pub(super) fn push_history(&mut self, prompt: &str) -> bool {
        self.history.push(prompt).is_some()
    }

    pub(super) fn set_history(&mut self, text: &str) {
        let typed: Vec<String> = self.history.prompts().to_vec();
        self.history = PromptHistory::decode(text).history;
        for prompt in typed {
            self.history.push(&prompt);
        }
    }

    pub(super) fn set_files(&mut self, files: FileList) {
        self.files = FileListState::Known { is_cut: files.is_cut };
        self.directories.clear();
        self.update_completions(|known| known.files = files.paths);
    }

    /// Adds the entries of a directory to the list of files.
    pub(super) fn add_files(&mut self, entries: Vec<String>) {
        self.update_completions(|known| {
            let listed: HashSet<&String> = known.files.iter().collect();
            let new: Vec<String> = entries.into_iter().filter(|entry| !listed.contains(entry)).collect();
            known.files.extend(new);
        });
    }

    /// Marks the list of files as out of date, because tools may have created or deleted files.
    pub(super) fn invalidate_files(&mut self) {
        if matches!(self.files, FileListState::Known { .. }) {
            self.files = FileListState::Unknown;
        }
    }

    pub(super) fn cancel_delayed(&mut self) {
        self.pastes.cancel_submit();
    }

    pub(super) fn clear(&mut self) {
        self.editor.take();
        self.history.stop_browsing();
    }

    /// Inserts prompts before the current text.
    pub(super) fn restore_prompts<'c>(&mut self, contents: impl IntoIterator<Item = &'c EditorContent>) {
        self.history.stop_browsing();
        self.editor.prepend_prompts(contents);
    }

    pub(super) fn insert(&mut self, text: &str) {
        self.editor.insert(text);
        self.completer.close();
    }

    pub(super) fn set_text(&mut self, text: &str) {
        self.editor.set_text(text);
        self.update_popup();
    }

    pub(super) fn push_cut_text(&mut self, text: &str) {
        self.editor.push_kill(text);
    }

    /// Applies the text of the external editor. Text that arrived meanwhile is kept before it.
    pub(super) fn apply_external_edit(&mut self, text: &str) {
        let before = self.edited.take();
        let added = before.and_then(|before| self.editor.content_added_since(&before));
        self.editor.set_edited(text);
        self.editor.prepend_prompts(&added);
        self.completer.close();
    }

    /// Applies a loaded image to its paste. Returns false if the image belongs to no paste.
    pub(super) fn handle_image(
        &mut self,
        number: u64,
        image: &Result<Image, CommandFailure>,
        out: &mut Outbox,
    ) -> bool {
        if !self.pastes.is_waiting_for(number) {
            return false;
        }
        if let Some((text, paths)) = self.pastes.resolve_image(number, image.is_ok()) {
            match image {
                Ok(_) => {
                    if self.editor.fold_images(&text, paths) {
                        self.update_popup();
                    }
                }
                Err(failure) => out.flash(format!("image not attached, the path stays as text: {failure}")),
            }
        }
        if let Some(when) = self.pastes.take_delayed_submit() {
            out.push_intent(ComponentIntent::Submit(when));
        }
        true
    }

    /// Inserts the text of the clipboard, whatever is in front of the composer meanwhile; `None` if it could not be read.
    /// Ignores a reply that comes after its prompt was sent.
    pub(super) fn accept_clipboard(&mut self, text: Option<&str>, out: &mut Outbox) {
        if !self.pastes.take_clipboard_request() {
            return;
        }
        if let Some(text) = text {
            self.paste_text(text, out);
        }
        if let Some(when) = self.pastes.take_delayed_submit() {
            out.push_intent(ComponentIntent::Submit(when));
        }
    }

    fn paste_text(&mut self, text: &str, out: &mut Outbox) {
        if let PasteOutcome::Images { text, paths } = self.editor.paste(text, Path::is_absolute) {
            self.pastes.request_images(text, paths, out);
        }
        self.update_popup();
    }

    pub(super) fn update_popup(&mut self) {
        if self.history.shows_unedited_prompt(&self.editor.content()) {
            // Up and down must keep moving through the history, even if a prompt in it is a command.
            return self.completer.close();
        }
        self.completer.update(self.editor.text(), self.editor.cursor(), &self.completions);
    }

    pub(super) fn request_candidates(&mut self, out: &mut Outbox) {
        let revision = self.editor.revision();
        if std::mem::replace(&mut self.requested_revision, revision) == revision {
            return;
        }
        self.request_extension_completions(out);
        let Some(wanted) = complete::find_target(self.editor.text(), self.editor.cursor()) else { return };
        match wanted.kind {
            CompletionKind::File { .. } => self.request_files(&wanted.query, out),
            CompletionKind::Argument { command, before } if before.is_empty() => {
                self.request_arguments(&command, out);
            }
            CompletionKind::Argument { .. } | CompletionKind::Command => {}
        }
    }

    /// Requests the project's files, or else the typed directory if the list may lack its entries.
    fn request_files(&mut self, typed: &str, out: &mut Outbox) {
        if self.files == FileListState::Unknown {
            self.files = FileListState::Requested;
            return out.ask_backend(BackendRequest::Files);
        }
        let FileListState::Known { is_cut } = self.files else { return };
        let Some(slash) = typed.rfind('/') else { return };
        let directory = typed.get(..=slash).unwrap_or_default();
        let is_listed = || {
            let within = |path: &String| path.len() > directory.len() && path.starts_with(directory);
            !is_cut && self.completions.files.iter().any(within)
        };
        if !self.directories.contains(directory) && !is_listed() {
            self.directories.insert(directory.to_owned());
            out.ask_backend(BackendRequest::Directory { path: directory.to_owned() });
        }
    }

    fn request_arguments(&mut self, command: &str, out: &mut Outbox) {
        let known = &mut self.completions;
        match known.argument_kind(command) {
            Some(CommandArgumentKind::Models)
                if known.models.is_none() && !out.is_pending(PendingRequest::is_models) =>
            {
                out.send(GetModels { all: Some(true) }, PendingRequest::Models(ListUse::CacheOnly));
            }
            Some(CommandArgumentKind::Sessions)
                if known.sessions.is_none() && !out.is_pending(PendingRequest::is_sessions) =>
            {
                out.send(ListSessions {}, PendingRequest::Sessions(ListUse::CacheOnly));
            }
            Some(CommandArgumentKind::Tools)
                if known.tools.is_none() && !out.is_pending(PendingRequest::is_tools) =>
            {
                out.send(GetTools {}, PendingRequest::Tools(ListUse::CacheOnly));
            }
            Some(CommandArgumentKind::Providers) if known.providers.is_none() => {
                known.providers = Some(Vec::new());
                out.ask_backend(BackendRequest::Providers);
            }
            Some(_) | None => {}
        }
    }

    /// Requests completions from the extension of the typed command. Only one request is open at a time; its reply
    /// sends the next one.
    fn request_extension_completions(&mut self, out: &mut Outbox) {
        let Some((name, prefix)) = self.typed_command() else {
            // Candidates of one command must not show for another.
            self.completions.extension_completions = None;
            return;
        };
        let known = self
            .completions
            .extension_completions
            .as_ref()
            .is_some_and(|completions| completions.query.0 == name && completions.query.1 == prefix);
        if known || out.is_pending(PendingRequest::is_completions) {
            return;
        }
        let command = CompleteCommand { name: name.clone(), prefix: prefix.clone() };
        out.send(command, PendingRequest::Completions(name, prefix));
    }

    pub(super) fn apply_completions(
        &mut self,
        of: (String, String),
        data: CompletionsData,
        out: &mut Outbox,
    ) {
        let typed = self.typed_command();
        if typed.as_ref().is_none_or(|typed| typed.0 != of.0) {
            return self.request_extension_completions(out);
        }
        let is_typed = typed.as_ref() == Some(&of);
        self.completions.extension_completions = Some(ExtensionCompletions { query: of, items: data.items });
        self.update_popup();
        if !is_typed {
            self.request_extension_completions(out);
        }
    }

    /// Returns the typed command, if it supports completion, and the text between it and the cursor.
    fn typed_command(&self) -> Option<(String, String)> {
        let (text, cursor) = (self.editor.text(), self.editor.cursor());
        let wanted = complete::find_target(text, cursor)?;
        if !matches!(wanted.kind, CompletionKind::Argument { .. })
            || self.history.shows_unedited_prompt(&self.editor.content())
        {
            return None;
        }
        let (command, behind) = text.get(1..cursor)?.split_once(char::is_whitespace)?;
        let info = self.completions.external_command(command).filter(|info| info.completes)?;
        Some((info.name.clone(), behind.trim_start().to_owned()))
    }

    fn prompt_key(&mut self, action: Prompt, scope: &mut InputContext<'_>) {
        match action {
            Prompt::Send | Prompt::FollowUp => {
                // The state of the agent is checked when the prompt is sent.
                if let Some(when) = DeliveryTime::from_action(action, true) {
                    scope.out.push_intent(ComponentIntent::Submit(when));
                }
            }
            Prompt::Abort => scope.out.push_intent(ComponentIntent::Abort),
            Prompt::TakeBack => scope.out.push_intent(ComponentIntent::TakeBack),
            Prompt::ClearOrQuit if self.editor.is_empty() => {
                scope.out.push_intent(ComponentIntent::QuitTwice)
            }
            Prompt::ClearOrQuit => {
                // A delayed prompt would send the next text instead.
                self.pastes.cancel_submit();
                self.editor.set_text("");
                self.history.stop_browsing();
            }
            Prompt::SearchHistory => {
                self.completer.close();
                let (field, before) = (SearchField::new("search prompts: "), self.editor.content());
                self.search = Some(HistorySearch { field, search: history::PromptSearch::default(), before });
            }
            Prompt::Complete => {
                self.completer.open(self.editor.text(), self.editor.cursor(), &self.completions);
            }
            Prompt::OpenEditor => {
                self.edited = Some(self.editor.content());
                scope.out.push_effect(Effect::OpenEditor(self.editor.submission().text));
            }
            Prompt::Paste => self.pastes.request_clipboard(scope.out),
        }
    }

    fn completion_key(&mut self, action: Completion, scope: &mut InputContext<'_>) {
        match action {
            Completion::Next => self.completer.next(),
            Completion::Previous => self.completer.previous(),
            Completion::Close => self.completer.close(),
            Completion::Accept => {
                self.accept_candidate();
            }
            // A candidate that is typed in full is sent as it is.
            Completion::AcceptAndSend if self.popup().is_some_and(CompletionPopup::is_typed) => {
                self.completer.close();
                self.prompt_key(Prompt::Send, scope);
            }
            Completion::AcceptAndSend => {
                if self.accept_candidate() {
                    self.prompt_key(Prompt::Send, scope);
                }
            }
        }
    }

    /// Inserts the selected candidate. Returns true if it is a command that can run without arguments.
    fn accept_candidate(&mut self) -> bool {
        let Some(accepted) = self.completer.accept(self.editor.text()) else { return false };
        self.editor.replace(accepted.range, &accepted.text);
        self.update_popup();
        accepted.complete
    }

    /// Applies an editing action. Returns true if the action quits haft.
    fn apply_edit(&mut self, action: Edit, width: u16) -> bool {
        let vertical = matches!(action, Edit::RowUp | Edit::RowDown);
        let among_prompts = vertical && self.history.shows_unedited_prompt(&self.editor.content());
        let outcome = match (among_prompts, action) {
            (true, Edit::RowUp) => EditOutcome::AtTop,
            (true, _) => EditOutcome::AtBottom,
            (false, _) => self.editor.apply_edit(action, width),
        };
        match outcome {
            EditOutcome::Done => {}
            EditOutcome::AtTop => self.step_history(PromptHistory::show_older),
            EditOutcome::AtBottom => self.step_history(PromptHistory::show_newer),
            EditOutcome::Empty => return true,
        }
        false
    }

    fn step_history(&mut self, other: impl Fn(&mut PromptHistory, EditorContent) -> Option<EditorContent>) {
        if let Some(content) = other(&mut self.history, self.editor.content()) {
            self.editor.set(&content);
            self.history.set_shown(self.editor.content());
        }
    }

    fn search_key(&mut self, press: &KeyPress, width: u16) {
        let Some(HistorySearch { field, search, .. }) = &mut self.search else { return };
        match field.handle_key(press, width) {
            SearchKeyOutcome::Nothing => {}
            SearchKeyOutcome::Changed => search.set_query(&self.history, field.text()),
            SearchKeyOutcome::Next { older: true } => search.find_older(&self.history),
            SearchKeyOutcome::Next { older: false } => search.find_newer(&self.history),
            SearchKeyOutcome::Over { taken } => self.end_search(taken),
        }
    }

    /// Ends the history search. Text that arrived meanwhile is kept, and an accepted match is inserted into it.
    fn end_search(&mut self, taken: bool) {
        let Some(HistorySearch { search, before, .. }) = self.search.take() else { return };
        let found = search.current_match(&self.history).filter(|_| taken);
        match found.map(|found| found.prompt.to_owned()) {
            Some(prompt) if self.editor.content() == before => {
                self.editor.set(&EditorContent::from_prompt(&prompt));
            }
            Some(prompt) => self.editor.insert(&prompt),
            None => {}
        }
        self.completer.close();
    }
}

impl Component for Composer {
    fn handle_key(&mut self, press: &KeyPress, scope: &mut InputContext<'_>) -> InputOutcome {
        if self.search.is_some() {
            self.search_key(press, scope.width);
            return InputOutcome::for_text_input(press, &[Context::Search]);
        }
        let context = if self.popup().is_some() { Context::Completion } else { Context::Editor };
        let before = self.editor.revision();
        match (press.action(context), press.chord().typed_char()) {
            (Some(Action::Edit(action)), _) => {
                if self.apply_edit(action, scope.width) {
                    scope.out.push_effect(Effect::Quit);
                }
            }
            (Some(Action::Prompt(action)), _) => self.prompt_key(action, scope),
            (Some(Action::Completion(action)), _) => self.completion_key(action, scope),
            (None, Some(c)) => self.editor.type_char(c),
            (unclaimed, _) => return InputOutcome::Unclaimed(unclaimed),
        }
        if self.editor.revision() != before {
            self.update_popup();
        }
        InputOutcome::Handled
    }

    fn handle_line(&mut self, line: &str, scope: &mut InputContext<'_>) -> InputOutcome {
        let out = &mut *scope.out;
        match line.trim() {
            ":drop" => self.clear(),
            ":output" => out.push_intent(ComponentIntent::PrintOutput),
            // The component that the line was meant to close is already closed; the line is not a prompt.
            CLOSE => out.print("nothing to close: no list, panel or question is open"),
            "" if self.editor.is_empty() => {}
            "" => out.push_intent(ComponentIntent::Submit(DeliveryTime::Steer)),
            _ => {
                let later = line.strip_prefix(FOLLOW_UP);
                let when = if later.is_some() { DeliveryTime::FollowUp } else { DeliveryTime::Steer };
                let submission = EditorContent::from_text(later.map_or(line, str::trim_start)).submission();
                if !submission.text.is_empty() {
                    out.push_intent(ComponentIntent::SendMessage(Box::new(submission), when));
                }
            }
        }
        InputOutcome::Handled
    }

    fn handle_paste(&mut self, text: &str, scope: &mut InputContext<'_>) -> InputOutcome {
        if let Some(HistorySearch { field, search, .. }) = &mut self.search {
            field.paste(text);
            search.set_query(&self.history, field.text());
            return InputOutcome::Handled;
        }
        self.paste_text(text, scope.out);
        InputOutcome::Handled
    }
}
