//! The available themes and the selected one.

use crate::theme::{Appearance, Theme};

#[derive(Debug)]
pub(super) struct ThemeCatalog {
    appearance: Appearance,
    files: Vec<(String, String)>,
    /// The selected theme: `auto`, `dark`, `light` or the name of a theme file.
    chosen: String,
    theme: Theme,
}

impl ThemeCatalog {
    pub(super) fn new(appearance: Appearance, chosen: &str) -> Self {
        let theme = Theme::built_in(appearance);
        let mut themes = Self { appearance, files: Vec::new(), chosen: chosen.to_owned(), theme };
        themes.choose(chosen);
        themes
    }

    pub(super) fn theme(&self) -> &Theme {
        &self.theme
    }

    pub(super) fn chosen_name(&self) -> &str {
        &self.chosen
    }

    pub(super) fn set_appearance(&mut self, appearance: Appearance) {
        if appearance != self.appearance {
            self.appearance = appearance;
            self.end_preview();
        }
    }

    /// Replaces the `theme.json` files. Returns the problems found in them.
    pub(super) fn set_files(&mut self, files: Vec<(String, String)>) -> Vec<String> {
        let mut problems = Vec::new();
        self.files.clear();
        for (origin, text) in files {
            match Theme::parse(&text, self.appearance) {
                Ok(parsed) => {
                    problems.extend(
                        parsed
                            .problems
                            .iter()
                            .map(|problem| format!("{origin}: {}: {}", problem.field, problem.wrong)),
                    );
                    self.files.push((parsed.theme.name().to_string(), text));
                }
                Err(error) => problems.push(format!("{origin}: {error}")),
            }
        }
        let chosen = self.chosen.clone();
        self.choose(&chosen);
        problems
    }

    pub(super) fn names(&self) -> Vec<String> {
        let built_in = ["auto", "dark", "light"].map(str::to_owned).into_iter();
        built_in.chain(self.files.iter().map(|(name, _)| name.clone())).collect()
    }

    pub(super) fn missing_name(&self) -> Option<&str> {
        self.find_theme(&self.chosen).is_none().then_some(self.chosen.as_str())
    }

    /// Selects a theme. Returns false if the name is unknown; the selection applies once a file of that name is loaded.
    pub(super) fn choose(&mut self, name: &str) -> bool {
        self.chosen = name.to_owned();
        let theme = self.find_theme(name);
        let known = theme.is_some();
        self.theme = theme.unwrap_or_else(|| Theme::built_in(self.appearance));
        known
    }

    /// Shows a theme without selecting it.
    pub(super) fn preview(&mut self, name: &str) {
        if let Some(theme) = self.find_theme(name) {
            self.theme = theme;
        }
    }

    pub(super) fn end_preview(&mut self) {
        let chosen = self.chosen.clone();
        self.choose(&chosen);
    }

    fn find_theme(&self, name: &str) -> Option<Theme> {
        match name {
            "auto" => Some(Theme::built_in(self.appearance)),
            "dark" => Some(Theme::dark()),
            "light" => Some(Theme::light()),
            name => {
                let (_, text) = self.files.iter().find(|(known, _)| known == name)?;
                Theme::parse(text, self.appearance).ok().map(|parsed| parsed.theme)
            }
        }
    }
}
