//! The lists of built-in tools: for models and for programs.

use std::sync::Arc;

use haft_core::tool::Tool;

use crate::bash::Bash;
use crate::builtin::{BuiltIn as _, Ground, On, Reader};
use crate::edit::Edit;
use crate::environment::Environment;
use crate::find::Find;
use crate::grep::Grep;
use crate::ls::Ls;
use crate::read::Read;
use crate::write::Write;

/// The names of the built-in tools, in the order they are shown to the model.
pub const NAMES: [&str; 7] =
    [Read::NAME, Bash::NAME, Edit::NAME, Write::NAME, Grep::NAME, Find::NAME, Ls::NAME];

/// The built-in tools in one environment, in the order of [`NAMES`]. They know together which files were read, so each
/// session should have its own.
pub fn builtin_tools(environment: Arc<dyn Environment>) -> Vec<Arc<dyn Tool>> {
    let ground = Ground::new(environment, Reader::Model);
    vec![
        On::<Read>::tool(&ground),
        On::<Bash>::tool(&ground),
        On::<Edit>::tool(&ground),
        On::<Write>::tool(&ground),
        On::<Grep>::tool(&ground),
        On::<Find>::tool(&ground),
        On::<Ls>::tool(&ground),
    ]
}

/// Those of the built-in tools that programs use: read, bash, edit and write, with the same names, arguments and limits.
/// Their results keep what is in a file or what a command printed apart from remarks about it, which come in texts of
/// their own, and have details. They know together which files were read, so each program should have its own.
pub fn service_tools(environment: Arc<dyn Environment>) -> Vec<Arc<dyn Tool>> {
    let ground = Ground::new(environment, Reader::Program);
    vec![
        On::<Read>::tool(&ground),
        On::<Bash>::tool(&ground),
        On::<Edit>::tool(&ground),
        On::<Write>::tool(&ground),
    ]
}
