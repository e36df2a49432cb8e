//! The user's keybindings file: a table `[keys]` with a list of keys per changed action.

use std::collections::BTreeMap;
use std::fmt;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::keymap::{KeyClash, default_keys, is_fixed_key};
use super::{ACTIONS, ActionBinding, Chord, Keymap};

/// The minimum similarity, of at most 1, for the suggestion of another name.
const ALIKE: f64 = 0.8;

/// The problems of a keybindings file. The whole file is ignored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", listed(problems))]
#[non_exhaustive]
pub struct KeysError {
    /// The problems, in the order of the file.
    pub problems: Vec<KeybindingProblem>,
}

/// A problem of the file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct KeybindingProblem {
    /// Counted from 1.
    pub line: usize,
    /// The action's name in the file. Empty if the file is not TOML.
    pub name: String,
    /// The problem and the next step.
    pub detail: String,
}

impl fmt::Display for KeybindingProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name.is_empty() {
            true => write!(f, "line {}: {}", self.line, self.detail),
            false => write!(f, "line {}: `{}`: {}", self.line, self.name, self.detail),
        }
    }
}

fn listed(problems: &[KeybindingProblem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

impl Keymap {
    /// The table with what a keybindings file changes of it.
    ///
    /// ```
    /// use haft_tui::keys::{Context, Edit, Keymap};
    ///
    /// let keymap = Keymap::read("[keys]\n\"editor.undo\" = [\"alt+u\"]\n")?;
    /// assert_eq!(keymap.press("alt+u".parse().unwrap()).action(Context::Editor), Some(Edit::Undo.into()));
    /// let error = Keymap::read("[keys]\n\"editor.undo\" = [\"ctrl+o\"]\n").unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "line 2: `editor.undo`: `ctrl+o` is also a key of `app.expand` in the editor; give one of them another key"
    /// );
    /// # Ok::<(), haft_tui::keys::KeysError>(())
    /// ```
    ///
    /// # Errors
    /// [`KeysError`] with everything that is wrong in it.
    pub fn read(text: &str) -> Result<Self, KeysError> {
        let table = DeTable::parse(text).map_err(|error| {
            let line = line_of(text, error.span().map_or(0, |span| span.start));
            let detail = format!("{}; correct it or remove the line", error.message());
            KeysError { problems: vec![KeybindingProblem { line, name: String::new(), detail }] }
        })?;
        let mut reading =
            KeybindingsReader { text, lines: BTreeMap::new(), keys: BTreeMap::new(), problems: Vec::new() };
        for (name, value) in table.get_ref() {
            match (name.get_ref().as_ref(), value.get_ref()) {
                ("keys", DeValue::Table(keys)) => reading.read_table("", keys),
                ("keys", _) => reading.push_problem(
                    name,
                    "keys",
                    "expected a table `[keys]` with one line for each action",
                ),
                (other, _) => reading.push_problem(
                    name,
                    other,
                    "only the table `[keys]` is allowed; move this entry into it",
                ),
            }
        }
        reading.finish()
    }
}

struct KeybindingsReader<'t> {
    text: &'t str,
    /// The line of each action's name, by index in the table.
    lines: BTreeMap<usize, usize>,
    keys: BTreeMap<usize, Vec<Chord>>,
    problems: Vec<KeybindingProblem>,
}

impl KeybindingsReader<'_> {
    /// Reads the lines of a table. `editor.undo` without quotes is a nested table.
    fn read_table(&mut self, above: &str, table: &DeTable<'_>) {
        for (key, value) in table {
            let name = match above {
                "" => key.get_ref().to_string(),
                above => format!("{above}.{}", key.get_ref()),
            };
            match (ACTIONS.iter().position(|entry| entry.name == name), value.get_ref()) {
                (Some(at), DeValue::Array(list)) => self.read_action(at, key, list),
                (Some(_), _) => self.push_problem(key, &name, r#"expected a list of keys: ["ctrl+o", "f2"]"#),
                (None, DeValue::Table(below)) if above.is_empty() => self.read_table(&name, below),
                (None, _) => self.push_problem(key, &name, &unknown_name_detail(&name)),
            }
        }
    }

    fn read_action(&mut self, at: usize, key: &Spanned<impl AsRef<str>>, list: &[Spanned<DeValue<'_>>]) {
        let Some(entry) = ACTIONS.get(at) else { return };
        self.lines.insert(at, line_of(self.text, key.span().start));
        let mut chords = Vec::new();
        for item in list {
            let chord = match item.get_ref().as_str() {
                Some(text) => text.parse::<Chord>().map_err(|error| error.to_string()),
                None => Err(r#"write each key as a string: "ctrl+o""#.to_owned()),
            };
            match chord {
                Ok(chord) if chords.contains(&chord) => {
                    self.push_problem(item, entry.name, &format!("`{chord}` is listed twice; write it once"));
                }
                Ok(chord) => chords.push(chord),
                Err(detail) => self.push_problem(item, entry.name, &detail),
            }
        }
        if let Some(detail) = lost_fixed_keys(entry, &chords) {
            self.push_problem(key, entry.name, &detail);
        }
        self.keys.insert(at, chords);
    }

    fn push_problem<T>(&mut self, at: &Spanned<T>, name: &str, detail: &str) {
        let line = line_of(self.text, at.span().start);
        self.problems.push(KeybindingProblem { line, name: name.to_owned(), detail: detail.to_owned() });
    }

    fn finish(mut self) -> Result<Keymap, KeysError> {
        let own = |(at, entry)| self.keys.remove(&at).unwrap_or_else(|| default_keys(entry));
        let keymap = Keymap::from_keys(ACTIONS.iter().enumerate().map(own).collect());
        let clashes = keymap
            .find_clashes()
            .into_iter()
            .filter_map(|clash| self.clash_problem(clash))
            .collect::<Vec<_>>();
        self.problems.extend(clashes);
        self.problems.sort();
        match self.problems.is_empty() {
            true => Ok(keymap),
            false => Err(KeysError { problems: self.problems }),
        }
    }

    /// Makes the problem of a clash, at the line that causes it. If the file has both lines, uses the later one.
    fn clash_problem(
        &self,
        KeyClash { chord, first, second, context }: KeyClash,
    ) -> Option<KeybindingProblem> {
        let line = |at| self.lines.get(&at).copied();
        let (here, other) = if line(first) > line(second) { (first, second) } else { (second, first) };
        let [here_entry, other] = [ACTIONS.get(here)?, ACTIONS.get(other)?];
        let (name, place) = (other.name, context.location_phrase());
        let detail = match is_fixed_key(other, chord) {
            true => format!("`{chord}` is reserved for `{name}`; give `{}` another key", here_entry.name),
            false => format!("`{chord}` is also a key of `{name}` {place}; give one of them another key"),
        };
        Some(KeybindingProblem { line: line(here)?, name: here_entry.name.to_owned(), detail })
    }
}

/// Returns the problem if an action would lose a fixed key.
fn lost_fixed_keys(entry: &ActionBinding, chords: &[Chord]) -> Option<String> {
    let lost = default_keys(entry).into_iter().filter(|chord| entry.fixed && !chords.contains(chord));
    let lost: Vec<String> = lost.map(|chord| format!("`{chord}`")).collect();
    (!lost.is_empty()).then(|| format!("fixed keys must stay in the list; add {}", lost.join(" and ")))
}

fn unknown_name_detail(name: &str) -> String {
    let likeness = |entry: &&ActionBinding| strsim::jaro_winkler(entry.name, name);
    let best = ACTIONS.iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    match best.filter(|best| likeness(best) >= ALIKE) {
        Some(best) => format!("unknown action; did you mean `{}`?", best.name),
        None => "unknown action; docs/tui.md lists all actions".to_owned(),
    }
}

fn line_of(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::{App, Context, Edit, Picker};

    #[track_caller]
    fn check(text: &str, expect: &str) {
        let told = Keymap::read(text).map_or_else(|error| error.to_string(), |_| "fine".to_owned());
        assert_eq!(told, expect);
    }

    #[test]
    fn file_changes_named_actions() {
        check("", "fine");
        check("[keys]\n", "fine");
        let text = "[keys]\n'editor.line_start' = ['home']\npicker.close = ['f4', 'esc', 'ctrl+c']\n";
        let keymap = Keymap::read(text).unwrap();
        let means = |context, key: &str| keymap.press(key.parse().unwrap()).action(context);
        assert_eq!(means(Context::Editor, "home"), Some(Edit::LineStart.into()));
        assert_eq!(means(Context::Editor, "ctrl+a"), None);
        assert_eq!(means(Context::Picker, "f4"), Some(Picker::Close.into()));
        assert_eq!(keymap.keys(Picker::Close).first().unwrap().to_string(), "f4");
    }

    #[test]
    fn action_may_have_no_key() {
        let keymap = Keymap::read("[keys]\n'editor.yank' = []\n'app.help' = ['ctrl+y']\n").unwrap();
        assert_eq!(keymap.keys(Edit::Yank), []);
        assert_eq!(keymap.press("ctrl+y".parse().unwrap()).action(Context::Editor), Some(App::Help.into()));
    }

    #[test]
    fn documentation_example_is_valid() {
        let docs = include_str!("../../../../docs/tui.md");
        let (_, rest) = docs.split_once("```toml\n[keys]\n").unwrap();
        check(&format!("[keys]\n{}", rest.split("```").next().unwrap()), "fine");
    }

    #[test]
    fn reports_each_problem_with_line_and_next_step() {
        let text = concat!(
            "[keys]\n",
            "'editor.undoo' = ['f2']\n",
            "'prompt.abort' = []\n",
            "'editor.undo' = ['crtl+u', 7]\n",
            "'editor.redo' = 'f3'\n",
            "'app.help' = ['f2', 'F2']\n",
            "'xyz' = 1\n",
            "[colors]\n",
        );
        check(
            text,
            "line 2: `editor.undoo`: unknown action; did you mean `editor.undo`?\n\
             line 3: `prompt.abort`: fixed keys must stay in the list; add `esc`\n\
             line 4: `editor.undo`: `crtl` is not a modifier; write `ctrl`, `alt`, `shift` or `cmd`\n\
             line 4: `editor.undo`: write each key as a string: \"ctrl+o\"\n\
             line 5: `editor.redo`: expected a list of keys: [\"ctrl+o\", \"f2\"]\n\
             line 6: `app.help`: `f2` is listed twice; write it once\n\
             line 7: `xyz`: unknown action; docs/tui.md lists all actions\n\
             line 8: `colors`: only the table `[keys]` is allowed; move this entry into it",
        );
    }

    #[test]
    fn reports_key_clash_within_context() {
        check(
            "[keys]\n'editor.undo' = ['ctrl+o']\n",
            "line 2: `editor.undo`: `ctrl+o` is also a key of `app.expand` in the editor; give one of them another key",
        );
        check("[keys]\n'editor.undo' = ['ctrl+o']\n'app.expand' = ['f2']\n", "fine");
        check(
            "[keys]\n'app.expand' = ['f2']\n'app.help' = ['f2']\n",
            "line 3: `app.help`: `f2` is also a key of `app.expand` in the editor; give one of them another key",
        );
        // Lists have keys of their own.
        check("[keys]\n'picker.toggle' = ['ctrl+o']\n", "fine");
    }

    #[test]
    fn fixed_keys_cannot_be_removed() {
        check(
            "[keys]\n'panel.close' = ['f4']\n",
            "line 2: `panel.close`: fixed keys must stay in the list; add `esc` and `ctrl+c`",
        );
        check("[keys]\n'panel.close' = ['f4', 'ctrl+c', 'esc']\n", "fine");
        check(
            "[keys]\n'picker.close' = ['f4']\n",
            "line 2: `picker.close`: fixed keys must stay in the list; add `esc` and `ctrl+c`",
        );
        check(
            "[keys]\n'editor.undo' = ['esc']\n",
            "line 2: `editor.undo`: `esc` is reserved for `prompt.abort`; give `editor.undo` another key",
        );
    }

    #[test]
    fn completion_cannot_take_quit_keys() {
        check(
            "[keys]\n'completion.next' = ['ctrl+q']\n",
            "line 2: `completion.next`: `ctrl+q` is reserved for `app.quit`; give `completion.next` another key",
        );
        check("[keys]\n'completion.next' = ['ctrl+l']\n", "fine");
    }

    #[test]
    fn reports_invalid_toml_with_line() {
        let error = Keymap::read("[keys]\n'editor.undo' = [").unwrap_err();
        assert_eq!(error.problems.len(), 1);
        assert_eq!(error.problems[0].line, 2, "{error}");
    }
}
