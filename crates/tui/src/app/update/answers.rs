//! What the program says.

use haft_protocol::content::joined_text;
use haft_protocol::message::Message;
use haft_protocol::rpc::Failure;

use super::super::conversation::Following;
use super::super::dialogs::Purpose as Asked;
use super::super::menu::{Coming, Purpose, setting_row};
use super::super::pending::{Pending, Shown};
use super::super::state::State;
use super::super::{Answer, Ask, Provider, SettingRow, Trusted, settings};
use crate::dialog::{Question, Wanted};
use crate::picker::{Can, Row};
use haft_protocol::rpc::ListSessions;

/// What a conversation without a name is called: as it begins.
fn first_words(messages: &[Message]) -> String {
    let first = messages.iter().find_map(|message| match message {
        Message::User { content, .. } => Some(joined_text(content)),
        Message::Assistant(_) | Message::Tool(_) => None,
    });
    first.unwrap_or_else(|| "a new session".to_owned())
}

impl State {
    pub(super) fn answer(&mut self, answer: Answer) {
        match answer {
            Answer::Conversation(session, messages) => self.messages(&session, messages),
            Answer::Files(files) => {
                self.composer.set_files(files);
            }
            Answer::Branch(branch) => self.status.set_branch(branch),
            Answer::History(Ok(text)) => {
                self.composer.set_history(&text);
            }
            Answer::History(Err(failure)) => self.error(failure.error),
            Answer::Image(number, image) => self.image(number, image),
            Answer::Providers(providers) => self.providers(providers),
            Answer::Login(outcome) | Answer::Logout(outcome) => {
                self.composer.known_mut().providers = None;
                self.composer.known_mut().models = None;
                self.told(outcome);
            }
            Answer::Export(Ok(path)) => self.info(format!("written to {}", path.display())),
            Answer::Export(Err(failure)) => self.error(failure.error),
            Answer::Delete(Ok(_)) => {
                self.flash("deleted");
                self.out.send(ListSessions {}, Pending::Sessions(Shown::No));
            }
            Answer::Delete(Err(failure)) => self.error(failure.error),
            Answer::Rename(Ok((session, name))) => self.renamed(&session, name),
            Answer::Rename(Err(failure)) => self.error(failure.error),
            Answer::Trust(Ok(trusted)) => self.trust(trusted),
            Answer::Trust(Err(failure)) => self.error(failure.error),
            Answer::Grant(outcome) => self.granted(outcome),
            Answer::ShellOutput(number, text) => {
                self.conversation.transcript_mut().shell_output(number, &text)
            }
            Answer::ShellEnd(number, outcome) => self.shell_end(number, outcome),
            Answer::Settings(rows) => self.settings_rows(rows),
            Answer::Set(Ok(row)) => self.setting(&row),
            Answer::Set(Err(failure)) => self.error(failure.error),
            Answer::Themes(files) => {
                let problems = self.themes.set_files(files);
                self.composer.known_mut().themes = self.themes.names();
                let missing = self.themes.missing().map(|name| {
                    format!("there is no theme {name} ({}); /theme shows them all", settings::THEME)
                });
                problems.into_iter().chain(missing).for_each(|problem| self.error(problem));
            }
        }
    }

    fn told(&mut self, outcome: Result<String, Failure>) {
        match outcome {
            Ok(text) => self.info(text),
            Err(failure) => self.error(failure.error),
        }
    }

    fn messages(&mut self, session: &str, messages: Result<std::sync::Arc<Vec<Message>>, Failure>) {
        if self.out.session() != Some(session) {
            return;
        }
        match messages {
            Ok(messages) => {
                self.leave_conversation();
                self.begin_printing(&first_words(&messages));
                self.conversation.restore(&messages);
            }
            Err(failure) => self.error(format!("the conversation cannot be shown: {failure}")),
        }
        self.follow();
        match self.resumes {
            true => self.run("resume", ""),
            false => self.say_unsent(),
        }
    }

    /// What could not be shown before the conversation is shown behind it.
    pub(super) fn follow(&mut self) {
        for following in self.conversation.arrived() {
            match following {
                Following::Event(event) => self.shown_event(&event),
                Following::Said(said) => self.conversation.transcript_mut().say(said),
            }
        }
    }

    fn providers(&mut self, providers: Vec<Provider>) {
        let (purpose, title) = match self.coming.take() {
            Some(Coming::Login) => (Purpose::Login, "Store a key for"),
            Some(Coming::Logout) => (Purpose::Logout, "Remove the key of"),
            other => {
                self.coming = other;
                self.composer.learn(|known| known.providers = Some(providers));
                return;
            }
        };
        let shown = providers.iter().filter(|provider| purpose == Purpose::Login || provider.stored);
        let rows: Vec<Row> = shown
            .map(|provider| Row {
                key: provider.name.clone(),
                text: provider.name.clone(),
                detail: provider.key.as_ref().map_or_else(String::new, |key| format!("key from {key}")),
                current: provider.key.is_some(),
                ..Row::default()
            })
            .collect();
        self.composer.known_mut().providers = Some(providers);
        if rows.is_empty() {
            self.info("there is no stored key");
            return;
        }
        self.pick(title, rows, Can::default(), purpose);
    }

    fn trust(&mut self, trusted: Trusted) {
        let Trusted { project, granted, items, digest } = trusted;
        if items.is_empty() {
            self.info(format!("{project} brings nothing that would have to be trusted"));
            return;
        }
        let list = items.iter().map(|item| format!("- {item}")).collect::<Vec<_>>().join("\n");
        if granted {
            self.show_page(
                "Trusted",
                format!("{project} is trusted as it is now, with exactly this:\n\n{list}\n"),
            );
            return;
        }
        let question = Question {
            owner: None,
            wanted: Wanted::Confirm,
            title: format!("Trust {project}?"),
            message: items.join("\n"),
            call: None,
            grants: true,
            within: None,
            default: None,
        };
        self.ask_person(question, Asked::Grant { digest });
    }

    fn granted(&mut self, outcome: Result<String, Failure>) {
        let granted = outcome.is_ok();
        self.told(outcome);
        if granted {
            self.out.ask(Ask::Branch);
            self.out.ask(Ask::Themes);
            let question = Question {
                owner: None,
                wanted: Wanted::Confirm,
                title: "Begin a new session?".to_owned(),
                message: "What is trusted counts for sessions that begin from now on.".to_owned(),
                call: None,
                grants: false,
                within: None,
                default: None,
            };
            self.ask_person(question, Asked::NewSession);
        }
    }

    fn settings_rows(&mut self, rows: Vec<SettingRow>) {
        let Some(Coming::Settings(one)) = self.coming.take() else { return };
        let Some(name) = one else {
            let shown = rows.iter().map(setting_row).collect();
            self.pick("Settings", shown, Can::default(), Purpose::Settings(rows));
            return;
        };
        match rows.iter().find(|row| row.name == name) {
            Some(row) => self.pick_value(row),
            None => self.error(format!("there is no setting {name}; /settings shows them all")),
        }
    }

    /// A setting is what it is now.
    fn setting(&mut self, row: &SettingRow) {
        self.info(format!("{} = {} ({})", row.name, row.value, row.origin));
        self.apply(&row.name, &row.value);
    }

    /// A setting of the interface counts at once, where it can.
    fn apply(&mut self, name: &str, value: &str) {
        let thinking = self.settings.thinking();
        match self.settings.set(name, value) {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => return self.error(error.to_string()),
        }
        match name {
            settings::THEME => {
                self.themes.choose(value);
            }
            settings::APPROVE => {
                self.greet();
                self.composer.known_mut().approved.clear();
                self.check_approve();
            }
            settings::THINKING if thinking != self.settings.thinking() => {
                self.conversation.transcript_mut().toggle_thinking()
            }
            _ => {}
        }
        if settings::AT_START.contains(&name) {
            self.info("it counts from the next start on");
        }
    }
}
