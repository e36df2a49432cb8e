//! Keys that run code of extensions.

use std::collections::BTreeSet;

use haft_protocol::ids::ExtensionName;
use haft_protocol::rpc::{ExtensionInfo, RunShortcut};

use crate::keys::{Chord, Context, Keymap};

/// The keys of extensions. haft's own keys, as the user set them, and keys of earlier extensions go first.
#[derive(Debug, Default)]
pub(super) struct ExtensionShortcuts {
    keys: Vec<(Chord, RunShortcut)>,
    /// The conflicts of these extensions that the user knows.
    reported_conflicts: BTreeSet<(ExtensionName, String)>,
}

impl ExtensionShortcuts {
    /// Replaces the shortcuts of all extensions. Returns a message about each new one that does not work.
    pub(super) fn set_extensions(&mut self, extensions: &[ExtensionInfo], keymap: &Keymap) -> Vec<String> {
        self.keys.clear();
        let offered = |(name, key): &(ExtensionName, String)| {
            let info = extensions.iter().find(|info| info.name == *name);
            info.is_some_and(|info| info.shortcuts.iter().any(|shortcut| shortcut.key == *key))
        };
        self.reported_conflicts.retain(offered);
        let mut conflicts = Vec::new();
        for info in extensions {
            for shortcut in &info.shortcuts {
                match self.claim_key(&shortcut.key, keymap) {
                    Ok(chord) => {
                        let (extension, key) = (info.name.clone(), shortcut.key.clone());
                        self.keys.push((chord, RunShortcut { extension, key }));
                    }
                    Err(why) => {
                        if self.reported_conflicts.insert((info.name.clone(), shortcut.key.clone())) {
                            conflicts.push(format!(
                                "[{}] the key {} does not work: {why}",
                                info.name, shortcut.key
                            ));
                        }
                    }
                }
            }
        }
        conflicts
    }

    /// Returns the free chord of a key, or the reason why it is not free.
    fn claim_key(&self, key: &str, keymap: &Keymap) -> Result<Chord, String> {
        let chord: Chord = key.parse().map_err(|_| "haft does not know this key".to_owned())?;
        if chord.typed_char().is_some() {
            return Err("it types text".to_owned());
        }
        if keymap.press(chord).action(Context::Editor).is_some() {
            return Err("haft uses it".to_owned());
        }
        match self.find_shortcut(chord) {
            Some(other) => Err(format!("the extension {} uses it", other.extension)),
            None => Ok(chord),
        }
    }

    /// Returns the shortcut of a key.
    pub(super) fn find_shortcut(&self, chord: Chord) -> Option<&RunShortcut> {
        self.keys.iter().find(|(known, _)| *known == chord).map(|(_, shortcut)| shortcut)
    }
}

#[cfg(test)]
mod tests {
    use haft_protocol::rpc::ShortcutInfo;

    use super::*;

    fn extension(name: &str, keys: &[&str]) -> ExtensionInfo {
        let shortcuts = keys
            .iter()
            .map(|key| ShortcutInfo { key: (*key).to_owned(), description: String::new() })
            .collect();
        let info =
            r#"{"name":"x","state":"ready","origin":"global","dir":"/x","required":false,"gates_off":false}"#;
        let info: ExtensionInfo = serde_json::from_str(info).unwrap();
        ExtensionInfo { name: ExtensionName::new(name), shortcuts, ..info }
    }

    #[test]
    fn keys_that_do_not_work_are_told_once() {
        let mut shortcuts = ExtensionShortcuts::default();
        let extensions =
            [extension("plan", &["f8", "ctrl+c", "x", "warp+q"]), extension("todo", &["f8", "f9"])];
        let conflicts = shortcuts.set_extensions(&extensions, &Keymap::default());
        insta::assert_snapshot!(conflicts.join("\n"), @"
        [plan] the key ctrl+c does not work: haft uses it
        [plan] the key x does not work: it types text
        [plan] the key warp+q does not work: haft does not know this key
        [todo] the key f8 does not work: the extension plan uses it
        ");
        assert_eq!(shortcuts.set_extensions(&extensions, &Keymap::default()), Vec::<String>::new());
        let owner = |key: &str| {
            shortcuts.find_shortcut(key.parse().unwrap()).map(|found| found.extension.to_string())
        };
        assert_eq!(["f8", "f9", "ctrl+c"].map(owner), [Some("plan".into()), Some("todo".into()), None]);
    }
}
