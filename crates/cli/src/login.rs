//! `haft login` and `haft logout`: keys in `auth.json`.

use std::io::{self, BufRead as _, IsTerminal as _, Read as _, Write as _};

use anyhow::Context as _;
use haft_config::{Auth, ExposeSecret as _, Files, Home, Layer, Place, SecretString, Settings};
use haft_providers::{KeyError, Machine, Models, PRESETS, check_key, key_server};

use crate::args::{LoginArgs, LogoutArgs};
use crate::console::note;
use crate::exit::{Exit, OrExit as _};
use crate::setup;

/// The longest key, in bytes.
const MAX_KEY: u64 = 64 * 1024;

/// Stores a key, once its provider has taken it.
pub(crate) fn login(args: LoginArgs) -> anyhow::Result<Exit> {
    let home = Home::locate().or_exit(Exit::Configuration)?;
    let models = Models::load(&home.models_file()).or_exit(Exit::Configuration)?;
    let provider = match args.provider {
        Some(name) => name,
        None => asked_provider(&models)?,
    };
    let named = provider;
    let provider = owner(&named, &models)?;
    let key = read_key(&provider)?;
    if !args.no_probe {
        let base_url = set_address(&home, &named)?;
        probe(&provider, base_url.as_deref(), &key, &models)?;
    }
    let file = home.auth_file();
    Auth::store(&file, &provider, &key).or_exit(Exit::Failure)?;
    note(&format!("stored the key of {provider} in {}", file.display()));
    if let Some(variable) = variable(&provider).filter(|name| std::env::var_os(name).is_some()) {
        note(&format!("{variable} is set, too, and is stronger"));
    }
    Ok(Exit::Ok)
}

/// Removes a stored key.
pub(crate) fn logout(args: LogoutArgs) -> anyhow::Result<Exit> {
    let home = Home::locate().or_exit(Exit::Configuration)?;
    let models = Models::load(&home.models_file()).or_exit(Exit::Configuration)?;
    let file = home.auth_file();
    let provider = match args.provider {
        // A name that haft no longer knows may still have a key.
        Some(name) => owner(&name, &models).unwrap_or(name),
        None => only_stored(&Auth::load(&file).or_exit(Exit::Failure)?)?,
    };
    if !Auth::remove(&file, &provider).or_exit(Exit::Failure)? {
        anyhow::bail!("no key of {provider} is stored in {}", file.display());
    }
    note(&format!("removed the key of {provider} from {}", file.display()));
    if let Some(variable) = variable(&provider).filter(|name| std::env::var_os(name).is_some()) {
        note(&format!("{variable} is still set and goes on being used"));
    }
    Ok(Exit::Ok)
}

/// Under whose name the key is stored: two presets of one company have one key.
fn owner(name: &str, models: &Models) -> anyhow::Result<String> {
    let preset = PRESETS.iter().find(|preset| preset.name == name);
    let owner = preset.and_then(|preset| PRESETS.iter().find(|other| other.key_env == preset.key_env));
    if let Some(owner) = owner {
        return Ok(owner.name.to_owned());
    }
    if models.providers().any(|own| own == name) {
        return Ok(name.to_owned());
    }
    let known: Vec<&str> = PRESETS.iter().map(|preset| preset.name).chain(models.providers()).collect();
    Err(anyhow::anyhow!("unknown provider {name:?}; choose one of {}", known.join(", "))).or_exit(Exit::Usage)
}

/// The variable that is stronger than the stored key.
fn variable(provider: &str) -> Option<&'static str> {
    PRESETS.iter().find(|preset| preset.name == provider)?.key_env
}

fn asked_provider(models: &Models) -> anyhow::Result<String> {
    if !io::stdin().is_terminal() {
        return Err(anyhow::anyhow!("whose key is it? name the provider: haft login PROVIDER"))
            .or_exit(Exit::Usage);
    }
    let names = PRESETS.iter().map(|preset| preset.name).chain(models.providers());
    note(&format!("providers: {}", names.collect::<Vec<_>>().join(", ")));
    let mut err = io::stderr().lock();
    err.write_all(b"provider [anthropic]: ")?;
    err.flush()?;
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    let name = line.trim();
    Ok(if name.is_empty() { "anthropic".to_owned() } else { name.to_owned() })
}

fn only_stored(auth: &Auth) -> anyhow::Result<String> {
    let stored: Vec<&str> = auth.providers().collect();
    match stored.as_slice() {
        [] => anyhow::bail!("no key is stored"),
        [only] => Ok((*only).to_owned()),
        many => {
            Err(anyhow::anyhow!("which one? stored are keys of {}", many.join(", "))).or_exit(Exit::Usage)
        }
    }
}

/// The key: typed without being shown, or read from a pipe.
fn read_key(provider: &str) -> anyhow::Result<SecretString> {
    let text = if io::stdin().is_terminal() {
        let prompt = format!("key of {provider} (it is not shown): ");
        // Before the prompt: what is typed or pasted at once would be shown.
        #[cfg(unix)]
        let _silent = Silent::stdin();
        rpassword::prompt_password(prompt).context("cannot read the key from the terminal")?
    } else {
        let mut text = String::new();
        let read = io::stdin().lock().take(MAX_KEY).read_to_string(&mut text);
        read.context("cannot read the key from standard input")?;
        text
    };
    let key = SecretString::from(text.trim());
    let unusable = key.expose_secret().chars().any(|c| c.is_whitespace() || c.is_control());
    if key.expose_secret().is_empty() || unusable {
        let what =
            if unusable { "the key has blanks or control characters in it" } else { "no key was given" };
        return Err(anyhow::anyhow!("{what}; nothing was stored")).or_exit(Exit::Usage);
    }
    Ok(key)
}

/// A terminal that does not show what is typed, for as long as this lives. What was typed before is dropped: it was no
/// answer.
#[cfg(unix)]
struct Silent {
    before: Option<rustix::termios::Termios>,
}

#[cfg(unix)]
impl Silent {
    /// Does nothing where the terminal cannot be changed; the prompt's own way is left then.
    fn stdin() -> Self {
        use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
        let before = tcgetattr(io::stdin()).ok();
        if let Some(before) = &before {
            let mut silent = before.clone();
            silent.local_modes.remove(LocalModes::ECHO);
            let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &silent);
        }
        Self { before }
    }
}

#[cfg(unix)]
impl Drop for Silent {
    fn drop(&mut self) {
        use rustix::termios::{OptionalActions, tcsetattr};
        if let Some(before) = &self.before {
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, before);
        }
    }
}

/// The address at which a run would ask this provider, where the user's settings name one.
fn set_address(home: &Home, provider: &str) -> anyhow::Result<Option<String>> {
    let project = setup::project(setup::cwd(None).or_exit(Exit::Usage)?, false);
    let files = Files::read(home, &project).or_exit(Exit::Configuration)?;
    let env = Layer::from_env(|name| std::env::var(name).ok()).or_exit(Exit::Configuration)?;
    let named = Layer { provider: Some(provider.to_owned()), ..Layer::empty(Place::Flags) };
    let Settings { base_url, .. } = files.below_unchecked(named, env).settings;
    Ok(base_url.map(|set| set.value))
}

fn probe(provider: &str, base_url: Option<&str>, key: &SecretString, models: &Models) -> anyhow::Result<()> {
    let machine = Machine::default();
    if let Some(server) = key_server(provider, base_url, models, &machine) {
        note(&format!("asking {server} whether it takes the key"));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("cannot start the runtime")?;
    let checked = runtime.block_on(check_key(provider, base_url, key.clone(), models, &machine));
    let Err(error) = checked else { return Ok(()) };
    let refused = matches!(error, KeyError::Refused { .. });
    let hint = "nothing was stored; check the key, or --no-probe stores it unasked";
    let told = anyhow::Error::new(error).context(hint);
    Err(told).or_exit(if refused { Exit::NoProvider } else { Exit::Provider })
}
