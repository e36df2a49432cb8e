//! Pages that are generated from the definition of the command line: completions and the manual page.

use clap_mangen::roff::{Roff, bold, roman};

use crate::args;
use crate::console;
use crate::exit::Exit;

pub(crate) fn print_completions(shell: clap_complete::Shell) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut args::command(), "haft", &mut script);
    console::write(&script)?;
    Ok(Exit::Ok)
}

pub(crate) fn print_manual() -> anyhow::Result<Exit> {
    let mut command = args::command();
    command.build();
    let mut page = Vec::new();
    let man = clap_mangen::Man::new(command.clone());
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    let mut rest = Roff::default();
    rest.control("SH", ["COMMANDS"]);
    write_subcommands(&mut rest, "haft", &command);
    write_sections(&mut rest, &args::long_help());
    rest.to_writer(&mut page)?;
    console::write(&page)?;
    Ok(Exit::Ok)
}

/// Returns the commands below a command that help texts list.
pub(crate) fn listed_subcommands(command: &clap::Command) -> impl Iterator<Item = &clap::Command> {
    command.get_subcommands().filter(|sub| !sub.is_hide_set() && sub.get_name() != "help")
}

/// Writes all subcommands. They have no pages of their own, so their full names are shown.
fn write_subcommands(page: &mut Roff, above: &str, command: &clap::Command) {
    for sub in listed_subcommands(command) {
        let name = format!("{above} {}", sub.get_name());
        page.control("TP", []);
        page.text([bold(name.as_str())]);
        page.text([roman(sub.get_about().map(ToString::to_string).unwrap_or_default())]);
        write_subcommands(page, &name, sub);
    }
}

/// Writes the tables below `haft --help`, each as a section with unfilled lines.
fn write_sections(page: &mut Roff, text: &str) {
    for line in text.lines() {
        match line.strip_suffix(':').filter(|line| !line.starts_with(' ')) {
            Some(heading) => {
                page.control("fi", []);
                page.control("SH", [heading.to_uppercase().as_str()]);
                page.control("nf", []);
            }
            None => {
                page.text([roman(line)]);
            }
        }
    }
    page.control("fi", []);
}
