//! Which candidates fit what is typed, the best first.

use std::cmp::Reverse;

use super::{Argument, Candidate, Command, Kind, MOST_CANDIDATES, Source, Wanted};
use crate::fuzzy::{Fuzzy, Needle, Ranked, Texts};

/// Ranks candidates, and remembers which files fitted: what is typed on fits no others.
#[derive(Debug, Default)]
pub(super) struct Ranks {
    fuzzy: Fuzzy,
    files: Option<Fitting>,
}

#[derive(Debug)]
struct Fitting {
    version: u64,
    query: String,
    /// Places in the list of files.
    files: Vec<usize>,
}

impl Ranks {
    /// None while the source does not know.
    pub(super) fn candidates(&mut self, wanted: &Wanted, source: &impl Source) -> Option<Vec<Candidate>> {
        match &wanted.kind {
            Kind::Command => Some(self.commands(&wanted.query, source.commands())),
            Kind::Argument { command, before } => {
                let arguments = source.arguments(command, before)?;
                Some(self.arguments(&wanted.query, &arguments))
            }
            Kind::File { .. } => Some(self.files(&wanted.query, source)),
        }
    }

    fn commands(&mut self, query: &str, commands: &[Command]) -> Vec<Candidate> {
        let hidden = |at: usize, name: &str| commands.iter().take(at).any(|command| command.name == name);
        let names = commands.iter().enumerate().map(|(at, command)| (at, command.name.as_str()));
        let names = names.filter(|(at, name)| !hidden(*at, name));
        let ranked = self.fuzzy.rank(&Needle::whole(query), names, Texts::Words);
        let candidate = |ranked: &Ranked| {
            let command = commands.get(ranked.at)?;
            Some(Candidate {
                text: command.name.clone(),
                matched: self.matched(query, &command.name),
                hint: command.hint.clone().unwrap_or_default(),
                description: command.description.clone(),
                source: command.source.clone(),
            })
        };
        ranked.iter().take(MOST_CANDIDATES).filter_map(candidate).collect()
    }

    fn arguments(&mut self, query: &str, arguments: &[Argument]) -> Vec<Candidate> {
        let words = arguments.iter().enumerate().map(|(at, argument)| (at, argument.text.as_str()));
        let ranked = self.fuzzy.rank(&Needle::whole(query), words, Texts::Words);
        let candidate = |ranked: &Ranked| {
            let argument = arguments.get(ranked.at)?;
            let matched = self.matched(query, &argument.text);
            Some(Candidate { description: argument.description.clone(), ..plain(&argument.text, matched) })
        };
        ranked.iter().take(MOST_CANDIDATES).filter_map(candidate).collect()
    }

    fn files(&mut self, query: &str, source: &impl Source) -> Vec<Candidate> {
        let (files, version) = (source.files(), source.files_version());
        let known =
            self.files.take().filter(|known| known.version == version && query.starts_with(&known.query));
        let among = known.map_or_else(|| (0..files.len()).collect(), |known| known.files);
        let paths = among.into_iter().filter_map(|at| Some((at, files.get(at)?.as_str())));
        let mut ranked = self.fuzzy.rank(&Needle::whole(query), paths, Texts::Paths);
        let path = |ranked: &Ranked| files.get(ranked.at).map(String::as_str);
        if !query.is_empty() {
            ranked.sort_by(|a, b| {
                (Reverse(a.score), a.length, path(a)).cmp(&(Reverse(b.score), b.length, path(b)))
            });
        }
        let candidate = |ranked: &Ranked| path(ranked).map(|path| plain(path, self.matched(query, path)));
        let candidates = ranked.iter().take(MOST_CANDIDATES).filter_map(candidate).collect();
        let fitting = ranked.iter().map(|ranked| ranked.at).collect();
        self.files = Some(Fitting { version, query: query.to_owned(), files: fitting });
        candidates
    }

    fn matched(&mut self, query: &str, text: &str) -> Vec<u32> {
        self.fuzzy.matched(&Needle::whole(query), text)
    }
}

fn plain(text: &str, matched: Vec<u32>) -> Candidate {
    let none = String::new;
    Candidate { text: text.to_owned(), matched, hint: none(), description: none(), source: none() }
}
