//! Values that completions know and the command line does not insist on.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use haft_providers::PRESETS;

/// A provider: any name, since `--base-url` makes a provider of any; completions offer those that haft knows.
#[derive(Debug, Clone)]
pub(super) struct Provider;

impl TypedValueParser for Provider {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let known = PRESETS.iter().map(|preset| preset.name).chain(["scripted"]);
        Some(Box::new(known.map(PossibleValue::new)))
    }
}
