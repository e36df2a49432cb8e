//! Tests of completion: which word is completed, which candidates are shown, which text is inserted.

use proptest::prelude::*;

use super::*;
use crate::editor::Editor;

#[derive(Default)]
struct Fixed {
    commands: Vec<CompletionCommand>,
    arguments: Option<Vec<CommandArgument>>,
    files: Vec<String>,
    /// The answers of a command's owner, by prefix.
    answers: Vec<(&'static str, &'static str)>,
}

fn told((_, value): &(&str, &str)) -> CompletionCandidate {
    let none = String::new;
    let (text, source) = ((*value).to_owned(), "todo".to_owned());
    CompletionCandidate { text, matched: Vec::new(), hint: none(), description: none(), source }
}

impl CandidateSource for Fixed {
    fn commands(&self) -> &[CompletionCommand] {
        &self.commands
    }

    fn arguments(&self, command: &str, before: &str) -> Option<Vec<CommandArgument>> {
        let known = command == "model" && before.is_empty();
        if known { self.arguments.clone() } else { Some(Vec::new()) }
    }

    fn command_candidates(&self, command: &str, prefix: &str) -> Option<Vec<CompletionCandidate>> {
        (command == "todo").then(|| self.answers.iter().filter(|(of, _)| *of == prefix).map(told).collect())
    }

    fn files(&self) -> &[String] {
        &self.files
    }
}

fn source() -> Fixed {
    let command = |name: &str, hint: Option<&str>, source: &str| CompletionCommand {
        name: name.into(),
        hint: hint.map(Into::into),
        description: format!("Does {name}."),
        source: source.into(),
    };
    let argument = |text: &str| CommandArgument { text: text.into(), description: String::new() };
    let files = ["src/main.rs", "src/", "docs/a plan.md", "README.md", "tests/main.rs", "my notes/"];
    Fixed {
        commands: vec![
            command("help", None, ""),
            command("model", Some("[name]"), ""),
            command("compact", Some("[what to keep]"), ""),
            command("help", None, "impostor"),
            command("todo", None, "todo"),
        ],
        arguments: Some(["sonnet", "opus", "haiku"].map(argument).to_vec()),
        files: files.map(Into::into).to_vec(),
        answers: vec![("", "add"), ("", "done 1"), ("d", "done 1"), ("d", "drop 1"), ("done ", "done 1")],
    }
}

/// Splits a text at `|`, which marks the cursor.
fn at(text: &str) -> (String, usize) {
    (text.replacen('|', "", 1), text.find('|').unwrap())
}

fn shown(completer: &Completer) -> Vec<&str> {
    let candidates = completer.popup().map(|popup| popup.candidates.as_slice()).unwrap_or_default();
    candidates.iter().map(|candidate| candidate.text.as_str()).collect()
}

#[track_caller]
fn wants(text: &str, expect: Option<(&str, &str)>) {
    let (text, cursor) = at(text);
    let got = find_target(&text, cursor);
    let got = got.as_ref().map(|wanted| (&text[wanted.range.clone()], wanted.query.as_str()));
    assert_eq!(got, expect, "{text}");
}

#[track_caller]
fn completes(text: &str, expect: &str) {
    let (text, cursor) = at(text);
    let mut completer = Completer::default();
    completer.update(&text, cursor, &source());
    let accepted = completer.accept(&text).expect("candidates");
    let mut editor = Editor::new();
    editor.insert(&text);
    editor.replace(accepted.range, &accepted.text);
    let (before, behind) = editor.text().split_at(editor.cursor());
    assert_eq!(format!("{before}|{behind}"), expect);
}

#[test]
fn finds_word_to_complete() {
    wants("/|", Some(("/", "")));
    wants("/he|lp", Some(("/help", "he")));
    wants("/he| now", Some(("/he", "he")));
    wants("x /he|", None);
    wants("/usr/b|", None);
    wants("/model |", Some(("", "")));
    wants("/model so|", Some(("so", "so")));
    wants("/model a\u{a0}so|", Some(("so", "so")));
    wants("/model a b|", Some(("b", "b")));
    wants("/model a\nb|", None);
    wants("see @|", Some(("@", "")));
    wants("see (@src/m|)", Some(("@src/m)", "src/m")));
    wants("see @src/m|ain.rs now", Some(("@src/main.rs", "src/m")));
    wants("mail a@b|", None);
    wants("see @a b|", None);
    wants("see @\"a b|", Some(("@\"a b", "a b")));
    wants("see @\"a b|c\" d", Some(("@\"a bc\"", "a b")));
    wants("see @\"a b\" c|", None);
    wants("/model @s|", Some(("@s", "s")));
    wants("@a|\n@b", Some(("@a", "a")));
}

#[test]
fn ranks_best_candidates_first() {
    let (source, mut completer) = (source(), Completer::default());
    let mut check = |text: &str, expect: &[&str]| {
        let (text, cursor) = at(text);
        completer.update(&text, cursor, &source);
        assert_eq!(shown(&completer), expect, "{text}");
    };
    check("/|", &["help", "model", "compact", "todo"]);
    check("/o|", &["model", "compact", "todo"]);
    check("/od|", &["model", "todo"]);
    check("/odx|", &[]);
    check("/model |", &["sonnet", "opus", "haiku"]);
    check("/model o|", &["opus", "sonnet"]);
    check("/compact |", &[]);
    check("@mainrs|", &["src/main.rs", "tests/main.rs"]);
    check("@main|", &["src/main.rs", "tests/main.rs"]);
    check("@R|", &["README.md"]);
    check("@|", &["src/main.rs", "src/", "docs/a plan.md", "README.md", "tests/main.rs", "my notes/"]);
    check("nothing|", &[]);
}

#[test]
fn separates_inserted_text_with_blank() {
    completes("/he|", "/help|");
    completes("/mod|", "/model |");
    completes("/mod| x", "/model| x");
    completes("/model so|", "/model sonnet |");
    completes("see @READ|", "see @README.md |");
    completes("see @READ| now", "see @README.md| now");
    completes("see @plan|", "see @\"docs/a plan.md\" |");
    completes("see @\"a pl|an\" now", "see @\"docs/a plan.md\"| now");
    completes("see @notes|", "see @\"my notes/|");
    completes("see @src/|", "see @src/|");
}

#[test]
fn command_without_arguments_is_complete() {
    let (source, mut completer) = (source(), Completer::default());
    completer.update("/help", 5, &source);
    assert!(completer.accept("/help").unwrap().complete);
    completer.update("/help", 5, &source);
    assert_eq!(completer.popup(), None, "the word is finished");
    completer.update("/model", 6, &source);
    assert_eq!(completer.popup(), None);
    completer.open("/model", 6, &source);
    assert!(!completer.accept("/model").unwrap().complete);
}

#[test]
fn exact_name_comes_before_a_longer_one() {
    let (mut source, mut completer) = (source(), Completer::default());
    for name in ["login", "log"] {
        source.commands.push(CompletionCommand { name: name.into(), ..CompletionCommand::default() });
    }
    completer.update("/log", 4, &source);
    let popup = completer.popup().unwrap();
    assert_eq!((shown(&completer)[popup.chosen], popup.is_typed()), ("log", true));
}

#[test]
fn keeps_candidates_while_word_grows() {
    let (source, mut completer) = (source(), Completer::default());
    completer.update("/", 1, &source);
    completer.previous();
    assert_eq!(completer.popup().unwrap().chosen, 3);
    completer.update("/o", 2, &source);
    let popup = completer.popup().unwrap();
    assert_eq!((shown(&completer)[popup.chosen], popup.room), ("todo", 4));
    completer.update("/om", 3, &source);
    let popup = completer.popup().unwrap();
    assert_eq!((shown(&completer)[popup.chosen], popup.room), ("compact", 4));
    assert_eq!(popup.candidates[0].matched, [1, 2]);
    completer.close();
    completer.update("/omp", 4, &source);
    assert_eq!(completer.popup(), None);
    // Another word has candidates again.
    completer.update("/omp @", 6, &source);
    assert!(completer.popup().is_some());
    completer.update("", 0, &source);
    completer.update("/", 1, &source);
    assert!(completer.popup().is_some());
}

#[test]
fn keeps_list_while_answer_is_pending() {
    let (mut source, mut completer) = (source(), Completer::default());
    completer.update("/model s", 8, &source);
    assert_eq!(shown(&completer), ["sonnet", "opus"]);
    let arguments = source.arguments.take();
    completer.update("/model so", 9, &source);
    assert_eq!(shown(&completer), ["sonnet", "opus"]);
    source.arguments = arguments;
    completer.update("/model so", 9, &source);
    assert_eq!(shown(&completer), ["sonnet"]);
}

#[test]
fn finds_files_added_later() {
    let (mut source, mut completer) = (source(), Completer::default());
    completer.update("@new", 4, &source);
    assert_eq!(completer.popup(), None);
    source.files.push("new.rs".into());
    completer.update("@new", 4, &source);
    assert_eq!(shown(&completer), ["new.rs"]);
}

proptest! {
    #[test]
    fn target_range_is_inside_text(text in "[/@\"a b\n日]{0,12}", cursor in 0_usize..14) {
        prop_assume!(text.is_char_boundary(cursor));
        if let Some(wanted) = find_target(&text, cursor) {
            prop_assert!(wanted.range.start <= cursor && cursor <= wanted.range.end);
            prop_assert!(text.get(wanted.range).is_some_and(|word| word.contains(&wanted.query)));
        }
    }

    #[test]
    fn inserted_file_mention_is_parsed_again(path in "[a-z ]{1,8}/?[a-z ]{0,4}") {
        let files = vec![path.clone()];
        let source = Fixed { files, ..Fixed::default() };
        let mut completer = Completer::default();
        completer.update("@", 1, &source);
        let text = completer.accept("@").unwrap().text;
        let word = find_target(&text, text.trim_end().trim_end_matches('"').len()).unwrap();
        prop_assert_eq!(word.query.trim_end(), path.trim_end());
    }
}

#[test]
fn owner_candidates_replace_all_arguments() {
    let source = source();
    let mut completer = Completer::default();
    let mut shown = |text: &str| {
        let (text, cursor) = at(text);
        completer.open(&text, cursor, &source);
        let popup = completer.popup()?;
        let values = popup.candidates.iter().map(|candidate| candidate.text.clone()).collect::<Vec<_>>();
        let typed = popup.is_typed();
        Some((values.join(","), typed, completer.accept(&text)?))
    };
    let accepted = |range: Range<usize>, text: &str| AcceptedCompletion {
        range,
        text: text.to_owned(),
        complete: false,
    };
    assert_eq!(shown("/todo |"), Some(("add,done 1".to_owned(), true, accepted(6..6, "add "))));
    assert_eq!(shown("/todo d|x rest"), Some(("done 1,drop 1".to_owned(), true, accepted(6..8, "done 1"))));
    assert_eq!(shown("/todo   done |"), Some(("done 1".to_owned(), true, accepted(8..13, "done 1 "))));
    assert_eq!(shown("/todo x|"), None);
    let (text, cursor) = at("/todo d|");
    completer.open(&text, cursor, &source);
    completer.next();
    assert!(!completer.popup().unwrap().is_typed(), "the user has chosen");
}
