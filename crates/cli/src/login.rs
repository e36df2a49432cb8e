//! `haft login` and `haft logout`: API keys in `auth.json`.

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

/// The maximum size of a key, in bytes.
const MAX_KEY: u64 = 64 * 1024;

/// Verifies a key with the provider and stores it. An interrupt restores the terminal.
pub(crate) fn login(args: LoginArgs) -> anyhow::Result<Exit> {
    let terminal = SavedTerminal::save_stdin();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("cannot start the runtime")?;
    let exit = runtime.block_on(async {
        let mut interrupts = InterruptListener::listen()?;
        let mut work = tokio::task::spawn_blocking(move || log_in(args));
        let done = match interrupts.run_until_first(&mut work).await {
            Some(done) => Some(done),
            // The prompt restores the terminal with the echo off, so the terminal is restored again below.
            None => tokio::time::timeout(PROMPT_END, work).await.ok(),
        };
        terminal.restore();
        match done {
            Some(Err(error)) => std::panic::resume_unwind(error.into_panic()),
            Some(Ok(Ok(exit))) => Ok(exit),
            Some(Ok(Err(error))) if !is_interrupt(&error) => Err(error),
            Some(Ok(Err(_))) | None => Exit::Aborted.fail("interrupted; nothing was saved"),
        }
    });
    // A thread that waits for a key or a server is left behind.
    runtime.shutdown_background();
    exit
}

/// True if the prompt reported an interrupt.
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
        let hint = "the key was not saved; check the key, or save it unverified with --no-probe";
        runtime.block_on(verify_key(&home, &provider, &key, &models, note)).context(hint)?;
    }
    store(&home, &provider, &key, &models)?.iter().for_each(|message| note(message));
    Ok(Exit::Ok)
}

/// Stores a key, and returns messages for the user.
pub(crate) fn store(
    home: &Home,
    provider: &str,
    key: &SecretString,
    models: &ModelsFile,
) -> anyhow::Result<Vec<String>> {
    let KeyLocation { stored_as, variable, .. } = require_key_home(provider, models)?;
    let file = home.auth_file();
    AuthFile::store(&file, &stored_as, key).or_exit(Exit::Failure)?;
    let stored = format!("saved the key of {stored_as} in {}", file.display());
    let stronger =
        filter_set_variable(variable).map(|variable| format!("{variable} is also set and takes precedence"));
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
    remove(&home, named, &models)?.iter().for_each(|message| note(message));
    Ok(Exit::Ok)
}

/// Removes a stored key, and returns messages for the user.
pub(crate) fn remove(home: &Home, named: String, models: &ModelsFile) -> anyhow::Result<Vec<String>> {
    let file = home.auth_file();
    // An unknown provider can have a key: haft may no longer know it, or a user edited the file.
    let (stored_as, variable) = match key_location(&named, models) {
        Some(KeyLocation { stored_as, variable, .. }) => (stored_as, variable),
        None => (named.clone(), None),
    };
    let mut removed = None;
    for name in [named, stored_as.clone()] {
        if removed.is_none() && AuthFile::remove(&file, &name).or_exit(Exit::Failure)? {
            removed = Some(name);
        }
    }
    let Some(provider) = removed else {
        anyhow::bail!("no key of {stored_as} is saved in {}", file.display());
    };
    let removed = format!("removed the key of {provider} from {}", file.display());
    let stays =
        filter_set_variable(variable).map(|variable| format!("{variable} is still set and remains in use"));
    Ok(std::iter::once(removed).chain(stays).collect())
}

fn require_key_home(name: &str, models: &ModelsFile) -> anyhow::Result<KeyLocation> {
    key_location(name, models).map_or_else(
        || {
            let known: Vec<&str> =
                PRESETS.iter().map(|preset| preset.name).chain(models.custom_providers()).collect();
            let unknown = anyhow::anyhow!(
                "unknown provider {name:?}; use one of {}, or add it to models.json",
                known.join(", ")
            );
            Err(unknown).or_exit(Exit::Usage)
        },
        Ok,
    )
}

fn ask_provider(models: &ModelsFile) -> anyhow::Result<String> {
    if !io::stdin().is_terminal() {
        return Exit::Usage.fail("no provider given; run: haft login PROVIDER");
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
        [] => anyhow::bail!("no key is saved"),
        [only] => Ok((*only).to_owned()),
        many => Exit::Usage.fail(format!("several keys are saved; name the provider: {}", many.join(", "))),
    }
}

/// Reads the key from the terminal without echo, or from a pipe.
fn read_key(provider: &str) -> anyhow::Result<SecretString> {
    let text = if io::stdin().is_terminal() {
        let prompt = format!("API key of {provider} (not shown): ");
        prompt_secret(&prompt).context("cannot read the key from the terminal")?
    } else {
        let mut text = String::new();
        let read = io::stdin().lock().take(MAX_KEY + 1).read_to_string(&mut text);
        let read = read.context("cannot read the key from standard input")?;
        if u64::try_from(read).is_ok_and(|read| read > MAX_KEY) {
            let long = anyhow::anyhow!("the key is longer than 64 KiB; nothing was saved");
            return Err(long).or_exit(Exit::Usage);
        }
        text
    };
    parse_key(&text)
}

/// Parses a key; surrounding whitespace is removed.
pub(crate) fn parse_key(text: &str) -> anyhow::Result<SecretString> {
    let text = text.trim();
    let unusable = text.chars().any(|c| c.is_whitespace() || c.is_control());
    if text.is_empty() || unusable {
        let what = if unusable { "the key contains spaces or control characters" } else { "no key given" };
        return Exit::Usage.fail(format!("{what}; nothing was saved"));
    }
    Ok(SecretString::from(text))
}

/// Returns the address of the provider in the user's settings.
fn configured_address(home: &Home, provider: &str, models: &ModelsFile) -> anyhow::Result<Option<String>> {
    // A project must not choose the server that receives a key, even if it is trusted.
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

/// Verifies a key with the provider. `asking` receives a message with the server.
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
        asking(&format!("verifying the key with {server}"));
    }
    let checked = check_key(provider, base_url.as_deref(), key.clone(), models, &machine).await;
    let refused = matches!(checked, Err(KeyError::Refused { .. }));
    checked.or_exit(if refused { Exit::NoProvider } else { Exit::Provider })
}

/// The saved state of the terminal; `None` if standard input is not a terminal.
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

    /// Turns the echo off and discards input that was typed earlier.
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
    // The echo is off before the prompt appears, because pasted text can arrive immediately.
    terminal.disable_echo();
    let typed = rpassword::prompt_password(prompt);
    terminal.restore();
    typed
}
