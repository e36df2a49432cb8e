//! `haft login` and `haft logout`: keys in `auth.json`.

use std::io::{self, BufRead as _, IsTerminal as _, Read as _, Write as _};

use anyhow::Context as _;
use haft_config::{
    AuthFile, ConfigFile, ConfigFiles, ConfigLayer, Home, LayerSource, Project, ProjectTrust, SecretString,
    Settings,
};
use haft_providers::{
    KeyError, KeyLocation, ModelsFile, PRESETS, SystemProbe, check_key, key_location, key_server,
    split_provider,
};
#[cfg(unix)]
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use crate::args::{LoginArgs, LogoutArgs};
use crate::console::note;
use crate::exit::{Exit, OrExit as _};
use crate::interrupt::InterruptListener;
use crate::setup;
use crate::timeouts::PROMPT_END;

/// The longest key, in bytes.
const MAX_KEY: u64 = 64 * 1024;

/// Stores a key, once its provider has taken it. Whoever interrupts that finds the terminal as it was.
pub(crate) fn login(args: LoginArgs) -> anyhow::Result<Exit> {
    let terminal = SavedTerminal::save_stdin();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("cannot start the runtime")?;
    let exit = runtime.block_on(async {
        let mut interrupts = InterruptListener::listen()?;
        let mut work = tokio::task::spawn_blocking(move || log_in(args));
        let done = match interrupts.run_until_first(&mut work).await {
            Some(done) => Some(done),
            // The prompt makes the terminal what it found, which is silent: the last word is not its.
            None => tokio::time::timeout(PROMPT_END, work).await.ok(),
        };
        terminal.restore();
        match done {
            Some(Err(error)) => std::panic::resume_unwind(error.into_panic()),
            Some(Ok(Ok(exit))) => Ok(exit),
            Some(Ok(Err(error))) if !is_interrupt(&error) => Err(error),
            Some(Ok(Err(_))) | None => Exit::Aborted.fail("interrupted; nothing was stored"),
        }
    });
    // Whoever waits for a key or for a server is left behind.
    runtime.shutdown_background();
    exit
}

/// True if this is the prompt's way to say that it was interrupted.
fn is_interrupt(error: &anyhow::Error) -> bool {
    let kind = error.downcast_ref::<io::Error>().map(io::Error::kind);
    kind == Some(io::ErrorKind::Interrupted)
}

fn log_in(args: LoginArgs) -> anyhow::Result<Exit> {
    let home = Home::locate().or_exit(Exit::Configuration)?;
    let models = ModelsFile::load(&home.models_file()).or_exit(Exit::Configuration)?;
    let provider = match args.provider {
        Some(name) => name,
        None => ask_provider(&models)?,
    };
    let KeyLocation { stored_as, .. } = require_key_home(&provider, &models)?;
    let key = read_key(&stored_as)?;
    if !args.no_probe {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.context("cannot start the runtime")?;
        let hint = "nothing was stored; check the key, or --no-probe stores it unasked";
        runtime.block_on(verify_key(&home, &provider, &key, &models, note)).context(hint)?;
    }
    store(&home, &provider, &key, &models)?.iter().for_each(|told| note(told));
    Ok(Exit::Ok)
}

/// Stores a key; what people are told of that.
pub(crate) fn store(
    home: &Home,
    provider: &str,
    key: &SecretString,
    models: &ModelsFile,
) -> anyhow::Result<Vec<String>> {
    let KeyLocation { stored_as, variable } = require_key_home(provider, models)?;
    let file = home.auth_file();
    AuthFile::store(&file, &stored_as, key).or_exit(Exit::Failure)?;
    let stored = format!("stored the key of {stored_as} in {}", file.display());
    let stronger =
        filter_set_variable(variable).map(|variable| format!("{variable} is set, too, and is stronger"));
    Ok(std::iter::once(stored).chain(stronger).collect())
}

fn filter_set_variable(variable: Option<String>) -> Option<String> {
    variable.filter(|name| std::env::var_os(name).is_some())
}

pub(crate) fn logout(args: LogoutArgs) -> anyhow::Result<Exit> {
    let home = Home::locate().or_exit(Exit::Configuration)?;
    let models = ModelsFile::load(&home.models_file()).or_exit(Exit::Configuration)?;
    let named = match args.provider {
        Some(name) => name,
        None => only_stored_provider(&AuthFile::load(&home.auth_file()).or_exit(Exit::Failure)?)?,
    };
    remove(&home, named, &models)?.iter().for_each(|told| note(told));
    Ok(Exit::Ok)
}

/// Removes a stored key; what people are told of that.
pub(crate) fn remove(home: &Home, named: String, models: &ModelsFile) -> anyhow::Result<Vec<String>> {
    let file = home.auth_file();
    // A name that haft no longer knows may still have a key, and by hand one can be kept under any name.
    let (stored_as, variable) = match key_location(&named, models) {
        Some(KeyLocation { stored_as, variable }) => (stored_as, variable),
        None => (named.clone(), None),
    };
    let mut removed = None;
    for name in [named, stored_as.clone()] {
        if removed.is_none() && AuthFile::remove(&file, &name).or_exit(Exit::Failure)? {
            removed = Some(name);
        }
    }
    let Some(provider) = removed else {
        anyhow::bail!("no key of {stored_as} is stored in {}", file.display());
    };
    let removed = format!("removed the key of {provider} from {}", file.display());
    let stays = filter_set_variable(variable)
        .map(|variable| format!("{variable} is still set and goes on being used"));
    Ok(std::iter::once(removed).chain(stays).collect())
}

fn require_key_home(name: &str, models: &ModelsFile) -> anyhow::Result<KeyLocation> {
    key_location(name, models).map_or_else(
        || {
            let known: Vec<&str> =
                PRESETS.iter().map(|preset| preset.name).chain(models.custom_providers()).collect();
            let unknown = anyhow::anyhow!(
                "unknown provider {name:?}; choose one of {}, or name it in models.json",
                known.join(", ")
            );
            Err(unknown).or_exit(Exit::Usage)
        },
        Ok,
    )
}

fn ask_provider(models: &ModelsFile) -> anyhow::Result<String> {
    if !io::stdin().is_terminal() {
        return Exit::Usage.fail("whose key is it? name the provider: haft login PROVIDER");
    }
    let names = PRESETS.iter().map(|preset| preset.name).chain(models.custom_providers());
    note(&format!("providers: {}", names.collect::<Vec<_>>().join(", ")));
    let mut err = io::stderr().lock();
    err.write_all(b"provider [anthropic]: ")?;
    err.flush()?;
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    let name = line.trim();
    Ok(if name.is_empty() { "anthropic".to_owned() } else { name.to_owned() })
}

fn only_stored_provider(auth: &AuthFile) -> anyhow::Result<String> {
    let stored: Vec<&str> = auth.providers().collect();
    match stored.as_slice() {
        [] => anyhow::bail!("no key is stored"),
        [only] => Ok((*only).to_owned()),
        many => Exit::Usage.fail(format!("which one? stored are keys of {}", many.join(", "))),
    }
}

/// The key: typed without being shown, or read from a pipe.
fn read_key(provider: &str) -> anyhow::Result<SecretString> {
    let text = if io::stdin().is_terminal() {
        let prompt = format!("key of {provider} (it is not shown): ");
        prompt_secret(&prompt).context("cannot read the key from the terminal")?
    } else {
        let mut text = String::new();
        let read = io::stdin().lock().take(MAX_KEY + 1).read_to_string(&mut text);
        let read = read.context("cannot read the key from standard input")?;
        if u64::try_from(read).is_ok_and(|read| read > MAX_KEY) {
            let long = anyhow::anyhow!("the key is longer than 64 KiB; nothing was stored");
            return Err(long).or_exit(Exit::Usage);
        }
        text
    };
    parse_key(&text)
}

/// A key without what stands around it.
pub(crate) fn parse_key(text: &str) -> anyhow::Result<SecretString> {
    let text = text.trim();
    let unusable = text.chars().any(|c| c.is_whitespace() || c.is_control());
    if text.is_empty() || unusable {
        let what =
            if unusable { "the key has blanks or control characters in it" } else { "no key was given" };
        return Exit::Usage.fail(format!("{what}; nothing was stored"));
    }
    Ok(SecretString::from(text))
}

/// The address at which a run would ask this provider, where the user's settings name one.
fn configured_address(home: &Home, provider: &str, models: &ModelsFile) -> anyhow::Result<Option<String>> {
    // A key is not sent where a project says, whoever trusts it.
    let project =
        Project { dir: setup::working_directory(None).or_exit(Exit::Usage)?, trust: ProjectTrust::Untrusted };
    let files = ConfigFiles::read(home, &project).or_exit(Exit::Configuration)?;
    let env = ConfigLayer::from_env(|name| std::env::var(name).ok()).or_exit(Exit::Configuration)?;
    let apart = |model: &str, beside: Option<&str>| split_provider(model, beside, models);
    let named = ConfigFile { provider: Some(provider.to_owned()), ..ConfigFile::default() };
    let named = ConfigLayer::new(LayerSource::Flags, named);
    let Settings { base_url, .. } = files.merge_unchecked(named, env, &apart).settings;
    Ok(base_url.map(|set| set.value))
}

/// Asks the provider whether it takes a key; `asking` is told whom.
pub(crate) async fn verify_key(
    home: &Home,
    provider: &str,
    key: &SecretString,
    models: &ModelsFile,
    asking: impl FnOnce(&str),
) -> anyhow::Result<()> {
    let base_url = configured_address(home, provider, models)?;
    let machine = SystemProbe::default();
    if let Some(server) = key_server(provider, base_url.as_deref(), models, &machine) {
        asking(&format!("asking {server} whether it takes the key"));
    }
    let checked = check_key(provider, base_url.as_deref(), key.clone(), models, &machine).await;
    let refused = matches!(checked, Err(KeyError::Refused { .. }));
    checked.or_exit(if refused { Exit::NoProvider } else { Exit::Provider })
}

/// The former state of the terminal of standard input; none where it is not one, or cannot be changed.
#[derive(Debug, Clone)]
pub(crate) struct SavedTerminal {
    #[cfg(unix)]
    before: Option<Termios>,
}

impl SavedTerminal {
    pub(crate) fn save_stdin() -> Self {
        Self {
            #[cfg(unix)]
            before: tcgetattr(io::stdin()).ok(),
        }
    }

    pub(crate) fn restore(&self) {
        #[cfg(unix)]
        if let Some(before) = &self.before {
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, before);
        }
    }

    /// From here on what is typed is not shown. What was typed before is dropped: it was no answer.
    fn disable_echo(&self) {
        #[cfg(unix)]
        if let Some(before) = &self.before {
            let mut silent = before.clone();
            silent.local_modes.remove(LocalModes::ECHO);
            let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &silent);
        }
    }
}

fn prompt_secret(prompt: &str) -> io::Result<String> {
    let terminal = SavedTerminal::save_stdin();
    // Before the prompt: what is typed or pasted at once would be shown.
    terminal.disable_echo();
    let typed = rpassword::prompt_password(prompt);
    terminal.restore();
    typed
}
