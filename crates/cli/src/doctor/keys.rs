//! Which providers have a key. No key is ever shown.

use haft_providers::{PRESETS, key_home, preset};

use super::Seen;
use super::finding::{Area, Finding};

pub(super) fn look(seen: &Seen) -> Vec<Finding> {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let stored = seen.auth.providers().map(|name| format!("{name} (auth.json)"));
    let variables = PRESETS.iter().filter_map(|preset| Some((preset.name, preset.key_env?)));
    let variables = variables.filter(|(_, variable)| set(variable));
    let variables = variables.map(|(name, variable)| format!("{name} ({variable})"));
    let all: Vec<String> = stored.chain(variables).collect();
    let mut findings = Vec::new();
    if all.is_empty() {
        let text = "there is no key; without one haft looks for a model server on this machine; `haft login PROVIDER` \
                    keeps one";
        findings.push(Area::Keys.note("providers", text).next("haft login anthropic"));
    } else {
        findings.push(Area::Keys.ok("providers", all.join(", ")));
    }
    findings.extend(chosen(seen, &set));
    findings
}

/// The provider that the settings name has a key, if it wants one; a server at an address of one's own may want none.
fn chosen(seen: &Seen, set: &dyn Fn(&str) -> bool) -> Option<Finding> {
    let settings = &seen.config.settings;
    let name = settings.provider.as_ref()?.value.as_str();
    let wants_none =
        preset(name).is_some_and(|preset| preset.local_port.is_some() || preset.key_env.is_none());
    let home = key_home(name, &seen.models)?;
    let variable = home.variable.filter(|_| !wants_none)?;
    let has = settings.base_url.is_some() || set(&variable) || seen.auth.key(&home.stored_as).is_some();
    (!has).then(|| {
        let text =
            format!("is the provider of your settings, and has no key: neither {variable} nor auth.json");
        Area::Keys.wrong(name, text, format!("haft login {name}"))
    })
}
