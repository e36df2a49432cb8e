//! Pickers, pages and completion.

use anyhow::Result;
use haft_protocol::event::AgentEvent;
use haft_tui::app::{BackendReply, FileList, LoginProvider, SettingRow, TrustReview, UiEvent};
use serde_json::{Value, json};

use super::around::{extension_json, session};
use super::stage::HeadlessInterface;
use super::{ScreenScene, scene, sink};

const SIZE: (u16, u16) = (100, 20);

pub(super) const SCENES: &[ScreenScene] = &[
    scene("models", SIZE, &[sink("provider, id, name", 6, models)]),
    scene("sessions", SIZE, &[sink("names, first texts", 4, sessions)]),
    scene("text typed into a list", SIZE, &[sink("filter, another name", 2, type_into_list)]),
    scene("the tree", SIZE, &[sink("texts and labels", 6, show_tree)]),
    scene("tools", SIZE, &[sink("name, description, extension", 6, tools)]),
    scene("extensions", SIZE, &[sink("name, version, state, description, origin", 2, list_extensions)]),
    scene("an extension", SIZE, &[sink("name", 1, extension_menu)]),
    scene("an extension's page", (100, 40), &[sink("everything", 2, extension_page)]),
    scene("skills", SIZE, &[sink("names and descriptions", 4, list_skills)]),
    scene("settings", SIZE, &[sink("name, value, origin", 6, settings)]),
    scene("a setting", SIZE, &[sink("choices", 4, show_choices)]),
    scene("themes", SIZE, &[sink("names, their errors", 2, list_themes)]),
    scene("a theme", SIZE, &[sink("spinner", 2, show_spinner)]),
    scene("providers", SIZE, &[sink("name, source of the key", 4, list_providers)]),
    scene("help", (100, 60), &[sink("names and descriptions of commands", 4, open_help)]),
    scene("cost", SIZE, &[sink("model", 1, show_cost)]),
    scene("trusted projects", SIZE, &[sink("project and items", 3, show_trusted)]),
    scene("commands to complete", SIZE, &[sink("names, descriptions, sources", 4, complete_command)]),
    scene("files to complete", SIZE, &[sink("names", 5, complete_file)]),
    scene("arguments to complete", SIZE, &[sink("names, descriptions", 4, complete_argument)]),
    scene("completions of an extension", SIZE, &[sink("values, labels, descriptions", 6, complete_told)]),
];

/// Returns a row of the settings.
pub(super) fn setting_row(name: &str, value: &str, choices: &[String]) -> SettingRow {
    SettingRow {
        name: name.to_owned(),
        value: value.to_owned(),
        origin: String::new(),
        choices: choices.to_vec(),
        about: String::new(),
    }
}

/// Returns the texts in pairs.
fn text_pairs(texts: &[String]) -> impl Iterator<Item = (&str, &str)> {
    texts.chunks(2).map(|pair| match pair {
        [first, second] => (first.as_str(), second.as_str()),
        rest => (rest.first().map_or("", String::as_str), ""),
    })
}

fn model_rows(texts: &[String]) -> Vec<Value> {
    let model = |(id, name): (&str, &str)| {
        json!({
            "id": format!("zz{id}"), "provider": id, "context_window": 1000, "max_output": 1,
            "reasoning": true, "name": name,
        })
    };
    text_pairs(texts).map(model).collect()
}

fn models(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    stage.command("/model")?;
    stage.reply("get_models", &json!({ "models": model_rows(texts) }))
}

fn sessions(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    stage.command("/resume")?;
    let row = |(at, text): (usize, &String)| {
        let mut row = session(&format!("s{at}"), "");
        let field = if at % 2 == 0 { "name" } else { "first_text" };
        row[field] = text.as_str().into();
        row
    };
    let rows: Vec<Value> = texts.iter().enumerate().map(row).collect();
    stage.reply("list_sessions", &json!({ "sessions": rows }))
}

/// Types texts into a list, as a filter and as a new name.
fn type_into_list(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    let [filter, name] = texts else { return Ok(()) };
    sessions(stage, &["zz".to_owned()])?;
    stage.keys("alt+r")?;
    stage.update(UiEvent::Paste(name.clone()));
    stage.draw();
    stage.keys("enter")?;
    stage.update(UiEvent::Paste(filter.clone()));
    Ok(())
}

fn show_tree(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    stage.command("/tree")?;
    let time = "2026-01-01T00:00:00Z";
    let entry = |(at, (text, label)): (usize, (&str, &str))| {
        let role = if at % 2 == 0 { "user" } else { "assistant" };
        json!({ "id": format!("e{at}"), "type": "message", "role": role, "text": text, "label": label, "time": time })
    };
    let entries: Vec<Value> = text_pairs(texts).enumerate().map(entry).collect();
    stage.reply("tree", &json!({ "leaf": "e1", "entries": entries }))
}

fn tools(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    stage.command("/tools")?;
    let tool = |(name, text): (&str, &str)| json!({ "name": name, "description": text, "schema": {}, "active": true, "extension": text });
    let tools: Vec<Value> = text_pairs(texts).map(tool).collect();
    stage.reply("get_tools", &json!({ "tools": tools }))
}

fn list_extensions(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    stage.command("/ext")?;
    let rows: Vec<Value> = text_pairs(texts).map(|(name, text)| extension_json(name, text)).collect();
    stage.reply("list_extensions", &json!({ "extensions": rows }))
}

fn extension_menu(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    let [name] = texts else { return Ok(()) };
    list_extensions(stage, &[name.clone(), String::new()])?;
    stage.keys("enter")
}

fn extension_page(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    list_extensions(stage, texts)?;
    stage.keys("enter down enter")
}

/// Loads commands of extensions.
fn load_commands(stage: &mut HeadlessInterface, rows: &[Value]) -> Result<()> {
    stage.command("/reload-ext")?;
    let reloaded = json!({ "stopped": 0, "loaded": 0, "ready": 0, "kept": 0, "errors": [] });
    stage.reply("reload_ext", &reloaded)?;
    stage.reply("list_commands", &json!({ "commands": rows }))
}

fn list_skills(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    let skill = |(name, text): (&str, &str)| json!({ "name": format!("skill:{name}"), "description": text });
    load_commands(stage, &text_pairs(texts).map(skill).collect::<Vec<_>>())?;
    stage.command("/skills")
}

fn settings(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    stage.command("/settings")?;
    let rows = texts.chunks(3).map(|texts| match texts {
        [name, value, origin] => SettingRow { origin: origin.clone(), ..setting_row(name, value, &[]) },
        _ => setting_row("", "", &[]),
    });
    stage.answer(BackendReply::Settings(rows.collect()));
    Ok(())
}

fn show_choices(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    stage.command("/settings x")?;
    stage.answer(BackendReply::Settings(vec![setting_row("x", "y", texts)]));
    Ok(())
}

fn theme_files(texts: &[String]) -> Vec<(String, String)> {
    let theme = |(origin, name): (&str, &str)| {
        let styles = json!({ name: { "fg": name }, "text": { "fg": name, name: true } });
        let theme = json!({ "name": name, "description": name, name: name, "styles": styles });
        (origin.to_owned(), theme.to_string())
    };
    text_pairs(texts).map(theme).collect()
}

fn list_themes(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    stage.write("")?;
    stage.answer(BackendReply::Themes(theme_files(texts)));
    // The errors are in the transcript, behind the list.
    stage.draw();
    stage.command("/theme")?;
    stage.keys("up")?;
    stage.look_again();
    if texts.iter().all(|text| text.starts_with('q')) {
        stage.keys("esc")?;
    }
    Ok(())
}

fn show_spinner(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    let [frame, message] = texts else { return Ok(()) };
    let spinner = json!({ "frames": [frame], "messages": [message], "interval_ms": 100 });
    let theme = json!({ "name": "zz", "spinner": spinner }).to_string();
    stage.write("")?;
    stage.answer(BackendReply::Themes(vec![("x".to_owned(), theme)]));
    stage.command("/theme zz")?;
    stage.look_again();
    stage.event(AgentEvent::TurnStart { step: 1 });
    Ok(())
}

fn list_providers(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    stage.command("/login")?;
    let provider = |(name, key): (&str, &str)| LoginProvider {
        name: name.to_owned(),
        key: Some(key.to_owned()),
        stored: true,
        is_local: true,
        server: Some(key.to_owned()),
        model: Some(format!("{name}/{key}")),
    };
    stage.answer(BackendReply::Providers(text_pairs(texts).map(provider).collect()));
    Ok(())
}

fn other_commands(texts: &[String]) -> Vec<Value> {
    let command = |(name, text): (&str, &str)| json!({ "name": format!("zz{name}"), "description": text, "extension": text });
    text_pairs(texts).map(command).collect()
}

fn open_help(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    load_commands(stage, &other_commands(texts))?;
    stage.keys("f1")?;
    stage.draw();
    // The built-in commands come first.
    (0..8).try_for_each(|_| stage.keys("down"))
}

fn show_cost(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    super::around::model(stage, texts)?;
    stage.command("/cost")
}

fn show_trusted(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    stage.write("")?;
    let Some((project, items)) = texts.split_first() else { return Ok(()) };
    let (project, items, digest) = (project.clone(), items.to_vec(), "d".to_owned());
    stage.answer(BackendReply::Trust(Ok(TrustReview { project, granted: true, items, digest })));
    Ok(())
}

fn complete_command(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    load_commands(stage, &other_commands(texts))?;
    stage.write("")?;
    stage.type_text("/zz");
    Ok(())
}

fn complete_file(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    stage.write("")?;
    let paths = texts.iter().map(|text| format!("zz{text}")).collect();
    stage.answer(BackendReply::Files(FileList { paths, is_cut: false }));
    stage.type_text("@zz");
    Ok(())
}

fn complete_argument(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    stage.command("/model")?;
    stage.reply("get_models", &json!({ "models": model_rows(texts) }))?;
    stage.write("")?;
    stage.type_text("/model zz");
    Ok(())
}

fn complete_told(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    stage.command("/reload-ext")?;
    stage.reply("reload_ext", &json!({ "stopped": 0, "loaded": 0, "ready": 0, "kept": 0, "errors": [] }))?;
    let command = json!({ "name": "told", "description": "", "extension": "x", "completes": true });
    stage.reply("list_commands", &json!({ "commands": [command] }))?;
    stage.write("")?;
    stage.type_text("/told ");
    let item = |texts: &[String]| match texts {
        [value, label, description] => json!({ "value": value, "label": label, "description": description }),
        _ => json!({ "value": "" }),
    };
    stage.reply("complete_command", &json!({ "items": texts.chunks(3).map(item).collect::<Vec<_>>() }))
}
